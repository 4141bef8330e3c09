"""The last rows of each key: the stage that makes a view of ``[PARTITION BY k ROWS n]``.

Rows are distributed by the columns of PARTITION BY and put in order within them, as soon as the watermark has passed
them; no order over all rows is needed. A row that enters drives out the row n places before it:

    rows of a key       1   2   3   4         n = 2
    at 1 µs after 3     enters 3, leaves 1
    at 1 µs after 4     enters 4, leaves 2

The view has a row for each that is inside, and one that counts nothing for each that leaves. Rows that filters remove,
or that have no join key, drive others out too; they are not in the view. A row that matches several of a relation is
there once for each match, and all of them come and go together.
"""

import numpy as np
import pyarrow as pa

from joinfold.kernels.grouping import group_rows
from joinfold.operators.bucket import Bucket, Noted
from joinfold.operators.chain import ORIGIN
from joinfold.operators.choice import FoldChoice
from joinfold.operators.entries import Integers
from joinfold.operators.layout import FoldLayout
from joinfold.operators.merge import together
from joinfold.operators.ordering import in_order, ranks
from joinfold.operators.timeline import END
from joinfold.operators.values import identity_codes

WAITING, INSIDE = 0, 1  # where rows are stored: until the watermark has passed them, and then with their turn
BITS = 40  # of the numbers of a bucket's rows, which are unique with the number of the bucket before them


class PartitionFold(Bucket):
    """One bucket: the rows that wait, and the last n of each key."""

    def __init__(self, layout: FoldLayout, number: int, choice: FoldChoice | None = None) -> None:
        super().__init__(layout, number, choice)
        (self.stream,) = layout.feeds
        self.size = layout.partition_rows
        self.waiting: list[pa.RecordBatch] = []
        self.inside: list[pa.RecordBatch] = []
        self.made: list[tuple[int, pa.RecordBatch]] = []

    @property
    def entries_held(self) -> int:
        """How many rows wait or are inside."""
        return sum(batch.num_rows for batch in (*self.waiting, *self.inside))

    @property
    def cells_held(self) -> int:
        """Rows are not in cells."""
        return 0

    @property
    def bytes_held(self) -> int:
        """The memory of all rows."""
        return sum(batch.nbytes for batch in (*self.waiting, *self.inside))

    @property
    def touched(self) -> int:
        """There are no structures."""
        return 0

    def _see(self, stream: int, cells: Integers) -> None:
        """Instants are found by the folds: here cells would only pile up."""

    def add(self, place: int, batch: pa.RecordBatch) -> None:
        """Keeps rows."""
        (self.inside if place == INSIDE else self.waiting).append(batch)

    def resume(self) -> None:
        """Of stored rows those wait that have had no turn yet; of the others the last are inside."""
        answered = self.moment.answered
        if answered is None:
            return
        self.waiting = [batch.filter(pa.array(_times(batch) >= answered)) for batch in self.waiting]
        if self.inside:
            rows = together(self.inside)
            self.inside = [rows.filter(pa.array(self._left(rows) == END))]

    def answer(self, to_the_end: bool = False) -> Noted:
        """Lets rows in that are final; what enters and what leaves, as rows of the view."""
        until = END if to_the_end else self.watermark
        if until is None:
            return Noted(None, [])
        self.moment.answered = until
        new = self._final(until)
        if new is None:
            return Noted(None, [])
        self.made.append((INSIDE, new))
        rows = together([*self.inside, new])
        left = self._left(rows)
        self.inside = [rows.filter(pa.array(left == END))]
        shown = rows.column("i0").to_numpy() > 0
        is_new = np.arange(rows.num_rows) >= rows.num_rows - new.num_rows
        entered, gone = np.flatnonzero(shown & is_new), np.flatnonzero(shown & (left != END))
        instants = np.concatenate([_times(rows)[entered] + 1, left[gone]])
        view = rows.take(pa.array(np.concatenate([entered, gone])))
        counts = np.concatenate([np.ones(len(entered), np.int64), np.zeros(len(gone), np.int64)])
        return Noted(self._view(view, instants, counts), [])

    def take_made(self) -> list[tuple[int, pa.RecordBatch]]:
        """The rows that got their turn: they have to be stored with it."""
        made, self.made = self.made, []
        return made

    def is_done(self, place: int, last_cell: int) -> bool:
        """Whether stored rows up to this time have got their turn by now."""
        return place == WAITING and self.moment.answered is not None and last_cell < self.moment.answered

    def alike_before(self, place: int) -> int:
        """Rows that are inside leave in any order."""
        return END if place == INSIDE else super().alike_before(place)

    def compacted(self, place: int, entries: pa.RecordBatch, are_all: bool) -> pa.RecordBatch:
        """Without the rows that have left."""
        if place == WAITING:
            return entries
        inside = _column(together(self.inside), ORIGIN) if self.inside else np.empty(0, np.int64)
        return entries.filter(pa.array(np.isin(_column(entries, ORIGIN), inside)))

    def _final(self, until: int) -> pa.RecordBatch | None:
        """The rows before the watermark in order, each with its turn; what matches one row has one turn."""
        if not self.waiting:
            return None
        rows = together(self.waiting)
        is_final = _times(rows) < until
        self.waiting = [rows.filter(pa.array(~is_final))] if not is_final.all() else []
        if not is_final.any():
            return None
        final = rows.filter(pa.array(is_final))
        rank, row = ranks(final, in_order(final)), _column(final, "row")
        order = np.lexsort((row, rank))
        final, differs = final.take(pa.array(order)), np.ones(len(order), np.int64)
        differs[1:] = (np.diff(rank[order]) != 0) | (np.diff(row[order]) != 0)
        before = self.moment.numbered[self.stream]
        self.moment.numbered[self.stream] += final.num_rows
        unique = (self.number << BITS) + before + np.arange(final.num_rows)
        turns = before + np.cumsum(differs)
        return final.append_column(ORIGIN, pa.array(unique)).append_column("turn", pa.array(turns))

    def _left(self, rows: pa.RecordBatch) -> Integers:
        """The instant at which each row leaves; END for those that are inside."""
        _, first, row_of = np.unique(_column(rows, "turn"), return_index=True, return_inverse=True)
        codes = [code for name in self.layout.partition for code in identity_codes(rows.column(name))]
        key, _ = group_rows(np.stack(codes)[:, first])
        order = np.argsort(key, kind="stable")
        left = np.full(len(order), END, np.int64)
        driven, driving = order[: -self.size], order[self.size :]
        is_driven = key[driven] == key[driving]
        left[driven[is_driven]] = _times(rows)[first[driving[is_driven]]] + 1
        found: Integers = left[row_of]
        return found

    def _view(self, rows: pa.RecordBatch, instants: Integers, counts: Integers) -> pa.RecordBatch | None:
        if not rows.num_rows:
            return None
        side = self.layout.inputs[0]
        names = dict.fromkeys((*side.identity, ORIGIN, *(name for name in rows.schema.names if name[0] in "ihle")))
        columns = {name: rows.column(name) for name in names if name in rows.schema.names}
        return pa.RecordBatch.from_pydict({**columns, "cell": pa.array(instants), "i0": pa.array(counts)})


def _times(rows: pa.RecordBatch) -> Integers:
    return _column(rows, "cell")


def _column(rows: pa.RecordBatch, name: str) -> Integers:
    return np.asarray(rows.column(name).to_numpy(), np.int64)
