"""An argument is a product of one value per input, or it is computed for every combination."""

from math import prod

from hypothesis import given
from hypothesis import strategies as st

from joinfold.logical.expressions import Call, Column, Expression, Literal, inputs_read
from joinfold.planner.drafting.factors import conditions_of, factors_by_input
from joinfold.reference.evaluate import Context, evaluate
from joinfold.types import BOOLEAN, DOUBLE, FLOAT, INT, DataType, decimal

LEAVES = (Column("a", "x", INT), Column("a", "y", INT), Column("b", "x", INT), Column("c", "x", INT), Literal(2, INT))
arguments: st.SearchStrategy[Expression] = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.builds(lambda operator, *both: Call(operator, both), st.sampled_from("***+"), inner, inner),
        inner.map(lambda own: Call("negate", (own,))),
    ),
    max_leaves=7,
)
numbers = st.integers(-3, 3)
rows = st.fixed_dictionaries({alias: st.fixed_dictionaries({"x": numbers, "y": numbers}) for alias in "abc"})


def is_product(argument: Expression) -> bool:
    """By the definition: signs and products down to what reads one input or none."""
    if len(inputs_read(argument)) < 2:
        return True
    return isinstance(argument, Call) and argument.function != "+" and all(map(is_product, argument.arguments))


@given(argument=arguments, values=rows)
def test_the_factors_are_of_one_input_each_and_their_product_is_the_argument(
    argument: Expression, values: dict[str, dict[str, int]]
) -> None:
    found = factors_by_input(argument)
    assert (found is not None) == is_product(argument)
    if found is not None:
        assert set(found) == (inputs_read(argument) or {""})
        assert all(inputs_read(factor) <= {alias} for alias, factor in found.items())
        context = Context(values).wide()
        assert prod(evaluate(factor, context) for factor in found.values()) == evaluate(argument, context)


def times(type_: DataType) -> Expression:
    return Call("*", (Column("a", "x", type_), Column("b", "x", type_)))


def test_a_product_that_is_rounded_is_not_the_product_of_its_factors() -> None:
    assert factors_by_input(times(DOUBLE)) is not None  # added up in more digits than it has
    assert factors_by_input(times(FLOAT)) is None
    assert factors_by_input(times(decimal(18, 6))) is not None
    assert factors_by_input(times(decimal(38, 6))) is None  # a scale of 12 does not fit beside so many digits


def test_a_filter_is_its_conjuncts() -> None:
    first, second, third = (Column("a", name, BOOLEAN) for name in "pqr")
    assert conditions_of(None) == ()
    assert conditions_of(first) == (first,)
    assert conditions_of(Call("and", (first, Call("and", (second, third))))) == (first, second, third)
    either = Call("or", (first, second))
    assert conditions_of(either) == (either,)
