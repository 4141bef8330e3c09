"""From moments to the answer.

Every function takes the moments in the order in which its aggregate declares them, the number of rows
first, and the origin about which each argument's sums were kept (0 unless an engine shifts them, see
``moments``). Variance, covariance, correlation and slope are the same about every origin; totals, means
and intercepts are moved back.

Nothing is rounded before the last step. Σ(x−x̄)² is computed as the fraction (n·Σx² − (Σx)²)/n: exact
when the sums are, and adding no error of its own when they are doubles. Doubles that were rounded while
they were summed can still leave n·Σx² a little below (Σx)²; a sum of squares is not negative, so the
difference is then taken as 0, and for the same reason a correlation is kept within ±1. A zero denominator
is NULL.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import wraps
from typing import TypeAlias

from joinfold.algebra.number import Number, Scalar, double, exact, is_finite, scalar

Answer: TypeAlias = Scalar | None
Finisher: TypeAlias = Callable[[Sequence[Number], Sequence[Number]], Answer]
_ExactFinisher: TypeAlias = Callable[[Sequence[Fraction], Sequence[Fraction]], Answer]


def count(values: Sequence[Number], origin: Sequence[Number]) -> Answer:
    """The number of rows, 0 when there are none."""
    (rows,) = values
    return scalar(rows)


def total(values: Sequence[Number], origin: Sequence[Number]) -> Answer:
    """SUM; of DECIMAL an exact Fraction, which the caller fits into the result's type."""
    rows, sum_x = map(scalar, values)
    return None if rows == 0 else sum_x + rows * scalar(origin[0])


def average(values: Sequence[Number], origin: Sequence[Number]) -> Answer:
    """AVG; a double, or of DECIMAL an exact Fraction, so that it is rounded once, to the result's scale."""
    rows, sum_x = map(scalar, values)
    if rows == 0:
        return None
    if isinstance(sum_x, float):
        return scalar(origin[0]) + sum_x / rows
    mean = exact(origin[0]) + exact(sum_x) / exact(rows)
    return mean if isinstance(sum_x, Fraction) else double(mean)


def _of_at_least(fewest: int) -> Callable[[_ExactFinisher], Finisher]:
    """NULL for fewer rows; NaN where a sum of doubles overflowed; else finished with exact fractions."""

    def decorate(function: _ExactFinisher) -> Finisher:
        @wraps(function)
        def finish(values: Sequence[Number], origin: Sequence[Number]) -> Answer:
            if values[0] < fewest:
                return None
            if not all(map(is_finite, values)):
                return math.nan
            return function([exact(value) for value in values], [exact(value) for value in origin])

        return finish

    return decorate


@_of_at_least(1)
def variance_population(values: Sequence[Fraction], origin: Sequence[Fraction]) -> Answer:
    """Σ(x−x̄)²/n."""
    rows, sum_x, sum_xx = values
    return double(_squares(rows, sum_x, sum_xx) / rows)


@_of_at_least(2)
def variance_sample(values: Sequence[Fraction], origin: Sequence[Fraction]) -> Answer:
    """Σ(x−x̄)²/(n−1)."""
    rows, sum_x, sum_xx = values
    return double(_squares(rows, sum_x, sum_xx) / (rows - 1))


@_of_at_least(1)
def deviation_population(values: Sequence[Fraction], origin: Sequence[Fraction]) -> Answer:
    """The square root of the population's variance."""
    rows, sum_x, sum_xx = values
    return math.sqrt(double(_squares(rows, sum_x, sum_xx) / rows))


@_of_at_least(2)
def deviation_sample(values: Sequence[Fraction], origin: Sequence[Fraction]) -> Answer:
    """The square root of the sample's variance."""
    rows, sum_x, sum_xx = values
    return math.sqrt(double(_squares(rows, sum_x, sum_xx) / (rows - 1)))


@_of_at_least(1)
def covariance_population(values: Sequence[Fraction], origin: Sequence[Fraction]) -> Answer:
    """Σ(y−ȳ)(x−x̄)/n."""
    rows, sum_y, sum_x, sum_yx = values
    return double(_products(rows, sum_y, sum_x, sum_yx) / rows)


@_of_at_least(2)
def covariance_sample(values: Sequence[Fraction], origin: Sequence[Fraction]) -> Answer:
    """Σ(y−ȳ)(x−x̄)/(n−1)."""
    rows, sum_y, sum_x, sum_yx = values
    return double(_products(rows, sum_y, sum_x, sum_yx) / (rows - 1))


@_of_at_least(1)
def correlation(values: Sequence[Fraction], origin: Sequence[Fraction]) -> Answer:
    """Σ(y−ȳ)(x−x̄) / √(Σ(y−ȳ)²·Σ(x−x̄)²); the root is taken of the squared quotient, the only inexact step."""
    rows, sum_y, sum_x, sum_yx, sum_yy, sum_xx = values
    product = _products(rows, sum_y, sum_x, sum_yx)
    squares = _squares(rows, sum_y, sum_yy) * _squares(rows, sum_x, sum_xx)
    if squares == 0:
        return None
    size = math.sqrt(min(1.0, double(product * product / squares)))
    return -size if product < 0 else size


@_of_at_least(1)
def regression_slope(values: Sequence[Fraction], origin: Sequence[Fraction]) -> Answer:
    """The slope of y over x by least squares."""
    slope = _slope(values)
    return None if slope is None else double(slope)


@_of_at_least(1)
def regression_intercept(values: Sequence[Fraction], origin: Sequence[Fraction]) -> Answer:
    """Where that line meets x = 0."""
    slope = _slope(values)
    if slope is None:
        return None
    rows, sum_y, sum_x, *_ = values
    origin_y, origin_x = origin
    return double(sum_y / rows + origin_y - slope * (sum_x / rows + origin_x))


def _slope(values: Sequence[Fraction]) -> Fraction | None:
    rows, sum_y, sum_x, sum_yx, sum_xx = values
    squares = _squares(rows, sum_x, sum_xx)
    return None if squares == 0 else _products(rows, sum_y, sum_x, sum_yx) / squares


def _products(rows: Fraction, sum_y: Fraction, sum_x: Fraction, sum_yx: Fraction) -> Fraction:
    """Σ(y−ȳ)(x−x̄)."""
    return (rows * sum_yx - sum_y * sum_x) / rows


def _squares(rows: Fraction, sum_x: Fraction, sum_xx: Fraction) -> Fraction:
    """Σ(x−x̄)², which rounded sums must not make negative."""
    return max(Fraction(0), _products(rows, sum_x, sum_x, sum_xx))
