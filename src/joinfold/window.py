"""Windows, instants and window ids: exact arithmetic on int64 microseconds, with half-open intervals.

Negative times are allowed. A sliding window does not change between its moves, so its content at an instant τ follows
from the last move e ≤ τ:

    0   4   8   12  16           [6 SLIDE 4] moves at the multiples of 4 and holds e−6 ≤ ts < e
    |   |   |   |   |
      [-----)                    content at  8 ≤ τ < 12
          [-----)                content at 12 ≤ τ < 16
           x                     ts = 7 enters at 8, the first move > 7, and leaves at 16, the first move > 7+6

The stay of a row is one interval [entry, leave) of τ. If the slide is larger than the size, a row may fall between two
windows: then moves.next(ts) = leave(ts), and the row has no entry. START only shifts the phase of the moves.

Methods with the type `Time` take an int or a numpy array of int64, which they treat element by element.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd
from typing import Protocol, Self, TypeVar

from joinfold.errors import UsageError
from joinfold.names import identifier_text
from joinfold.timetext import LONGEST_US, check_timestamp, duration_text, timestamp_text


class _Ticks(Protocol):
    def __add__(self, other: int, /) -> Self: ...
    def __sub__(self, other: Self | int, /) -> Self: ...
    def __mod__(self, other: int, /) -> Self: ...
    def __floordiv__(self, other: int, /) -> Self: ...


Time = TypeVar("Time", bound=_Ticks)


@dataclass(frozen=True, slots=True)
class Grid:
    """The instants phase + j·period for all integers j. The phase is reduced modulo the period: equal grids are ==."""

    phase_us: int
    period_us: int

    def __post_init__(self) -> None:
        if self.period_us <= 0:
            raise UsageError(f"a period must be positive, not {duration_text(self.period_us)}")
        object.__setattr__(self, "phase_us", self.phase_us % self.period_us)

    def last(self, t: Time) -> Time:
        """The last instant ≤ t."""
        return t - (t - self.phase_us) % self.period_us

    def next(self, t: Time) -> Time:
        """The first instant > t."""
        return self.last(t) + self.period_us

    def between(self, lo: int, hi: int) -> range:
        """The instants in [lo, hi)."""
        return range(self.next(lo - 1), hi, self.period_us)


def merge(grids: Iterable[Grid], lo: int, hi: int) -> list[int]:
    """The instants in [lo, hi) that are on at least one grid, in order, each once."""
    return sorted({instant for grid in grids for instant in grid.between(lo, hi)})


def last_of(grids: Iterable[Grid], t: int) -> int:
    """The last instant ≤ t of at least one grid."""
    return max(grid.last(t) for grid in grids)


def next_of(grids: Iterable[Grid], t: int) -> int:
    """The first instant > t of at least one grid."""
    return min(grid.next(t) for grid in grids)


def common(grids: Iterable[Grid]) -> Grid | None:
    """The instants that are on every grid (Chinese remainder theorem), or None if there is no such instant."""
    phase_us, period_us = 0, 1  # without a grid: every instant
    for grid in grids:
        shared_us = gcd(period_us, grid.period_us)
        distance, apart = divmod(grid.phase_us - phase_us, shared_us)
        if apart:
            return None
        rest = grid.period_us // shared_us
        phase_us += period_us * (distance * pow(period_us // shared_us, -1, rest) % rest)
        period_us *= rest
    return Grid(phase_us, period_us)


@dataclass(frozen=True, slots=True)
class Sliding:
    """`[10 MINUTE SLIDE 1 MINUTE]`: rows with e−size ≤ ts < e, where e is the last move; TUMBLE if slide = size."""

    size_us: int
    slide_us: int
    start_us: int | None = None

    def __post_init__(self) -> None:
        _check("size", self.size_us, duration_text(self.size_us))
        _check("slide", self.slide_us, duration_text(self.slide_us))
        check_timestamp(self.start_us or 0)

    @property
    def moves(self) -> Grid:
        """The instants at which the window moves: multiples of the slide, counted from the epoch or from START."""
        return Grid(self.start_us or 0, self.slide_us)

    def bounds(self, t: Time) -> tuple[Time, Time]:
        """(lo, hi): the window holds the rows with lo ≤ ts < hi at instant t."""
        end = self.moves.last(t)
        return end - self.size_us, end

    def entry(self, ts: int) -> int | None:
        """The first instant at which the window holds the row; None if the row falls between two windows."""
        move = self.moves.next(ts)
        return move if move <= ts + self.size_us else None

    def leave(self, ts: Time) -> Time:
        """The first instant after the stay of the row."""
        return self.moves.next(ts + self.size_us)

    @property
    def subwindow_us(self) -> int:
        """The length of a sub-window: every position of the window consists of whole sub-windows."""
        return gcd(self.size_us, self.slide_us)

    @property
    def panes(self) -> int:
        """The number of sub-windows in a window (n)."""
        return self.size_us // self.subwindow_us

    @property
    def step(self) -> int:
        """The number of sub-windows in a slide (k)."""
        return self.slide_us // self.subwindow_us

    def subwindow(self, ts: Time) -> Time:
        """The index of the row's sub-window; sub-window 0 begins at the phase of the moves."""
        return (ts - self.moves.phase_us) // self.subwindow_us

    def to_sql(self) -> str:
        """Canonical text."""
        size, slide = duration_text(self.size_us), duration_text(self.slide_us)
        extent = f"TUMBLE {size}" if size == slide else f"{size} SLIDE {slide}"
        start = "" if self.start_us is None else f" START TIMESTAMP '{timestamp_text(self.start_us)}'"
        return f"[{extent}{start}]"


@dataclass(frozen=True, slots=True)
class Continuous:
    """`[RANGE 10 MINUTE]`: rows with τ−size ≤ ts < τ; it has no moves."""

    size_us: int

    def __post_init__(self) -> None:
        _check("size", self.size_us, duration_text(self.size_us))

    def bounds(self, t: Time) -> tuple[Time, Time]:
        """(lo, hi): the window holds the rows with lo ≤ ts < hi at instant t."""
        return t - self.size_us, t

    def entry(self, ts: Time) -> Time:
        """The first instant at which the window holds the row."""
        return ts + 1

    def leave(self, ts: Time) -> Time:
        """The first instant after the stay of the row."""
        return ts + (self.size_us + 1)

    def to_sql(self) -> str:
        """Canonical text."""
        return f"[RANGE {duration_text(self.size_us)}]"


@dataclass(frozen=True, slots=True)
class Rows:
    """`[ROWS 5000 SLIDE 1000]`: the last 5000 rows; the window moves after every 1000th row."""

    size: int
    slide: int = 1

    def __post_init__(self) -> None:
        _check("size", self.size, f"{self.size} ROWS")
        _check("slide", self.slide, f"{self.slide} ROWS")

    @property
    def block(self) -> int:
        """How many rows enter and leave together: the size of a sub-window in rows."""
        return gcd(self.size, self.slide)

    def to_sql(self) -> str:
        """Canonical text."""
        return f"[ROWS {self.size}]" if self.slide == 1 else f"[ROWS {self.size} SLIDE {self.slide}]"


@dataclass(frozen=True, slots=True)
class PartitionedRows:
    """`[PARTITION BY k ROWS n]`: the last n rows of each k."""

    by: tuple[str, ...]
    size: int

    def __post_init__(self) -> None:
        if not self.by:
            raise UsageError("PARTITION BY needs at least one column")
        _check("size", self.size, f"{self.size} ROWS")

    def to_sql(self) -> str:
        """Canonical text."""
        return f"[PARTITION BY {', '.join(map(identifier_text, self.by))} ROWS {self.size}]"


@dataclass(frozen=True, slots=True)
class RangeByRows:
    """`[RANGE 5 MINUTE SLIDE 1000 ROWS]`: rows with e−size ≤ ts < e, where e is 1 µs after the last 1000th row."""

    size_us: int
    slide: int

    def __post_init__(self) -> None:
        _check("size", self.size_us, duration_text(self.size_us))
        _check("slide", self.slide, f"{self.slide} ROWS")

    @property
    def block(self) -> int:
        """The number of rows from one move to the next."""
        return self.slide

    def to_sql(self) -> str:
        """Canonical text."""
        return f"[RANGE {duration_text(self.size_us)} SLIDE {self.slide} ROWS]"


@dataclass(frozen=True, slots=True)
class Landmark:
    """`[UNBOUNDED]` or `[FROM TIMESTAMP '…']`: all rows with ts < τ, or only those with from_us ≤ ts < τ."""

    from_us: int | None = None

    def __post_init__(self) -> None:
        check_timestamp(self.from_us or 0)

    def bounds(self, t: Time) -> tuple[int | None, Time]:
        """(lo, hi): the window holds the rows with lo ≤ ts < hi at instant t; if lo is None, all with ts < hi."""
        return self.from_us, t

    def entry(self, ts: int) -> int | None:
        """The first instant at which the window holds the row; None if the row is before ``from_us``."""
        return None if self.from_us is not None and ts < self.from_us else ts + 1

    def leave(self, ts: int) -> None:
        """None: a landmark window keeps its rows for ever."""

    def to_sql(self) -> str:
        """Canonical text."""
        return "[UNBOUNDED]" if self.from_us is None else f"[FROM TIMESTAMP '{timestamp_text(self.from_us)}']"


Window = Sliding | Continuous | Rows | PartitionedRows | RangeByRows | Landmark


def _check(part: str, value: int, shown: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"a window's {part} cannot be {value!r}", "give a duration, or a whole number of rows.")
    if value <= 0:
        raise UsageError(f"a window's {part} must be positive, not {shown}", "give a larger one.")
    if value > LONGEST_US:
        raise UsageError(f"a window's {part} is too large: {shown}")


# Window ids (Du). Sub-windows have the numbers CN = 1, 2, …, and windows have the numbers wid = 0, 1, …. A window
# consists of n = panes sub-windows and slides by k = step sub-windows:
#
#     n=3, k=2    1 2 3 4 5 6 7
#     window 0   [- - -)
#     window 1       [- - -)


def subwindows_of(wid: int, panes: int, step: int) -> range:
    """The numbers of the sub-windows of window wid."""
    return range(wid * step + 1, wid * step + panes + 1)


def windows_of(subwindow_number: int, panes: int, step: int) -> range:
    """The windows that contain the sub-window: max(0, ⌈(CN−n)/k⌉) ≤ wid ≤ ⌊(CN−1)/k⌋. There may be none.

    The upper bound in the paper is too high by one if k does not divide CN−1.
    """
    first = max(0, -((panes - subwindow_number) // step))
    return range(first, (subwindow_number - 1) // step + 1)


def slot(subwindow_number: int, wid: int, panes: int, step: int) -> int:
    """The position 0 … panes−1 of the sub-window in window wid, which must contain it.

    Du writes (CN − wid·k − 1) mod n. The mod has no effect on a sub-window of the window, and would hide a wrong one.
    """
    assert subwindow_number in subwindows_of(wid, panes, step)
    return subwindow_number - wid * step - 1


def earlier_neighbour(wid: int, slot: int, panes: int, step: int) -> tuple[int, int] | None:
    """The wid and slot of the same sub-window in the window before (equivalence chain); None if it is not there."""
    return (wid - 1, slot + step) if wid > 0 and slot + step < panes else None
