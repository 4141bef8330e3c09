"""Small tables as text or HTML."""

from dataclasses import dataclass
from html import escape

MARK = "▶"


@dataclass(frozen=True, slots=True)
class Table:
    """A title, column names, and rows of text.

    The first ``words`` columns are words, the others amounts. ``marked`` is the number of a highlighted row. ``notes``
    are sentences below the table.
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
        """The table as HTML. The marked row has the class ``marked``."""
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
