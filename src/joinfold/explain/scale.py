"""Scales of drawings: which time, or which number of rows, is in which column of a line of text.

A scale is exact if the smallest distance in a drawing, its *cell*, is at least one character wide. Otherwise edges are
rounded down, and the drawing says so. Ticks are at round numbers of a unit, as close as their labels allow.

    0     2     4     6     MINUTE        cell 2 MINUTE, 6 characters
    |     |     |     |
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, count

from joinfold.timetext import UNITS_US, duration_text, timestamp_text
from joinfold.window import Grid, next_of

LINE = 76  # characters, with a margin of 4 before them
ROOM = 68  # characters for the drawing itself
WIDEST = 6  # most characters of a cell, if there are many cells

_SMALL = (1, 2, 5, 10, 20, 50, 100, 200, 500)
_SEXAGESIMAL = (1, 2, 5, 10, 15, 20, 30)
_ROUND = {
    "MICROSECOND": _SMALL,
    "MILLISECOND": _SMALL,
    "SECOND": _SEXAGESIMAL,
    "MINUTE": _SEXAGESIMAL,
    "HOUR": (1, 2, 3, 6, 12),
    "DAY": tuple(digit * 10**power for power in range(8) for digit in (1, 2, 5)),
}
_ROUND_US = tuple(number * UNITS_US[unit] for unit, numbers in _ROUND.items() for number in numbers)


@dataclass(frozen=True, slots=True)
class Scale:
    """The columns of [origin, end): ``chars`` characters stand for ``per`` units.

    ``unit`` names what is counted in plain numbers. None is time in microseconds, labelled from the origin on.
    """

    origin: int
    end: int
    chars: int
    per: int
    cell: int
    unit: str | None = None

    @classmethod
    def fitting(cls, origin: int, end: int, cell: int, unit: str | None = None) -> "Scale":
        """The widest scale that fits into a line."""
        cells = -(-(end - origin) // cell)
        if cells <= ROOM:
            chars = min(max(WIDEST, 4 * WIDEST // cells), ROOM // cells)
            return cls(origin, end, chars, cell, cell, unit)
        per = next(step for step in _round_steps(unit) if step * ROOM >= end - origin)
        return cls(origin, end, 1, per, cell, unit)

    @property
    def is_exact(self) -> bool:
        """Whether every edge has its own column."""
        return self.per == self.cell

    def column(self, at: int) -> int:
        """The column of a time or number, rounded down."""
        return (at - self.origin) * self.chars // self.per

    def bar(self, low: int, high: int, ends: str = "[)") -> str:
        """A bar from low to high with its two ends."""
        begin, last = self.column(low), self.column(high)
        return " " * begin + ends[0] + "-" * (last - begin - 1) + ends[1]

    def pieces(self, edges: Grid) -> str | None:
        """A line that is divided at these edges; None if the pieces are too small to be seen."""
        if edges.period_us * self.chars < self.per:
            return None
        return self.marks((edge, "|") for edge in edges.between(self.origin, self.end + 1)).replace(" ", "-")

    def hits(self, grids: Iterable[Grid], mark: str) -> str:
        """A line with a mark in every column that has an instant of some grid."""
        grids, line = tuple(grids), ""
        for column in range(self.column(self.end) + 1):
            low, high = self._begin(column), min(self._begin(column + 1), self.end + 1)
            line += mark if grids and next_of(grids, low - 1) < high else " "
        return line

    def marks(self, marks: Iterable[tuple[int, str]]) -> str:
        """A line with a character at each of these positions. The last one in a column wins."""
        line = [" "] * (self.column(self.end) + 1)
        for at, mark in marks:
            line[self.column(at)] = mark
        return "".join(line).rstrip()

    def axis(self) -> tuple[str, str]:
        """A line of labels, with the unit after the last one that fits, and a line of ticks below it."""
        step, unit = self._step()
        ticks = range(self.origin, self.end + 1, step)
        labels = ""
        for tick in ticks:
            label = tick if self.unit is not None else (tick - self.origin) // UNITS_US[unit]
            longer = f"{labels.ljust(self.column(tick))}{label}"
            if labels and len(longer) + 2 + len(unit) > LINE:
                break
            labels = longer
        return f"{labels}  {unit}", self.marks((tick, "|") for tick in ticks)

    def note(self) -> str | None:
        """What a reader must know about the scale: when it begins, and whether it is rounded; None if nothing."""
        notes = [] if self.unit is not None or self.origin == 0 else [f"0 is {timestamp_text(self.origin)}"]
        if not self.is_exact:
            character = f"{self.per} {self.unit}" if self.unit is not None else duration_text(self.per)
            notes.append(f"a character is {character}, edges are rounded down")
        return "; ".join(notes) or None

    def _begin(self, column: int) -> int:
        """The first time or number of a column."""
        return self.origin - -column * self.per // self.chars

    def _step(self) -> tuple[int, str]:
        """The distance between ticks, and the unit of labels."""
        few = (self.cell, 2 * self.cell) if self.is_exact else ()
        for step in chain(few, _round_steps(self.unit, self.cell)):
            if self.is_exact and step % self.cell:
                continue
            unit = duration_text(step).split()[1] if self.unit is None else self.unit
            last = self.end if self.unit is not None else (self.end - self.origin) // UNITS_US[unit]
            if step * self.chars >= (len(str(last)) + 2) * self.per:
                return step, unit
        raise AssertionError("steps grow without an end")


def _round_steps(unit: str | None, cell: int = 1) -> Iterable[int]:
    """Round numbers in ascending order: round durations if time is counted, then round multiples of a cell."""
    if unit is None:
        yield from _ROUND_US
    for power in count():
        yield from (digit * cell * 10**power for digit in (1, 2, 5))
