"""Aggregation sets against a dictionary of payloads, through growth, removal, long slabs and wrapping."""

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.aggregation_set import AggregationSet
from joinfold.kernels.slabs import SHORT

WORD, HALF_WORD = 2**64, 2**63
LARGEST = HALF_WORD - 1

Entry = tuple[int, int, int, int, int]
"""key, group, rows, an integer, a whole double"""

int64s = st.integers(-3, 3) | st.integers(-HALF_WORD, LARGEST)
entries = st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(-1, 2), int64s, st.integers(-(2**40), 2**40))
steps = st.lists(st.tuples(st.lists(entries, max_size=30), st.sampled_from([1, -1])), max_size=8)


def wrap(value: int) -> int:
    return (value + HALF_WORD) % WORD - HALF_WORD


def arrays(batch: Iterable[Entry]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    table = [list(column) for column in zip(*batch, strict=True)] or [[]] * 5
    doubles = np.array([table[4], [0] * len(table[4])], np.float64).T
    return (
        np.array(table[0], np.int32),
        np.array(table[1], np.int32),
        np.array(table[2:4], np.int64).T,
        doubles,
    )


class Twin:
    """The same as a dictionary; sums of whole doubles are integers and exact."""

    def __init__(self) -> None:
        self.payloads: dict[tuple[int, int], list[int]] = {}
        self.largest = [0, 0]

    def update(self, batch: Iterable[Entry], sign: int) -> None:
        for key, group, *payload in batch:
            slot = self.payloads.setdefault((key, group), [0, 0, 0])
            for column, value in enumerate(payload):
                slot[column] += sign * value
                if column < 2:
                    self.largest[column] = max(self.largest[column], min(LARGEST, abs(slot[column])))
                    slot[column] = wrap(slot[column])
            if slot[0] == 0:
                del self.payloads[key, group]

    def entries_of(self, key: int) -> dict[int, tuple[list[int], list[float]]]:
        return {
            group: ([rows, value], [float(total), 0.0])
            for (owner, group), (rows, value, total) in self.payloads.items()
            if owner == key
        }


def check(aggregated: AggregationSet, twin: Twin, keys: range) -> None:
    assert aggregated.live_entries == len(twin.payloads)
    assert aggregated.slots.longest == max((len(twin.entries_of(key)) for key in keys), default=0)
    for key in keys:
        assert aggregated.entries_of(key) == twin.entries_of(key)


@given(steps)
def test_a_set_is_a_dictionary_of_payloads(batches: list[tuple[list[Entry], int]]) -> None:
    aggregated, twin = AggregationSet(2, 1), Twin()
    for batch, sign in batches:
        aggregated.update(*arrays(batch), sign)
        twin.update(batch, sign)
        check(aggregated, twin, range(8))
        assert aggregated.largest_magnitude.tolist() == twin.largest
    assert aggregated.groups >= max((group + 1 for _, group in twin.payloads), default=0)


def random_entries(seed: int, many: int, keys: int, groups: int) -> list[Entry]:
    rng = np.random.default_rng(seed)
    columns = [
        rng.integers(0, keys, many), rng.integers(0, groups, many), rng.integers(1, 3, many),
        rng.integers(-99, 99, many), rng.integers(-99, 99, many),
    ]  # fmt: skip
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_a_sliding_window_over_few_keys_with_many_groups() -> None:
    """Slabs cross the length at which they are indexed, in both directions, and move and shrink."""
    aggregated, twin = AggregationSet(2, 1), Twin()
    window: list[list[Entry]] = []
    for step in range(40):
        size = 300 if step < 20 else 20
        window.append(random_entries(step, size, keys=3, groups=700))
        aggregated.update(*arrays(window[-1]), 1)
        twin.update(window[-1], 1)
        assert step != 19 or aggregated.slots.longest > 4 * SHORT
        if len(window) > 6:
            leaving = window.pop(0)
            aggregated.update(*arrays(leaving), -1)
            twin.update(leaving, -1)
        check(aggregated, twin, range(3))
    for batch in window:
        aggregated.update(*arrays(batch), -1)
    assert aggregated.live_entries == 0
    assert [aggregated.entries_of(key) for key in range(3)] == [{}, {}, {}]


def test_one_key_with_very_many_groups_and_back() -> None:
    groups = np.random.default_rng(3).permutation(100_000).astype(np.int32)
    keys, ones = np.zeros(groups.size, np.int32), np.ones((groups.size, 1), np.int64)
    nothing = np.zeros((groups.size, 0))
    aggregated = AggregationSet(1, 0)
    aggregated.update(keys, groups, ones, nothing, 1)
    aggregated.update(keys, groups[::-1], ones, nothing, 1)
    assert aggregated.live_entries == groups.size and aggregated.largest_magnitude.tolist() == [2]
    full = aggregated.bytes_held
    aggregated.update(keys[:-5], groups[:-5], 2 * ones[:-5], nothing[:-5], -1)
    assert aggregated.entries_of(0) == {int(group): ([2], []) for group in groups[-5:]}
    assert aggregated.bytes_held < full / 100


def test_keys_that_come_and_go_leave_no_memory_behind() -> None:
    aggregated, held = AggregationSet(1, 1), []
    ones, sums = np.ones((100, 1), np.int64), np.ones((100, 2))
    for step in range(300):
        keys = np.arange(100 * step, 100 * step + 100, dtype=np.int32) % 1000
        groups = np.full(100, step, np.int32)
        aggregated.update(keys, groups, ones, sums, 1)
        if step >= 5:
            aggregated.update((keys - 500) % 1000, groups - 5, ones, sums, -1)
        held.append(aggregated.bytes_held)
    assert aggregated.live_entries == 500
    assert max(held[100:]) <= max(held[:100])


def test_rounding_leaves_with_the_last_row() -> None:
    aggregated = AggregationSet(1, 1)
    zero, one = np.zeros(1, np.int32), np.ones((1, 1), np.int64)
    for value, sign in ((1e16, 1), (1.0, 1), (1e16, -1)):
        aggregated.update(zero, zero, one, np.array([[value, 0.0]]), sign)
    assert aggregated.entries_of(0) == {0: ([1], [1.0, 0.0])}
    aggregated.update(zero, zero, one, np.array([[0.9, 0.0]]), -1)  # not what entered
    assert aggregated.entries_of(0) == {}


def test_wrapping_is_seen_in_the_magnitude() -> None:
    for sign in (1, -1):
        aggregated = AggregationSet(2, 0)
        zeros, nothing = np.zeros(2, np.int32), np.zeros((2, 0))
        aggregated.update(zeros, zeros, np.array([[1, LARGEST], [1, LARGEST]]), nothing, sign)
        assert aggregated.entries_of(0)[0][0] == [2 * sign, -2 * sign]
        assert aggregated.largest_magnitude.tolist() == [2, LARGEST]


def test_a_negative_id_is_our_mistake() -> None:
    minus, zero = np.array([-1], np.int32), np.zeros(1, np.int32)
    for kid, gid in ((minus, zero), (zero, minus)):
        with pytest.raises(AssertionError, match="ids begin at 0"):
            AggregationSet(1, 0).update(kid, gid, np.ones((1, 1), np.int64), np.zeros((1, 0)), 1)


def test_arrays_that_may_not_be_written_and_those_that_are_not_contiguous_do() -> None:
    aggregated = AggregationSet(1, 0)
    kid = np.array([3, 9, 3, 9], np.int32)[::2]
    gid = np.array([1, 2], np.int32)
    gid.flags.writeable = False
    aggregated.update(kid, gid, np.ones((1, 2), np.int64).T, np.zeros((2, 0)), 1)
    assert aggregated.entries_of(3) == {1: ([1], []), 2: ([1], [])}


def test_turnover_remembers_what_has_gone_through_a_slot() -> None:
    """A giant leaves: hi, lo and weight may be wrong by a part of it, and the turnover says so."""
    slots = AggregationSet(1, 1)
    for value, sign in ((1e40, 1), (0.1, 1), (1e40, -1)):
        slots.update(
            np.zeros(1, np.int32), np.zeros(1, np.int32), np.ones((1, 1), np.int64), np.array([[value, 0.0]]), sign
        )
    hi, lo, weight, turnover = slots.slots.dds[slots.slots.positions(0)[0]].tolist()
    assert turnover >= 1e40
    assert abs(hi + lo - 0.1) <= 2.0**-103 * turnover and abs(weight - 0.1) <= 2.0**-52 * turnover
