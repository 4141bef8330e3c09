"""The laws of the semilattice of MIN and MAX, which have no subtraction."""

import math
from collections.abc import Sequence
from datetime import date
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.algebra import AggregateFunction

from .answers import EXTREMA, absent, extremum_of
from .extremum import Extremum

over_extrema = pytest.mark.parametrize("aggregate", EXTREMA, ids=lambda aggregate: aggregate.name)
SMALLEST, LARGEST = sorted(EXTREMA, key=lambda aggregate: aggregate.extremum.largest)  # type: ignore[union-attr]

values = st.none() | st.floats(-3, 3) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0])
three = st.tuples(values, values, values)


@over_extrema
@given(three=three)
def test_union_is_a_semilattice(aggregate: AggregateFunction, three: tuple[Any, Any, Any]) -> None:
    p, q, r = (extremum_of(aggregate, [value]) for value in three)
    assert (p + q) + r == p + (q + r)
    assert p + q == q + p
    assert p + p == p
    assert p + absent(aggregate) == p == absent(aggregate) + p
    assert hash(p + q) == hash(q + p)


@over_extrema
@given(three=three, m=st.integers(0, 3), n=st.integers(0, 3))
def test_times_obeys_the_laws_that_it_has_for_moments(
    aggregate: AggregateFunction, three: tuple[Any, Any, Any], m: int, n: int
) -> None:
    p, q, _ = (extremum_of(aggregate, [value]) for value in three)
    assert p.times(0) == absent(aggregate)
    assert p.times(1) == p
    assert p.times(m).times(n) == p.times(m * n)
    assert p.times(m) + p.times(n) == p.times(m + n)
    assert (p + q).times(n) == p.times(n) + q.times(n)


@over_extrema
@given(rows=st.lists(st.none() | st.integers(-5, 5)), others=st.integers(0, 3))
def test_the_extremum_over_a_join(aggregate: AggregateFunction, rows: Sequence[int | None], others: int) -> None:
    present = [value for value in rows for _ in range(others) if value is not None]
    expected = (max if absent(aggregate).largest else min)(present, default=None)
    assert extremum_of(aggregate, rows).times(others).value == expected


def test_absent_is_not_0() -> None:
    assert (extremum_of(LARGEST, [-5, None]) + absent(LARGEST)).value == -5
    assert (extremum_of(SMALLEST, [5, None]) + absent(SMALLEST)).value == 5
    assert absent(LARGEST) != extremum_of(LARGEST, [0])
    assert absent(LARGEST).is_absent
    assert not extremum_of(LARGEST, [0]).is_absent
    assert extremum_of(LARGEST, [None]).value is None


def test_min_and_max_do_not_mix() -> None:
    assert extremum_of(LARGEST, [1]) != extremum_of(SMALLEST, [1])
    with pytest.raises(AssertionError):
        extremum_of(LARGEST, [1]) + extremum_of(SMALLEST, [1])


def test_nan_is_the_largest_and_equal_to_itself() -> None:
    assert math.isnan(extremum_of(LARGEST, [math.inf, math.nan, 1.0]).value)
    assert extremum_of(SMALLEST, [math.nan, math.inf]).value == math.inf
    assert math.isnan(extremum_of(SMALLEST, [math.nan]).value)
    assert Extremum(True, float("nan")) == Extremum(True, float("inf") - float("inf"))
    assert Extremum(True, math.nan) != Extremum(True)


@over_extrema
@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_of_equal_zeros_the_positive_one_whatever_their_order(aggregate: AggregateFunction, kind: type) -> None:
    for order in permutations([kind(0.0), kind(-0.0)]):
        assert math.copysign(1, extremum_of(aggregate, order).value) == 1
    assert math.copysign(1, extremum_of(aggregate, [kind(-0.0)]).value) == 1


@pytest.mark.parametrize(
    ("values", "smallest", "largest"),
    [
        (["b", "ä", "a", "Z", "\U0001f600", "\uffff"], "Z", "\U0001f600"),
        ([b"\x80", b"\x7f\xff", b""], b"", b"\x80"),
        ([date(2024, 2, 29), date(1970, 1, 1)], date(1970, 1, 1), date(2024, 2, 29)),
        ([True, False, None], False, True),
        ([2**62 + 1, 2**62], 2**62, 2**62 + 1),
    ],
)
def test_values_of_every_ordered_kind(values: list[Any], smallest: Any, largest: Any) -> None:
    """Strings are ordered by code point, which is the order of UTF-8 bytes and of Spark."""
    assert extremum_of(SMALLEST, values).value == smallest
    assert extremum_of(LARGEST, values).value == largest
