"""Calendars of windows that count rows. Their cells are blocks of rows: row boundaries tell the block of each row.

The stage `stages.number_rows` finds the row boundaries, which every bucket gets. For [ROWS 6 SLIDE 4], whose blocks
have 2 rows and which moves after every fourth row:

    number of the row      1   2   3   4   5   6   7   8
    boundaries                   |       |       |       |    each with the number and time of the row before it
    blocks                   0       1       2       3
    after row 4            [-------------)                    content: blocks 0 and 1
    after row 8                    [---------------------)    content: blocks 1 to 3

A window moves 1 µs after the row that completes its move. [RANGE … SLIDE n ROWS] also moves at row boundaries, but its
content is an interval of time, and its cells are single microseconds.
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
    """The row boundaries of one stream, as far as they are known and still matter.

    ``order`` are the columns that order rows of one time. ``numbers`` and ``times`` have, for each boundary, the number
    and the time of the last row before it. ``moves`` are the instants at which the window moves, ascending; several may
    be equal.
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
        """Replaces the boundaries, and precomputes the three arrays: they are read at every instant."""
        self.rows = rows
        nothing = np.empty(0, np.int64)
        self.numbers = nothing if rows is None else np.asarray(rows.column(NUMBER).to_numpy())
        self.times = nothing if rows is None else np.asarray(rows.column(CELL).to_numpy())
        self.moves = self.times[self.numbers % self.window.slide == 0] + 1

    @property
    def last(self) -> int:
        """The number of the last row before the last boundary; 0 without boundaries."""
        return int(self.numbers.max(initial=0))

    @property
    def moved(self) -> int:
        """The number of moves so far of a window that moves at every boundary. Boundaries of one time are one move."""
        return 0 if self.rows is None else int(self.rows.column(MOVED).to_numpy().max())

    def move(self, number: int) -> int:
        """The instant of a move of such a window; moves count from 0."""
        assert self.rows is not None
        return int(self.times[np.searchsorted(self.rows.column(MOVED).to_numpy(), number + 1)]) + 1

    def after(self, number: int) -> int:
        """1 µs after the first boundary at or after the row of this number; NEVER if there is none yet."""
        at = int(np.searchsorted(self.numbers, number))
        return int(self.times[at]) + 1 if at < len(self.numbers) else NEVER

    def add(self, rows: pa.RecordBatch) -> None:
        """Adds boundaries, in any order."""
        batches = [rows] if self.rows is None else [self.rows, rows]
        table = pa.Table.from_batches(batches).sort_by(NUMBER).combine_chunks()
        self._keep(table.to_batches()[0] if table.num_rows else None)

    def content(self, instant: int) -> tuple[int, int]:
        """What the window holds at an instant, end exclusive: blocks of rows or, for RANGE … SLIDE n ROWS, times."""
        numbers, moves = self.numbers, self.moves
        known = int(np.searchsorted(moves, instant, "right"))
        if isinstance(self.window, RangeByRows):
            if not known:
                return BEGINNING, BEGINNING
            return int(moves[known - 1]) - self.window.size_us, int(moves[known - 1])
        last = int(numbers[numbers % self.window.slide == 0][known - 1]) // self.window.block if known else 0
        return max(0, last - self.window.size // self.window.block), last

    def entry(self, cells: Integers) -> Integers:
        """The move at which each cell entered the window: the first one after its time, or after its last row."""
        if isinstance(self.window, RangeByRows):
            found: Integers = self.moves[np.searchsorted(self.moves, cells, "right")]
            return found
        block, slide = self.window.block, self.window.slide
        completing = -(-(cells + 1) * block // slide) * slide
        times: Integers = self.times[np.searchsorted(self.numbers, completing)]
        return times + 1

    def done_before(self, first: int) -> int:
        """The time before which rows and boundaries are no longer needed if the content begins at ``first``."""
        if isinstance(self.window, RangeByRows):
            return first
        if first <= 0:  # all are needed; under MOD k ``first`` is BEGINNING
            return BEGINNING
        at = int(np.searchsorted(self.numbers, first * self.window.block))
        return int(self.times[at]) if at < len(self.numbers) else BEGINNING

    def forget(self, first: int) -> None:
        """Drops the boundaries that are no longer needed if the content begins at ``first``."""
        if self.rows is not None:
            useful = self.times >= self.done_before(first)
            if not useful.all():
                self._keep(self.rows.filter(pa.array(useful)))

    def blocks(self, rows: pa.RecordBatch, after: int) -> Integers:
        """The block of each row, −1 where it is not known yet. Boundaries up to number ``after`` precede all rows."""
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
        """For rows of one time, the index of the first boundary after each; ``known`` are that time's boundaries."""
        assert self.rows is not None
        boundaries = self.rows.take(pa.array(known))
        names = [CELL, *self.order]
        both = pa.Table.from_batches([rows.select(names), boundaries.select(names)]).combine_chunks().to_batches()[0]
        rank = ranks(both, self.order, in_order(both, self.order))
        rank_of_row, rank_of_boundary = rank[: rows.num_rows], rank[rows.num_rows :]
        copy, alike = _copies(rows)
        copies, equal = (boundaries.column(name).to_numpy() for name in (COPIES, EQUAL))
        found = np.full(len(rank_of_row), int(known[-1]) + 1)
        for at in reversed(range(len(known))):
            if copies[at]:  # equal rows have equally many matches in relations, so the same share is before it
                among = (rank_of_row == rank_of_boundary[at]) & (copy * equal[at] < copies[at] * alike)
                found[(rank_of_row < rank_of_boundary[at]) | among] = known[at]
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
        """Does nothing: boundaries tell the instants."""

    def learn(self, boundaries: pa.RecordBatch) -> None:
        """Adds row boundaries."""
        self.boundaries.add(boundaries)

    def content(self, instant: int) -> Content:
        """What the window holds at an instant: blocks of rows, or times."""
        return self.boundaries.content(instant)

    def entry(self, cells: Integers) -> Integers:
        """The instants at which cells that have entered did so."""
        return self.boundaries.entry(cells)

    def leave(self, cells: Integers, now: int) -> Integers:
        """END: later rows decide."""
        return np.full(len(cells), NEVER)

    def moves(self, until: int) -> Integers | None:
        """The instants at which the window has moved."""
        return self.boundaries.moves

    def done_before(self, first: int) -> int:
        """A time: rows and boundaries are stored by their times."""
        return self.boundaries.done_before(self.keeps(first))

    def forget(self, first: int) -> None:
        """Drops boundaries that are no longer needed."""
        self.boundaries.forget(self.keeps(first))


class RowsCalendar(CountingCalendar):
    """The calendar of ``[ROWS n SLIDE m]``: cells are blocks of rows."""

    def __init__(self, timing: Timing, stream: int, position: StreamPosition, order: tuple[str, ...] = ()) -> None:
        super().__init__(timing, stream, position, order)
        self.applied = 0  # the number of the last boundary that was applied to waiting rows

    def cells_of(self, rows: pa.RecordBatch) -> Integers:
        """The block of each row; −1 where it is not known yet."""
        found = self.boundaries.blocks(rows, self.applied)
        self.applied = self.boundaries.last
        return found


def _copies(rows: pa.RecordBatch) -> tuple[Integers, Integers]:
    """For each row, how many rows before it are equal to it in all columns, and how many there are in all."""
    codes = [code for column in rows.columns for code in identity_codes(column)]
    number, first = group_rows(np.stack(codes))
    order = np.argsort(number, kind="stable")
    begins = np.searchsorted(number[order], np.arange(len(first)))
    copy = np.empty(len(number), np.int64)
    copy[order] = np.arange(len(number)) - begins[number[order]]
    return copy, np.bincount(number)[number]
