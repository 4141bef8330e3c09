"""Totals that grow and empty, and the group of a product in every mode."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.identity import IdArrays, IdTable
from joinfold.kernels.totals import (
    MODES,
    NO_PAIRS,
    OF_ALL,
    OF_DELTA,
    OF_DELTA_AND_SLOT,
    OF_SLOT,
    OF_SLOT_AND_DELTA,
    PAIRED,
    Totals,
    groups_of,
    intern_pairs,
    pair_of,
)

gids = st.integers(0, 3) | st.integers(0, 2**31 - 1)


@given(st.lists(st.integers(0, 40), max_size=6))
def test_groups_that_are_added_are_zero_and_those_before_stay(wanted: list[int]) -> None:
    totals, groups = Totals(2, 1), 0
    for many in wanted:
        totals.cover(many)
        groups = max(groups, many)
        assert totals.ints.shape == (groups, 2) and totals.dds.shape == totals.drift.shape == (groups, 2)
        assert totals.ints[:, 0].tolist() == totals.dds[:, 1].tolist() == totals.drift[:, 0].tolist()
        totals.make_room(2 * groups)  # room is no group
        assert len(totals.touched) == groups and all(len(array) >= groups for array in totals.arrays[:3])
        for array in (totals.ints, totals.dds, totals.drift):
            assert not array[totals.ints[:, 1] == 0].any()
            array[:] = np.arange(1, groups + 1)[:, None]


def test_groups_that_were_touched_are_given_once_and_without_combinations_they_are_empty() -> None:
    totals = Totals(1, 1, groups=4)
    totals.ints[:, 0], totals.dds[:], totals.drift[:] = [2, 0, 0, 5], 0.25, 0.5
    totals.touched[[0, 2]] = 1
    assert totals.take_touched().tolist() == [0, 2]
    assert totals.take_touched().tolist() == []
    assert totals.dds[:, 0].tolist() == [0.25, 0.25, 0.0, 0.25]  # group 1 was not touched
    assert totals.drift[:, 1].tolist() == [0.5, 0.5, 0.0, 0.5]


def test_without_a_count_nobody_knows_whether_a_group_is_empty() -> None:
    totals = Totals(0, 1, groups=1)
    totals.dds[:], totals.touched[:] = 0.25, 1
    assert totals.take_touched().tolist() == [0]
    assert totals.dds.tolist() == [[0.25, 0.25]]


@pytest.mark.parametrize(
    ("mode", "groups"), [(OF_DELTA, 6), (OF_SLOT, 9), (OF_ALL, 1), *((mode, 2) for mode in PAIRED)]
)
def test_how_many_groups_there_are_before_any_pair_is_new(mode: int, groups: int) -> None:
    pairs = IdTable()
    pairs.intern(np.array([7, 8]))
    assert groups_of(mode, np.array([5, 0], np.int32), 9, pairs if mode in PAIRED else NO_PAIRS) == groups
    assert mode in MODES


@given(gids, st.lists(gids, max_size=12), st.sampled_from(PAIRED))
def test_pairs_are_those_that_the_table_gives_back(delta: int, slots: list[int], mode: int) -> None:
    table, groups = IdTable(20), np.full(12, -1, np.int32)
    intern_pairs(mode, delta, np.array(slots, np.int32), IdArrays(*table.arrays), groups)
    first, second = table.pairs()
    own, other = (first, second) if mode == OF_DELTA_AND_SLOT else (second, first)
    ids = groups[: len(slots)]
    assert own[ids].tolist() == [delta] * len(slots) and other[ids].tolist() == slots
    assert len(table) == len(set(slots)) and (groups[len(slots) :] == -1).all()


def test_the_order_of_a_pair_is_that_of_the_mode() -> None:
    assert pair_of(OF_DELTA_AND_SLOT, 3, 5) == pair_of(OF_SLOT_AND_DELTA, 5, 3) == (3 << 32) + 5
