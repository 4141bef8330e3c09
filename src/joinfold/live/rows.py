"""Answers as text: aligned columns for people, CSV or one JSON object per row for programs.

All escape control characters: data must not move the cursor of a terminal, or end a line. For programs, a time is in
ISO 8601, with its zone if it has one, and NaN and infinities are written as Spark's to_json writes them.
"""

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa

from joinfold.errors import UNPRINTABLE, printable
from joinfold.runtime.showing.cells import value_text

Print = Callable[[str], None]


class Printer(ABC):
    """Prints the rows of tables, one table after another. ``order`` names the columns by which rows are ordered."""

    def __init__(self, schema: pa.Schema, order: Sequence[str], print_line: Print) -> None:
        self._names = [printable(name) for name in schema.names]
        self._order = [(name, "ascending") for name in order]
        self._print = print_line
        self._headed = False

    def show(self, answers: pa.Table) -> None:
        """Prints the rows in their order."""
        rows = answers.sort_by(self._order).to_pylist()
        if rows:
            self._print_rows(rows)

    @abstractmethod
    def _print_rows(self, rows: list[dict[str, Any]]) -> None:
        """Prints at least one row."""

    def _head(self, line: str) -> None:
        """Prints a line above the first row."""
        if not self._headed:
            self._headed = True
            self._print(line)


class TablePrinter(Printer):
    """Aligned columns. They get wider but never narrower."""

    def __init__(self, schema: pa.Schema, order: Sequence[str], print_line: Print) -> None:
        super().__init__(schema, order, print_line)
        self._right = [pa.types.is_integer(field.type) or pa.types.is_floating(field.type) for field in schema]
        self._widths = [len(name) for name in self._names]

    def _print_rows(self, rows: list[dict[str, Any]]) -> None:
        cells = [[value_text(value) for value in row.values()] for row in rows]
        for row in cells:
            self._widths = [max(width, len(cell)) for width, cell in zip(self._widths, row, strict=True)]
        self._head(self._line(self._names))
        for row in cells:
            self._print(self._line(row))

    def _line(self, cells: list[str]) -> str:
        padded = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, self._widths, self._right, strict=True)
        ]
        return "  ".join(padded).rstrip()


class CsvPrinter(Printer):
    """Comma-separated values below a line of names. NULL is an empty field, and an empty text is quoted."""

    def _print_rows(self, rows: list[dict[str, Any]]) -> None:
        self._head(",".join(map(_quoted, self._names)))
        for row in rows:
            self._print(",".join(map(_field, row.values())))


class JsonPrinter(Printer):
    """A JSON object per row, each on a line of its own."""

    def _print_rows(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            plain = {name: _plain(value) for name, value in row.items()}
            text = json.dumps(plain, ensure_ascii=False, allow_nan=False)
            self._print(UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


PRINTERS: dict[str, type[Printer]] = {"table": TablePrinter, "csv": CsvPrinter, "json": JsonPrinter}


def _plain(value: Any) -> Any:
    """A value that JSON has; others are text."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case None | bool() | int() | float() | str():
            return value
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z") if value.tzinfo else value.isoformat()
        case date():
            return value.isoformat()
        case _:
            return value_text(value)


def _field(value: Any) -> str:
    """A value of a line of CSV."""
    match plain := _plain(value):
        case None:
            return ""
        case bool():
            return str(plain).lower()
        case str():
            return _quoted(printable(plain))
        case _:
            return str(plain)


def _quoted(text: str) -> str:
    needs_quotes = not text or re.search(r'[",]|^\s|\s$', text)
    return '"' + text.replace('"', '""') + '"' if needs_quotes else text
