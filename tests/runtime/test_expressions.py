"""Expressions as Spark SQL: nothing divides by zero, and everything else stands as it is written."""

import pytest
from hypothesis import given

from joinfold.dialect import read_schema
from joinfold.logical.expressions import Call, Column, Expression, Literal, inputs_read, walk
from joinfold.logical.query import Source
from joinfold.logical.sql import expression_text
from joinfold.runtime.expressions import SOURCE, of_source, spark_text, time_text
from joinfold.types import INT
from tests.planner.known import WINDOW, query_of
from tests.strategies import Case, cases


def expression_of(text: str) -> Expression:
    (output,) = query_of(f"SELECT {text} AS o FROM a {WINDOW} WHERE a.k = 1").outputs
    return output.expression


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a.k / a.j", "a.k / NULLIF(a.j, 0)"),
        ("a.k % (a.j / a.g)", "a.k % NULLIF(a.j / NULLIF(a.g, 0), 0)"),
        ("COALESCE(a.k / a.j % 2, a.g)", "COALESCE(a.k / NULLIF(a.j, 0) % NULLIF(2, 0), a.g)"),
        ("CASE WHEN a.j <> 0 THEN a.k / a.j END", "CASE WHEN a.j <> 0 THEN a.k / NULLIF(a.j, 0) ELSE NULL END"),
        ("a.k * a.j - a.g", "a.k * a.j - a.g"),
    ],
)
def test_a_divisor_that_is_zero_is_null(text: str, told: str) -> None:
    assert spark_text(expression_of(text)) == told


@given(case=cases())
def test_whatever_does_not_divide_is_the_canonical_text(case: Case) -> None:
    for output in case.bind().outputs:
        expression = output.expression
        divides = any(isinstance(node, Call) and node.function in "/%" for node in walk(expression))
        assert divides or spark_text(expression) == expression_text(expression)


def test_the_columns_of_a_source_are_read_under_one_alias() -> None:
    expression = Call("+", (Column("a", "x", INT), Call("*", (Column("b", "y z", INT), Literal(2, INT)))))
    assert inputs_read(of_source(expression)) == {SOURCE}
    assert spark_text(of_source(expression)) == "source.x + source.`y z` * 2"


def test_rows_without_a_time_have_that_of_their_batch_or_their_number() -> None:
    schema = read_schema("select TIMESTAMP, k INT")
    timed, untimed = Source("s", schema, True, "select"), Source("s", schema, True, None)
    assert time_text(timed, True) == time_text(timed, False) == "source.`select`"
    assert time_text(untimed, True) == "CURRENT_TIMESTAMP()"
    assert time_text(untimed, False).startswith("TIMESTAMP_MICROS(ROW_NUMBER() OVER")
