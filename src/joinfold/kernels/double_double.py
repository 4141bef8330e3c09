"""Double-doubles in compiled code: ``numbers.double_double`` for one number, in the inner loops of kernels.

Both modules give the same bits. Arguments are finite; a result beyond the largest double is (±∞, 0).
"""

import math
from typing import TypeAlias

from joinfold.kernels.compiling import part
from joinfold.numbers.double_double import SCALE_DOWN, SCALE_UP, SPLIT_LIMIT, SPLITTER, WORD

DoubleDouble: TypeAlias = tuple[float, float]


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
def dd_of_int64(value: int) -> DoubleDouble:
    """An int64, exactly. Cost: 5 operations."""
    return fast_two_sum(float(value >> 32) * WORD, float(value & 0xFFFFFFFF))
