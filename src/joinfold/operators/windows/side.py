"""One input of many combinations: what is needed of its entry in each, row by row."""

from dataclasses import dataclass

from joinfold.operators.entries import Entries, Ids, Integers, Payload, Rows


@dataclass(slots=True)
class Side:
    """The group, the carried row, the leaving time and the payload of an entry in each combination."""

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
    """Entries that enter or leave, as the side of combinations that they are in."""
    return Side(entries.group, entries.carried, leaves, entries.payload)
