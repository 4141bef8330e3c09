"""The current rows of a view: the last row of every key, group and set of carried values.

The carried values of a view include the origin of a row, which is the bucket that made it. A new row replaces the row
before it: the old one leaves the window and the new one enters. A row with the count 0 says that its group is gone.

    instant            10        20        30
    rows of a group    n=2       n=5       n=0
    leaves             —         n=2       n=5
    enters             n=2       n=5       —
"""

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.identity import IdTable
from joinfold.operators.entries import Entries, Ids, joined


class CurrentRows:
    """The current rows of one view. A row is stored at the id of its key, group and carried values.

    ``there`` is true for the ids that have a current row.
    """

    def __init__(self) -> None:
        self.tables: list[IdTable] = []
        self.rows: Entries | None = None
        self.there: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.count = 0

    def __len__(self) -> int:
        return self.count

    @property
    def given(self) -> int:
        """How many ids there are, also of rows that are gone."""
        return len(self.there)

    def take(self) -> Entries | None:
        """Removes all rows and returns them."""
        rows, there = self.rows, np.flatnonzero(self.there)
        self.tables, self.rows, self.there, self.count = [], None, np.zeros(0, np.bool_), 0
        return None if rows is None or not len(there) else rows.take(there)

    def replace(self, new: Entries) -> tuple[Entries, Entries]:
        """Replaces earlier rows by new ones. Returns the rows that were replaced, and the rows that entered.

        Cost: O(new rows), amortised.
        """
        ids = self._ids(new).astype(np.int64)
        _, from_end = np.unique(ids[::-1], return_index=True)
        last = np.sort(len(ids) - 1 - from_end)  # a group may have several new rows: the last one counts
        new, ids = new.take(last), ids[last]
        rows = self._cover(new, int(ids.max()) + 1)
        gone = ids[self.there[ids]]
        replaced = rows.take(gone)
        counts = new.payload.ints[:, 0] > 0
        entered, at = new.take(np.flatnonzero(counts)), ids[counts]
        for held, own in zip(_columns(rows), _columns(entered), strict=True):
            held[at] = own
        self.there[gone] = False
        self.there[at] = True
        self.count += len(at) - len(gone)
        return replaced, entered

    def _ids(self, rows: Entries) -> Ids:
        first, *others = rows.key, rows.group, rows.carried, *rows.parts.T
        self.tables = self.tables or [IdTable() for _ in others]
        for table, own in zip(self.tables, others, strict=True):
            first = table.intern_pairs(first, np.ascontiguousarray(own))
        return first

    def _cover(self, like: Entries, ids: int) -> Entries:
        """The array of rows, with room for this many ids."""
        room = len(self.there)
        if self.rows is None or ids > room:
            more = max(ids, 2 * room)
            empty = like.take(np.zeros(more - room, np.int64))
            self.rows = empty if self.rows is None else joined([self.rows, empty])
            self.there = np.concatenate([self.there, np.zeros(more - room, np.bool_)])
        return self.rows


def _columns(rows: Entries) -> list[NDArray[np.generic]]:
    payload = [column for column in rows.payload if column is not None]
    draws = [] if rows.draws is None else [rows.draws]
    return [rows.cells, rows.key, rows.parts, rows.group, rows.carried, *payload, *draws]
