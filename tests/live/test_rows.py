"""Answers printed as text: every shape of an answer by every printer."""

import csv
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NoReturn

import pyarrow as pa
import pytest

from joinfold import Session
from joinfold.errors import printable
from joinfold.inprocess.bounded import run_in_process
from joinfold.live.rows import PRINTERS

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


def printed(format_: str, *tables: pa.Table) -> list[str]:
    lines: list[str] = []
    printer = PRINTERS[format_](SCHEMA, ["instant"], lines.append)
    for answers in tables:
        printer.show(answers)
    return lines


def test_columns_stay_below_each_other() -> None:
    first = table((20, "attic", 7, "1.50"), (10, None, 12_345, "0.00"))
    assert printed("table", first.slice(0, 0), first, table((30, "a long room", None, "3.25"))) == [
        "instant              room       n  sum",
        "2025-01-01 00:00:10  NULL   12345  0.00",
        "2025-01-01 00:00:20  attic      7  1.50",
        "2025-01-01 00:00:30  a long room   NULL  3.25",
    ]


def test_a_row_is_a_json_object() -> None:
    (line,) = printed("json", table((10, "Küche", None, "1.50")))
    assert json.loads(line) == {"instant": "2025-01-01T00:00:10Z", "room": "Küche", "n": None, "sum": "1.50"}
    assert "Küche" in line


def test_a_row_is_a_line_of_csv() -> None:
    rows = table((10, 'say "x", y', None, "1.50"), (20, None, 7, "0.00"), (30, "", 8, "0.00"), (40, " a\n", 9, "0.00"))
    assert printed("csv", rows.slice(0, 0), rows, rows.slice(1, 1)) == [
        "instant,room,n,sum",
        '2025-01-01T00:00:10Z,"say ""x"", y",,1.50',
        "2025-01-01T00:00:20Z,,7,0.00",
        '2025-01-01T00:00:30Z,"",8,0.00',
        '2025-01-01T00:00:40Z," a\\n",9,0.00',
        "2025-01-01T00:00:20Z,,7,0.00",
    ]


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (pa.timestamp("us", "Europe/Berlin"), datetime(2025, 6, 1, 12, tzinfo=UTC), "2025-06-01T12:00:00Z"),
        (pa.timestamp("us"), datetime(2025, 6, 1, 12, 0, 0, 5), "2025-06-01T12:00:00.000005"),
        (pa.date32(), date(2025, 6, 1), "2025-06-01"),
        (pa.binary(), b"\x01", "01"),
    ],
    ids=str,
)
def test_times_are_in_iso_with_their_zone(type_: pa.DataType, value: Any, text: str) -> None:
    answers = pa.table({"v": pa.array([value], type_)})
    for format_, line in (("json", f'{{"v": "{text}"}}'), ("csv", text)):
        lines: list[str] = []
        PRINTERS[format_](answers.schema, ["v"], lines.append).show(answers)
        assert lines[-1] == line


# --- every shape of an answer -------------------------------------------------------------------------------------

JOIN = "FROM a [4 SECOND SLIDE 2 SECOND], b [4 SECOND SLIDE 2 SECOND] WHERE a.k = b.k"
SHAPES = {
    "instants with groups": f"SELECT a.k, COUNT(*) AS n, SUM(b.v) AS total {JOIN} GROUP BY a.k",
    "instants without groups": f"SELECT COUNT(*) AS n, MAX(a.v) AS most {JOIN}",
    "a group called arrival": f"SELECT a.k AS arrival, COUNT(*) AS n {JOIN} GROUP BY a.k",
    "changes with groups": f"SELECT a.k, COUNT(*) AS n {JOIN} GROUP BY a.k CHANGES",
    "changes without groups": f"SELECT AVG(a.v) AS mean {JOIN} CHANGES",
    "window ids": f"SELECT a.k, SUM(a.v) AS total {JOIN} GROUP BY a.k SYNC ON WINDOW ID",
    "window ids without groups": f"SELECT COUNT(*) AS n {JOIN} SYNC ON WINDOW ID",
    "changes by window ids": f"SELECT a.k, COUNT(*) AS n {JOIN} GROUP BY a.k CHANGES SYNC ON WINDOW ID",
    "plain join": f"SELECT a.k, a.v AS va, b.v AS vb {JOIN}",
    "plain join by window ids": f"SELECT a.k, a.v AS va, b.v AS vb {JOIN} SYNC ON WINDOW ID",
    "arrivals": "SELECT a.k, COUNT(*) AS n FROM a [4 SECOND], b [4 SECOND] WHERE a.k = b.k GROUP BY a.k "
    "EMIT ON ARRIVAL",
    "arrivals without groups": "SELECT COUNT(*) AS n FROM a [4 SECOND], b [4 SECOND] WHERE a.k = b.k EMIT ON ARRIVAL",
    "estimates": f"SELECT a.k, COUNT(*) AS n, AVG(a.v) AS mean {JOIN} GROUP BY a.k SHED TO HOLD 25 ROWS",
    "estimates that change": f"SELECT COUNT(*) AS n {JOIN} CHANGES SHED TO HOLD 25 ROWS",
}
TEXTS = ("x", "\x1b[31mred", "two\nlines\t", "\x9b2J", "\u202egnirts", "Küche", "", None)
NUMBERS = (1.5, float("nan"), float("inf"), float("-inf"), -0.0, None)


@pytest.fixture(scope="module")
def rows() -> dict[str, pa.Table]:
    """Each key four times in each stream, with texts that a terminal would obey and numbers that JSON does not have."""

    def stream(shift: int) -> pa.Table:
        times = [datetime(2025, 1, 1, 0, 0, second % 20, tzinfo=UTC) for second in range(0, 96, 3)]
        values = [NUMBERS[(number + shift) % len(NUMBERS)] for number in range(32)]
        columns = [pa.array(times, pa.timestamp("us", "UTC")), pa.array(TEXTS * 4), pa.array(values, pa.float64())]
        return pa.table(columns, names=["ts", "k", "v"])

    return {"a": stream(0), "b": stream(1)}


def refuse_constant(name: str) -> NoReturn:
    raise AssertionError(f"{name} is not JSON")


def expected_json(value: Any) -> Any:
    if isinstance(value, float):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(value), value)
    return value.strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(value, datetime) else value


def expected_csv(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return printable(value)
        case _:
            return str(expected_json(value))


@pytest.mark.parametrize("format_", PRINTERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_printed(shape: str, format_: str, rows: dict[str, pa.Table]) -> None:
    session = Session()
    for name, table_ in rows.items():
        session.stream(name, table_, time="ts")
    query = session.sql(SHAPES[shape])
    answers = run_in_process(query.logical, rows).answers
    assert answers.num_rows > 1
    lines: list[str] = []
    order = [field.name for field in query.logical.leading]
    printer = PRINTERS[format_](answers.schema, order, lines.append)
    printer.show(answers.take(pa.array(range(answers.num_rows - 1, -1, -1))))
    assert all(line.isprintable() for line in lines)
    expected = answers.sort_by([(name, "ascending") for name in order]).to_pylist()
    if format_ == "json":
        printed_rows = [json.loads(line, parse_constant=refuse_constant) for line in lines]
        texts = [{name: expected_json(value) for name, value in row.items()} for row in expected]
        assert [list(row) for row in printed_rows] == [answers.schema.names] * len(expected)
        assert sorted(map(str, printed_rows)) == sorted(map(str, texts))
        keys = [[row[name] for name in order] for row in printed_rows]
        assert keys == [[row[name] for name in order] for row in texts]
    elif format_ == "csv":
        head, *read = csv.reader(lines)
        assert head == answers.schema.names
        assert sorted(read) == sorted([expected_csv(value) for value in row.values()] for row in expected)
    else:
        assert len(lines) == answers.num_rows + 1
        assert lines[0].split() == answers.schema.names


def test_controls_are_escaped_and_other_text_is_not() -> None:
    text = "\x1b[31m \n \x7f \x9b \u202e Küche 日本 👩‍🚒 C:\\new"
    (console,) = printed("table", table((10, text, 1, "1.50")))[1:]
    assert "\\x1b[31m \\n \\x7f \\x9b \\u202e Küche 日本 👩‍🚒 C:\\new" in console
    (line,) = printed("json", table((10, text, 1, "1.50")))
    assert "\\u001b[31m \\n \\u007f \\u009b \\u202e Küche 日本 👩‍🚒 C:\\\\new" in line
    assert json.loads(line)["room"] == text
