"""Searches against NumPy's, and batches of changes against the sums of leaves, whatever the number of leaves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.ranges.order_statistics import OrderStatistics
from joinfold.kernels.ranges.segment_trees import first_from, first_near
from tests.kernels.test_aggregation_set import HALF_WORD, LARGEST

values = st.integers(-9, 9) | st.sampled_from([-HALF_WORD, LARGEST])


@given(st.lists(values, max_size=20).map(sorted), values, st.data())
def test_a_place_is_found_from_wherever_one_looks(ascending: list[int], value: int, data: st.DataObject) -> None:
    held = np.array(ascending, np.int64)
    begin = data.draw(st.integers(0, len(held)))
    end = data.draw(st.integers(begin, len(held)))
    for beyond, side in ((False, "left"), (True, "right")):
        expected = begin + int(np.searchsorted(held[begin:end], value, side))
        assert first_from(held, begin, end, value, beyond) == expected
        for near in range(begin, end + 1):
            assert first_near(held, begin, end, near, value, beyond) == expected


def all_ranges(held: OrderStatistics, leaves: int) -> list[list[int]]:
    """The sums of integers from each code to each, of key 0 and group 0; nothing is [0, 0]."""
    bounds = np.array([(low, high) for low in range(leaves) for high in range(low, leaves)])
    found = np.zeros((len(bounds), 2), np.int64)
    for piece in held.ranges(np.zeros(len(bounds), np.int32), bounds[:, 0], bounds[:, 1]):
        own = piece.group == 0
        found[piece.delta[own]] = piece.ints[own]
    return found.tolist()


@pytest.mark.parametrize("leaves", [1, 2, 3, 5, 7, 8, 9, 31, 33])
@given(data=st.data())
def test_a_batch_changes_every_node_above_it(leaves: int, data: st.DataObject) -> None:
    """In order and out of it, with repetitions, and with places of other groups in between."""
    held, truth = OrderStatistics(2, 0), np.zeros((leaves, 2), np.int64)
    everything = np.arange(leaves)
    held.place(np.zeros(leaves, np.int32), np.zeros(leaves, np.int32), everything)
    for _ in range(3):
        chosen = data.draw(st.lists(st.tuples(st.integers(0, 1), st.integers(0, leaves - 1)), max_size=12))
        chosen = sorted(chosen) if data.draw(st.booleans()) else chosen
        groups, codes = (np.array([entry[place] for entry in chosen], np.int64) for place in range(2))
        ints = np.stack([np.ones(len(codes), np.int64), 3**codes % 1001], axis=1)
        held.update(np.zeros(len(codes), np.int32), groups.astype(np.int32), codes, ints, np.zeros((len(codes), 0)), 1)
        np.add.at(truth, codes[groups == 0], ints[groups == 0])
        sums = [truth[low : high + 1].sum(axis=0).tolist() for low in everything for high in range(low, leaves)]
        assert all_ranges(held, leaves) == sums
