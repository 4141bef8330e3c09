"""`columnar` beside the reference: the same expression, once over columns and once row by row.

In `columnar` a branch that is not taken cannot fail. The reference guarantees this for CASE only. So it evaluates
`spelled_out` expressions, in which CASE replaces the other functions with branches.
"""

import datetime
import decimal
import random
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from joinfold.arrow import arrow_type
from joinfold.columnar import Key, evaluate
from joinfold.errors import EvaluationError
from joinfold.logical.expressions import Call, Case, Cast, Column, Expression, Literal, rewrite, walk
from joinfold.reference import evaluate as reference
from joinfold.reference.rows import from_arrow
from joinfold.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    INTERVAL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
)
from tests.strategies import same_value

Row = dict[Key, Any]
ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Atlantic/Azores")
NO_VALUE = object()  # the reference raises an error, or returns a value that the type cannot hold
WIDEST = 10**76

_TIMES = [
    0,
    -1,
    1,
    -86_400_000_001,
    1_719_835_199_999_999,
    1_709_164_800_123_456,
    1_710_053_999_999_999,  # New York: a microsecond before the clock goes from 2 to 3
    1_730_611_800_000_000,  # New York: the second 1:30 of the night in which it goes back
    1_729_990_800_500_000,  # Azores: the second midnight of a day
    -2_717_650_900_000_000,  # New York: before it had a standard time
    253_402_300_799_999_999,
    -62_135_596_800_000_000,
]
_TEXTS = [
    *(
        "",
        "x",
        "Straße x'y\\z",
        " 日本 aXb ",
        "%",
        "a_b",
        "a%",
        "\\%",
        "\\_b%",
        "\\",
        "a\\b",
        "%b\n",
        "a\nb",
        "ÀÉ",
        "İ",
    ),
    *("12", " -7 ", "1.5", "1e3", "0.005", "-0.005", "NaN", "Infinity", "1e400", "99999999999999999999"),
    *("yes", "F", "true", "nope", "2024-02-29", "2024-02-30", "2024-03-10 02:30:00", "2024-11-03T01:30:00+02:00"),
]
_DAYS = ["1970-01-01", "1969-12-31", "2024-02-29", "0001-01-01", "9999-12-31", "2024-10-27", "2000-03-01"]
_SINGLES = [0.0, -0.0, 1.5, -2.25, 0.10000000149011612, 3.4028234663852886e38, 1.401298464324817e-45, 3e9]
_DOUBLES = [
    *(0.0, -0.0, 1.5, -2.5, 0.1, 3.0, 1e10, 1e22, 1e300, -1e300, 5e-324, 0.0005, 1e7, 12345678.9),
    *(9.2e18, 9223372036854774784.0, 9223372036854775808.0, -9223372036854775808.0),
]
_NOT_FINITE = [float("inf"), float("-inf"), float("nan")]
EDGES: dict[DataType, list[Any]] = {
    BOOLEAN: [True, False],
    FLOAT: [*_SINGLES, *_NOT_FINITE],
    DOUBLE: [*_DOUBLES, *_NOT_FINITE],
    STRING: _TEXTS,
    BINARY: [b"", b"a", b"\x00\xff", b"\xff"],
    DATE: list(map(datetime.date.fromisoformat, _DAYS)),
    TIMESTAMP: _TIMES,
    TIMESTAMP_NTZ: _TIMES,
    INTERVAL: [0, 1, -1, 3_600_000_000, -86_400_000_000, 10**15, 2**63 - 1],
}


def edges(type_: DataType) -> list[Any]:
    """Edge cases of a type, and ordinary values."""
    if type_.is_integer:
        end = 1 << INTEGER_BITS[type_.name] - 1
        return [0, 1, -1, 2, 3, -7, 12, 100, end - 1, end // 2, -end, -end + 1]
    if type_.is_decimal:
        assert type_.precision is not None and type_.scale is not None
        units = [0, 1, -1, 5, -15, 50, 149, -150, 10**type_.precision - 1, 1 - 10**type_.precision]
        units += [10**type_.scale, 3 * 10**type_.scale, -5 * 10**type_.scale // 2, 10 ** (type_.precision - 1)]
        exact = decimal.Context(prec=60)
        return [Decimal(unit).scaleb(-type_.scale, exact) for unit in units if abs(unit) < 10**type_.precision]
    return EDGES[type_]


def sample_rows(columns: list[Column], count: int, seed: int) -> list[Row]:
    """Rows of edge values and NULLs."""
    draws = random.Random(seed)
    pools = {(column.input, column.name): [None, *edges(column.type) * 2] for column in columns}
    return [{key: draws.choice(pool) for key, pool in pools.items()} for _ in range(count)]


def columns_read(expression: Expression) -> list[Column]:
    return list(dict.fromkeys(node for node in walk(expression) if isinstance(node, Column)))


def as_columns(rows: list[Row], columns: list[Column]) -> dict[Key, pa.Array]:
    """The rows as Arrow columns with an offset into their buffers."""
    found = {}
    for column in columns:
        key = (column.input, column.name)
        found[key] = pa.array([None, *(row[key] for row in rows)], arrow_type(column.type)).slice(1)
    return found


def spelled_out(expression: Expression) -> Expression:
    """The expression rewritten so that the reference gives the result of Spark."""

    def lazily(node: Expression) -> Expression | None:
        match node:
            case Call(function="and" | "or" as name, arguments=arguments):
                parts = tuple(map(spelled_out, arguments))
                decisive = Literal(name == "or", BOOLEAN)
                branches = tuple((Call("=", (part, decisive)), decisive) for part in parts)
                return Case(branches, Call(name, parts), BOOLEAN)
            case Call(function="coalesce", arguments=arguments, type=type_):
                parts = tuple(map(spelled_out, arguments))
                return Case(tuple((Call("not", (Call("is null", (part,)),)), part) for part in parts), parts[-1], type_)
            case Cast(argument=argument, type=type_) if type_ == STRING and argument.type.is_decimal:
                part = spelled_out(argument)  # Python's decimals have −0, Spark's do not
                is_zero = Call("=", (part, Literal(0, INT)))
                return Cast(Case(((is_zero, Call("abs", (part,))),), part, part.type), STRING)
            case Cast(argument=argument, type=type_) if type_ == STRING and argument.type in (TIMESTAMP, TIMESTAMP_NTZ):
                part = spelled_out(argument)  # Python's strftime does not pad a year to four digits
                text = Cast(part, STRING)
                filled = tuple(
                    (
                        Call("<", (Call("year", (part,)), Literal(end, INT))),
                        Call("||", (Literal(zeros, STRING), text)),
                    )
                    for end, zeros in ((10, "000"), (100, "00"), (1000, "0"))
                )
                return Case(filled, text, STRING)
        return None

    return rewrite(expression, lazily)


def expected(expression: Expression, row: Row, zone: str, wide: bool) -> Any:
    """The value of the reference for a row."""
    combination: dict[str, dict[str, Any]] = {}
    for (alias, name), value in row.items():
        combination.setdefault(alias, {})[name] = value
    try:
        value = reference.evaluate(expression, reference.Context(combination, zone=ZoneInfo(zone), is_wide=wide))
        if not (wide and (expression.type.is_integer or expression.type.is_decimal)):
            pa.array([value], arrow_type(expression.type))
        elif value is not None and abs(Decimal(value).scaleb(expression.type.scale or 0)) >= WIDEST:
            return NO_VALUE
    except (EvaluationError, OverflowError, decimal.InvalidOperation, pa.ArrowInvalid):
        return NO_VALUE
    return value


def answers(expression: Expression, rows: list[Row], zone: str, wide: bool) -> list[Any]:
    """The values of `columnar` for all rows, in the reference's representation."""
    array = evaluate(expression, as_columns(rows, columns_read(expression)), len(rows), zone, wide)
    assert len(array) == len(rows)
    if not wide:
        assert array.type == arrow_type(expression.type)
    values = [row["value"] for row in from_arrow(pa.table({"value": array}))]
    return [int(value) if isinstance(value, Decimal) and expression.type.is_integer else value for value in values]


def assert_agrees(expression: Expression, rows: list[Row], zone: str = "UTC", wide: bool = False) -> int:
    """Checks that both give equal values, or that `columnar` raises if one row has no value; counts rows with one."""
    spelled = spelled_out(expression)
    with decimal.localcontext(prec=200):
        wanted = [expected(spelled, row, zone, wide) for row in rows]
        fine = [row for row, value in zip(rows, wanted, strict=True) if value is not NO_VALUE]
        values = [value for value in wanted if value is not NO_VALUE]
        found = answers(expression, fine, zone, wide)
        wrong = [
            f"{expression}: {value!r} instead of {want!r} on {row}, zone {zone}, wide {wide}"
            for row, value, want in zip(fine, found, values, strict=True)
            if not same_value(value, want, 0.0)
        ]
    assert not wrong, "\n".join(wrong[:10])
    for row, value in zip(rows, wanted, strict=True):
        if value is NO_VALUE:
            with pytest.raises(EvaluationError):
                answers(expression, [row], zone, wide)
    if len(fine) < len(rows):
        with pytest.raises(EvaluationError):
            answers(expression, rows, zone, wide)
    return len(fine)
