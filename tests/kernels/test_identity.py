"""Ids against a dictionary that hands out its own length."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from joinfold.kernels.identity import IdTable

int64s = st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1)
int32s = st.integers(-2, 2) | st.integers(-(2**31), 2**31 - 1)


@given(st.lists(hnp.arrays(np.int64, st.integers(0, 30), elements=int64s), max_size=5), st.integers(1, 4))
def test_ids_are_given_in_order_and_stay(batches: list[np.ndarray], room: int) -> None:
    table, twin = IdTable(room), dict[int, int]()
    for values in batches:
        ids = table.intern(values)
        assert ids.dtype == np.int32
        assert ids.tolist() == [twin.setdefault(value, len(twin)) for value in values.tolist()]
    assert len(table) == len(twin)
    assert table.values.tolist() == list(twin)


@given(st.lists(st.tuples(int32s, int32s), max_size=40))
def test_pairs_are_told_apart_and_come_back(pairs: list[tuple[int, int]]) -> None:
    table, twin = IdTable(1), dict[tuple[int, int], int]()
    first, second = (np.array([pair[half] for pair in pairs], np.int32) for half in (0, 1))
    assert table.intern_pairs(first, second).tolist() == [twin.setdefault(pair, len(twin)) for pair in pairs]
    assert list(zip(*(half.tolist() for half in table.pairs()), strict=True)) == list(twin)


def test_values_that_share_their_low_bits_are_spread() -> None:
    """The longest run of occupied places bounds a search; doubles that are whole end in many zeros."""
    whole_doubles = np.arange(20_000.0).view(np.int64)
    for values in (np.arange(20_000), np.arange(20_000) << 40, np.arange(20_000) * 10**12, whole_doubles):
        table = IdTable()
        assert table.intern(values).tolist() == list(range(20_000))
        assert table.intern(values[::-1]).tolist() == list(range(20_000))[::-1]
        empty = np.flatnonzero(table.places[:, 1] == 0)
        assert np.diff(empty).max() < 100
        assert table.bytes_held > 8 * 20_000
