"""Columns are called what they mean: expressions that differ have names that differ, however long they are."""

import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.expressions import Call, Case, Cast, Column, Expression, Literal
from joinfold.logical.query import Source
from joinfold.physical.column_names import LONGEST, column_name, meaning_of, short
from joinfold.types import BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, INT, STRING, decimal

NAMES = ["v", "a", "V", "a.v", "v b", "(+ a.v", '"', "`", "1:INT", "", "as", "é"]
texts = st.sampled_from([*NAMES, '"x":STRING', "None", "\\", "\n"])
numbers: st.SearchStrategy[Expression] = (
    st.builds(Column, st.sampled_from(NAMES), st.sampled_from(NAMES), st.just(BIGINT))
    | st.builds(Literal, st.none() | st.integers(-2, 2), st.sampled_from([INT, BIGINT]))
    | st.builds(Literal, st.sampled_from([0.0, -0.0, 0.5, float("inf"), float("nan"), 1e300]), st.just(DOUBLE))
    | st.builds(Literal, st.sampled_from([Decimal(1), Decimal("0.5")]), st.just(decimal(3, 1)))
)
conditions: st.SearchStrategy[Expression] = st.builds(Literal, st.none() | st.booleans(), st.just(BOOLEAN)) | st.builds(
    lambda left, right: Call("=", (left, right)),
    st.builds(Literal, texts, st.just(STRING)),
    st.builds(Column, st.just("a"), st.sampled_from(NAMES), st.just(STRING)),
)


def larger(own: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    calls = st.builds(lambda name, left, right: Call(name, (left, right)), st.sampled_from(["+", "-", "*"]), own, own)
    casts = st.builds(Cast, own, st.sampled_from([BIGINT, DOUBLE, INT]))
    branches = st.lists(st.tuples(conditions, own), min_size=1, max_size=2).map(tuple)
    return calls | casts | st.builds(Case, branches, own, st.just(DOUBLE))


expressions = st.recursive(numbers, larger, max_leaves=8)


@given(expressions, expressions)
def test_distinct_expressions_have_distinct_meanings(first: Expression, second: Expression) -> None:
    """As texts: 0.0 and −0.0 are equal in Python, and no NaN is."""
    assert (meaning_of(first) == meaning_of(second)) == (repr(first) == repr(second))


@given(expressions, expressions, st.sampled_from(["value", "argument", "order"]))
def test_names_are_short_and_distinct(first: Expression, second: Expression, role: str) -> None:
    names = {column_name(own, role) for own in (first, second)}  # type: ignore[arg-type]
    assert len(names) == len({repr(first), repr(second)})
    assert all(len(name) <= LONGEST for name in names)


def test_what_a_column_is_for_is_in_its_name() -> None:
    own = Column("a", "v", BIGINT)
    names = (column_name(own), column_name(own, "argument"), column_name(own, "order"))
    assert names == ("a.v", "argument a.v", "order a.v")


@given(st.text(max_size=3), st.integers(0, 200), st.text(max_size=3))
def test_names_are_cut_only_where_they_are_long(begins: str, length: int, ends: str) -> None:
    name = begins + "x" * length + ends
    found = short(name)
    assert len(found) <= LONGEST and (found == name) == (len(name) <= LONGEST)
    assert short(found) == found
    assert short(name + "y") != found and short("y" + name) != found


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        (Literal('it\'s "x"', STRING), '"it\'s \\"x\\"":STRING'),
        (Literal(None, STRING), "None:STRING"),
        (Literal(True, BOOLEAN), "True:BOOLEAN"),
        (Literal(datetime.date(2024, 2, 29), DATE), "2024-02-29:DATE"),
        (Literal(b"\x00", BINARY), "b'\\x00':BINARY"),
        (Cast(Column("a", "v", BIGINT), decimal(9, 2)), "(as DECIMAL(9, 2) a.v)"),
    ],
)
def test_meanings_stay_what_they_are(value: Expression, meaning: str) -> None:
    """State is read by them: another notation would orphan it."""
    assert meaning_of(value) == meaning


def test_the_meaning_of_a_written_expression() -> None:
    text = (
        "SELECT CASE WHEN a.v > 1 THEN a.v + 1 ELSE -a.v END AS x FROM a [TUMBLE 1 SECOND], b [TUMBLE 1 SECOND] "
        "WHERE a.s = b.s"
    )
    columns = read_schema("ts TIMESTAMP, v BIGINT, s STRING")
    query = bind(parse(text), {name: Source(name, columns, True, "ts", 0) for name in "ab"})
    (shown,) = query.outputs
    assert meaning_of(shown.expression) == "(case (> a.v 1:INT) (+ a.v 1:INT) (negate a.v))"
