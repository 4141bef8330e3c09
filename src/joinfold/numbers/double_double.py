"""Numbers of 106 bits as unevaluated sums of two doubles, hi + lo with |lo| ≤ ulp(hi)/2, for whole arrays.

A window that slides for years adds each value once and subtracts it later. With doubles, rounding errors add up. A
double-double keeps them in lo (Dekker 1971; Hida, Li and Bailey 2001). The relative error of one operation is below
8·2^−106, even if hi cancels (Joldes, Muller and Popescu 2017, algorithms 6 and 11). So integers are exact while results
stay below 2^100.

``kernels.double_double`` is the same in compiled code, for the inner loops of kernels. Fused multiply-add is not used,
so every machine gives the same bits. Arguments must be finite. A result beyond the largest double is (±∞, 0).
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

SPLITTER = 134217729.0  # 2^27 + 1
SPLIT_LIMIT = 2.0**996  # a larger number times the splitter could overflow
SCALE_DOWN = 2.0**-28
SCALE_UP = 2.0**28
WORD = 2.0**32

Doubles: TypeAlias = NDArray[np.float64]
DoubleDoubles: TypeAlias = tuple[Doubles, Doubles]


def from_int64(values: NDArray[np.int64]) -> DoubleDoubles:
    """Integers int64[n] as (float64[n], float64[n]), exactly. Cost: O(n)."""
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
    """a / b for pairs of float64[n], with a relative error of about 2^−100. Cost: O(n).

    Where b is 0, it is the IEEE quotient of the two hi.
    """
    with np.errstate(all="ignore"):
        quotient = a[0] / b[0]
        once = subtract(a, multiply(b, (quotient, np.zeros_like(quotient))))
        second = once[0] / b[0]
        twice = subtract(once, multiply(b, (second, np.zeros_like(second))))
        hi, lo = _fast_two_sum(quotient, second)
        hi, lo = add((hi, lo), (twice[0] / b[0], np.zeros_like(hi)))
        return _finished(quotient, hi, lo)


def sqrt(a: DoubleDoubles) -> DoubleDoubles:
    """The square root of pairs of float64[n], none negative: the root of hi and one Newton step. Cost: O(n)."""
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
    """The result (hi, lo); where ``leading`` or hi is not finite, that number and 0."""
    hi = np.where(np.isfinite(leading), hi, leading)
    return hi, np.where(np.isfinite(hi), lo, 0.0)
