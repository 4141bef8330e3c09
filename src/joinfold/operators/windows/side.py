"""One side of many combinations: what is needed of one input's entry in each of them."""

from dataclasses import dataclass

from joinfold.operators.entries import Entries, Ids, Integers, Payload, Rows


@dataclass(slots=True)
class Side:
    """The group, the carried row, the leaving time and the payload of an entry, one per combination."""

    group: Ids
    carried: Ids
    leaves: Integers
    payload: Payload

    def __len__(self) -> int:
        return len(self.group)

    def take(self, rows: Rows) -> "Side":
        """Some of the rows."""
        return Side(self.group[rows], self.carried[rows], self.leaves[rows], self.payload.take(rows))


def side_of(entries: Entries, leaves: Integers) -> Side:
    """Entries that enter or leave, as one side of their combinations."""
    return Side(entries.group, entries.carried, leaves, entries.payload)
