"""Grouping against dictionaries, and a hash that must never change."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from joinfold.kernels import grouping

WORD = 2**64
few_codes = st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1])
tables = st.tuples(st.integers(0, 4), st.integers(0, 40)).flatmap(
    lambda shape: hnp.arrays(np.int64, shape, elements=few_codes)
)


def hash_twin(row: tuple[int, ...]) -> int:
    state = 0x9E3779B97F4A7C15
    for code in row:
        state ^= code % WORD
        for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            state = (state ^ state >> 33) * factor % WORD
        state ^= state >> 33
    return state


def rows_of(codes: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(codes[:, row].tolist()) for row in range(codes.shape[1])]


def check_groups(codes: np.ndarray, entry_of_row: np.ndarray, first_row: np.ndarray) -> None:
    entries: dict[tuple[int, ...], int] = {}
    rows = rows_of(codes)
    assert entry_of_row.tolist() == [entries.setdefault(row, len(entries)) for row in rows]
    assert first_row.tolist() == [rows.index(row) for row in entries]


@given(tables)
def test_groups_are_those_of_a_dictionary_in_order_of_appearance(codes: np.ndarray) -> None:
    check_groups(codes, *grouping.group_rows(codes))


@given(tables)
def test_the_hash_is_that_of_its_definition(codes: np.ndarray) -> None:
    assert grouping.mix(codes).tolist() == [hash_twin(row) for row in rows_of(codes)]


def test_the_hash_never_changes() -> None:
    pinned = [7175312947680778460, 2115549429807191418, 4848887443841120263]
    assert grouping.mix(np.array([[0, 1, -1], [0, 2, 7]])).tolist() == pinned


@pytest.mark.parametrize("apart", [1, 2**20, 2**62], ids=["a table", "one number", "two codes"])
def test_codes_may_lie_close_together_or_far_apart(apart: int) -> None:
    codes = np.random.default_rng(7).integers(-15, 15, (2, 2000)) % 30 * (apart // 30 + 1) - apart // 2
    check_groups(codes, *grouping.group_rows(codes))


def test_rows_whose_hashes_share_the_low_bits_are_grouped_too() -> None:
    """The rows of one bucket are those that agree in the hash modulo the number of buckets."""
    codes = np.arange(200_000).reshape(1, -1)
    codes = codes[:, grouping.mix(codes) % np.uint64(64) == 5]
    check_groups(codes[:, :500], *grouping.group_rows(codes[:, :500]))
    assert grouping.group_rows(codes)[1].size == codes.shape[1]


def test_the_hash_spreads_all_of_its_bits() -> None:
    hashes = grouping.mix(np.arange(1 << 14).reshape(1, -1))
    for shift in (0, 20, 40, 52):
        cells = np.bincount(((hashes >> np.uint64(shift)) % np.uint64(256)).astype(np.int64), minlength=256)
        assert cells.min() > 20 and cells.max() < 120  # 64 expected in each


@st.composite
def grouped(draw: st.DrawFn) -> tuple[np.ndarray, int, int]:
    entries = draw(st.integers(1, 6))
    rows = draw(st.integers(0, 40))
    return draw(hnp.arrays(np.int64, rows, elements=st.integers(0, entries - 1))), entries, rows


@given(grouped(), st.data())
def test_sums_counts_and_maxima(case: tuple[np.ndarray, int, int], data: st.DataObject) -> None:
    entry_of_row, entries, rows = case
    values = data.draw(hnp.arrays(np.int64, rows, elements=st.integers(-(2**63), 2**63 - 1)))
    mask = data.draw(hnp.arrays(np.bool_, rows))
    sums, counts = np.zeros(entries, np.int64), Counter(entry_of_row[mask].tolist())
    np.add.at(sums, entry_of_row, values)
    assert grouping.sum_ints(entry_of_row, entries, values).tolist() == sums.tolist()
    assert grouping.count(entry_of_row, entries, mask).tolist() == [counts[entry] for entry in range(entries)]
    codes, present = grouping.largest(entry_of_row, entries, values, mask)
    assert present.tolist() == [entry in counts for entry in range(entries)]
    assert codes.tolist() == [
        max(values[mask & (entry_of_row == entry)].tolist(), default=0) for entry in range(entries)
    ]


@given(grouped(), st.data())
def test_sums_of_doubles_are_within_2_to_the_minus_98(case: tuple[np.ndarray, int, int], data: st.DataObject) -> None:
    entry_of_row, entries, rows = case
    values = data.draw(hnp.arrays(np.float64, rows, elements=st.floats(-1e100, 1e100, allow_subnormal=False)))
    high, low = grouping.sum_dds(entry_of_row, entries, values)
    for entry in range(entries):
        own = [Fraction(value) for value in values[entry_of_row == entry].tolist()]
        error = abs(Fraction(float(high[entry])) + Fraction(float(low[entry])) - sum(own))
        assert error <= sum(map(abs, own), Fraction(0)) * Fraction(2.0**-98)


def test_a_small_value_survives_a_large_one_that_leaves() -> None:
    high, low = grouping.sum_dds(np.zeros(3, np.int64), 1, np.array([1e16, 1.0, -1e16]))
    assert (high[0], low[0]) == (1.0, 0.0)
