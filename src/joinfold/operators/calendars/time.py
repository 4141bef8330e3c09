"""Calendars of windows in time, and of the last rows of each key.

A window in time holds a cell during one interval of τ, its stay. Both ends follow from the last microsecond of the
cell, since all its rows enter and leave together. An answer at τ sees the cell if τ lies in the stay:

    time             0   4   8   12  16        [6 SLIDE 4]: cells of 2 µs, moves at the multiples of 4
                     |   |   |   |   |
    cell 2               [-)                   4 ≤ ts < 6
    content at 8       [-----)                 cells 1, 2, 3
    content at 12          [-----)             cells 3, 4, 5
    stay of cell 2           [---)             8 ≤ τ < 12
"""

from typing import TypeVar

import numpy as np
import pyarrow as pa

from joinfold.operators.batches import cells_of
from joinfold.operators.calendars.calendar import BEGINNING, NEVER, NOTHING, Content
from joinfold.operators.calendars.position import StreamPosition
from joinfold.operators.entries import Flags, Integers
from joinfold.physical.timing import AsFound, AtArrivals, AtCandidates, AtTriggers, EmissionRule, TimeWindow, Timing
from joinfold.window import Landmark, PartitionedRows, Sliding

Time = TypeVar("Time", int, Integers)


class Candidates:
    """The times at which answers may be given: those on some grids and, with ``by_rows``, the moves by rows."""

    def __init__(self, rule: AtCandidates) -> None:
        self.grids = rule.grids
        self.by_rows = rule.by_rows

    def after(self, t: Integers, moves: Integers | None = None) -> Integers:
        """The first candidate > t, or NEVER; ``moves`` are those of windows that count rows, ascending."""
        first = np.full_like(t, NEVER)
        for grid in self.grids:
            first = np.minimum(first, grid.next(t))
        if self.by_rows and moves is not None:
            known = np.append(moves, NEVER)
            first = np.minimum(first, known[np.searchsorted(known, t, "right").clip(max=len(moves))])
        return first

    def within(self, after: Integers, until: Integers, moves: Integers | None = None, most: int = NEVER) -> Integers:
        """The first ``most`` candidates in the disjoint, ascending intervals after < τ ≤ until, ascending.

        Cost: O(intervals + candidates found).
        """
        found = []
        if self.by_rows and moves is not None:
            within = np.searchsorted(after, moves, "left") - 1
            found.append(moves[(within >= 0) & (moves <= np.append(until, BEGINNING)[within])])
        for grid in self.grids:
            first = grid.next(after)
            counts = np.maximum((until - first) // grid.period_us + 1, 0)
            ends = np.minimum(np.cumsum(counts), most)
            counts = np.diff(ends, prepend=0)
            steps = np.arange(counts.sum(), dtype=np.int64) - np.repeat(ends - counts, counts)
            found.append(np.repeat(first, counts) + steps * grid.period_us)
        return found[0] if len(found) == 1 and not self.by_rows else np.unique(np.concatenate(found))[:most]


class CellCalendar:
    """What calendars have in common: cells on a grid, lateness by the emission rule, and no row boundaries."""

    def __init__(self, timing: Timing, stream: int, position: StreamPosition) -> None:
        self.rule: EmissionRule = timing.rule
        self.cells = timing.cells[stream]
        self.position = position

    def cell_of(self, ts: Integers) -> Integers:
        """The cell of each row."""
        return (ts - self.cells.phase_us) // self.cells.period_us

    def accepts(self, ts: Integers) -> Flags:
        """True for all rows."""
        return np.ones(len(ts), np.bool_)

    def first_instant(self, cells: Integers) -> Integers:
        """1 µs after the cell: where rows move the window, a cell is a single microsecond."""
        return cells + 1

    def due(self, cells: Integers) -> Integers:
        """The smallest watermark at which rows of these cells are late.

        ON TRIGGER and ON ARRIVAL it is 1 µs after the row, for every row: also in a sliding window, between two
        windows, or before the beginning of a landmark. Cells are single microseconds there, since a part of a
        sub-window can be late. In a plain join a row that no window will hold is never late.
        """
        match self.rule:
            case AtTriggers() | AtArrivals():
                return cells + 1
            case AsFound():
                return np.where(self.accepts(cells), self.first_instant(cells), NEVER)
            case _:
                return self.first_instant(cells)

    def see(self, cells: Integers) -> None:
        """Adds the cells of accepted rows that are not late, in any order; repetitions do not matter."""
        known, new = self.position.occupied, np.unique(cells)
        at = np.searchsorted(known, new)
        fresh = np.ones(len(new), np.bool_)
        fresh[at < len(known)] = known[at[at < len(known)]] != new[at < len(known)]
        if fresh.any():
            self.position.occupied = np.insert(known, at[fresh], new[fresh])

    def learn(self, boundaries: pa.RecordBatch) -> None:
        """Does nothing: only calendars of windows that count rows need boundaries."""

    def cells_of(self, rows: pa.RecordBatch) -> Integers:
        """The cells of stored entries, as PACK has written them."""
        return cells_of(rows)

    def moves(self, until: int) -> Integers | None:
        """None: rows do not move the window."""
        return None

    def keeps(self, first: int) -> int:
        """The first cell of the content: cells that have left are no longer needed."""
        return first

    def done_before(self, first: int) -> int:
        """A cell: entries are stored by their cells."""
        return self.keeps(first)

    def forget(self, first: int) -> None:
        """Does nothing: there are no row boundaries."""

    def used(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """All rows."""
        return rows


class TimeCalendar(CellCalendar):
    """The calendar of a window in time."""

    def __init__(self, timing: Timing, stream: int, position: StreamPosition) -> None:
        super().__init__(timing, stream, position)
        window = timing.windows[stream]
        assert isinstance(window, TimeWindow)
        self.window: TimeWindow = window
        rule = timing.rule
        self.candidates = Candidates(rule) if isinstance(rule, AtCandidates) and not rule.by_rows else None

    def accepts(self, ts: Integers) -> Flags:
        """False for rows before the beginning of a landmark."""
        if isinstance(self.window, Landmark) and self.window.from_us is not None:
            return np.asarray(ts >= self.window.from_us)
        return np.ones(len(ts), np.bool_)

    def content(self, instant: int) -> Content:
        """What the window holds at a candidate."""
        window, cells = self.window, self.cells
        end = window.moves.last(instant) if isinstance(window, Sliding) else instant
        end_cell = (end - cells.phase_us) // cells.period_us
        if isinstance(window, Landmark):
            return BEGINNING, end_cell
        return end_cell - window.size_us // cells.period_us, end_cell

    def entry(self, cells: Integers) -> Integers:
        """The first instant of the stay of each cell. It equals `leave_at` for a cell that no window ever holds."""
        last = self._last(cells)
        return self.window.moves.next(last) if isinstance(self.window, Sliding) else last + 1

    def leave_at(self, cell: Time) -> Time:
        """The first instant after the stay of a cell: candidates from here on do not hold it."""
        if isinstance(self.window, Landmark):
            return cell * 0 + NEVER
        return self.window.leave(self._last(cell))

    def leave(self, cells: Integers, now: int) -> Integers:
        """The instants at which cells leave. Often all are one cell, which is computed once."""
        if cells[0] == cells[-1]:
            return np.full(len(cells), self.leave_at(int(cells[0])))
        return self.leave_at(cells)

    def first_instant(self, cells: Integers) -> Integers:
        """The first candidate that holds each cell, or NEVER.

        ON TRIGGER, and where another window counts rows, any instant may be a candidate.
        """
        entry = self.entry(cells)
        first = entry if self.candidates is None else self.candidates.after(entry - 1)
        return np.where(first < self.leave_at(cells), first, NEVER)

    def _last(self, cell: Time) -> Time:
        """The last microsecond of a cell. All rows of the cell enter and leave with it."""
        cells = self.cells
        return cell * cells.period_us + (cells.phase_us + cells.period_us - 1)


class KeyedCalendar(CellCalendar):
    """The calendar of the last rows of each key. They come as rows of a view, and every row moves the window."""

    def __init__(self, timing: Timing, stream: int, position: StreamPosition) -> None:
        super().__init__(timing, stream, position)
        window = timing.windows[stream]
        assert isinstance(window, PartitionedRows)
        self.window = window

    def content(self, instant: int) -> Content:
        """Nothing: the intake of the view keeps its rows."""
        return NOTHING

    def leave(self, cells: Integers, now: int) -> Integers:
        """END: later rows decide."""
        return np.full(len(cells), NEVER)

    def moves(self, until: int) -> Integers | None:
        """1 µs after every row."""
        moves = self.position.occupied + 1
        return moves[moves <= until]
