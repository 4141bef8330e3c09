"""Values as text for people: times in UTC, NULL, bytes in hexadecimal, and no character that a terminal would obey."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from joinfold.errors import printable
from joinfold.explain.tables import Table


def value_text(value: Any) -> str:
    """One value as text."""
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


def answers_table(answers: pa.Table, title: str) -> Table:
    """Answers as a table, the last ones first."""
    header = tuple(printable(name) for name in answers.column_names)
    rows = tuple(tuple(value_text(value) for value in row.values()) for row in reversed(answers.to_pylist()))
    return Table(title, header, rows, words=len(header))
