"""Answers as text: aligned columns for people, or one JSON object per row for programs.

Both escape control characters: data must not move the cursor of a terminal, or end a line.
"""

import json
import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from joinfold.errors import UNPRINTABLE, printable

Print = Callable[[str], None]


class RowPrinter:
    """Prints the rows of tables, one table after another; columns get wider but never narrower, to stay aligned.

    ``order`` names the columns by which the rows of a table are ordered.
    """

    def __init__(self, schema: pa.Schema, order: Sequence[str], print_line: Print, as_json: bool) -> None:
        self._names = [printable(name) for name in schema.names]
        self._order = [(name, "ascending") for name in order]
        self._right = [pa.types.is_integer(field.type) or pa.types.is_floating(field.type) for field in schema]
        self._print = print_line
        self._as_json = as_json
        self._widths = [len(name) for name in self._names]
        self._headed = False

    def show(self, answers: pa.Table) -> None:
        """Prints the rows in their order."""
        rows = answers.sort_by(self._order)
        if self._as_json:
            for row in rows.to_pylist():
                self._print(_json({name: _plain(value) for name, value in row.items()}))
            return
        cells = [[_text(value) for value in row.values()] for row in rows.to_pylist()]
        for row in cells:
            self._widths = [max(width, len(cell)) for width, cell in zip(self._widths, row, strict=True)]
        if cells and not self._headed:
            self._headed = True
            self._print(self._line(self._names))
        for row in cells:
            self._print(self._line(row))

    def _line(self, cells: list[str]) -> str:
        padded = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, self._widths, self._right, strict=True)
        ]
        return "  ".join(padded).rstrip()


def _json(row: dict[str, Any]) -> str:
    text = json.dumps(row, ensure_ascii=False, allow_nan=False)
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(value: Any) -> Any:
    """A value that JSON has; others are text. NaN and infinities are written as Spark's to_json writes them."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case None | bool() | int() | float() | str():
            return value
        case _:
            return _text(value)


def _text(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case datetime():
            return (value.astimezone(UTC) if value.tzinfo else value).replace(tzinfo=None).isoformat(sep=" ")
        case bytes():
            return value.hex()
        case _:
            return printable(str(value))
