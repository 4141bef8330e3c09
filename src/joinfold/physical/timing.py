"""Windows, delays and the emission rule: what decides when rows count and when answers are given.

The time of each stream is divided into *cells*. The grid of cells is as coarse as possible, so that the engine keeps
little. It is fine enough that the content of the window at every candidate is a whole number of cells. So all rows of a
cell enter and leave together: the engine aggregates a cell once, and from instant to instant processes only the cells
that enter and leave.

    time                 0   4   8   12  16        [RANGE 6] beside a window that slides by 4
                         |   |   |   |   |         candidates: the multiples of 4
    content at 8           [-----)                 2 ≤ ts < 8
    content at 12              [-----)             6 ≤ ts < 12
    cells                [)[)[)[)[)[)[)[)          2 µs: every boundary, τ or τ−6, lies on this grid
    ts = 5                    x                    cell [4, 6): held at 8, gone at 12 = 6+6

All boundaries lie on a grid if and only if its period divides all their differences. So the period of the coarsest grid
is the greatest common divisor of the differences, and its phase is any one of the boundaries:

    Sliding      boundaries e and e−size at every move e     gcd(size, slide), the sub-window, for all candidates
    Continuous   τ and τ−size at every candidate τ           gcd(size, periods, differences of phases)
    Landmark     τ at every candidate τ                      gcd(periods, differences of phases)

EMIT ON TRIGGER may answer at any instant, and lateness depends on the time of each row, so cells are single
microseconds. Windows that count rows also move at any instant, so beside them the cells of all windows except sliding
ones are single microseconds.

The mark of a landmark window is not a boundary: rows before it are dropped before they are put into cells.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import gcd

from joinfold.window import Continuous, Grid, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window, common

TimeWindow = Sliding | Continuous | Landmark
CountingWindow = Rows | RangeByRows | PartitionedRows

PIECE = 1024  # enough instants that a piece costs little, and few enough that its answers fit into memory


@dataclass(frozen=True, slots=True)
class AtCandidates:
    """Answers at instants on at least one of the grids; with ``by_rows`` also at moves of windows that count rows."""

    grids: tuple[Grid, ...]
    by_rows: bool = False


@dataclass(frozen=True, slots=True)
class AtTriggers:
    """Answers whenever the watermark advances."""


@dataclass(frozen=True, slots=True)
class AtArrivals:
    """Answers every row."""


@dataclass(frozen=True, slots=True)
class AsFound:
    """A plain join: emits each combination once, when it is final."""


@dataclass(frozen=True, slots=True)
class ByWindowId:
    """Answers by window ids. With a ``modulus`` k, the first k windows of the first stream are used again and again."""

    modulus: int | None = None


EmissionRule = AtCandidates | AtTriggers | AtArrivals | AsFound | ByWindowId


@dataclass(frozen=True, slots=True)
class Timing:
    """The windows of all streams in the order of FROM, their delays, the emission rule, and the zone of timestamps.

    ``names`` has the aliases of the streams. Answers leave a stage in *pieces* of at most ``instants_per_piece``
    instants, the same ones in all buckets. ``has_ahead`` says for which streams the frame marks rows that lie ahead.
    ``idles_us`` has the silence of each after which it is idle, None for never.
    """

    names: tuple[str, ...]
    windows: tuple[Window, ...]
    delays_us: tuple[int, ...]
    rule: EmissionRule
    zone: str = "UTC"
    instants_per_piece: int = PIECE
    has_ahead: tuple[bool, ...] = ()
    idles_us: tuple[int | None, ...] = ()
    cells: tuple[Grid, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        assert self.windows and len(self.names) == len(self.windows) == len(self.delays_us)
        assert self.instants_per_piece > 0
        object.__setattr__(self, "has_ahead", self.has_ahead or (False,) * len(self.names))
        object.__setattr__(self, "idles_us", self.idles_us or (None,) * len(self.names))
        object.__setattr__(self, "cells", tuple(_cells(window, self.rule) for window in self.windows))

    @property
    def streams(self) -> int:
        """How many streams the query has."""
        return len(self.windows)

    @property
    def any_instant(self) -> bool:
        """Whether there may be an answer at any instant."""
        return isinstance(self.rule, AtTriggers | AtArrivals | AsFound)

    @property
    def reads_clock(self) -> bool:
        """Whether a stream can be idle, so that every bucket has to know the time of the micro-batch."""
        return any(idle_us is not None for idle_us in self.idles_us)

    @property
    def counting(self) -> tuple[int, ...]:
        """The streams whose rows have to be numbered."""
        return tuple(stream for stream, window in enumerate(self.windows) if isinstance(window, Rows | RangeByRows))

    def is_open_ended(self, stream: int) -> bool:
        """Whether later rows decide when a cell leaves. By window ids, blocks of rows leave with their window."""
        window = self.windows[stream]
        return isinstance(window, RangeByRows) or (isinstance(window, Rows) and not isinstance(self.rule, ByWindowId))

    def cell_us(self, stream: int) -> int:
        """The length of a cell of a stream, in microseconds."""
        return self.cells[stream].period_us


def slide_rule(windows: Iterable[Window]) -> AtCandidates:
    """The rule that answers whenever a window moves."""
    windows = tuple(windows)
    moves = [window.moves for window in windows if isinstance(window, Sliding)]
    by_rows = any(isinstance(window, CountingWindow) for window in windows)
    assert moves or by_rows, "no window moves by itself"
    return AtCandidates(_without_subgrids(moves), by_rows)


def full_rule(windows: Iterable[Window]) -> AtCandidates:
    """The rule that answers where all sliding windows move together."""
    meeting = common(window.moves for window in windows if isinstance(window, Sliding))
    assert meeting is not None, "the windows never move together"
    return AtCandidates((meeting,))


def _cells(window: Window, rule: EmissionRule) -> Grid:
    """The coarsest grid on which the content of the window begins and ends at every candidate."""
    if isinstance(window, Sliding) and isinstance(rule, AtCandidates | ByWindowId):
        return Grid(window.moves.phase_us, window.subwindow_us)
    if isinstance(window, CountingWindow) or not isinstance(rule, AtCandidates) or rule.by_rows:
        return Grid(0, 1)
    phase_us = rule.grids[0].phase_us
    apart = [number for grid in rule.grids for number in (grid.period_us, grid.phase_us - phase_us)]
    size = window.size_us if isinstance(window, Continuous) else 0
    return Grid(phase_us, gcd(size, *apart))


def _without_subgrids(grids: Sequence[Grid]) -> tuple[Grid, ...]:
    """The same instants from fewer grids: without grids that lie on another one."""

    def lies_on(grid: Grid, other: Grid) -> bool:
        return Grid(grid.phase_us, other.period_us) == other and grid.period_us % other.period_us == 0

    distinct = tuple(dict.fromkeys(grids))
    return tuple(grid for grid in distinct if not any(lies_on(grid, other) for other in distinct if other != grid))
