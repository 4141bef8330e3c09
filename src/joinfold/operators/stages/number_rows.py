"""Numbers for rows: the stage that finds where windows that count rows move.

A window such as ``[ROWS 5000 SLIDE 1000]`` depends on the number of each row in the order of its stream: by time, then
by values. Numbers are final as soon as the watermark has passed a row. PACK sends the order of a stream to one bucket
of this stage, the time and the values that decide among rows of one time; the rows themselves go to the folds, by their
keys. The stage answers with *row boundaries*, the places in the order at which blocks of rows end:

    number     1   2   3   4   5   6   7   8   9          [ROWS 6 SLIDE 4]: blocks of 2 rows, a move every 4
    ts         0   1   3   3   3   3   5   6   6
    boundaries     |       ┊       |       ┊              | all rows up to this time
                                                          ┊ some of the rows of this time: up to a row, and of all
                                                            that are equal to it so many

Every bucket of every fold gets the boundaries, and tells by them which rows it has of which block.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from joinfold.operators.batches import cells_of
from joinfold.operators.calendars.calendar import END
from joinfold.operators.calendars.position import Position
from joinfold.operators.emitted import NOTHING_EMITTED, Emitted
from joinfold.operators.ordering import in_order, ranks
from joinfold.operators.stages.bucket import Accepted, Bucket
from joinfold.physical.column_names import CELL, COPIES, EQUAL, MOVED, NUMBER
from joinfold.physical.stage import NumberRows
from joinfold.physical.stored import OrderOf, Stored
from joinfold.physical.timing import Timing
from joinfold.window import RangeByRows, Rows


class RowNumbers(Bucket):
    """One bucket of the stage: the streams whose order it gets, rows that wait for the watermark, and how many went."""

    counts_late = False  # the folds do, which have the rows
    sees_cells = False

    def __init__(self, stage: NumberRows, timing: Timing, number: int) -> None:
        super().__init__(stage, timing, number)
        self.waiting: dict[str, list[pa.RecordBatch]] = {timing.names[stream]: [] for stream in stage.streams}
        self.fresh: Accepted = []  # what came since the last answer

    @property
    def entries_held(self) -> int:
        """How many rows wait."""
        return sum(batch.num_rows for batches in self.waiting.values() for batch in batches)

    @property
    def cells_held(self) -> int:
        """Rows are not in cells."""
        return 0

    @property
    def bytes_held(self) -> int:
        """The memory of rows that wait."""
        return sum(batch.nbytes for batches in self.waiting.values() for batch in batches)

    @property
    def touched(self) -> int:
        """There are no structures."""
        return 0

    def absorb(self, blobs: Iterable[bytes]) -> Accepted:
        """Takes in a micro-batch; most of it is numbered at once, so what has to be stored is known later."""
        self.fresh += super().absorb(blobs)
        return []

    def take_made(self) -> Accepted:
        """The new rows that still wait."""
        fresh, self.fresh = self.fresh, []
        return [(stored, rest) for stored, batch in fresh if (rest := self._unnumbered(batch)).num_rows]

    def add(self, stored: Stored, batch: pa.RecordBatch) -> None:
        """Keeps rows until they are final."""
        assert isinstance(stored, OrderOf)
        self.waiting[stored.stream].append(batch)

    def resume(self, position: Position) -> None:
        """Of stored rows those wait that have not been numbered."""
        super().resume(position)
        self.waiting = {name: [self._unnumbered(batch) for batch in own] for name, own in self.waiting.items()}

    def answer(self, to_the_end: bool = False) -> Emitted:
        """Numbers what is final; the boundaries of each stream."""
        until = END if to_the_end else self.watermark
        if until is None:
            return NOTHING_EMITTED
        boundaries = {}
        for name in self.waiting:
            stream, final = self.timing.names.index(name), self._final(name, until)
            if final is not None:
                boundaries[stream] = self._boundaries(stream, final)
                self.position.streams[stream].numbered += final.num_rows
        self.position.answered = until
        return Emitted(None, [], boundaries={stream: own for stream, own in boundaries.items() if own.num_rows})

    def is_done(self, stored: Stored, last_cell: int) -> bool:
        """Whether stored rows up to this time are numbered."""
        return self.position.answered is not None and last_cell < self.position.answered

    def _unnumbered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        answered = self.position.answered
        return batch if answered is None else batch.filter(pa.array(cells_of(batch) >= answered))

    def _final(self, name: str, until: int) -> pa.RecordBatch | None:
        """The rows before the watermark, by time; those of one time in any order."""
        if not self.waiting[name]:
            return None
        rows = pa.Table.from_batches(self.waiting[name]).combine_chunks().to_batches()[0]
        is_final = cells_of(rows) < until
        self.waiting[name] = []
        if not is_final.all():
            self.waiting[name] = [rows.filter(pa.array(~is_final))]
            rows = rows.filter(pa.array(is_final))
        ts = cells_of(rows)
        if (ts[1:] < ts[:-1]).any():
            rows = rows.take(pa.array(np.argsort(ts, kind="stable")))
        return rows if rows.num_rows else None

    def _boundaries(self, stream: int, rows: pa.RecordBatch) -> pa.RecordBatch:
        window, position = self.timing.windows[stream], self.position.streams[stream]
        assert isinstance(window, Rows | RangeByRows)
        before = position.numbered
        first = before + 1 + -(before + 1) % window.block
        numbers = np.arange(first, before + rows.num_rows + 1, window.block)
        at = numbers - before - 1
        ts = rows.column(CELL).to_numpy()
        begin, end = np.searchsorted(ts, ts[at], "left"), np.searchsorted(ts, ts[at], "right")
        copies, equal = np.zeros(len(at), np.int64), np.zeros(len(at), np.int64)
        for own in np.flatnonzero(at + 1 < end):
            at[own], copies[own], equal[own] = self._within(rows, int(begin[own]), int(end[own]), int(at[own]))
        found = rows.take(pa.array(at))
        times = ts[at]
        moved = position.moved + np.cumsum(np.diff(times, prepend=times[:1] - 1) != 0)
        position.moved = int(moved[-1]) if len(moved) else position.moved
        columns = {NUMBER: numbers, COPIES: copies, EQUAL: equal, MOVED: moved}
        return pa.RecordBatch.from_arrays(
            [*found.columns, *map(pa.array, columns.values())], names=[*found.schema.names, *columns]
        )

    def _within(self, rows: pa.RecordBatch, begin: int, end: int, at: int) -> tuple[int, int, int]:
        """A boundary among rows of one time: the row before it, how many equal ones are, and of how many."""
        ties = rows.slice(begin, end - begin)
        names = [name for name in rows.schema.names if name != CELL]
        order = in_order(ties, names)
        rank = ranks(ties, names, order)
        last = int(order[at - begin])
        equal = rank == rank[last]
        return begin + last, int(np.count_nonzero(equal[order[: at - begin + 1]])), int(np.count_nonzero(equal))
