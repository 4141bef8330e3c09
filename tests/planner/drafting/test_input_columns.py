"""The columns of one input: named by what they compute, kept once, and computed only where they may be."""

import pytest

from joinfold.algebra import Monomial
from joinfold.errors import QueryError
from joinfold.logical.expressions import Call, Column, Expression, Literal
from joinfold.physical.payload import LIMB_BITS, Extreme, Factor, IntegerSum, Limb, RealSum
from joinfold.physical.source import StreamRows
from joinfold.planner.drafting.input_columns import InputColumns, only_where
from joinfold.reference.evaluate import Context, evaluate
from joinfold.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, DataType, decimal
from tests.planner.gathering import as_written, frame_row

X, Y, S = Column("a", "x", INT), Column("a", "y", INT), Column("a", "s", STRING)
MORE, POSITIVE = Call("+", (X, Literal(1, INT))), Call(">", (Y, Literal(0, INT)))


def columns() -> InputColumns:
    return InputColumns("a", as_written)


def test_whoever_asks_again_gets_the_same_column() -> None:
    own = columns()
    own.key([X], 3)
    assert own.group(X) == own.carry(X) == own.group(X) == "a.x"
    own.carry(Y)
    spec = own.spec(StreamRows(0))
    assert (spec.keys, spec.classes, spec.groups, spec.carried) == (("a.x",), (3,), ("a.x",), ("a.x", "a.y"))
    assert list(own.frame) == ["a.x", "a.y"]


def test_what_a_column_is_for_tells_it_from_others() -> None:
    own = columns()
    names = [own.carry(X), own.number(X, ()).name, own.order(X)]
    assert names == ["a.x", "argument a.x", "order a.x"] == list(own.frame)
    assert [column.role for column in own.frame.values()] == ["value", "argument", "order"]


@pytest.mark.parametrize(("x", "y", "key"), [(3, 3, 3), (3, 4, None), (3, None, None), (None, 3, None)])
def test_a_key_is_null_where_its_members_differ(x: int | None, y: int | None, key: int | None) -> None:
    own = columns()
    own.key([X, Y], 0)
    assert list(frame_row(own, {"a": {"x": x, "y": y}}).values()) == [key]


@pytest.mark.parametrize(("y", "value"), [(1, 2**31), (0, None), (None, None)])
def test_what_a_filter_removes_is_not_computed_and_a_column_stays_shared(y: int | None, value: int | None) -> None:
    row = {"a": {"x": 2**31 - 1, "y": y}}
    own = columns()
    own.number(MORE, [POSITIVE])
    assert list(frame_row(own, row).values()) == [value]
    shared = columns()
    assert shared.number(X, [POSITIVE]) == shared.number(X, ())
    present = columns()
    present.presence(MORE, [POSITIVE])
    assert list(frame_row(present, row).values()) == [value is not None]
    assert evaluate(only_where([POSITIVE, POSITIVE], MORE), Context(row).wide()) == value


def test_null_is_not_true() -> None:
    own = columns()
    own.condition(Literal(None, DataType("VOID")))
    (column,) = own.frame.values()
    assert column.expression.type == BOOLEAN


@pytest.mark.parametrize("precision", [1, 8, 9, 10, 18, 19, 28, 29, 38])
def test_a_decimal_has_as_many_limbs_as_it_needs(precision: int) -> None:
    """Limbs are balanced about zero: one bit of them is the sign."""
    limbs = columns().number(Column("a", "d", decimal(precision, 0)), ()).limbs
    assert 2 ** (LIMB_BITS * (limbs - 1) - 1) <= 10**precision < 2 ** (LIMB_BITS * limbs - 1)


@pytest.mark.parametrize(
    ("expression", "kind", "limbs"),
    [(X, "integer", 1), (Column("a", "v", BIGINT), "integer", 2), (Column("a", "d", DOUBLE), "floating", 1)],
)
def test_a_number_is_summed_in_its_kind(expression: Expression, kind: str, limbs: int) -> None:
    factor = columns().number(expression, ())
    assert (factor.kind, factor.limbs) == (kind, limbs)


def test_bits_are_counted_in_the_type_that_was_written() -> None:
    own = columns()
    (wide, narrow) = own.number(MORE, ()), own.integer_number(MORE, ())
    assert [own.frame[factor.name].expression.type for factor in (wide, narrow)] == [BIGINT, INT]


def test_equal_sums_have_one_number_and_rows_are_counted_first() -> None:
    own = columns()
    name = own.number(X, ()).name
    power = Monomial.of([(name, 1)])
    assert own.integer(IntegerSum()) == 0
    assert own.integer(IntegerSum(power)) == own.integer(IntegerSum(power)) == 1
    assert own.integer(IntegerSum(power, Limb(1))) == 2
    assert own.real(RealSum(power)) == own.real(RealSum(power)) == 0
    assert own.sums().integers == (IntegerSum(), IntegerSum(power), IntegerSum(power, Limb(1)))
    assert own.sums().factors == (own.factor(name),) and own.factor("argument b.x") is None


def test_extremes_differ_by_end_conditions_and_order() -> None:
    own = columns()
    condition = own.truth(POSITIVE, ())
    asked = [(True, [], None), (False, [], None), (True, [condition], None), (True, [], Y), (True, [], None)]
    assert [own.extreme(X, largest, where, (), by) for largest, where, by in asked] == [0, 1, 2, 3, 0]
    last = own.sums().extremes[3]
    assert last == Extreme("argument a.x", True, (), "argument a.y")


def test_the_part_of_a_monomial_is_what_this_input_has_factors_of() -> None:
    own = columns()
    own.number(X, ())
    monomial = Monomial.of([("argument a.x", 2), ("argument b.x", 1)])
    assert own.part(monomial) == Monomial.of([("argument a.x", 2)])
    assert columns().part(monomial) == Monomial()


def test_a_nested_value_is_not_carried() -> None:
    with pytest.raises(QueryError, match="no engine runs combinations with a column of type ARRAY<INT> yet"):
        columns().carry(Column("a", "list", DataType("ARRAY<INT>")))


def test_a_condition_is_a_factor_of_its_own_kind() -> None:
    own = columns()
    assert own.condition(POSITIVE) == own.truth(POSITIVE, ()) == Factor("argument (> a.y 0:INT)", "condition")
