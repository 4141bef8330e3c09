"""Numbers of 106 bits as unevaluated sums of two doubles, hi + lo with |lo| ≤ ulp(hi)/2.

A window that slides for years adds and subtracts the same values; in doubles the rounding errors stay
behind. A double-double keeps them in lo (Dekker 1971; Hida, Li and Bailey 2001). The relative error of one operation
is below 8·2^−106, also where hi cancels (Joldes, Muller and Popescu 2017, algorithms 6 and 11), hence integers are
exact while results stay below 2^100.

Scalar helpers are kernels, for the inner loops of other kernels; ``add``, ``multiply``, … do the same for whole arrays
in NumPy. No fused multiply-add is assumed, so every machine gives the same bits. Values passed in are finite; a
result beyond the largest double is (±∞, 0).
"""

import math
from typing import TypeAlias

import numpy as np

from joinfold.kernels.compiling import Doubles, Integers, part

SPLITTER = 134217729.0  # 2^27 + 1
SPLIT_LIMIT = 2.0**996  # times the splitter this is the largest double
SCALE_DOWN = 2.0**-28
SCALE_UP = 2.0**28
WORD = 2.0**32

DoubleDouble: TypeAlias = tuple[float, float]
DoubleDoubles: TypeAlias = tuple[Doubles, Doubles]


@part
def two_sum(a: float, b: float) -> DoubleDouble:
    """a + b rounded, and its rounding error: exact. Doubles in any order of size. Cost: 6 operations."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@part
def fast_two_sum(a: float, b: float) -> DoubleDouble:
    """``two_sum`` for |a| ≥ |b| or a = 0; a total that is not finite has no error. Cost: 3 operations."""
    total = a + b
    if not math.isfinite(total):
        return total, 0.0
    return total, b - (total - a)


@part
def split(a: float) -> DoubleDouble:
    """A double as the exact sum of two of at most 26 bits (Veltkamp). Cost: 4 operations."""
    if math.fabs(a) > SPLIT_LIMIT:
        a *= SCALE_DOWN
        spread = SPLITTER * a
        high = spread - (spread - a)
        return high * SCALE_UP, (a - high) * SCALE_UP
    spread = SPLITTER * a
    high = spread - (spread - a)
    return high, a - high


@part
def two_product(a: float, b: float) -> DoubleDouble:
    """a·b rounded, and its rounding error (Dekker): exact above the subnormals. Cost: 17 operations."""
    product = a * b
    a_high, a_low = split(a)
    b_high, b_low = split(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@part
def add_dd(a_hi: float, a_lo: float, b_hi: float, b_lo: float) -> DoubleDouble:
    """The sum of two double-doubles; all doubles. Cost: 20 operations."""
    hi, hi_error = two_sum(a_hi, b_hi)
    if not math.isfinite(hi):
        return hi, 0.0
    lo, lo_error = two_sum(a_lo, b_lo)
    hi, rest = fast_two_sum(hi, hi_error + lo)
    return fast_two_sum(hi, lo_error + rest)


@part
def add_double(a_hi: float, a_lo: float, b: float) -> DoubleDouble:
    """The sum of a double-double and a double. Cost: 10 operations."""
    hi, error = two_sum(a_hi, b)
    if not math.isfinite(hi):
        return hi, 0.0
    return fast_two_sum(hi, a_lo + error)


@part
def multiply_dd(a_hi: float, a_lo: float, b_hi: float, b_lo: float) -> DoubleDouble:
    """The product of two double-doubles; all doubles. Cost: 24 operations."""
    product, error = two_product(a_hi, b_hi)
    if not math.isfinite(product):
        return product, 0.0
    return fast_two_sum(product, error + (a_hi * b_lo + a_lo * b_hi))


@part
def multiply_dd_by_double(a_hi: float, a_lo: float, b: float) -> DoubleDouble:
    """The product of a double-double and a double. Cost: 22 operations."""
    product, error = two_product(a_hi, b)
    if not math.isfinite(product):
        return product, 0.0
    return fast_two_sum(product, error + a_lo * b)


@part
def dd_of_int64(value: int) -> DoubleDouble:
    """An int64, exactly. Cost: 5 operations."""
    return fast_two_sum(float(value >> 32) * WORD, float(value & 0xFFFFFFFF))


def from_int64(values: Integers) -> DoubleDoubles:
    """Integers int64[n], exactly, as (float64[n], float64[n]). Cost: O(n)."""
    return _fast_two_sum((values >> 32).astype(np.float64) * WORD, (values & 0xFFFFFFFF).astype(np.float64))


def add(a: DoubleDoubles, b: DoubleDoubles) -> DoubleDoubles:
    """a + b for pairs of float64[n]. Cost: O(n)."""
    with np.errstate(all="ignore"):
        hi, hi_error = _two_sum(a[0], b[0])
        lo, lo_error = _two_sum(a[1], b[1])
        middle, rest = _fast_two_sum(hi, hi_error + lo)
        return _finished(hi, *_fast_two_sum(middle, lo_error + rest))


def subtract(a: DoubleDoubles, b: DoubleDoubles) -> DoubleDoubles:
    """a − b for pairs of float64[n]. Cost: O(n)."""
    return add(a, (-b[0], -b[1]))


def multiply(a: DoubleDoubles, b: DoubleDoubles) -> DoubleDoubles:
    """a·b for pairs of float64[n]. Cost: O(n)."""
    with np.errstate(all="ignore"):
        product, error = _two_product(a[0], b[0])
        return _finished(product, *_fast_two_sum(product, error + (a[0] * b[1] + a[1] * b[0])))


def divide(a: DoubleDoubles, b: DoubleDoubles) -> DoubleDoubles:
    """a / b for pairs of float64[n], to some 2^−100; where b is 0 what IEEE says of a's and b's hi. Cost: O(n)."""
    with np.errstate(all="ignore"):
        quotient = a[0] / b[0]
        once = subtract(a, multiply(b, (quotient, np.zeros_like(quotient))))
        second = once[0] / b[0]
        twice = subtract(once, multiply(b, (second, np.zeros_like(second))))
        hi, lo = _fast_two_sum(quotient, second)
        hi, lo = add((hi, lo), (twice[0] / b[0], np.zeros_like(hi)))
        return _finished(quotient, hi, lo)


def sqrt(a: DoubleDoubles) -> DoubleDoubles:
    """The square root of pairs of float64[n], none negative: one step of Newton from the double's. Cost: O(n)."""
    with np.errstate(all="ignore"):
        root = np.sqrt(a[0])
        rest = subtract(a, _two_product(root, root))
        correction = np.where(root == 0, 0.0, rest[0] / (2 * root))
        return _finished(root, *_fast_two_sum(root, correction))


def _two_sum(a: Doubles, b: Doubles) -> DoubleDoubles:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _fast_two_sum(a: Doubles, b: Doubles) -> DoubleDoubles:
    total = a + b
    return total, b - (total - a)


def _split(a: Doubles) -> DoubleDoubles:
    large = np.abs(a) > SPLIT_LIMIT
    scaled = np.where(large, a * SCALE_DOWN, a)
    spread = SPLITTER * scaled
    high = spread - (spread - scaled)
    back = np.where(large, SCALE_UP, 1.0)
    return high * back, (scaled - high) * back


def _two_product(a: Doubles, b: Doubles) -> DoubleDoubles:
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _finished(leading: Doubles, hi: Doubles, lo: Doubles) -> DoubleDoubles:
    """The result, or only its leading part where that, or the rounded result, is not finite."""
    hi = np.where(np.isfinite(leading), hi, leading)
    return hi, np.where(np.isfinite(hi), lo, 0.0)
