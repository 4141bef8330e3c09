"""The last rows of each key: the stage that makes a view of ``[PARTITION BY k ROWS n]``.

Rows are distributed by the PARTITION BY columns, and sorted within them once the watermark has passed them. No order
over all rows is needed. A row that enters pushes out the n-th row before it of the same key:

    rows of a key       1   2   3   4         n = 2
    at 1 µs after 3     3 enters, 1 leaves
    at 1 µs after 4     4 enters, 2 leaves

The view gets a row for each row that enters, and a row with the count 0 for each that leaves. Rows that a filter
removes or that have no join key push out others too, but are not in the view. A row with several matches in relations
is in the view once for each match; all of them enter and leave together.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from joinfold.kernels.grouping import group_rows
from joinfold.operators.batches import cells_of, together
from joinfold.operators.calendars.calendar import END
from joinfold.operators.calendars.position import Position
from joinfold.operators.emitted import NOTHING_EMITTED, Emitted
from joinfold.operators.entries import Integers
from joinfold.operators.ordering import in_order, ranks
from joinfold.operators.stages.bucket import Accepted, Bucket
from joinfold.operators.values import identity_codes
from joinfold.physical.column_names import CELL, COUNT, ORIGIN, ROW, TURN
from joinfold.physical.edge import EntriesFrom, OrderFrom
from joinfold.physical.shedding import Shedding
from joinfold.physical.stage import LastRowsPerKey
from joinfold.physical.stored import Inside, Stored, Waiting
from joinfold.physical.timing import Timing

BITS = 40  # row numbers within a bucket have so many bits; the number of the bucket is above them


class LastRows(Bucket):
    """One bucket: the rows that wait for the watermark, and the last n rows of each key."""

    stage: LastRowsPerKey
    sees_cells = False

    def __init__(self, stage: LastRowsPerKey, timing: Timing, number: int, shedding: Shedding | None = None) -> None:
        super().__init__(stage, timing, number, shedding=shedding)
        self.spec = stage.input
        self.by = stage.by
        self.size = stage.rows
        self.waiting: list[pa.RecordBatch] = []
        self.inside: list[pa.RecordBatch] = []
        self.made: Accepted = []

    @property
    def entries_held(self) -> int:
        """How many rows wait or are inside."""
        return sum(batch.num_rows for batch in (*self.waiting, *self.inside))

    @property
    def cells_held(self) -> int:
        """0: rows are not in cells."""
        return 0

    @property
    def bytes_held(self) -> int:
        """The memory of all rows."""
        return sum(batch.nbytes for batch in (*self.waiting, *self.inside))

    @property
    def touched(self) -> int:
        """0: there are no structures."""
        return 0

    def stored_from(self, edge: EntriesFrom | OrderFrom) -> Stored:
        """New rows wait first."""
        return Waiting()

    def add(self, stored: Stored, batch: pa.RecordBatch) -> None:
        """Keeps stored rows."""
        (self.inside if stored == Inside() else self.waiting).append(batch)

    def resume(self, position: Position) -> None:
        """Drops waiting rows that have entered, and inside rows that have left."""
        super().resume(position)
        answered = position.answered
        if answered is None:
            return
        self.waiting = [batch.filter(pa.array(cells_of(batch) >= answered)) for batch in self.waiting]
        if self.inside:
            rows = together(self.inside)
            self.inside = [rows.filter(pa.array(self._left(rows) == END))]

    def answer(self, to_the_end: bool = False) -> Iterator[Emitted]:
        """Lets final rows enter; returns what enters and what leaves, as rows of the view."""
        until = END if to_the_end else self.watermark
        if until is None:
            yield NOTHING_EMITTED
            return
        self.position.answered = until
        if self.sampler is not None:
            self.thins, self.sampler.lowered = self.sampler.lowered, False
        if self.thins:
            self.waiting = [self.still_held(Waiting(), batch) for batch in self.waiting]
            self.inside = [self.still_held(Inside(), batch) for batch in self.inside]
        new = self._final(until)
        if new is None:
            yield NOTHING_EMITTED
            return
        self.made.append((Inside(), new))
        rows = together([*self.inside, new])
        left = self._left(rows)
        self.inside = [rows.filter(pa.array(left == END))]
        shown = rows.column(COUNT).to_numpy() > 0
        is_new = np.arange(rows.num_rows) >= rows.num_rows - new.num_rows
        entered, gone = np.flatnonzero(shown & is_new), np.flatnonzero(shown & (left != END))
        instants = np.concatenate([cells_of(rows)[entered] + 1, left[gone]])
        view = rows.take(pa.array(np.concatenate([entered, gone])))
        counts = np.concatenate([np.ones(len(entered), np.int64), np.zeros(len(gone), np.int64)])
        yield Emitted(self._view(view, instants, counts), [])

    def take_made(self) -> Accepted:
        """The rows that have entered, which are stored with their turn: their number in the order of this bucket."""
        made, self.made = self.made, []
        return made

    def is_done(self, stored: Stored, last_cell: int) -> bool:
        """Whether stored rows up to this time have entered by now, so they no longer wait."""
        answered = self.position.answered
        return stored == Waiting() and answered is not None and last_cell < answered

    def alike_before(self, stored: Stored) -> int:
        """For rows inside, END: they leave in any order."""
        return END if stored == Inside() else super().alike_before(stored)

    def compacted(self, stored: Stored, rows: pa.RecordBatch, are_all: bool) -> pa.RecordBatch:
        """The rows without those that have left."""
        if stored == Waiting():
            return rows
        inside = _column(together(self.inside), ORIGIN) if self.inside else np.empty(0, np.int64)
        return rows.filter(pa.array(np.isin(_column(rows, ORIGIN), inside)))

    def _final(self, until: int) -> pa.RecordBatch | None:
        """The final rows in order, each with its turn; all matches of one row have the same turn."""
        if not self.waiting:
            return None
        rows = together(self.waiting)
        is_final = cells_of(rows) < until
        self.waiting = [rows.filter(pa.array(~is_final))] if not is_final.all() else []
        if not is_final.any():
            return None
        final = rows.filter(pa.array(is_final))
        order = self.spec.order
        rank, row = ranks(final, order, in_order(final, order)), _column(final, ROW)
        indices = np.lexsort((row, rank))
        final, differs = final.take(pa.array(indices)), np.ones(len(indices), np.int64)
        differs[1:] = (np.diff(rank[indices]) != 0) | (np.diff(row[indices]) != 0)
        seen = self.position.streams[self.stage.stream]
        before = seen.numbered
        seen.numbered += final.num_rows
        unique = (self.number << BITS) + before + np.arange(final.num_rows)
        turns = before + np.cumsum(differs)
        return final.append_column(ORIGIN, pa.array(unique)).append_column(TURN, pa.array(turns))

    def _left(self, rows: pa.RecordBatch) -> Integers:
        """The instant at which each row leaves; END for those that are inside."""
        _, first, row_of = np.unique(_column(rows, TURN), return_index=True, return_inverse=True)
        codes = [code for name in self.by for code in identity_codes(rows.column(name))]
        key, _ = group_rows(np.stack(codes)[:, first])
        order = np.argsort(key, kind="stable")
        left = np.full(len(order), END, np.int64)
        driven, driving = order[: -self.size], order[self.size :]
        is_driven = key[driven] == key[driving]
        left[driven[is_driven]] = cells_of(rows)[first[driving[is_driven]]] + 1
        found: Integers = left[row_of]
        return found

    def _view(self, rows: pa.RecordBatch, instants: Integers, counts: Integers) -> pa.RecordBatch | None:
        if not rows.num_rows:
            return None
        spec = self.spec
        reals = [name for names in spec.real_names for name in names]
        names = (*spec.stored_identity, ORIGIN, *spec.integer_names, *reals, *spec.extreme_names)
        columns = {name: rows.column(name) for name in names}
        return pa.RecordBatch.from_pydict({**columns, CELL: pa.array(instants), COUNT: pa.array(counts)})


def _column(rows: pa.RecordBatch, name: str) -> Integers:
    return np.asarray(rows.column(name).to_numpy(), np.int64)
