"""Integers on the way to a sum: as wide as their types and constants say, never wider than need be."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joinfold.errors import EvaluationError
from joinfold.logical.expressions import Call, Case, Cast, Column, Expression, Literal, walk
from joinfold.planner.drafting.widening import converted, widened
from joinfold.reference.evaluate import Context, evaluate
from joinfold.types import BIGINT, BOOLEAN, DOUBLE, INT, INTEGER_BITS, STRING, DataType, decimal

COLUMNS = {name.lower(): DataType(name) for name in INTEGER_BITS}
integers: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(
        st.sampled_from([Column("a", name, type_) for name, type_ in COLUMNS.items()]),
        st.sampled_from([Literal(0, INT), Literal(-7, INT), Literal(2**31 - 1, INT)]),
    ),
    lambda inner: st.one_of(
        st.builds(lambda operator, *both: Call(operator, both), st.sampled_from("+-*%"), inner, inner),
        st.builds(lambda operator, own: Call(operator, (own,)), st.sampled_from(["negate", "abs", "coalesce"]), inner),
    ),
    max_leaves=4,
)
extremes = st.fixed_dictionaries(
    {
        name: st.sampled_from([-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, -1, 0, 3, None])
        for name, bits in ((name, INTEGER_BITS[type_.name]) for name, type_ in COLUMNS.items())
    }
)


@given(expression=integers, row=extremes)
def test_the_wide_expression_never_overflows_and_is_the_number_that_was_meant(
    expression: Expression, row: dict[str, int | None]
) -> None:
    context = Context({"a": row})
    meant = [evaluate(part, context.wide()) for part in walk(expression)]
    assume(all(value is None or abs(value) < 10**38 for value in meant))
    assert evaluate(widened(expression), context) == meant[0]


SMALL, LARGE = Column("a", "int", INT), Column("a", "bigint", BIGINT)
SQUARE = Call("*", (SMALL, SMALL))


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        (LARGE, BIGINT),
        (Call("%", (LARGE, SMALL)), BIGINT),
        (Call("*", (SMALL, SMALL)), BIGINT),
        (Call("*", (Call("*", (SMALL, Literal(1, INT))), SMALL)), BIGINT),
        (Call("*", (Call("*", (SMALL, Literal(2, INT))), SMALL)), decimal(21, 0)),
        (Call("+", (LARGE, Literal(1, INT))), decimal(20, 0)),
        (Call("+", (SQUARE, SMALL)), BIGINT),
        (Call("+", (SQUARE, SQUARE)), decimal(20, 0)),  # 2^62 twice
        (Call("negate", (LARGE,)), decimal(19, 0)),
        (Call("/", (LARGE, SMALL)), DOUBLE),
        (Case(((Literal(True, BOOLEAN), Call("+", (LARGE, LARGE))),), SMALL, BIGINT), decimal(20, 0)),
        (Case(((Literal(True, BOOLEAN), SMALL),), SMALL, INT), INT),
    ],
)
def test_types_are_as_wide_as_the_largest_number_needs(expression: Expression, type_: DataType) -> None:
    assert widened(expression).type == type_


def test_a_function_with_a_type_of_its_own_gets_that_and_it_is_an_error_where_it_is_too_small() -> None:
    left = widened(Call("left", (Literal("word", STRING), Call("+", (SMALL, Literal(1, INT))))))
    assert isinstance(left, Call) and left.arguments[1].type == INT
    assert evaluate(left, Context({"a": {"int": 1}})) == "wo"
    with pytest.raises(EvaluationError):
        evaluate(left, Context({"a": {"int": 2**31 - 1}}))


def test_what_has_the_type_already_is_not_converted() -> None:
    assert converted(SMALL, INT) is SMALL
    assert converted(SMALL, BIGINT) == Cast(SMALL, BIGINT)
