"""Sketches against their twin in plain Python, and how far from the truth they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from joinfold.kernels.hashing import FACTOR_1, FACTOR_2, SEED
from joinfold.kernels.sketch import BINS, REGISTERS, disorder, distinct, factors_of, sketched

WORD = 2**64
codes_of = arrays.arrays(
    np.int64, st.tuples(st.integers(0, 3), st.integers(0, 40)), elements=st.integers(-(2**63), 2**63 - 1)
)


def plain_hash(row: list[int], factors: list[int]) -> int:
    state = (int(SEED) + sum(code * factor for code, factor in zip(row, factors, strict=True))) % WORD
    for factor in (int(FACTOR_1), int(FACTOR_2)):
        state = (state ^ state >> 33) * factor % WORD
    return state ^ state >> 33


@given(codes=codes_of, data=st.data())
def test_registers_and_bins_are_those_of_the_definition(codes: np.ndarray, data: st.DataObject) -> None:
    columns, rows = codes.shape
    sets = data.draw(arrays.arrays(np.bool_, st.tuples(st.integers(1, 3), st.just(columns))))
    counts = data.draw(arrays.arrays(np.int64, rows, elements=st.integers(0, 9)))
    factors = factors_of(sets)
    registers, bins = sketched(codes, factors, counts)
    expected, expected_bins = np.zeros((len(sets), REGISTERS), np.uint8), np.zeros(BINS, np.int64)
    for row in range(rows):
        for number in range(len(sets)):
            hashed = plain_hash(codes[:, row].tolist(), factors[number].tolist())
            zeros = next((bit for bit in range(57) if hashed >> bit & 1), 57)
            place = hashed >> 57
            expected[number, place] = max(expected[number, place], zeros + 1)
            if number == 0:
                expected_bins[hashed >> 40 & 255] += counts[row]
    np.testing.assert_array_equal(registers, expected)
    np.testing.assert_array_equal(bins, expected_bins)


@pytest.mark.parametrize("values", [1, 2, 7, 50, 100, 300, 700, 5_000, 100_000])
def test_different_rows_are_counted_within_a_quarter_however_often_they_come(values: int) -> None:
    found = []
    for start in range(8):
        codes = np.tile(np.arange(values) + start * 10**9, 2)[None, :]
        registers, _ = sketched(codes, factors_of(np.ones((1, 1), np.bool_)), np.ones(2 * values, np.int64))
        found.append(distinct(registers[0]))
    assert found == pytest.approx([values] * 8, rel=0.35, abs=0.5)
    assert sum(found) / 8 == pytest.approx(values, rel=0.1, abs=0.1)


def test_combinations_of_columns_are_told_apart() -> None:
    """A row is hashed as a sum: factors that are multiples of each other would make many sums equal."""
    left, right = (column.ravel() for column in np.meshgrid(np.arange(100), np.arange(100)))
    registers, _ = sketched(np.stack([left, right]), factors_of(np.ones((1, 2), np.bool_)), np.ones(10_000, np.int64))
    assert distinct(registers[0]) == pytest.approx(10_000, rel=0.25)


@given(codes=codes_of, cut=st.integers(0, 40))
def test_the_larger_registers_of_two_sketches_are_the_sketch_of_all(codes: np.ndarray, cut: int) -> None:
    factors = factors_of(np.ones((1, codes.shape[0]), np.bool_))
    counts = np.ones(codes.shape[1], np.int64)
    whole, bins = sketched(codes, factors, counts)
    parts = [sketched(codes[:, part], factors, counts[part]) for part in (slice(None, cut), slice(cut, None))]
    np.testing.assert_array_equal(np.maximum(parts[0][0], parts[1][0]), whole)
    np.testing.assert_array_equal(parts[0][1] + parts[1][1], bins)


@given(st.lists(st.integers(-5, 5), min_size=1))
def test_disorder_counts_what_comes_after_a_later_time(times: list[int]) -> None:
    ordered = np.array(times, np.int64)
    ordered.flags.writeable = False
    assert disorder(ordered) == np.count_nonzero(ordered < np.maximum.accumulate(ordered))


def test_nothing_is_nothing() -> None:
    registers, bins = sketched(np.empty((1, 0), np.int64), factors_of(np.ones((1, 1), np.bool_)), np.empty(0, np.int64))
    assert distinct(registers[0]) == 0
    assert not bins.any()
