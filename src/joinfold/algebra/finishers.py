"""From components to the answer: every formula once, for exact numbers and for double-doubles.

A finisher takes the components of its aggregate in order, the number of rows first. Each is an array with a number for
each group, and so is the answer. What is divided by 0 is missing, and NULL. NULL for too few rows, NaN and infinities
are not its business: they belong to the entry in ``AGGREGATES``, and to whoever finishes.

Nothing is rounded on the way. Σ(x−x̄)² is (n·Σx² − (Σx)²)/n: exact when the sums are. Double-doubles that were rounded
while they were summed leave a little of equal values; a sum of squares that is no more than that is 0.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from joinfold.numbers import ExactNumbers, Number, Numbers

Flags: TypeAlias = NDArray[np.bool_]
Finisher: TypeAlias = Callable[..., Numbers | Flags]


# --- counts and totals --------------------------------------------------------------------------------------------


def count(n: Number) -> Number:
    """The number of rows."""
    return n


def total(n: Number, x: Number) -> Number:
    """SUM."""
    return x


def average(n: Number, x: Number) -> Number:
    """AVG."""
    return x / n


# --- statistics ---------------------------------------------------------------------------------------------------


def _spread(n: Number, x: Number, y: Number, xy: Number) -> Number:
    """n·Σxy − Σx·Σy: n² times the covariance of the population."""
    return n * xy - x * y


def _squares(n: Number, x: Number, xx: Number) -> Number:
    """n·Σx² − (Σx)²: n² times the variance of the population."""
    return _spread(n, x, x, xx).not_below_zero(n * xx)


def variance_population(n: Number, x: Number, xx: Number) -> Number:
    """Σ(x−x̄)²/n."""
    return _squares(n, x, xx) / n / n


def variance_sample(n: Number, x: Number, xx: Number) -> Number:
    """Σ(x−x̄)²/(n−1)."""
    return _squares(n, x, xx) / n / (n - 1)


def deviation_population(n: Number, x: Number, xx: Number) -> Number:
    """The square root of the population's variance."""
    return variance_population(n, x, xx).sqrt()


def deviation_sample(n: Number, x: Number, xx: Number) -> Number:
    """The square root of the sample's variance."""
    return variance_sample(n, x, xx).sqrt()


def skewness(n: Number, x: Number, xx: Number, xxx: Number) -> Number:
    """Σ(x−x̄)³/n over the cube of the population's deviation; NULL of equal values."""
    squares = _squares(n, x, xx)
    cubes = n * n * xxx - n * x * xx * 3 + x * x * x * 2  # n³ times the third moment about the mean
    return cubes / squares / squares.sqrt()


def kurtosis(n: Number, x: Number, xx: Number, xxx: Number, xxxx: Number) -> Number:
    """Σ(x−x̄)⁴/n over the square of the population's variance, less 3; NULL of equal values."""
    squares = _squares(n, x, xx)
    fourths = n * n * (n * xxxx - x * xxx * 4) + x * x * (n * xx * 2 - x * x) * 3  # n⁴ times the fourth moment
    return fourths / squares / squares - 3


def covariance_population(n: Number, y: Number, x: Number, yx: Number) -> Number:
    """Σ(y−ȳ)(x−x̄)/n."""
    return _spread(n, y, x, yx) / n / n


def covariance_sample(n: Number, y: Number, x: Number, yx: Number) -> Number:
    """Σ(y−ȳ)(x−x̄)/(n−1)."""
    return _spread(n, y, x, yx) / n / (n - 1)


def correlation(n: Number, y: Number, x: Number, yx: Number, yy: Number, xx: Number) -> Number:
    """Σ(y−ȳ)(x−x̄) / √(Σ(y−ȳ)²·Σ(x−x̄)²); NULL where y or x is constant."""
    roots = _squares(n, y, yy).sqrt(), _squares(n, x, xx).sqrt()
    return (_spread(n, y, x, yx) / roots[0] / roots[1]).within(-1, 1)


def determination(n: Number, y: Number, x: Number, yx: Number, yy: Number, xx: Number) -> Number:
    """The square of the correlation; NULL where x is constant, and else 1 where y is."""
    spread, squares_y, squares_x = _spread(n, y, x, yx), _squares(n, y, yy), _squares(n, x, xx)
    explained = ((spread / squares_x) * (spread / squares_y)).within(0, 1)
    return explained.replaced(squares_y.is_zero() & ~squares_x.is_zero(), 1)


def regression_slope(n: Number, y: Number, x: Number, yx: Number, xx: Number) -> Number:
    """The slope of y over x by least squares; NULL where x is constant."""
    return _spread(n, y, x, yx) / _squares(n, x, xx)


def regression_intercept(n: Number, y: Number, x: Number, yx: Number, xx: Number) -> Number:
    """Where that line meets x = 0."""
    return (y - regression_slope(n, y, x, yx, xx) * x) / n


# --- truth and bits -----------------------------------------------------------------------------------------------


def in_all(n: ExactNumbers, ones: ExactNumbers) -> Flags:
    """Whether all of the rows have it."""
    return ones.equals(n)


def in_any(n: ExactNumbers, ones: ExactNumbers) -> Flags:
    """Whether one of the rows has it."""
    return ~ones.is_zero()


def in_odd(n: ExactNumbers, ones: ExactNumbers) -> Flags:
    """Whether an odd number of rows has it."""
    return ones.is_odd()


def bits_in_all(n: ExactNumbers, *ones: ExactNumbers) -> ExactNumbers:
    """The integer of the bits that are set in all of the rows."""
    return _integer([in_all(n, bit) for bit in ones])


def bits_in_any(n: ExactNumbers, *ones: ExactNumbers) -> ExactNumbers:
    """The integer of the bits that are set in one of the rows."""
    return _integer([in_any(n, bit) for bit in ones])


def bits_in_odd(n: ExactNumbers, *ones: ExactNumbers) -> ExactNumbers:
    """The integer of the bits that are set in an odd number of rows."""
    return _integer([in_odd(n, bit) for bit in ones])


def _integer(bits: list[Flags]) -> ExactNumbers:
    """Integers from their bits, lowest first; the last one is the sign of two's complement."""
    *others, sign = (bit.astype(np.int64) for bit in bits)
    value = -sign << len(others)
    for number, bit in enumerate(others):
        value |= bit << number
    return ExactNumbers(value)
