"""From Arrow to vectors and back: columns with other Arrow types, and the types of wide results."""

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from joinfold.arrow import arrow_type
from joinfold.columnar import evaluate
from joinfold.columnar.boundary import from_arrow, to_arrow
from joinfold.errors import EvaluationError
from joinfold.logical.expressions import Call, Case, Cast, Column, Expression, Literal, walk
from joinfold.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DataType,
)
from joinfold.types import decimal as decimal_type
from tests.columnar.oracle import edges
from tests.dialect.generated import TYPES

WIDE = decimal_type(38, 2)
NESTED = DataType("ARRAY<DOUBLE>")
LISTS = pa.array([[1.0, None], [float("nan")], [], None, [-0.0]], pa.list_(pa.float64()))


def wide(expression: Expression, **columns: pa.Array) -> pa.Array:
    arrays = {("a", name): column for name, column in columns.items()}
    return evaluate(expression, arrays, len(next(iter(columns.values()))), wide=True)


@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.parametrize("start", [0, 3])
def test_every_type_comes_out_as_it_went_in(type_: DataType, start: int) -> None:
    for values in (edges(type_), [None, *edges(type_), None], [None, None, None, None]):
        column = pa.array(values, arrow_type(type_)).slice(start)
        back = to_arrow(from_arrow(column, type_), type_, len(column))
        assert back.type == column.type
        assert repr(back.to_pylist()) == repr(column.to_pylist())
        back.validate(full=True)


@pytest.mark.parametrize(
    ("column", "type_"),
    [
        (pa.array(["x", None, "x"]).dictionary_encode(), STRING),
        (pa.array(["x", None, "x"], pa.large_string()), STRING),
        (pa.array(["x", None, "x"], pa.string_view()), STRING),
        (pa.array([datetime.datetime(2024, 1, 1), None, None], pa.timestamp("ms")), TIMESTAMP_NTZ),
        (pa.array([0, None, 1], pa.timestamp("us", tz="Asia/Kolkata")), TIMESTAMP),
        (pa.array([Decimal("1.50"), None, None], pa.decimal256(40, 2)), decimal_type(6, 2)),
    ],
    ids=["dictionary", "large", "view", "milliseconds", "zone", "decimal256"],
)
def test_columns_may_have_another_arrow_type_of_the_same_meaning(column: pa.Array, type_: DataType) -> None:
    out = evaluate(Call("coalesce", (Column("a", "c", type_),)), {("a", "c"): column}, 3)
    assert out.equals(column.cast(arrow_type(type_)))


def test_a_wide_integer_is_int64_while_it_can_be_and_a_decimal_after_that() -> None:
    x, y = Column("a", "x", INT), Column("a", "y", BIGINT)
    ints = pa.array([2**31 - 1, None, -5], pa.int32())
    total = wide(Call("+", (x, x)), x=ints)
    assert total.type == pa.int64() and total.to_pylist() == [2**32 - 2, None, -10]
    longs = pa.array([2**63 - 1, None, -3], pa.int64())
    square = Call("*", (y, y))
    large = wide(square, y=longs)
    assert large.type == pa.decimal128(38, 0)
    assert large.to_pylist() == [Decimal((2**63 - 1) ** 2), None, Decimal(9)]
    fourth = wide(Call("*", (square, Call("%", (square, Literal(10**18 - 1, BIGINT))))), y=longs)
    assert fourth.type == pa.decimal256(76, 0)
    assert fourth.to_pylist()[2] == 81


def test_a_wide_value_may_be_larger_on_the_way_than_any_type_but_not_in_the_end() -> None:
    x = Column("a", "x", BIGINT)
    power: Expression = x
    for _ in range(3):
        power = Call("*", (power, power))
    column = pa.array([2**62, 2], pa.int64())
    assert wide(Call("%", (power, Literal(1000, BIGINT))), x=column).to_pylist() == [2**496 % 1000, 256]
    with pytest.raises(EvaluationError, match="more than 76 digits"):
        wide(power, x=column)


def test_a_wide_decimal_keeps_its_scale_and_gets_digits() -> None:
    money = decimal_type(38, 2)
    x = Column("a", "x", money)
    most = Decimal("999999999999999999999999999999999999.99")
    column = pa.array([most, None, Decimal("-0.01")], arrow_type(money))
    product = Call("*", (x, x))
    with pytest.raises(EvaluationError, match=r"does not fit DECIMAL\(38, 4\)"):
        evaluate(product, {("a", "x"): column}, 3)
    found = wide(product, x=column)
    assert found.type == pa.decimal256(76, 4)
    assert [None if value is None else int(value * 10**4) for value in found.to_pylist()][1:] == [None, 1]
    assert wide(Call("+", (x, Literal(Decimal("1.00"), decimal_type(3, 2)))), x=column[1:]).type == arrow_type(money)


def test_nested_values_pass_and_are_equal_or_not() -> None:
    x, flag = Column("a", "x", NESTED), Column("a", "flag", BOOLEAN)
    flags = pa.array([True, True, False, True, None])
    columns = {("a", "x"): LISTS, ("a", "flag"): flags}

    def values(expression: Expression) -> list[Any]:
        return list(evaluate(expression, columns, len(LISTS)).to_pylist())

    chosen = values(Case(((flag, x),), Literal(None, VOID), NESTED))
    assert repr(chosen) == "[[1.0, None], [nan], None, None, None]"
    assert values(Call("=", (x, x))) == [True, True, True, None, True]
    assert values(Call("is null", (x,))) == [False, False, False, True, False]
    assert values(Call("nullif", (x, x))) == [None] * 5
    assert repr(values(Call("coalesce", (x, x)))) == repr(LISTS.to_pylist())


def test_names_with_dots_are_not_confused() -> None:
    columns = {("a.b", "c"): pa.array([1]), ("a", "b.c"): pa.array([2])}
    difference = Call("-", (Column("a.b", "c", BIGINT), Column("a", "b.c", BIGINT)))
    assert evaluate(difference, columns, 1).to_pylist() == [-1]


def under_null(values: list[Any], type_: DataType) -> pa.Array:
    """A column with only the last value present; the buffers have values for the others too."""
    whole = pa.array(values, arrow_type(type_))
    validity = pa.array([place == len(values) - 1 for place in range(len(values))]).buffers()[1]
    return pa.Array.from_buffers(whole.type, len(values), [validity, *whole.buffers()[1:]])


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        (Call("+", (Column("a", "x", INT), Literal(1, INT))), [2**31 - 1, 1]),
        (Call("*", (Column("a", "x", BIGINT), Column("a", "x", BIGINT))), [2**63 - 1, 3]),
        (Call("negate", (Column("a", "x", BIGINT),)), [-(2**63), 3]),
        (Call("%", (Column("a", "x", BIGINT), Column("a", "x", BIGINT))), [0, -(2**63), 3]),
        (Call("/", (Column("a", "x", WIDE), Column("a", "x", WIDE))), [Decimal(0), Decimal(10**30), Decimal(3)]),
        (Call("ceil", (Column("a", "x", DOUBLE),)), [float("nan"), 1e300, 0.5]),
        (Call("year", (Column("a", "x", TIMESTAMP),)), [2**63 - 1, 0]),
        (Cast(Column("a", "x", TIMESTAMP), STRING), [2**63 - 1, 0]),
        (Cast(Column("a", "x", STRING), INT), ["word", "12"]),
        (Call("like", (Literal("a", STRING), Column("a", "x", STRING))), ["\\", "a"]),
        (Call("upper", (Column("a", "x", STRING),)), ["ß", "a"]),
        (Cast(Column("a", "x", DATE), TIMESTAMP), [datetime.date(9999, 12, 31), datetime.date(1970, 1, 1)]),
    ],
    ids=lambda part: part.function if isinstance(part, Call) else None,
)
def test_what_stands_under_null_does_not_matter(expression: Expression, values: list[Any]) -> None:
    column = next(node for node in walk(expression) if isinstance(node, Column))
    masked = evaluate(expression, {("a", "x"): under_null(values, column.type)}, len(values))
    alone = evaluate(expression, {("a", "x"): pa.array(values[-1:], arrow_type(column.type))}, 1)
    assert masked.to_pylist() == [None] * (len(values) - 1) + alone.to_pylist()


def test_a_large_decimal_under_null_does_not_slow_down_the_others() -> None:
    column = under_null([Decimal(10**30), Decimal(3)], WIDE)
    assert from_arrow(column, WIDE).values.dtype == np.int64
