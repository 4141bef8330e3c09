"""Calendars of windows that count rows: where the order of a stream is divided into blocks, and the block of each row.

See `stages.number_rows` for where the boundaries of blocks come from.
"""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from joinfold.kernels.grouping import group_rows
from joinfold.operators.calendars.calendar import BEGINNING, NEVER, Content
from joinfold.operators.calendars.position import StreamPosition
from joinfold.operators.calendars.time import CellCalendar
from joinfold.operators.entries import Integers
from joinfold.operators.ordering import in_order, ranks
from joinfold.operators.values import identity_codes
from joinfold.physical.column_names import CELL, COPIES, EQUAL, MOVED, NUMBER
from joinfold.physical.timing import Timing
from joinfold.window import RangeByRows, Rows


@dataclass(slots=True)
class Boundaries:
    """The row boundaries of one stream as far as they are known and still matter.

    ``order`` are the columns that order rows of one time.
    """

    window: Rows | RangeByRows
    order: tuple[str, ...] = ()
    rows: pa.RecordBatch | None = None
    numbers: Integers = field(init=False)
    times: Integers = field(init=False)
    moves: Integers = field(init=False)

    def __post_init__(self) -> None:
        self._keep(self.rows)

    def _keep(self, rows: pa.RecordBatch | None) -> None:
        """Takes the number of the last row before each boundary, its time, and the instants at which the window moves.

        Moves are in order, and several may be one. All three are asked for at every instant.
        """
        self.rows = rows
        nothing = np.empty(0, np.int64)
        self.numbers = nothing if rows is None else np.asarray(rows.column(NUMBER).to_numpy())
        self.times = nothing if rows is None else np.asarray(rows.column(CELL).to_numpy())
        self.moves = self.times[self.numbers % self.window.slide == 0] + 1

    @property
    def last(self) -> int:
        """The largest number."""
        return int(self.numbers.max(initial=0))

    @property
    def moved(self) -> int:
        """How many instants a window that moves at every boundary has moved at."""
        return 0 if self.rows is None else int(self.rows.column(MOVED).to_numpy().max())

    def move(self, number: int) -> int:
        """The instant of such a move, counted from 0."""
        assert self.rows is not None
        return int(self.times[np.searchsorted(self.rows.column(MOVED).to_numpy(), number + 1)]) + 1

    def after(self, number: int) -> int:
        """The instant after the row of a number at which there is a boundary; NEVER if it is not known yet."""
        at = int(np.searchsorted(self.numbers, number))
        return int(self.times[at]) + 1 if at < len(self.numbers) else NEVER

    def add(self, rows: pa.RecordBatch) -> None:
        """Takes in more, in any order."""
        batches = [rows] if self.rows is None else [self.rows, rows]
        table = pa.Table.from_batches(batches).sort_by(NUMBER).combine_chunks()
        self._keep(table.to_batches()[0] if table.num_rows else None)

    def content(self, instant: int) -> tuple[int, int]:
        """First and end, exclusive, of what the window holds at an instant: blocks of rows, or times."""
        numbers, moves = self.numbers, self.moves
        known = int(np.searchsorted(moves, instant, "right"))
        if isinstance(self.window, RangeByRows):
            if not known:
                return BEGINNING, BEGINNING
            return int(moves[known - 1]) - self.window.size_us, int(moves[known - 1])
        last = int(numbers[numbers % self.window.slide == 0][known - 1]) // self.window.block if known else 0
        return max(0, last - self.window.size // self.window.block), last

    def done_before(self, first: int) -> int:
        """Rows, and boundaries, before this time are of no more use where the content begins at ``first``."""
        if isinstance(self.window, RangeByRows):
            return first
        if first <= 0:  # all are of use: also where windows come again, which is said by BEGINNING
            return BEGINNING
        at = int(np.searchsorted(self.numbers, first * self.window.block))
        return int(self.times[at]) if at < len(self.numbers) else BEGINNING

    def forget(self, first: int) -> None:
        """Drops the boundaries that are of no more use where the content begins at ``first``."""
        if self.rows is not None:
            useful = self.times >= self.done_before(first)
            if not useful.all():
                self._keep(self.rows.filter(pa.array(useful)))

    def blocks(self, rows: pa.RecordBatch, after: int) -> Integers:
        """The block of each row, −1 where it is not known yet; boundaries up to a number are before all rows."""
        ts, known = rows.column(CELL).to_numpy(), np.flatnonzero(self.numbers > after)
        times = self.times[known]
        at = np.searchsorted(times, ts, "left")
        if self.rows is not None:
            copies = self.rows.column(COPIES).to_numpy()[known]
            for time in np.unique(times[copies > 0]):
                tied = np.flatnonzero(ts == time)
                if len(tied):
                    at[tied] = self._tied(rows.take(pa.array(tied)), known[times == time]) - known[0]
        ends = np.append(self.numbers[known] // self.window.block - 1, -1)
        found: Integers = ends[at]
        return found

    def _tied(self, rows: pa.RecordBatch, known: Integers) -> Integers:
        """The boundary that each of the rows of one time is before."""
        assert self.rows is not None
        marks = self.rows.take(pa.array(known))
        names = [CELL, *self.order]
        both = pa.Table.from_batches([rows.select(names), marks.select(names)]).combine_chunks().to_batches()[0]
        rank = ranks(both, self.order, in_order(both, self.order))
        own, marked = rank[: rows.num_rows], rank[rows.num_rows :]
        copy, alike = _copies(rows)
        copies, equal = (marks.column(name).to_numpy() for name in (COPIES, EQUAL))
        found = np.full(len(own), int(known[-1]) + 1)
        for at in reversed(range(len(known))):
            if copies[at]:  # of rows that are equal each has as many matches in relations
                among = (own == marked[at]) & (copy * equal[at] < copies[at] * alike)
                found[(own < marked[at]) | among] = known[at]
            else:
                found[:] = known[at]
        return found


class CountingCalendar(CellCalendar):
    """What windows that count rows have in common: row boundaries tell what they hold."""

    def __init__(self, timing: Timing, stream: int, position: StreamPosition, order: tuple[str, ...] = ()) -> None:
        super().__init__(timing, stream, position)
        window = timing.windows[stream]
        assert isinstance(window, Rows | RangeByRows)
        self.window = window
        self.boundaries = Boundaries(window, order)

    def see(self, cells: Integers) -> None:
        """Boundaries tell the instants."""

    def learn(self, boundaries: pa.RecordBatch) -> None:
        """Takes in row boundaries."""
        self.boundaries.add(boundaries)

    def content(self, instant: int) -> Content:
        """What the window holds at an instant: blocks of rows, or times."""
        return self.boundaries.content(instant)

    def leave(self, cells: Integers, now: int) -> Integers:
        """Later rows decide."""
        return np.full(len(cells), NEVER)

    def moves(self, until: int) -> Integers | None:
        """The instants at which the window has moved."""
        return self.boundaries.moves

    def done_before(self, first: int) -> int:
        """Rows and boundaries are stored by their times."""
        return self.boundaries.done_before(self.keeps(first))

    def forget(self, first: int) -> None:
        """Drops boundaries that are of no more use."""
        self.boundaries.forget(self.keeps(first))


class RowsCalendar(CountingCalendar):
    """The calendar of ``[ROWS n SLIDE m]``: cells are blocks of rows."""

    def __init__(self, timing: Timing, stream: int, position: StreamPosition, order: tuple[str, ...] = ()) -> None:
        super().__init__(timing, stream, position, order)
        self.applied = 0  # up to which number boundaries were applied to rows

    def cells_of(self, rows: pa.RecordBatch) -> Integers:
        """The block of each row; −1 where it is not known yet."""
        found = self.boundaries.blocks(rows, self.applied)
        self.applied = self.boundaries.last
        return found


def _copies(rows: pa.RecordBatch) -> tuple[Integers, Integers]:
    """Which of the rows that are equal in everything each is, from 0, and of how many."""
    codes = [code for column in rows.columns for code in identity_codes(column)]
    number, first = group_rows(np.stack(codes))
    order = np.argsort(number, kind="stable")
    begins = np.searchsorted(number[order], np.arange(len(first)))
    copy = np.empty(len(number), np.int64)
    copy[order] = np.arange(len(number)) - begins[number[order]]
    return copy, np.bincount(number)[number]
