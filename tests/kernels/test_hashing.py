"""Each way to mix bits against its definition in Python's integers, and that what it promises to spread is spread."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.hashing import finalised, scattered, spread

WORD, HALF_WORD = 2**64, 2**63
FACTORS = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)
int64s = st.integers(-HALF_WORD, HALF_WORD - 1)


def mixed(value: int, shift: int) -> int:
    for factor in FACTORS:
        value = (value ^ value >> shift) * factor % WORD
    return value


@given(st.integers(0, WORD - 1))
def test_finalised_is_that_of_murmur3(value: int) -> None:
    expected = mixed(value, 33)
    assert int(finalised(np.uint64(value))) == expected ^ expected >> 33


@given(int64s)
def test_spread_is_the_high_word_of_two_rounds(value: int) -> None:
    assert int(spread(value)) == mixed(value % WORD, 32) >> 32


@given(int64s)
def test_scattered_is_one_wrapping_multiplication(value: int) -> None:
    product = value * 0x9E3779B97F4A7C15 % WORD
    assert scattered(value) == (product - WORD if product >= HALF_WORD else product) >> 32


@pytest.mark.parametrize(
    ("hashed", "values"),
    [
        (lambda value: int(finalised(np.uint64(value))), np.arange(4096)),
        (lambda value: int(spread(value)), np.arange(4096.0).view(np.int64)),  # whole doubles: low bits are zero
        (lambda value: int(spread(value)), np.arange(4096) << 40),
        (scattered, np.arange(4096)),
        (scattered, np.arange(4096) * 1024),
    ],
)
def test_values_fall_evenly_into_the_low_bits(hashed: Callable[[int], int], values: np.ndarray) -> None:
    cells = np.bincount([hashed(value) & 255 for value in values.tolist()], minlength=256)
    assert cells.max() <= 40  # 16 are expected
