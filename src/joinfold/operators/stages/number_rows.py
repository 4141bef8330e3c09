"""Row numbers: the stage that finds where windows that count rows move.

The content of a window such as ``[ROWS 5000 SLIDE 1000]`` depends on the number of each row in the order of its stream:
by time, then by values. A number is final as soon as the watermark has passed the row. PACK sends the order of a stream
(its times, and the values that order rows of one time) to one bucket of this stage; the rows themselves go to the
folds, by their keys. The stage emits *row boundaries*, the positions in the order at which blocks of rows end:

    number     1   2   3   4   5   6   7   8   9          [ROWS 6 SLIDE 4]: blocks of 2 rows, a move every 4
    ts         0   1   3   3   3   3   5   6   6
    boundaries     |       ┊       |       ┊              | after all rows of this time
                                                          ┊ among the rows of this time: after a row and, of all
                                                            rows that equal it, after so many

Every bucket of every fold gets the boundaries, and finds the block of each of its rows by them.
"""

from collections.abc import Iterable, Iterator

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
    """One bucket: for each stream that it numbers, the rows that wait for the watermark."""

    counts_late = False  # the folds count them: they have the rows
    sees_cells = False

    def __init__(self, stage: NumberRows, timing: Timing, number: int) -> None:
        super().__init__(stage, timing, number)
        self.waiting: dict[str, list[pa.RecordBatch]] = {timing.names[stream]: [] for stream in stage.streams}
        self.fresh: Accepted = []  # rows that came since the last `take_made`

    @property
    def entries_held(self) -> int:
        """How many rows wait."""
        return sum(batch.num_rows for batches in self.waiting.values() for batch in batches)

    @property
    def cells_held(self) -> int:
        """0: rows are not in cells."""
        return 0

    @property
    def bytes_held(self) -> int:
        """The memory of the rows that wait."""
        return sum(batch.nbytes for batches in self.waiting.values() for batch in batches)

    @property
    def touched(self) -> int:
        """0: there are no structures."""
        return 0

    def absorb(self, blobs: Iterable[bytes]) -> Accepted:
        """Takes a micro-batch. Returns nothing: most rows are numbered at once, and `take_made` returns the others."""
        self.fresh += super().absorb(blobs)
        return []

    def take_made(self) -> Accepted:
        """The new rows that still wait, which have to be stored."""
        fresh, self.fresh = self.fresh, []
        return [(stored, rest) for stored, batch in fresh if (rest := self._unnumbered(batch)).num_rows]

    def add(self, stored: Stored, batch: pa.RecordBatch) -> None:
        """Keeps rows until they are final."""
        assert isinstance(stored, OrderOf)
        self.waiting[stored.stream].append(batch)

    def resume(self, position: Position) -> None:
        """Drops waiting rows that have been numbered."""
        super().resume(position)
        for name, batches in self.waiting.items():
            self.waiting[name] = [self._unnumbered(batch) for batch in batches]

    def answer(self, to_the_end: bool = False) -> Iterator[Emitted]:
        """Numbers the final rows; returns the new boundaries of each stream."""
        until = END if to_the_end else self.watermark
        if until is None:
            yield NOTHING_EMITTED
            return
        boundaries = {}
        for name in self.waiting:
            stream, final = self.timing.names.index(name), self._final(name, until)
            if final is not None:
                boundaries[stream] = self._boundaries(stream, final)
                self.position.streams[stream].numbered += final.num_rows
        self.position.answered = until
        yield Emitted(None, [], boundaries={stream: rows for stream, rows in boundaries.items() if rows.num_rows})

    def is_done(self, stored: Stored, last_cell: int) -> bool:
        """Whether stored rows up to this time are numbered."""
        return self.position.answered is not None and last_cell < self.position.answered

    def _unnumbered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        answered = self.position.answered
        return batch if answered is None else batch.filter(pa.array(cells_of(batch) >= answered))

    def _final(self, name: str, until: int) -> pa.RecordBatch | None:
        """The rows before the watermark, sorted by time; rows of one time are in any order."""
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
        for tied in np.flatnonzero(at + 1 < end):
            at[tied], copies[tied], equal[tied] = self._within(rows, int(begin[tied]), int(end[tied]), int(at[tied]))
        found = rows.take(pa.array(at))
        times = ts[at]
        moved = position.moved + np.cumsum(np.diff(times, prepend=times[:1] - 1) != 0)
        position.moved = int(moved[-1]) if len(moved) else position.moved
        columns = {NUMBER: numbers, COPIES: copies, EQUAL: equal, MOVED: moved}
        return pa.RecordBatch.from_arrays(
            [*found.columns, *map(pa.array, columns.values())], names=[*found.schema.names, *columns]
        )

    def _within(self, rows: pa.RecordBatch, begin: int, end: int, at: int) -> tuple[int, int, int]:
        """A boundary within one time: the row before it; of its equals, how many precede it and how many exist."""
        ties = rows.slice(begin, end - begin)
        names = [name for name in rows.schema.names if name != CELL]
        order = in_order(ties, names)
        rank = ranks(ties, names, order)
        last = int(order[at - begin])
        equal = rank == rank[last]
        return begin + last, int(np.count_nonzero(equal[order[: at - begin + 1]])), int(np.count_nonzero(equal))
