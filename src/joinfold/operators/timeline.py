"""The arithmetic of time for the streaming engine: cells, instants, watermark.

Each input's time is cut into *cells*, on a grid so coarse that the engine keeps little and yet so fine that the
content of the window at every candidate is a whole number of cells. Then all rows of a cell come and go together: the
engine aggregates cells once and moves from instant to instant by the cells that enter and those that leave.

    time                 0   4   8   12  16        [RANGE 6] beside a window that slides by 4
                         |   |   |   |   |         candidates: the multiples of 4
    content at 8           [-----)                 2 ≤ ts < 8
    content at 12              [-----)             6 ≤ ts < 12
    cells                [)[)[)[)[)[)[)[)          2 µs: every boundary, τ or τ−6, lies on this grid
    ts = 5                    x                    cell [4, 6): held at 8, gone at 12 = 6+6

A grid carries a set of boundaries if and only if its period divides all their differences, so the coarsest has their
greatest common divisor for a period and any one of them for a phase:

    Sliding      boundaries e and e−size at every move e     gcd(size, slide), the sub-window, whoever else is read
    Continuous   τ and τ−size at every candidate τ           gcd(size, periods, differences of phases)
    Landmark     τ at every candidate τ                      gcd(periods, differences of phases)

ON TRIGGER may answer at any instant, and a row is late by its own time: cells are single microseconds. Windows that
count rows move at any instant too, so beside them the cells of all but sliding windows are single microseconds; their
own moves are found while the query runs (`numbering`) and handed in.

A landmark's mark is no boundary: rows before it are dropped (`accepts`) before they are cut.

All times are int64 microseconds; nothing overflows for rows of the years 1 to 9999 and the durations of `timetext`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import Self, TypeVar, assert_never

import numpy as np
from numpy.typing import NDArray

from joinfold.window import (
    Continuous,
    Grid,
    Landmark,
    PartitionedRows,
    RangeByRows,
    Rows,
    Sliding,
    Window,
    common,
)

Times = NDArray[np.int64]
Flags = NDArray[np.bool_]
TimeWindow = Sliding | Continuous | Landmark
CountingWindow = Rows | RangeByRows | PartitionedRows
Time = TypeVar("Time", int, Times)

NEVER = END = 2**63 - 1  # after every instant
BEGINNING = -(2**63)  # before every cell, and the largest time of a stream without rows


@dataclass(frozen=True, slots=True)
class Timeline:
    """What follows from the windows and the rule of answering alone; a place is that of a stream input in FROM.

    Candidates are the instants on at least one of the grids and, ``by_rows``, the moves of windows that count rows;
    ON TRIGGER has neither, and every instant is one.
    """

    windows: tuple[TimeWindow | CountingWindow, ...]
    candidates: tuple[Grid, ...]
    by_rows: bool = False
    cells: tuple[Grid, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        assert self.windows
        candidates = () if self.by_rows else self.candidates
        is_any = not self.candidates and not self.by_rows
        cells = tuple(_cells(window, candidates, is_any) for window in self.windows)
        object.__setattr__(self, "cells", cells)

    @staticmethod
    def of(
        windows: Iterable[Window], every_us: int | None = None, full: bool = False, trigger: bool = False
    ) -> "Timeline":
        """The timeline of EMIT EVERY, SYNC ON FULL or EMIT ON TRIGGER, at most one of them; else of EMIT ON SLIDE."""
        assert (every_us is not None) + full + trigger <= 1
        read: list[TimeWindow | CountingWindow] = []
        for window in windows:
            assert window is not None, "a relation has no timeline"
            read.append(window)
        if trigger:
            return Timeline(tuple(read), ())
        if every_us is not None:
            return Timeline(tuple(read), (Grid(0, every_us),))
        moves = [window.moves for window in read if isinstance(window, Sliding)]
        by_rows = any(isinstance(window, CountingWindow) for window in read)
        assert moves or by_rows, "no window moves by itself"
        if full:
            meeting = common(moves)
            assert meeting is not None, "the windows never move together"
            return Timeline(tuple(read), (meeting,))
        return Timeline(tuple(read), _without_subgrids(moves), by_rows)

    @property
    def on_trigger(self) -> bool:
        """Whether the advance of the watermark chooses the instants."""
        return not self.candidates and not self.by_rows

    @property
    def counting(self) -> tuple[int, ...]:
        """The streams whose rows have to be numbered."""
        return tuple(place for place, window in enumerate(self.windows) if isinstance(window, Rows | RangeByRows))

    @property
    def only_landmarks(self) -> bool:
        """Whether instants are those at which a landmark gained a row: nothing else tells them."""
        return all(isinstance(window, Landmark) for window in self.windows)

    @property
    def open_ended(self) -> tuple[int, ...]:
        """The streams of which nobody knows when a cell will leave."""
        return self.counting

    def cell_us(self, place: int) -> int:
        """The length of a cell."""
        return self.cells[place].period_us

    def cell_phase_us(self, place: int) -> int:
        """Where cell 0 begins."""
        return self.cells[place].phase_us

    def cell_of(self, place: int, ts: Time) -> Time:
        """The cell of a row."""
        cells = self.cells[place]
        return (ts - cells.phase_us) // cells.period_us

    def accepts(self, place: int, ts: Times) -> Flags:
        """Rows that are not before the mark of a landmark; others are in no window at any time and never cut."""
        window = self.windows[place]
        if isinstance(window, Landmark) and window.from_us is not None:
            return ts >= window.from_us
        return np.ones(len(ts), dtype=np.bool_)

    def content(self, place: int, instant: Time) -> tuple[Time, Time]:
        """First cell and end cell, exclusive, of the window at a candidate; a landmark's first is BEGINNING."""
        window = self.windows[place]
        match window:
            case Sliding():
                end = window.moves.last(instant)
            case Continuous() | Landmark():
                end = instant
            case Rows() | RangeByRows() | PartitionedRows():
                raise AssertionError("what a window that counts rows holds is told by its cuts")
            case _:
                assert_never(window)
        end_cell = self.cell_of(place, end)
        if isinstance(window, Landmark):
            return end_cell * 0 + BEGINNING, end_cell  # an int or an array, like the end
        return end_cell - window.size_us // self.cell_us(place), end_cell

    def entry(self, place: int, cell: Times) -> Times:
        """The first instant of time from which the window holds the cell: nothing is held where entry = leave."""
        last = self._last(place, cell)
        window = self.windows[place]
        return window.moves.next(last) if isinstance(window, Sliding) else last + 1

    def leave(self, place: int, cell: Time) -> Time:
        """The first instant of time after the stay of the cell: candidates from here on do not hold it.

        Where rows decide nobody knows, and NEVER stands for it.
        """
        window = self.windows[place]
        if isinstance(window, Landmark | CountingWindow):
            return cell * 0 + NEVER
        return window.leave(self._last(place, cell))

    def first_instant(self, place: int, cell: Times) -> Times:
        """The first candidate that holds the cell, or NEVER; any instant may be one ON TRIGGER and ``by_rows``.

        ON TRIGGER see `due` for lateness, which goes by rows; where windows count rows it does too.
        """
        if isinstance(self.windows[place], CountingWindow):
            return cell + 1
        entry = self.entry(place, cell)
        first = entry if self.on_trigger or self.by_rows else self.next_candidate(entry - 1)
        return np.where(first < self.leave(place, cell), first, NEVER)

    def due(self, place: int, ts: Times) -> Times:
        """A row is late if its due time ≤ watermark: its cell's first instant, or NEVER; ON TRIGGER 1 µs after it.

        ON TRIGGER that holds for every row, also of a sliding window (whose cells can be late in part), between two
        windows, or before a mark.
        """
        if self.on_trigger:
            return ts + 1
        return np.where(self.accepts(place, ts), self.first_instant(place, self.cell_of(place, ts)), NEVER)

    def next_candidate(self, t: Times, moves: Times | None = None) -> Times:
        """The first candidate > t, or NEVER; ``moves`` are those of windows that count rows, in order."""
        assert not self.on_trigger
        first = np.full_like(t, NEVER)
        for grid in self.candidates:
            first = np.minimum(first, grid.next(t))
        if self.by_rows and moves is not None:
            known = np.append(moves, NEVER)
            first = np.minimum(first, known[np.searchsorted(known, t, "right").clip(max=len(moves))])
        return first

    def candidates_within(self, after: Times, until: Times, moves: Times | None = None) -> Times:
        """The candidates in any of the disjoint intervals after < τ ≤ until, in order; the work is their number."""
        assert not self.on_trigger
        found = []
        if self.by_rows and moves is not None:
            within = np.searchsorted(after, moves, "left") - 1
            found.append(moves[(within >= 0) & (moves <= np.append(until, BEGINNING)[within])])
        for grid in self.candidates:
            first = grid.next(after)
            counts = np.maximum((until - first) // grid.period_us + 1, 0)
            begins = np.cumsum(counts) - counts
            steps = np.arange(counts.sum(), dtype=np.int64) - np.repeat(begins, counts)
            found.append(np.repeat(first, counts) + steps * grid.period_us)
        return found[0] if len(found) == 1 and not self.by_rows else np.unique(np.concatenate(found))

    def _last(self, place: int, cell: Time) -> Time:
        """The last microsecond of the cell, which speaks for all its rows: they enter and leave together."""
        cells = self.cells[place]
        return cell * cells.period_us + (cells.phase_us + cells.period_us - 1)


class Occupancy:
    """Which cells have had a row, filtered or not, and so at which candidates there is something to answer.

    A cell is held during one stay [entry, leave). The union of all stays is a few long intervals; an instant is a
    candidate inside one, or the first candidate after one that had any:

        candidates     ' ' ' ' ' ' ' ' ' '
        stays            [---)       [-)
                           [----)
        union            [------)    [-)
        instants         ! ! ! ! !   ! !         nothing is spent on the gap, however long
    """

    __slots__ = ("cells",)

    def __init__(self, cells: Iterable[Times]) -> None:
        self.cells = list(cells)

    @classmethod
    def empty(cls, places: int) -> Self:
        """No row yet."""
        return cls(np.empty(0, dtype=np.int64) for _ in range(places))

    def add(self, place: int, cells: Times) -> None:
        """Notes the cells of accepted rows that are not late, in any order and with repetitions."""
        known, new = self.cells[place], np.unique(cells)
        at = np.searchsorted(known, new)
        fresh = np.ones(len(new), dtype=np.bool_)
        fresh[at < len(known)] = known[at[at < len(known)]] != new[at < len(known)]
        if fresh.any():
            self.cells[place] = np.insert(known, at[fresh], new[fresh])

    def instants(self, timeline: Timeline, after: int | None, until: int, moves: Times | None = None) -> Times:
        """All instants in (after, until]; until END, they stop one after every window has let go.

        ``moves`` are all that windows that count rows have made since ``after``: candidates, or each an instant at the
        next one.
        """
        assert not timeline.on_trigger, "the watermark chooses the instants"
        if timeline.only_landmarks:
            gains = [timeline.first_instant(place, cells) for place, cells in enumerate(self.cells)]
            found = np.unique(np.concatenate(gains))
            return found[(found > (BEGINNING if after is None else after)) & (found <= until)]
        before, last = self._spans(timeline, moves)
        before = np.maximum(before, BEGINNING if after is None else after)
        last = np.minimum(last, until)
        open_ = before < last
        found = timeline.candidates_within(before[open_], last[open_], moves)
        if moves is None or not len(moves):
            return found
        moved = timeline.next_candidate(moves - 1, moves)
        moved = moved[(moved > (BEGINNING if after is None else after)) & (moved <= until)]
        return np.unique(np.concatenate([found, moved]))

    def prune(self, timeline: Timeline, answered: int, moves: Times | None = None) -> None:
        """Forgets the cells that no instant > answered depends on."""
        for place, cells in enumerate(self.cells):
            first = timeline.first_instant(place, cells)
            if timeline.only_landmarks:
                matters = first > answered
            elif isinstance(timeline.windows[place], PartitionedRows):
                matters = timeline.next_candidate(first - 1, first) > answered
            elif isinstance(timeline.windows[place], Landmark):
                matters = np.zeros(len(cells), dtype=np.bool_)
            else:
                closing = timeline.next_candidate(timeline.leave(place, cells) - 1, moves)
                matters = (first != NEVER) & (closing > answered)
            if not matters.all():
                self.cells[place] = cells[matters]

    def to_arrays(self) -> tuple[Times, ...]:
        """The cells of each place, ascending: the durable form."""
        return tuple(self.cells)

    @classmethod
    def from_arrays(cls, arrays: Sequence[Times]) -> Self:
        """The inverse of `to_arrays`."""
        return cls(arrays)

    def _spans(self, timeline: Timeline, moves: Times | None) -> tuple[Times, Times]:
        """The runs of instants, disjoint and ascending, each as before < τ ≤ last; empty where first is NEVER."""
        places = [p for p, window in enumerate(timeline.windows) if isinstance(window, Sliding | Continuous)]
        nothing = np.empty(0, np.int64)
        first = np.concatenate([nothing, *(timeline.first_instant(p, self.cells[p]) for p in places)])
        leave = np.concatenate([nothing, *(timeline.leave(p, self.cells[p]) for p in places)])
        if timeline.by_rows:
            first = timeline.next_candidate(first - 1, moves)
            first = np.where(first < leave, first, NEVER)
        order = np.argsort(first, kind="stable")
        first = first[order]
        closing = np.maximum.accumulate(timeline.next_candidate(leave[order] - 1, moves))
        begins = np.ones(len(first), dtype=np.bool_)
        begins[1:] = first[1:] > closing[:-1]
        ends = np.roll(begins, -1)
        return first[begins] - 1, closing[ends]


@dataclass(slots=True)
class Clock:
    """The largest event time of each input so far, late rows and rows that filters remove included."""

    largest: list[int | None]

    @classmethod
    def unset(cls, places: int) -> Self:
        """No row yet."""
        return cls([None] * places)

    def see(self, place: int, ts: int) -> None:
        """Notes the largest event time of some rows."""
        seen = self.largest[place]
        self.largest[place] = ts if seen is None else max(seen, ts)

    def watermark(self, delays: Sequence[int]) -> int | None:
        """The least, over the inputs, of largest time − delay; None until every input has had a row."""
        behind = [ts - delay for ts, delay in zip(self.largest, delays, strict=True) if ts is not None]
        return min(behind) if len(behind) == len(self.largest) else None

    def latest(self) -> int | None:
        """The largest event time of all: a bounded run ON TRIGGER answers 1 µs after it."""
        return max((ts for ts in self.largest if ts is not None), default=None)

    def to_array(self) -> Times:
        """The durable form; BEGINNING stands for no row yet."""
        return np.array([BEGINNING if ts is None else ts for ts in self.largest], dtype=np.int64)

    @classmethod
    def from_array(cls, largest: Times) -> Self:
        """The inverse of `to_array`."""
        return cls([None if ts == BEGINNING else ts for ts in largest.tolist()])


def _cells(window: TimeWindow | CountingWindow, candidates: tuple[Grid, ...], on_trigger: bool) -> Grid:
    """The coarsest grid on which the content of the window begins and ends, whenever it is read."""
    if isinstance(window, Sliding) and not on_trigger:
        return Grid(window.moves.phase_us, window.subwindow_us)
    if not candidates or isinstance(window, CountingWindow):
        return Grid(0, 1)
    phase_us = candidates[0].phase_us
    apart = [number for grid in candidates for number in (grid.period_us, grid.phase_us - phase_us)]
    size = window.size_us if isinstance(window, Continuous) else 0
    return Grid(phase_us, gcd(size, *apart))


def _without_subgrids(grids: Sequence[Grid]) -> tuple[Grid, ...]:
    """The same instants from fewer grids: those that lie on another one are left out."""

    def lies_on(grid: Grid, other: Grid) -> bool:
        return Grid(grid.phase_us, other.period_us) == other and grid.period_us % other.period_us == 0

    distinct = tuple(dict.fromkeys(grids))
    return tuple(grid for grid in distinct if not any(lies_on(grid, other) for other in distinct if other != grid))
