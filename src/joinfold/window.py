"""Windows, instants and window ids: arithmetic on int64 microseconds, half-open and exact for negative times.

A window that slides stands still between its moves, so everything about it follows from the last move e ≤ τ:

    0   4   8   12  16           [6 SLIDE 4] moves at the multiples of 4 and holds e−6 ≤ ts < e
    |   |   |   |   |
      [-----)                    content at  8 ≤ τ < 12
          [-----)                content at 12 ≤ τ < 16
           x                     ts = 7 enters at 8, the first move > 7, and leaves at 16, the first > 7+6

A row's stay is one interval [entry, leave) of τ. Where the slide exceeds the size a row may fall between two
windows: then moves.next(ts) = leave(ts) and it has no entry. START only shifts the phase of the moves.

Methods typed `Time` take an int or, element by element, a numpy array of int64.
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
    """The instants phase + j·period, j any integer; the phase is reduced, so equal grids compare equal."""

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
    """The instants in [lo, hi) that are on some grid, in order and each once."""
    return sorted({instant for grid in grids for instant in grid.between(lo, hi)})


def last_of(grids: Iterable[Grid], t: int) -> int:
    """The last instant ≤ t of at least one grid."""
    return max(grid.last(t) for grid in grids)


def next_of(grids: Iterable[Grid], t: int) -> int:
    """The first instant > t of at least one grid."""
    return min(grid.next(t) for grid in grids)


def common(grids: Iterable[Grid]) -> Grid | None:
    """The instants on every grid (Chinese remainder theorem), or None when the grids never meet."""
    phase_us, period_us = 0, 1  # no grid yet: every instant
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
    """`[10 MINUTE SLIDE 1 MINUTE]`: rows with e−size ≤ ts < e, e the last move; TUMBLE where slide = size."""

    size_us: int
    slide_us: int
    start_us: int | None = None

    def __post_init__(self) -> None:
        _check("size", self.size_us, duration_text(self.size_us))
        _check("slide", self.slide_us, duration_text(self.slide_us))
        check_timestamp(self.start_us or 0)

    @property
    def moves(self) -> Grid:
        """The instants at which the window moves: slide multiples from the epoch, or from START."""
        return Grid(self.start_us or 0, self.slide_us)

    def bounds(self, t: Time) -> tuple[Time, Time]:
        """The content at instant t is lo ≤ ts < hi."""
        end = self.moves.last(t)
        return end - self.size_us, end

    def entry(self, ts: int) -> int | None:
        """The first instant that holds the row; None when it falls between two windows."""
        move = self.moves.next(ts)
        return move if move <= ts + self.size_us else None

    def leave(self, ts: Time) -> Time:
        """The first instant after the row's stay."""
        return self.moves.next(ts + self.size_us)

    @property
    def subwindow_us(self) -> int:
        """Length of the pieces from which every position of the window is made."""
        return gcd(self.size_us, self.slide_us)

    @property
    def panes(self) -> int:
        """Sub-windows per window (n)."""
        return self.size_us // self.subwindow_us

    @property
    def step(self) -> int:
        """Sub-windows per slide (k)."""
        return self.slide_us // self.subwindow_us

    def subwindow(self, ts: Time) -> Time:
        """Index of the row's sub-window; index 0 begins at the phase of the moves."""
        return (ts - self.moves.phase_us) // self.subwindow_us

    def to_sql(self) -> str:
        """Canonical text."""
        size, slide = duration_text(self.size_us), duration_text(self.slide_us)
        extent = f"TUMBLE {size}" if size == slide else f"{size} SLIDE {slide}"
        start = "" if self.start_us is None else f" START TIMESTAMP '{timestamp_text(self.start_us)}'"
        return f"[{extent}{start}]"


@dataclass(frozen=True, slots=True)
class Continuous:
    """`[RANGE 10 MINUTE]`: rows with τ−size ≤ ts < τ; it has no moves of its own."""

    size_us: int

    def __post_init__(self) -> None:
        _check("size", self.size_us, duration_text(self.size_us))

    def bounds(self, t: Time) -> tuple[Time, Time]:
        """The content at instant t is lo ≤ ts < hi."""
        return t - self.size_us, t

    def entry(self, ts: Time) -> Time:
        """The first instant that holds the row."""
        return ts + 1

    def leave(self, ts: Time) -> Time:
        """The first instant after the row's stay."""
        return ts + (self.size_us + 1)

    def to_sql(self) -> str:
        """Canonical text."""
        return f"[RANGE {duration_text(self.size_us)}]"


@dataclass(frozen=True, slots=True)
class Rows:
    """`[ROWS 5000 SLIDE 1000]`: the last rows by number, moved on after every 1000th."""

    size: int
    slide: int = 1

    def __post_init__(self) -> None:
        _check("size", self.size, f"{self.size} ROWS")
        _check("slide", self.slide, f"{self.slide} ROWS")

    @property
    def block(self) -> int:
        """How many rows come and go together: the sub-window."""
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
    """`[RANGE 5 MINUTE SLIDE 1000 ROWS]`: a stretch of time that stands still for 1000 rows."""

    size_us: int
    slide: int

    def __post_init__(self) -> None:
        _check("size", self.size_us, duration_text(self.size_us))
        _check("slide", self.slide, f"{self.slide} ROWS")

    @property
    def block(self) -> int:
        """After how many rows the window moves."""
        return self.slide

    def to_sql(self) -> str:
        """Canonical text."""
        return f"[RANGE {duration_text(self.size_us)} SLIDE {self.slide} ROWS]"


@dataclass(frozen=True, slots=True)
class Landmark:
    """`[UNBOUNDED]` or `[FROM TIMESTAMP '…']`: all rows with ts < τ, from the mark on."""

    from_us: int | None = None

    def __post_init__(self) -> None:
        check_timestamp(self.from_us or 0)

    def bounds(self, t: Time) -> tuple[int | None, Time]:
        """The content at instant t is lo ≤ ts < hi; lo None = from the beginning."""
        return self.from_us, t

    def entry(self, ts: int) -> int | None:
        """The first instant that holds the row; None when it lies before the mark."""
        return None if self.from_us is not None and ts < self.from_us else ts + 1

    def leave(self, ts: int) -> None:
        """No instant: a landmark never lets go."""

    def to_sql(self) -> str:
        """Canonical text."""
        return "[UNBOUNDED]" if self.from_us is None else f"[FROM TIMESTAMP '{timestamp_text(self.from_us)}']"


Window = Sliding | Continuous | Rows | PartitionedRows | RangeByRows | Landmark


def _check(part: str, value: int, shown: str) -> None:
    if value <= 0:
        raise UsageError(f"a window's {part} must be positive, not {shown}")
    if value > LONGEST_US:
        raise UsageError(f"a window's {part} is too large: {shown}")


# Window ids (Du). Sub-windows are numbered CN = 1, 2, … and windows wid = 0, 1, …; a window has n = panes
# sub-windows and slides by k = step of them:  n=3, k=2    1 2 3 4 5 6 7
#                                              window 0   [- - -)
#                                              window 1       [- - -)


def subwindows_of(wid: int, panes: int, step: int) -> range:
    """The numbers of the sub-windows in window wid."""
    return range(wid * step + 1, wid * step + panes + 1)


def windows_of(subwindow_number: int, panes: int, step: int) -> range:
    """The windows that hold the sub-window: max(0, ⌈(CN−n)/k⌉) ≤ wid ≤ ⌊(CN−1)/k⌋, or none.

    The paper's own upper bound is one too high where k does not divide CN−1.
    """
    first = max(0, -((panes - subwindow_number) // step))
    return range(first, (subwindow_number - 1) // step + 1)


def slot(subwindow_number: int, wid: int, panes: int, step: int) -> int:
    """The place 0 … panes−1 of the sub-window in window wid, which must hold it.

    Du writes (CN − wid·k − 1) mod n; the mod changes nothing for a member and would hide a stranger.
    """
    assert subwindow_number in subwindows_of(wid, panes, step)
    return subwindow_number - wid * step - 1


def earlier_neighbour(wid: int, slot: int, panes: int, step: int) -> tuple[int, int] | None:
    """The same sub-window seen from the window before (equivalence chain), if that one holds it."""
    return (wid - 1, slot + step) if wid > 0 and slot + step < panes else None
