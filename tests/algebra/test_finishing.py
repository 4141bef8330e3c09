"""Moments to answers where arithmetic is hard: cancelling, wrapping, rounding and overflowing."""

import math
from fractions import Fraction

import numpy as np

from joinfold.algebra import AGGREGATES, MomentAggregate


def moment_aggregate(name: str) -> MomentAggregate:
    aggregate = AGGREGATES[name]
    assert isinstance(aggregate, MomentAggregate)
    return aggregate


def test_variance_is_exact_where_doubles_would_cancel() -> None:
    large = 10**18
    sums = (2, 2 * large + 1, large**2 + (large + 1) ** 2)
    assert moment_aggregate("var_pop").finish(sums) == 0.25
    assert moment_aggregate("var_pop").finish([Fraction(value, 3**i) for i, value in enumerate(sums)]) == 1 / 36


def test_scalars_of_arrays_do_not_wrap_around() -> None:
    large = 3_000_000_000
    sums = np.array([2, large, large**2], dtype=np.int64)  # of the values 0 and large
    assert 2 * large**2 > np.iinfo(np.int64).max, "or this test shows nothing"
    assert moment_aggregate("var_pop").finish(list(sums)) == large**2 / 4
    assert type(moment_aggregate("sum").finish([np.int64(1), np.int64(5)])) is int


def test_rounding_makes_no_variance_negative_and_no_correlation_exceed_1() -> None:
    below = math.nextafter(3 * 0.1 * 0.1, 0)
    assert 3 * Fraction(below) < Fraction(3 * 0.1) ** 2, "rounded below, or this test shows nothing"
    for name in ("var_pop", "var_samp", "stddev_pop", "stddev_samp"):
        assert moment_aggregate(name).finish([3, 3 * 0.1, below]) == 0.0
    assert moment_aggregate("corr").finish([2, 0.0, 0.0, 2.0, 1.9, 1.9]) == 1.0
    assert moment_aggregate("corr").finish([2, 0.0, 0.0, -2.0, 1.9, 1.9]) == -1.0


def test_numbers_too_large_for_a_double() -> None:
    huge = 10**200
    assert moment_aggregate("var_pop").finish([2, 0, 2 * huge**2]) == math.inf
    assert moment_aggregate("covar_pop").finish([2, 0, 0, -2 * huge**2]) == -math.inf
    assert moment_aggregate("corr").finish([2, 0, 0, -(huge**2), huge**2, huge**2]) == -1.0
    assert math.isnan(moment_aggregate("var_pop").finish([2, 1e200, math.inf]) or 0)
    assert moment_aggregate("var_pop").finish([0, math.nan, math.nan]) is None
    assert moment_aggregate("avg").finish([2, math.inf]) == math.inf
