"""Windows, delays and the rule of answering: what decides when rows count and when answers are given.

Each stream's time is cut into *cells*, on a grid so coarse that the engine keeps little and yet so fine that the
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
count rows move at any instant too, so beside them the cells of all but sliding windows are single microseconds.

A landmark's mark is no boundary: rows before it are dropped before they are put into cells.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import gcd

from joinfold.window import Continuous, Grid, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window, common

TimeWindow = Sliding | Continuous | Landmark
CountingWindow = Rows | RangeByRows | PartitionedRows


@dataclass(frozen=True, slots=True)
class AtCandidates:
    """Answers at instants on at least one of the grids and, ``by_rows``, at the moves of windows that count rows."""

    grids: tuple[Grid, ...]
    by_rows: bool = False


@dataclass(frozen=True, slots=True)
class AtTriggers:
    """The advance of the watermark chooses the instants."""


@dataclass(frozen=True, slots=True)
class AtArrivals:
    """Every row is answered."""


@dataclass(frozen=True, slots=True)
class AsFound:
    """A plain join: each combination goes out once, when it is final."""


@dataclass(frozen=True, slots=True)
class ByWindowId:
    """Result windows are numbered; with a ``modulus`` the first stream's first windows come again and again."""

    modulus: int | None = None


EmissionRule = AtCandidates | AtTriggers | AtArrivals | AsFound | ByWindowId


@dataclass(frozen=True, slots=True)
class Timing:
    """The windows of all streams in the order of FROM, their delays, the rule, and the zone of timestamps.

    ``names`` are the aliases of the streams.
    """

    names: tuple[str, ...]
    windows: tuple[Window, ...]
    delays_us: tuple[int, ...]
    rule: EmissionRule
    zone: str = "UTC"
    cells: tuple[Grid, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        assert self.windows and len(self.names) == len(self.windows) == len(self.delays_us)
        object.__setattr__(self, "cells", tuple(_cells(window, self.rule) for window in self.windows))

    @property
    def streams(self) -> int:
        """How many streams the query has: all of them move time."""
        return len(self.windows)

    @property
    def any_instant(self) -> bool:
        """Whether every instant may be one to answer at."""
        return isinstance(self.rule, AtTriggers | AtArrivals | AsFound)

    @property
    def counting(self) -> tuple[int, ...]:
        """The streams whose rows have to be numbered."""
        return tuple(stream for stream, window in enumerate(self.windows) if isinstance(window, Rows | RangeByRows))

    def is_open_ended(self, stream: int) -> bool:
        """Whether later rows decide when a cell leaves; by window ids, blocks of rows leave with their window."""
        window = self.windows[stream]
        return isinstance(window, RangeByRows) or (isinstance(window, Rows) and not isinstance(self.rule, ByWindowId))

    def cell_us(self, stream: int) -> int:
        """The length of a cell."""
        return self.cells[stream].period_us


def slide_rule(windows: Iterable[Window]) -> AtCandidates:
    """Answers whenever a window moves."""
    windows = tuple(windows)
    moves = [window.moves for window in windows if isinstance(window, Sliding)]
    by_rows = any(isinstance(window, CountingWindow) for window in windows)
    assert moves or by_rows, "no window moves by itself"
    return AtCandidates(_without_subgrids(moves), by_rows)


def full_rule(windows: Iterable[Window]) -> AtCandidates:
    """Answers where all windows that slide move together."""
    meeting = common(window.moves for window in windows if isinstance(window, Sliding))
    assert meeting is not None, "the windows never move together"
    return AtCandidates((meeting,))


def _cells(window: Window, rule: EmissionRule) -> Grid:
    """The coarsest grid on which the content of the window begins and ends, whenever it is read."""
    if isinstance(window, Sliding) and isinstance(rule, AtCandidates | ByWindowId):
        return Grid(window.moves.phase_us, window.subwindow_us)
    if isinstance(window, CountingWindow) or not isinstance(rule, AtCandidates) or rule.by_rows:
        return Grid(0, 1)
    phase_us = rule.grids[0].phase_us
    apart = [number for grid in rule.grids for number in (grid.period_us, grid.phase_us - phase_us)]
    size = window.size_us if isinstance(window, Continuous) else 0
    return Grid(phase_us, gcd(size, *apart))


def _without_subgrids(grids: Sequence[Grid]) -> tuple[Grid, ...]:
    """The same instants from fewer grids: those that lie on another one are left out."""

    def lies_on(grid: Grid, other: Grid) -> bool:
        return Grid(grid.phase_us, other.period_us) == other and grid.period_us % other.period_us == 0

    distinct = tuple(dict.fromkeys(grids))
    return tuple(grid for grid in distinct if not any(lies_on(grid, other) for other in distinct if other != grid))
