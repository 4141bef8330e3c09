"""Aggregation tables against aggregation sets, and from the one to the other and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels import aggregation_table, products
from joinfold.kernels.aggregation_set import AggregationSet
from joinfold.kernels.aggregation_table import LONGEST, Aggregated, AggregationTable, laid_out
from joinfold.kernels.totals import OF_ALL, OF_DELTA, OF_SLOT, Totals
from joinfold.kernels.wrapping import LARGEST

KEYS, GROUPS = 20, 8
MODES = [OF_SLOT, OF_DELTA, OF_ALL]

Entry = tuple[int, int, int, int]
"""key, group, rows, an integer"""

int64s = st.integers(-3, 3) | st.integers(-LARGEST - 1, LARGEST)
entries = st.tuples(st.integers(0, KEYS - 1), st.integers(0, GROUPS - 1), st.integers(-1, 2), int64s)
batches = st.lists(entries, max_size=30)
steps = st.lists(st.tuples(batches, st.sampled_from([1, -1])), max_size=8)


def arrays(batch: list[Entry]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    table = np.array(batch, np.int64).reshape(-1, 4)
    return table[:, 0].astype(np.int32), table[:, 1].astype(np.int32), table[:, 2:], np.zeros((len(table), 0))


def members(aggregated: Aggregated) -> dict[tuple[int, int], list[int]]:
    kid, gid, ints = aggregated.members()
    names = list(zip(kid.tolist(), gid.tolist(), strict=True))
    assert len(set(names)) == len(names) == aggregated.live_entries
    return dict(zip(names, ints.tolist(), strict=True))


@given(steps)
def test_a_table_holds_what_a_set_holds(changes: list[tuple[list[Entry], int]]) -> None:
    table, slabs = AggregationTable(2, KEYS, GROUPS), AggregationSet(2, 0)
    for batch, sign in changes:
        for aggregated in (table, slabs):
            aggregated.update(*arrays(batch), sign)
        assert members(table) == members(slabs)
        assert table.largest_magnitude.tolist() == slabs.largest_magnitude.tolist()


@given(steps)
def test_what_is_laid_out_anew_stays_the_same(changes: list[tuple[list[Entry], int]]) -> None:
    held: Aggregated = AggregationSet(2, 0)
    slabs, keys, groups = AggregationSet(2, 0), 1, 1
    for batch, sign in changes:
        keys = max([keys, *(entry[0] + 1 for entry in batch)])
        groups = max([groups, *(entry[1] + 1 for entry in batch)])
        held = laid_out(held, keys, groups)
        held.update(*arrays(batch), sign)
        slabs.update(*arrays(batch), sign)
        assert members(held) == members(slabs)
        assert held.largest_magnitude.tolist() == slabs.largest_magnitude.tolist()


def test_a_table_is_where_places_are_in_use_and_grows_with_ids() -> None:
    held: Aggregated = AggregationSet(1, 0)
    every = np.arange(12, dtype=np.int32)
    one = (np.ones((12, 1), np.int64), np.zeros((12, 0)))
    held.update(every % 4, every // 4, *one, 1)
    sparse = laid_out(held, 4, 10)
    assert isinstance(sparse, AggregationSet)
    dense = laid_out(held, 4, 9)
    assert isinstance(dense, AggregationTable) and dense.bytes_held == 4 * 9 * 8
    wider = laid_out(dense, 5, 12)
    assert isinstance(wider, AggregationTable) and wider.ints.shape == (6, 1, 13) and members(wider) == members(held)
    back = laid_out(wider, 9, 11)
    assert isinstance(back, AggregationSet) and members(back) == members(held)


@given(batches, batches, st.sampled_from([1, -1]), st.sampled_from(MODES))
def test_products_with_a_table_are_those_with_a_set(
    held: list[Entry], delta: list[Entry], sign: int, mode: int
) -> None:
    if mode != OF_SLOT:
        held = [(key, 0, *payload) for key, _, *payload in held]  # of the two only the delta has groups
    table, slabs = AggregationTable(2, KEYS - 2, GROUPS if mode == OF_SLOT else 1), AggregationSet(2, 0)
    for aggregated in (table, slabs):
        aggregated.update(*arrays([entry for entry in held if entry[0] < KEYS - 2]), 1)
    wanted = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    ours, theirs = Totals(4, 0), Totals(4, 0)
    kid, gid, ints, nothing = arrays(delta)
    aggregation_table.add_products(kid, gid, ints, sign, table, mode, wanted, ours)
    products.add_products(kid, gid, ints, nothing, sign, slabs, mode, None, wanted, np.zeros((0, 4), np.int64), theirs)
    groups = min(ours.groups, theirs.groups)
    assert ours.ints[:groups].tolist() == theirs.ints[:groups].tolist()
    assert not ours.ints[groups:].any() and not theirs.ints[groups:].any()
    changed = theirs.ints.any(axis=1)
    assert ours.touched[: len(changed)][changed].all()


def test_rows_of_a_table_are_not_long() -> None:
    """An entry costs as much as the row of its key is long, although the key may have few of the groups."""
    held: Aggregated = AggregationSet(1, 0)
    groups = np.arange(LONGEST, dtype=np.int32)
    held.update(np.zeros_like(groups), groups, np.ones((LONGEST, 1), np.int64), np.zeros((LONGEST, 0)), 1)
    assert isinstance(laid_out(held, 1, LONGEST + 1), AggregationSet)
    table = laid_out(held, 1, LONGEST)
    assert isinstance(table, AggregationTable)
    assert isinstance(laid_out(table, 1, LONGEST + 1), AggregationSet)


def test_ids_without_a_place_are_our_mistake() -> None:
    for kid, gid in ((2, 0), (0, 3)):
        with pytest.raises(AssertionError, match="places are made before entries come"):
            AggregationTable(1, 2, 3).update(
                np.array([kid], np.int32), np.array([gid], np.int32), np.ones((1, 1), np.int64), np.zeros((1, 0)), 1
            )
