"""Small tables for people, as text or HTML, and the amounts that stand in them.

An estimate is right to a digit or so, and an amount has two: 0.12 s, 3.1 MB. More would promise what nobody knows.
"""

import math
from dataclasses import dataclass
from html import escape

_SECONDS = ((0.1, 1.0, "s"), (1e-4, 1e-3, "ms"), (0.0, 1e-6, "µs"))
_BYTES = ("bytes", "kB", "MB", "GB", "TB", "PB")
MARK, NOTHING = "▶", "–"


@dataclass(frozen=True, slots=True)
class Table:
    """A title, names of columns, and rows of text; the first ``words`` columns are words, the others amounts.

    A ``marked`` row is the one that the table is about. The ``notes`` are sentences below.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    marked: int | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.header) for row in self.rows)

    def __str__(self) -> str:
        marks = [" ", *(MARK if number == self.marked else " " for number in range(len(self.rows)))]
        lines = [
            f"{mark} {self._line(row)}".rstrip() for mark, row in zip(marks, (self.header, *self.rows), strict=True)
        ]
        return "\n".join([self.title, *lines, *(f"  {note}" for note in self.notes)])

    def _line(self, row: tuple[str, ...]) -> str:
        widths = [max(map(len, column)) for column in zip(self.header, *self.rows, strict=True)]
        cells = enumerate(zip(row, widths, strict=True))
        return "  ".join(cell.ljust(width) if at < self.words else cell.rjust(width) for at, (cell, width) in cells)

    def to_html(self) -> str:
        """The same as an element of a page; the row that is marked has the class of that name."""
        lines = [f"<h2>{escape(self.title)}</h2>", "<table>", self._row_html(self.header, "th")]
        for number, row in enumerate(self.rows):
            lines.append(self._row_html(row, "td", number == self.marked))
        return "\n".join([*lines, "</table>", *(f"<p>{escape(note)}</p>" for note in self.notes)])

    def _row_html(self, row: tuple[str, ...], element: str, is_marked: bool = False) -> str:
        cells = []
        for at, cell in enumerate(row):
            amount = "" if at < self.words else ' class="amount"'
            cells.append(f"<{element}{amount}>{escape(cell)}</{element}>")
        row_start = '<tr class="marked">' if is_marked else "<tr>"
        return f"{row_start}{''.join(cells)}</tr>"


def seconds_text(seconds: float) -> str:
    """A time: 0.12 s, 3.4 ms, 50 µs."""
    if seconds == 0:
        return "0 s"
    seconds = _two_digits(seconds)
    unit, name = next((unit, name) for least, unit, name in _SECONDS if seconds >= least)
    return f"{_digits_text(seconds / unit)} {name}"


def bytes_text(size: float) -> str:
    """A number of bytes: 12 bytes, 3.4 MB."""
    size, unit = _two_digits(size), 0
    while size >= 1000 and unit < len(_BYTES) - 1:
        size, unit = size / 1000, unit + 1
    return f"{_digits_text(size)} {_BYTES[unit]}"


def number_text(number: float) -> str:
    """A number that was counted or said, with two digits at least: 1,250, 12, 1.5."""
    number = number if number >= 10 else _two_digits(number)
    return f"{number:,.0f}" if number >= 10 or number == round(number) else _digits_text(number)


def share_text(share: float) -> str:
    """A part of a whole: 40 %, 0.5 %."""
    return f"{number_text(_two_digits(100 * share))} %"


def times_text(amount: float, other: float) -> str:
    """How many times as much an amount is as another: 1.0 ×, 18 ×."""
    return f"{_digits_text(_two_digits(amount / other))} ×" if other else NOTHING


def _two_digits(number: float) -> float:
    """Rounded to two significant digits."""
    return 0.0 if number == 0 else round(number, 1 - math.floor(math.log10(abs(number))))


def _digits_text(number: float) -> str:
    """A number of two significant digits, with those that it has."""
    if number == 0:
        return "0"
    return f"{number:,.{max(0, 1 - math.floor(math.log10(abs(number)) + 1e-9))}f}"
