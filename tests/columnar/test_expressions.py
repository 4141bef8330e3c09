"""Whole expressions, casts and CASE against the reference, on columns with edge cases of their types."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from joinfold.logical.expressions import Call, Case, Cast, Column, Expression, Literal
from joinfold.types import BOOLEAN, STRING, TIMESTAMP, VOID, DataType, castable
from tests.columnar.oracle import ZONES, Row, assert_agrees, columns_read, edges, sample_rows
from tests.dialect.generated import CASTABLE_TO, TYPES, Leaves, any_expression, expression_of

LEAVES = Leaves(Column(alias, f"c{number}", type_) for alias in "ab" for number, type_ in enumerate(TYPES))
CASTS = [(source, target) for source in TYPES for target in CASTABLE_TO if castable(source, target)]
NUMBERS = tuple(type_ for type_ in TYPES if type_.is_numeric)


@st.composite
def expressions(draw: DrawFn, types: tuple[DataType, ...] | None = None) -> Expression:
    """An expression over the columns of two inputs, of one of the types."""
    if types is None:
        return any_expression(draw, LEAVES, 3)
    return expression_of(draw, LEAVES, draw(st.sampled_from(types)), 4)


@st.composite
def rows_for(draw: DrawFn, expression: Expression) -> list[Row]:
    keys = {
        (column.input, column.name): st.sampled_from([None, *edges(column.type)]) for column in columns_read(expression)
    }
    return draw(st.lists(st.fixed_dictionaries(keys), min_size=1, max_size=6))


@given(st.data(), expressions(), st.sampled_from(ZONES))
def test_random_expressions_agree_with_the_reference(data: st.DataObject, expression: Expression, zone: str) -> None:
    assert_agrees(expression, data.draw(rows_for(expression)), zone)


@given(st.data(), expressions((BOOLEAN,)), st.sampled_from(ZONES))
def test_random_conditions_agree_with_the_reference(data: st.DataObject, expression: Expression, zone: str) -> None:
    assert_agrees(expression, data.draw(rows_for(expression)), zone)


@given(st.data(), expressions(NUMBERS))
def test_intermediate_values_in_arguments_of_aggregates_do_not_overflow(
    data: st.DataObject, expression: Expression
) -> None:
    assert_agrees(expression, data.draw(rows_for(expression)), wide=True)


@pytest.mark.parametrize(("source", "target"), CASTS, ids=str)
def test_casts_agree_with_the_reference(source: DataType, target: DataType) -> None:
    cast = Cast(Column("a", "x", source), target)
    compared = sum(assert_agrees(cast, sample_rows([cast.argument], 60, 1), zone) for zone in ZONES)  # type: ignore[list-item]
    assert compared > 0


@pytest.mark.parametrize("type_", [*TYPES, VOID], ids=str)
def test_every_type_passes_through_case_and_coalesce(type_: DataType) -> None:
    left, right = (Literal(None, VOID) if type_ == VOID else Column(alias, "x", type_) for alias in "ab")
    constant: Expression = Literal(edges(type_)[0], type_) if type_ != VOID else left
    flag = Column("a", "flag", BOOLEAN)
    rows = sample_rows([column for column in (left, right, flag) if isinstance(column, Column)], 40, 1)
    cases = [
        Case(((flag, left), (Call("is null", (flag,)), right)), constant, type_),
        Case(((flag, left),), Literal(None, VOID), type_),
        Case(((flag, constant),), left, type_),
        Call("coalesce", (left, right)),
        Call("coalesce", (left, left)),
        Call("coalesce", (left, Literal(None, VOID), constant)),
    ]
    for expression in cases:
        assert_agrees(expression, rows)


def test_a_cast_of_null_is_null_in_every_type() -> None:
    for target in CASTABLE_TO:
        assert_agrees(Cast(Literal(None, VOID), target), [{}, {}])


def test_text_without_zone_is_local_and_text_with_zone_is_not() -> None:
    texts = ["2024-03-10 02:30:00", "2024-11-03 01:30:00", "2024-07-01 00:00:00+05:30", "2024-07-01"]
    rows = [{("a", "t"): text} for text in texts]
    cast = Cast(Column("a", "t", STRING), TIMESTAMP)
    for zone in ZONES:
        assert assert_agrees(cast, rows, zone) == len(rows)
