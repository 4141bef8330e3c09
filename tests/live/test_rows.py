"""Answers printed as text."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa

from joinfold.live.rows import RowPrinter

SCHEMA = pa.schema(
    [("instant", pa.timestamp("us", "UTC")), ("room", pa.string()), ("n", pa.int64()), ("sum", pa.decimal128(10, 2))]
)


def table(*rows: tuple[int, str | None, int | None, str]) -> pa.Table:
    names = SCHEMA.names
    return pa.Table.from_pylist(
        [
            dict(zip(names, (datetime(2025, 1, 1, 0, 0, second, tzinfo=UTC), *row, Decimal(total)), strict=True))
            for second, *row, total in rows
        ],
        SCHEMA,
    )


def printed(as_json: bool, *tables: pa.Table) -> list[str]:
    lines: list[str] = []
    printer = RowPrinter(SCHEMA, lines.append, as_json)
    for answers in tables:
        printer.show(answers)
    return lines


def test_columns_stay_below_each_other() -> None:
    first = table((20, "attic", 7, "1.50"), (10, None, 12_345, "0.00"))
    assert printed(False, first.slice(0, 0), first, table((30, "a long room", None, "3.25"))) == [
        "instant              room       n  sum",
        "2025-01-01 00:00:10  NULL   12345  0.00",
        "2025-01-01 00:00:20  attic      7  1.50",
        "2025-01-01 00:00:30  a long room   NULL  3.25",
    ]


def test_a_row_is_a_json_object() -> None:
    (line,) = printed(True, table((10, "Küche", None, "1.50")))
    assert json.loads(line) == {"instant": "2025-01-01 00:00:10", "room": "Küche", "n": None, "sum": "1.50"}
    assert "Küche" in line
