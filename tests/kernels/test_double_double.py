"""Double-doubles against Fractions: exact where they must be, 2^−100 elsewhere, arrays like scalars."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joinfold.kernels import double_double as compiled
from joinfold.numbers import double_double as dd

EXACT = 2**100
moderate = st.floats(-1e100, 1e100, allow_subnormal=False).filter(lambda value: value == 0 or abs(value) > 1e-100)
int64s = st.integers(-(2**63), 2**63 - 1)
wide_integers = st.integers(-EXACT, EXACT)


def of_integer(value: int) -> tuple[float, float]:
    high = float(value)
    return high, float(value - int(high))


def exactly(value: tuple[float, float]) -> Fraction:
    return Fraction(float(value[0])) + Fraction(float(value[1]))


def of_doubles(high: float, part: float) -> tuple[float, float]:
    return compiled.two_sum(high, high * part * 2.0**-53)


double_doubles = st.builds(of_doubles, moderate, st.floats(-1, 1, allow_subnormal=False)).filter(
    lambda value: value[1] == 0 or abs(value[1]) > 1e-200
)


def is_normal(value: tuple[float, float]) -> bool:
    return value[0] + value[1] == value[0]


def near(value: tuple[float, float], truth: Fraction, error: float = 2.0**-100) -> bool:
    return abs(exactly(value) - truth) <= abs(truth) * Fraction(error)


def on_arrays(function: Callable[..., Any], *operands: tuple[float, float]) -> tuple[float, float]:
    high, low = function(*((np.array([high]), np.array([low])) for high, low in operands))
    return float(high[0]), float(low[0])


@given(moderate, moderate)
def test_two_sum_and_two_product_lose_nothing(a: float, b: float) -> None:
    assert exactly(compiled.two_sum(a, b)) == Fraction(a) + Fraction(b)
    assert exactly(compiled.two_product(a, b)) == Fraction(a) * Fraction(b)


@given(int64s)
def test_int64_is_exact(value: int) -> None:
    scalar = compiled.dd_of_int64(value)
    assert exactly(scalar) == value and is_normal(scalar)
    high, low = dd.from_int64(np.array([value], np.int64))
    assert (high[0], low[0]) == scalar


@given(wide_integers, wide_integers)
def test_integers_below_2_to_the_100_add_exactly(a: int, b: int) -> None:
    assert exactly(compiled.add_dd(*of_integer(a), *of_integer(b))) == a + b
    assert exactly(on_arrays(dd.subtract, of_integer(a), of_integer(b))) == a - b


@given(wide_integers, wide_integers)
def test_integers_multiply_exactly_while_the_product_is_below_2_to_the_100(a: int, b: int) -> None:
    a >>= max(0, a.bit_length() + b.bit_length() - 100)
    assert exactly(compiled.multiply_dd(*of_integer(a), *of_integer(b))) == a * b


@given(double_doubles, double_doubles)
def test_scalars_are_within_the_bound_and_arrays_are_like_them(a: tuple[float, float], b: tuple[float, float]) -> None:
    added, multiplied = compiled.add_dd(*a, *b), compiled.multiply_dd(*a, *b)
    assert near(added, exactly(a) + exactly(b)) and is_normal(added)
    assert near(multiplied, exactly(a) * exactly(b)) and is_normal(multiplied)
    # an addition of a double is exact in hi, and in lo to its last bit
    assert abs(exactly(compiled.add_double(*a, b[0])) - exactly(a) - Fraction(b[0])) <= Fraction(
        2.0**-100 * (abs(a[0]) + abs(b[0]))
    )
    assert on_arrays(dd.add, a, b) == added
    assert on_arrays(dd.multiply, a, b) == multiplied
    assert on_arrays(dd.subtract, a, b) == compiled.add_dd(*a, -b[0], -b[1])


@given(double_doubles, double_doubles)
def test_division_and_roots(a: tuple[float, float], b: tuple[float, float]) -> None:
    assume(b[0] != 0)
    assert near(on_arrays(dd.divide, a, b), exactly(a) / exactly(b), 2.0**-98)
    square = b if b[0] > 0 else (-b[0], -b[1])
    root = on_arrays(dd.sqrt, square)
    assert near(compiled.multiply_dd(*root, *root), exactly(square), 2.0**-96)


def test_what_cancels_comes_back() -> None:
    total = (0.0, 0.0)
    for value in (1e16, 1.0, -1e16):
        total = compiled.add_double(*total, value)
    assert total == (1.0, 0.0)


def test_very_large_doubles_split_without_overflow() -> None:
    large = 1.5e308
    assert exactly(compiled.two_product(large, 1.1)) == Fraction(large) * Fraction(1.1)
    assert on_arrays(dd.multiply, (large, 0.0), (1.1, 0.0)) == compiled.multiply_dd(large, 0.0, 1.1, 0.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_beyond_the_largest_double_is_infinity_and_never_nan(sign: float) -> None:
    infinite, large = (sign * math.inf, 0.0), (sign * 1.7e308, 0.0)
    assert compiled.add_dd(*large, *large) == compiled.multiply_dd(*large, 2.0, 0.0) == infinite
    assert compiled.add_double(*large, large[0]) == infinite
    assert on_arrays(dd.add, large, large) == on_arrays(dd.multiply, large, (2.0, 0.0)) == infinite
    assert on_arrays(dd.divide, large, (0.1, 0.0)) == infinite


def test_zero() -> None:
    zero = (0.0, 0.0)
    assert on_arrays(dd.sqrt, zero) == on_arrays(dd.divide, zero, (3.0, 0.0)) == zero
    assert on_arrays(dd.divide, (1.0, 0.0), zero) == (math.inf, 0.0)
