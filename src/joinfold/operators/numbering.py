"""Numbers for rows: the stage that finds where windows that count rows move.

A window such as ``[ROWS 5000 SLIDE 1000]`` depends on the number of each row in the order of its stream: by time, then
by values. Numbers are final as soon as the watermark has passed a row. PACK sends the order of a stream to one bucket
of this stage, the time and the values that decide among rows of one time; the rows themselves go to the folds, by their
keys. The stage answers with *cuts*, the places in the order at which blocks of rows end:

    number     1   2   3   4   5   6   7   8   9          [ROWS 6 SLIDE 4]: blocks of 2 rows, a move every 4
    ts         0   1   3   3   3   3   5   6   6
    cuts           |       ┊       |       ┊              | all rows up to this time
                                                          ┊ some of the rows of this time: up to a row, and of all
                                                            that are equal to it so many

Every bucket of every fold gets the cuts, and tells by them which rows it has of which block.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from joinfold.operators.bucket import Bucket, Noted
from joinfold.operators.choice import FoldChoice
from joinfold.operators.entries import Integers
from joinfold.operators.layout import FoldLayout
from joinfold.operators.ordering import cells_of, in_order, ranks
from joinfold.operators.timeline import END
from joinfold.window import RangeByRows, Rows


class NumberFold(Bucket):
    """One bucket of the stage: the streams whose order it gets, rows that wait for the watermark, and how many went."""

    counts_late = False  # the folds do, which have the rows

    def __init__(self, layout: FoldLayout, number: int, choice: FoldChoice | None = None) -> None:
        super().__init__(layout, number, choice)
        self.waiting: list[list[pa.RecordBatch]] = [[] for _ in layout.feeds]
        self.fresh: list[tuple[int, pa.RecordBatch]] = []  # what came since the last answer

    @property
    def entries_held(self) -> int:
        """How many rows wait."""
        return sum(batch.num_rows for batches in self.waiting for batch in batches)

    @property
    def cells_held(self) -> int:
        """Rows are not in cells."""
        return 0

    @property
    def bytes_held(self) -> int:
        """The memory of rows that wait."""
        return sum(batch.nbytes for batches in self.waiting for batch in batches)

    @property
    def touched(self) -> int:
        """There are no structures."""
        return 0

    def absorb(self, blobs: Iterable[bytes]) -> list[tuple[int, pa.RecordBatch]]:
        """Takes in a micro-batch; most of it is numbered at once, so what has to be stored is known later."""
        self.fresh += super().absorb(blobs)
        return []

    def take_made(self) -> list[tuple[int, pa.RecordBatch]]:
        """The new rows that still wait."""
        fresh, self.fresh = self.fresh, []
        return [(place, rest) for place, batch in fresh if (rest := self._unnumbered(batch)).num_rows]

    def _see(self, stream: int, cells: Integers) -> None:
        """Instants are found by the folds: here cells would only pile up."""

    def add(self, place: int, batch: pa.RecordBatch) -> None:
        """Keeps rows until they are final."""
        self.waiting[place].append(batch)

    def resume(self) -> None:
        """Of stored rows those wait that have not been numbered."""
        self.waiting = [[self._unnumbered(batch) for batch in batches] for batches in self.waiting]

    def answer(self, to_the_end: bool = False) -> Noted:
        """Numbers what is final; the cuts of each stream."""
        until = END if to_the_end else self.watermark
        if until is None:
            return Noted(None, [])
        cuts = {}
        for place, stream in enumerate(self.layout.feeds):
            final = self._final(place, until)
            if final is not None:
                found = self._cuts(stream, final)
                cuts[stream] = found
                self.moment.numbered[stream] += final.num_rows
        self.moment.answered = until
        return Noted(None, [], cuts={stream: found for stream, found in cuts.items() if found.num_rows})

    def is_done(self, place: int, last_cell: int) -> bool:
        """Whether stored rows up to this time are numbered."""
        return self.moment.answered is not None and last_cell < self.moment.answered

    def compacted(self, place: int, entries: pa.RecordBatch, are_all: bool) -> pa.RecordBatch:
        """Every row counts."""
        return entries

    def _unnumbered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        answered = self.moment.answered
        return batch if answered is None else batch.filter(pa.array(cells_of(batch) >= answered))

    def _final(self, place: int, until: int) -> pa.RecordBatch | None:
        """The rows before the watermark, by time; those of one time in any order."""
        if not self.waiting[place]:
            return None
        rows = pa.Table.from_batches(self.waiting[place]).combine_chunks().to_batches()[0]
        is_final = cells_of(rows) < until
        self.waiting[place] = []
        if not is_final.all():
            self.waiting[place] = [rows.filter(pa.array(~is_final))]
            rows = rows.filter(pa.array(is_final))
        ts = cells_of(rows)
        if (ts[1:] < ts[:-1]).any():
            rows = rows.take(pa.array(np.argsort(ts, kind="stable")))
        return rows if rows.num_rows else None

    def _cuts(self, stream: int, rows: pa.RecordBatch) -> pa.RecordBatch:
        window = self.layout.timeline.windows[stream]
        assert isinstance(window, Rows | RangeByRows)
        before = self.moment.numbered[stream]
        first = before + 1 + -(before + 1) % window.block
        numbers = np.arange(first, before + rows.num_rows + 1, window.block)
        at = numbers - before - 1
        ts = rows.column("cell").to_numpy()
        begin, end = np.searchsorted(ts, ts[at], "left"), np.searchsorted(ts, ts[at], "right")
        copies, equal = np.zeros(len(at), np.int64), np.zeros(len(at), np.int64)
        for cut in np.flatnonzero(at + 1 < end):
            at[cut], copies[cut], equal[cut] = self._within(rows, int(begin[cut]), int(end[cut]), int(at[cut]))
        found = rows.take(pa.array(at))
        times = ts[at]
        moved = self.moment.moved[stream] + np.cumsum(np.diff(times, prepend=times[:1] - 1) != 0)
        self.moment.moved[stream] = int(moved[-1]) if len(moved) else self.moment.moved[stream]
        columns = {"number": numbers, "copies": copies, "equal": equal, "moved": moved}
        return pa.RecordBatch.from_arrays(
            [*found.columns, *map(pa.array, columns.values())], names=[*found.schema.names, *columns]
        )

    def _within(self, rows: pa.RecordBatch, begin: int, end: int, at: int) -> tuple[int, int, int]:
        """A cut among rows of one time: the row that it is after, how many equal ones it is after, and of how many."""
        ties = rows.slice(begin, end - begin)
        order = in_order(ties)
        rank = ranks(ties, order)
        last = int(order[at - begin])
        equal = rank == rank[last]
        return begin + last, int(np.count_nonzero(equal[order[: at - begin + 1]])), int(np.count_nonzero(equal))
