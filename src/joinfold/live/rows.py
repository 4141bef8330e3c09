"""Answers as text: aligned columns for people, or one JSON object per row for programs."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

Print = Callable[[str], None]


class RowPrinter:
    """Prints the rows of tables, one table after another; columns get wider but never narrower, to stay aligned."""

    def __init__(self, schema: pa.Schema, print_line: Print, as_json: bool) -> None:
        self._names = schema.names
        self._right = [pa.types.is_integer(field.type) or pa.types.is_floating(field.type) for field in schema]
        self._print = print_line
        self._as_json = as_json
        self._widths = [len(name) for name in self._names]
        self._headed = False

    def show(self, answers: pa.Table) -> None:
        """Prints the rows in the order of their instants."""
        rows = answers.sort_by([(name, "ascending") for name in self._names[:2] if name in ("instant", "arrival")])
        if self._as_json:
            for row in rows.to_pylist():
                self._print(json.dumps({name: _plain(value) for name, value in row.items()}, ensure_ascii=False))
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


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else _text(value)


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
            return str(value)
