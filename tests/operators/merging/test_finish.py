"""Totals become aggregates: rounded once, NULL of too few rows, and refused where they do not fit."""

import math
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import EvaluationError
from joinfold.operators.merging.finish import finish, nearest, outward
from joinfold.operators.merging.group_sums import GroupSums
from joinfold.physical.payload import AggregateSpec, ColumnRef, MomentSum
from joinfold.types import DataType

ROWS = MomentSum(((ColumnRef(True, 0), 0),))
LIMBS = MomentSum(((ColumnRef(True, 1), 0), (ColumnRef(True, 2), 32), (ColumnRef(False, 0), 64)))
limbs = st.tuples(
    st.integers(0, 3),
    st.integers(-(2**40), 2**40),
    st.integers(-(2**31), 2**31),
    st.sampled_from([0, 0, 0, 1, -1]),
)
Group = tuple[int, int, int, int]  # rows, and three limbs, of which the last is a double-double


def sums_of(groups: list[Group]) -> GroupSums:
    integers = np.array([group[:3] for group in groups], np.int64).reshape(-1, 3)
    high = np.array([[group[3]] for group in groups], np.float64).reshape(-1, 1)
    return GroupSums(integers, high, *[np.zeros_like(high)] * 2, [])


def whole(group: Group) -> int:
    return group[1] + (group[2] << 32) + (group[3] << 64)


def spec(function: str, type_: DataType, scale: int = 0) -> AggregateSpec:
    return AggregateSpec(function, type_, moments=(ROWS, MomentSum(LIMBS.limbs, scale)))


@given(st.lists(limbs, max_size=4))
def test_a_sum_is_put_together_from_its_limbs_or_refused(groups: list[Group]) -> None:
    expected = [whole(group) for group in groups]
    wrong = next((value for value in expected if not -(2**63) <= value < 2**63), None)
    if wrong is None:
        found = finish(spec("sum", DataType("BIGINT")), sums_of(groups)).values
        rows = [group[0] for group in groups]
        assert found.type == pa.int64()
        assert found.to_pylist() == [value if count else None for value, count in zip(expected, rows, strict=True)]
    else:
        with pytest.raises(EvaluationError, match=f"^{wrong} does not fit BIGINT$"):
            finish(spec("sum", DataType("BIGINT")), sums_of(groups))


@given(st.lists(limbs, max_size=4))
def test_an_average_of_integers_is_rounded_once(groups: list[Group]) -> None:
    found = finish(spec("avg", DataType("DOUBLE")), sums_of(groups)).values.to_pylist()
    assert found == [float(Fraction(whole(group), group[0])) if group[0] else None for group in groups]


@given(st.integers(1, 7), st.integers(-(10**9), 10**9), st.integers(0, 3))
def test_an_average_of_decimals_is_rounded_half_up(rows: int, units: int, scale: int) -> None:
    """Away from zero where it is between two."""
    type_ = DataType("DECIMAL", 18, 2)
    (found,) = finish(spec("avg", type_, scale), sums_of([(rows, units, 0, 0)])).values.to_pylist()
    exact = Fraction(units, rows * 10**scale)
    assert found == (Decimal(exact.numerator) / Decimal(exact.denominator)).quantize(Decimal("0.01"), ROUND_HALF_UP)


def test_a_decimal_of_too_many_digits_is_refused_and_says_how_large_it_is() -> None:
    type_ = DataType("DECIMAL", 3, 1)
    assert finish(spec("sum", type_), sums_of([(1, 99, 0, 0)])).values.to_pylist() == [Decimal("99.0")]
    with pytest.raises(EvaluationError, match=r"^100 does not fit DECIMAL\(3, 1\)$"):
        finish(spec("sum", type_), sums_of([(1, 100, 0, 0)]))


@pytest.mark.parametrize(
    ("nan", "inf", "minus_inf", "expected"),
    [
        *((0, 0, 0, 1.5), (1, 0, 0, math.nan), (0, 2, 0, math.inf), (0, 0, 1, -math.inf)),
        *((0, 1, 1, math.nan), (1, 1, 0, math.nan)),
    ],
)
def test_special_values_decide_where_there_are_any(nan: int, inf: int, minus_inf: int, expected: float) -> None:
    """They are counted beside the sum, which is 3 over two rows."""
    specials = tuple((kind, ColumnRef(True, number)) for number, kind in enumerate(("nan", "inf", "-inf"), 1))
    own = AggregateSpec("avg", DataType("DOUBLE"), False, (ROWS, MomentSum(((ColumnRef(False, 0), 0),))), specials)
    sums = GroupSums(np.array([[2, nan, inf, minus_inf]]), np.array([[3.0]]), *[np.array([[0.0]])] * 2, [])
    (found,) = finish(own, sums).values.to_pylist()
    assert found == expected or (math.isnan(found) and math.isnan(expected))


@pytest.mark.parametrize(("value", "fits"), [(127, True), (-128, True), (None, True), (128, False), (-129, False)])
def test_an_extreme_that_was_computed_wide_has_to_fit_its_type(value: int | None, fits: bool) -> None:
    own = AggregateSpec("max", DataType("TINYINT"), extreme=0)
    sums = GroupSums(np.zeros((2, 1), np.int64), *[np.zeros((2, 0))] * 3, [pa.array([3, value], pa.int64())])
    assert len(sums) == 2
    if fits:
        assert finish(own, sums).values == pa.array([3, value], pa.int8())
    else:
        with pytest.raises(EvaluationError, match=f"^{value} does not fit TINYINT$"):
            finish(own, sums)


def test_of_a_value_that_is_ordered_by_another_the_value_is_the_answer() -> None:
    pairs = pa.array([{"by": 5, "value": "x"}, {"by": 6, "value": None}, None])
    own = AggregateSpec("max_by", DataType("STRING"), extreme=0)
    sums = GroupSums(np.zeros((3, 1), np.int64), *[np.zeros((3, 0))] * 3, [pairs])
    assert finish(own, sums).values.to_pylist() == ["x", None, None]


# --- doubles in the types of answers ------------------------------------------------------------------------------


@given(st.lists(st.none() | st.floats(-(10.0**12), 10.0**12), max_size=5), st.integers(0, 4))
def test_doubles_are_rounded_half_up_to_decimals(values: list[float | None], scale: int) -> None:
    type_ = DataType("DECIMAL", 12, scale)
    found = nearest(np.array([math.nan if value is None else value for value in values]), type_)
    for value, own in zip(values, found.to_pylist(), strict=True):
        if own is None:
            assert value is None or abs(value) * 10**scale > 10**12 - 1
        else:
            assert abs(own - Decimal(value or 0.0)) * 10**scale <= Decimal("0.501")


def test_doubles_in_other_types() -> None:
    values = np.array([0.5, -0.5, 1.4999, math.nan, 9e18, 9.3e18, math.inf])
    whole = nearest(values, DataType("BIGINT")).to_pylist()
    assert whole == [1, -1, 1, None, 9 * 10**18, None, None]
    assert nearest(values[:4], DataType("DOUBLE")).to_pylist() == [0.5, -0.5, 1.4999, None]
    assert nearest(np.array([9.94, 9.95001]), DataType("DECIMAL", 2, 1)).to_pylist() == [Decimal("9.9"), None]


@pytest.mark.parametrize(
    ("type_", "values", "low", "high"),
    [
        (DataType("BIGINT"), [1.2, -1.2, 7.0, 7 + 1e-10], [1, -2, 7, 7], [2, -1, 7, 7]),
        (DataType("BIGINT"), [1e19, -1e19], [2**63 - 1, -(2**63)], [2**63 - 1, -(2**63)]),
        (DataType("TINYINT"), [200.5, -200.5, math.inf, 126.5], [127, -128, 127, 126], [127, -128, 127, 127]),
        (
            DataType("DECIMAL", 3, 1),
            [1.25, -1.25, 1e9, -math.inf],
            [Decimal("1.2"), Decimal("-1.3"), Decimal("99.9"), Decimal("-99.9")],
            [Decimal("1.3"), Decimal("-1.2"), Decimal("99.9"), Decimal("-99.9")],
        ),
        (DataType("DOUBLE"), [1.25, 1e300], [1.25, 1e300], [1.25, 1e300]),
        (DataType("FLOAT"), [1.25], [1.25], [1.25]),
    ],
)
def test_bounds_are_rounded_away_from_the_value(type_: DataType, values: list[float], low: list, high: list) -> None:
    array = np.array([*values, math.nan])
    assert outward(array, type_, is_upper=False).to_pylist() == [*low, None]
    assert outward(array, type_, is_upper=True).to_pylist() == [*high, None]
