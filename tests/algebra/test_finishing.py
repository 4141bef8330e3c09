"""Finishers where arithmetic is hard: cancellation, rounding and overflow, for both kinds of numbers."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.algebra import AGGREGATES
from joinfold.numbers import ExactNumbers, RoundedNumbers

from .answers import MOMENTS, answer, finished, monomials, only
from .basis import Basis
from .definitions import same
from .moments import fold


def rounded(name: str, values: Sequence[float]) -> Any:
    """The answer from moments that are double-doubles."""
    numbers = [RoundedNumbers.exactly(np.array([float(value)]), np.zeros(1)) for value in values]
    finisher = AGGREGATES[name].finisher
    assert finisher is not None
    with np.errstate(all="ignore"):
        found = finisher(*numbers)
    assert isinstance(found, RoundedNumbers)
    return only(found)


@pytest.mark.parametrize("name", ["avg", "var_samp", "covar_pop", "kurtosis", "regr_slope", "regr_intercept"])
@given(
    values=st.lists(st.sampled_from([0.1, 1 / 3, -7e9, 1e-12, 1e8 + 0.1]), min_size=6, max_size=6),
    rows=st.integers(2, 9),
)
def test_the_error_of_a_number_is_within_its_bound(name: str, values: list[float], rows: int) -> None:
    """Of formulas without roots, on the same moments as fractions."""
    entry = AGGREGATES[name]
    sums = [float(rows), *values][: len(entry.components)]
    assert entry.finisher is not None
    with np.errstate(all="ignore"):
        found = entry.finisher(*(RoundedNumbers.exactly(np.array([own]), np.zeros(1)) for own in sums))
    exact = entry.finisher(*(_fraction(own) for own in sums))
    assert isinstance(found, RoundedNumbers) and isinstance(exact, ExactNumbers)
    ((numerator, denominator),) = exact.fractions()
    if (found.missing is None or not found.missing[0]) and denominator:
        value = Fraction(float(found.high[0])) + Fraction(float(found.low[0]))
        if name != "var_samp" or value > 0:  # a variance is never negative, whatever the sums are
            assert abs(value - Fraction(numerator, denominator)) <= Fraction(float(found.error[0]))


def _fraction(value: float) -> ExactNumbers:
    numerator, denominator = value.as_integer_ratio()
    return ExactNumbers(np.array([numerator], object), np.array([denominator], object))


def test_variance_is_exact_where_doubles_would_cancel() -> None:
    large = 10**18
    sums = (2, 2 * large + 1, large**2 + (large + 1) ** 2)
    assert finished(AGGREGATES["var_pop"], sums) == Fraction(1, 4)
    thirds = [Fraction(value, 3**i) for i, value in enumerate(sums)]
    assert finished(AGGREGATES["var_pop"], thirds) == Fraction(1, 36)


def test_scalars_of_arrays_do_not_wrap_around() -> None:
    large = 3_000_000_000
    sums = np.array([2, large, large**2], dtype=np.int64)  # of the values 0 and large
    assert 2 * large**2 > np.iinfo(np.int64).max, "or this test shows nothing"
    assert finished(AGGREGATES["var_pop"], list(sums)) == large**2 / 4


def test_rounding_makes_no_variance_negative_and_no_correlation_exceed_1() -> None:
    below = math.nextafter(3 * 0.1 * 0.1, 0)
    assert 3 * Fraction(below) < Fraction(3 * 0.1) ** 2, "rounded below, or this test shows nothing"
    for name in ("var_pop", "var_samp", "stddev_pop", "stddev_samp"):
        assert rounded(name, [3, 3 * 0.1, below]) == 0.0
    assert rounded("corr", [2, 0.0, 0.0, 2.0, 1.9, 1.9]) == 1.0
    assert rounded("corr", [2, 0.0, 0.0, -2.0, 1.9, 1.9]) == -1.0


def test_numbers_too_large_for_a_double() -> None:
    assert rounded("var_pop", [2, 0, 1.5e308]) == math.inf
    assert rounded("covar_pop", [2, 0, 0, -1.5e308]) == -math.inf
    assert rounded("avg", [2, math.inf]) == math.inf
    huge = 10**200
    assert float(finished(AGGREGATES["corr"], [2, 0, 0, -(huge**2), huge**2, huge**2])) == -1.0


@pytest.mark.parametrize("aggregate", MOMENTS, ids=lambda aggregate: aggregate.name)
@given(rows=st.lists(st.fixed_dictionaries({"x": st.integers(-9, 9), "y": st.integers(-9, 9)}), min_size=1))
def test_both_kinds_of_numbers_give_the_same_answer(aggregate: Any, rows: list[dict[str, int]]) -> None:
    arguments = (("x",), ("y",))[: aggregate.arities[-1]]
    wanted = monomials(aggregate, arguments)
    payload = fold(Basis.spanning(wanted), rows)
    if len(rows) >= aggregate.fewest:
        assert same(rounded(aggregate.name, [payload[m] for m in wanted]), answer(aggregate, payload, arguments))
