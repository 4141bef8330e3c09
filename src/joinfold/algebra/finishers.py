"""From components to the answer: each formula once, for exact numbers and for double-doubles.

A finisher takes the components of its aggregate in order, the number of rows first. Each component is an array with one
number per group, and so is the answer. A number divided by 0 is missing, which means NULL. A finisher does not handle
NULL for too few rows, NaN or infinities: its caller does, by the entry in ``AGGREGATES``.

The formulas do not round intermediate results. Σ(x−x̄)² is (n·Σx² − (Σx)²)/n, which is exact if the sums are. Sums in
double-doubles are rounded, so the squares of equal values may leave a small rest instead of 0. Every double-double has
a bound of its error; a sum of squares that is not larger counts as 0.
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
    """n·Σxy − Σx·Σy: n² times the population covariance."""
    return n * xy - x * y


def _squares(n: Number, x: Number, xx: Number) -> Number:
    """n·Σx² − (Σx)²: n² times the population variance."""
    return _spread(n, x, x, xx).not_below_zero(n * xx)


def variance_population(n: Number, x: Number, xx: Number) -> Number:
    """Σ(x−x̄)²/n."""
    return _squares(n, x, xx) / n / n


def variance_sample(n: Number, x: Number, xx: Number) -> Number:
    """Σ(x−x̄)²/(n−1)."""
    return _squares(n, x, xx) / n / (n - 1)


def deviation_population(n: Number, x: Number, xx: Number) -> Number:
    """The square root of the population variance."""
    return variance_population(n, x, xx).sqrt()


def deviation_sample(n: Number, x: Number, xx: Number) -> Number:
    """The square root of the sample variance."""
    return variance_sample(n, x, xx).sqrt()


def skewness(n: Number, x: Number, xx: Number, xxx: Number) -> Number:
    """Σ(x−x̄)³/n divided by the cube of the population deviation; NULL if all values are equal."""
    squares = _squares(n, x, xx)
    cubes = n * n * xxx - n * x * xx * 3 + x * x * x * 2  # n³ times the third moment about the mean
    return cubes / squares / squares.sqrt()


def kurtosis(n: Number, x: Number, xx: Number, xxx: Number, xxxx: Number) -> Number:
    """Σ(x−x̄)⁴/n divided by the square of the population variance, minus 3; NULL if all values are equal."""
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
    """Σ(y−ȳ)(x−x̄) / √(Σ(y−ȳ)²·Σ(x−x̄)²); NULL if y or x is constant."""
    roots = _squares(n, y, yy).sqrt(), _squares(n, x, xx).sqrt()
    return (_spread(n, y, x, yx) / roots[0] / roots[1]).within(-1, 1)


def determination(n: Number, y: Number, x: Number, yx: Number, yy: Number, xx: Number) -> Number:
    """The square of the correlation; NULL if x is constant, and otherwise 1 if y is constant."""
    spread, squares_y, squares_x = _spread(n, y, x, yx), _squares(n, y, yy), _squares(n, x, xx)
    explained = ((spread / squares_x) * (spread / squares_y)).within(0, 1)
    return explained.replaced(squares_y.is_zero() & ~squares_x.is_zero(), 1)


def regression_slope(n: Number, y: Number, x: Number, yx: Number, xx: Number) -> Number:
    """The slope of the least-squares line of y over x; NULL if x is constant."""
    return _spread(n, y, x, yx) / _squares(n, x, xx)


def regression_intercept(n: Number, y: Number, x: Number, yx: Number, xx: Number) -> Number:
    """The value of the least-squares line at x = 0; NULL if x is constant."""
    return (y - regression_slope(n, y, x, yx, xx) * x) / n


# --- truth and bits -----------------------------------------------------------------------------------------------


def in_all(n: ExactNumbers, ones: ExactNumbers) -> Flags:
    """Whether the argument (or bit) is true in all rows; ``ones`` counts the rows in which it is."""
    return ones.equals(n)


def in_any(n: ExactNumbers, ones: ExactNumbers) -> Flags:
    """Whether the argument (or bit) is true in at least one row."""
    return ~ones.is_zero()


def in_odd(n: ExactNumbers, ones: ExactNumbers) -> Flags:
    """Whether the bit is set in an odd number of rows."""
    return ones.is_odd()


def bits_in_all(n: ExactNumbers, *ones: ExactNumbers) -> ExactNumbers:
    """The integer with the bits that are set in all rows."""
    return _integer([in_all(n, bit) for bit in ones])


def bits_in_any(n: ExactNumbers, *ones: ExactNumbers) -> ExactNumbers:
    """The integer with the bits that are set in at least one row."""
    return _integer([in_any(n, bit) for bit in ones])


def bits_in_odd(n: ExactNumbers, *ones: ExactNumbers) -> ExactNumbers:
    """The integer with the bits that are set in an odd number of rows."""
    return _integer([in_odd(n, bit) for bit in ones])


def _integer(bits: list[Flags]) -> ExactNumbers:
    """Integers from their bits in two's complement, lowest first; the last bit is the sign."""
    *others, sign = (bit.astype(np.int64) for bit in bits)
    value = -sign << len(others)
    for number, bit in enumerate(others):
        value |= bit << number
    return ExactNumbers(value)
