"""The sums of a sample: as they are, scaled, weighted, and without each of its cells."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.numbers import ExactNumbers, RoundedNumbers
from joinfold.operators.merging.group_sums import GroupSums, LeftOutSums, ScaledSums, WeightedSums
from joinfold.physical.column_names import error_column, integer_column, real_columns
from joinfold.physical.payload import ColumnRef, MomentSum
from joinfold.physical.shedding import WHOLE
from joinfold.physical.stage import Totals

ROWS = MomentSum(((ColumnRef(True, 0), 0),))
WIDE = MomentSum(((ColumnRef(True, 1), 0), (ColumnRef(False, 0), 32)), scale=2)
REAL = MomentSum(((ColumnRef(False, 0), 0),))
TOTALS = Totals((), 2, 1, ())
Row = tuple[int, int, int]  # the count, and two limbs of a number, of which the second is a double-double
rows = st.tuples(st.integers(0, 9), st.integers(-(2**62), 2**62), st.integers(-(2**20), 2**20))
small = st.tuples(st.integers(0, 9), st.integers(-(2**20), 2**20), st.integers(-(2**20), 2**20))


def sums_of(some: list[Row]) -> GroupSums:
    high = np.array([[float(row[2])] for row in some]).reshape(-1, 1)
    nothing = np.zeros_like(high)
    return GroupSums(np.array([row[:2] for row in some], np.int64).reshape(-1, 2), high, nothing, nothing)


def whole(row: Row) -> Fraction:
    return Fraction(row[1] + (row[2] << 32), 100)


def fractions(numbers: ExactNumbers) -> list[Fraction]:
    return [Fraction(*pair) for pair in numbers.fractions()]


def exactly(numbers: RoundedNumbers) -> list[Fraction]:
    return [
        Fraction(high) + Fraction(low) for high, low in zip(numbers.high.tolist(), numbers.low.tolist(), strict=True)
    ]


@given(st.lists(rows, max_size=4))
def test_exact_sums_in_double_doubles_are_as_near_as_these_can_be(some: list[Row]) -> None:
    found = exactly(sums_of(some).rounded(WIDE, is_exact=True))
    for value, row in zip(found, some, strict=True):
        assert abs(value - whole(row)) <= abs(whole(row)) * Fraction(1, 2**95)


@given(st.lists(st.tuples(rows, rows, st.integers(1, WHOLE)), max_size=4))
def test_what_is_sampled_is_divided_by_the_rate(some: list[tuple[Row, Row, int]]) -> None:
    """Exactly, however large it is."""
    certain, sampled = (sums_of([own[side] for own in some]) for side in (0, 1))
    sums = ScaledSums(certain, certain, sampled, np.array([rate for _, _, rate in some], np.int64))
    assert len(sums) == len(some)
    expected = [whole(one) + whole(other) * Fraction(WHOLE, rate) for one, other, rate in some]
    assert fractions(sums.exact(WIDE)) == expected
    counts = [one[0] + other[0] * Fraction(WHOLE, rate) for one, other, rate in some]
    assert fractions(sums.exact(ROWS)) == counts
    for value, (one, other, rate) in zip(exactly(sums.rounded(REAL)), some, strict=True):
        exact = one[2] + other[2] * Fraction(WHOLE, rate)
        assert abs(value - exact) <= (abs(one[2]) + abs(other[2]) * Fraction(WHOLE, rate)) * Fraction(1, 2**95)


@given(st.lists(st.tuples(st.integers(-(2**70), 2**70), st.integers(1, 2**17)), max_size=4))
def test_the_nearest_integers_halves_away_from_zero(pairs: list[tuple[int, int]]) -> None:
    numerators, denominators = (np.array([pair[side] for pair in pairs], object) for side in (0, 1))
    for value, (numerator, denominator) in zip(ExactNumbers(numerators, denominators).half_up(), pairs, strict=True):
        distance = abs(Fraction(numerator, denominator) - value)
        assert distance < Fraction(1, 2) or (distance == Fraction(1, 2) and abs(value) * denominator > abs(numerator))
    assert ExactNumbers(np.array([5, -5, 4]), 2).half_up().tolist() == [3, -3, 2]


def test_of_weighted_sums_the_sample_is_what_was_counted() -> None:
    extremes = [pa.array([3, None])]
    total = GroupSums(np.array([[8, 16], [0, 0]]), np.array([[2.0], [0.0]]), *[np.zeros((2, 1))] * 2, extremes)
    sums = WeightedSums(total, np.array([4, 4]))
    assert len(sums) == 2 and sums.sample.integers.tolist() == [[2, 4], [0, 0]] and sums.sample.extremes == extremes
    assert fractions(sums.exact(ROWS)) == [8, 0] and exactly(sums.rounded(REAL)) == [2, 0]


@given(st.lists(st.lists(small, min_size=4, max_size=4), min_size=1, max_size=3), st.integers(1, WHOLE))
def test_without_each_cell(groups: list[list[Row]], rate: int) -> None:
    """Three replicates and what is certain. The other two replicates count half as much again."""
    scale = np.array([[WHOLE / rate] * 3 + [1.0]] * len(groups))
    sums = LeftOutSums(sums_of([cell for cells in groups for cell in cells]), scale, 1.5)
    assert len(sums) == 3 * len(groups)
    found = iter(zip(exactly(sums.rounded(WIDE, is_exact=True)), sums.sample.integers[:, 0].tolist(), strict=True))
    for cells in groups:
        for left in range(3):
            others = [cell for place, cell in enumerate(cells[:3]) if place != left]
            expected = whole(cells[3]) + sum(map(whole, others)) * Fraction(WHOLE, rate) * Fraction(3, 2)
            size = max(abs(whole(cell)) for cell in cells) * Fraction(WHOLE, rate)
            value, count = next(found)
            assert abs(value - expected) <= size * Fraction(1, 2**48)
            assert count == cells[3][0] + sum(cell[0] for cell in others)
    last = sums.take(np.array([len(groups) - 1]))
    assert exactly(last.rounded(REAL)) == exactly(sums.rounded(REAL))[-3:]


@pytest.mark.parametrize(
    ("parts", "fits"), [([2**62, 2**62 - 2**10], True), ([2**62, 2**62], False), ([2**63 - 1], True)]
)
def test_a_sum_is_exact_even_if_it_wraps_around(parts: list[int], fits: bool) -> None:
    columns = {integer_column(number): pa.array(parts) for number in range(2)}
    columns |= {name: pa.array([0.0] * len(parts)) for name in (*real_columns(0), error_column(0))}
    emitted, group = pa.RecordBatch.from_pydict(columns), np.full(len(parts), 7)
    found = GroupSums.of(TOTALS, emitted, group, 9)
    assert found.exact(ROWS).numerator[7] == sum(parts) and bool(found.large) != fits
    assert exactly(found.rounded(ROWS, is_exact=True))[7] == sum(parts)


def test_a_part_of_a_sample_is_not_exact() -> None:
    sums = LeftOutSums(sums_of([(1, 1, 0)] * 2), np.ones((1, 2)), 1.0)
    with pytest.raises(AssertionError):
        sums.exact(ROWS)
    assert Decimal(float(exactly(sums.table(ROWS, is_exact=True))[0])) == 1
