"""Where an expression is computed, and that the pair computes of carried columns what was written over inputs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.logical.expressions import Call, Column, Expression, Literal, inputs_read
from joinfold.planner.drafting.input_columns import only_where
from joinfold.reference.evaluate import Context, evaluate
from joinfold.types import BOOLEAN, INT
from tests.planner.gathering import carried_rows, gathered_for

A, B, TWO = Column("a", "x", INT), Column("b", "x", INT), Literal(2, INT)
SUM = Call("+", (A, B))
IN_A, IN_B, IN_BOTH = (Call(">", pair) for pair in ((A, TWO), (B, TWO), (A, B)))

leaves = st.sampled_from([*(Column(alias, "x", INT) for alias in "abc"), TWO])
expressions: st.SearchStrategy[Expression] = st.recursive(
    leaves, lambda inner: st.builds(lambda left, right: Call("+", (left, right)), inner, inner), max_leaves=4
)
rows = st.fixed_dictionaries({alias: st.fixed_dictionaries({"x": st.integers(-9, 9)}) for alias in "abc"})


@pytest.mark.parametrize(
    ("together", "ordinal"), [((A,), 0), ((B,), 1), ((B, TWO), 1), ((TWO,), 0), ((), 0), ((SUM,), 2), ((A, B), 2)]
)
def test_what_reads_one_input_is_computed_there_and_what_reads_several_by_the_pair(
    together: tuple[Expression, ...], ordinal: int
) -> None:
    assert gathered_for("ab").ordinal_of(*together) == ordinal


def test_a_single_input_has_a_constant_row_beside_it() -> None:
    gathered = gathered_for("a")
    assert [own.alias for own in gathered.inputs] == ["a", ""]
    assert gathered.all == [*gathered.inputs, gathered.pair]
    assert gathered.ordinal_of(A) == gathered.ordinal_of(TWO) == 0
    assert len(gathered_for("ab").inputs) == 2


@given(expression=expressions, values=rows)
def test_every_place_computes_what_was_written(expression: Expression, values: dict[str, dict[str, int]]) -> None:
    gathered = gathered_for("abc")
    ordinal = gathered.ordinal_of(expression)
    computed = gathered.at(ordinal, expression)
    of_pair = ordinal == len(gathered.inputs)
    assert of_pair == (len(inputs_read(expression)) > 1)
    context = Context(carried_rows(gathered, values) if of_pair else values)
    assert evaluate(computed, context) == evaluate(expression, Context(values))


def test_the_pair_names_a_column_after_what_was_written() -> None:
    gathered = gathered_for("ab")
    assert gathered.pair.carry(gathered.at(2, SUM)) == "(+ a.x b.x)"
    assert [list(own.frame) for own in gathered.inputs] == [["a.x"], ["b.x"]]


def test_an_input_knows_its_own_conditions_and_the_pair_all_of_them() -> None:
    gathered = gathered_for("ab")
    where = (IN_A, IN_B, IN_BOTH)
    assert gathered.guards(0, where) == [IN_A]
    assert gathered.guards(1, where) == [IN_B]
    own, other, both = gathered.guards(2, where)
    assert own == Column("0", "(> a.x 2:INT)", BOOLEAN) and other == Column("1", "(> b.x 2:INT)", BOOLEAN)
    assert both == gathered.at(2, IN_BOTH)
    guarded = only_where([own, other, both], TWO)
    for a, b, met in ((4, 3, True), (3, 4, False), (4, 2, False), (2, 1, False)):
        carried = Context(carried_rows(gathered, {"a": {"x": a}, "b": {"x": b}}))
        assert evaluate(guarded, carried) == (2 if met else None)


def test_a_product_has_a_factor_at_each_input_unless_it_may_not_be_taken_apart() -> None:
    gathered = gathered_for("abc")
    product = Call("*", (B, A))
    assert list(gathered.factors_of(product).items()) == [(0, A), (1, B)]
    assert gathered.factors_of(product, factorable=False) == {3: product}
    assert gathered.factors_of(SUM) == {3: SUM}
    assert gathered.factors_of(TWO) == {0: TWO}
