"""Slots by key and group against a list for each key, through growth, removal, indexes and compaction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.slabs import CAPACITY, LENGTH, SHORT, Slabs, Slots, append, find, remove

changes_of = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.booleans()), max_size=60)


class Twin:
    """The groups of each key in the order of their slots, and what is in them."""

    def __init__(self, keys: int) -> None:
        self.slabs = Slabs(2, 1)
        self.slabs.cover_keys(np.array([keys - 1], np.int32))
        self.groups: list[list[tuple[int, int]]] = [[] for _ in range(keys)]
        self._number = 0

    def append(self, key: int, group: int) -> None:
        position = append(Slots(*self.slabs.arrays), key, group)
        while position < 0:
            self.slabs.make_room(key)
            position = append(Slots(*self.slabs.arrays), key, group)
        assert not self.slabs.ints[position].any() and not self.slabs.dds[position].any()
        self._number += 1
        self.slabs.ints[position], self.slabs.dds[position] = self._number, -self._number
        self.groups[key].append((group, self._number))

    def remove(self, key: int, group: int) -> None:
        """The last slot takes the place of the one that goes."""
        place = [own for own, _ in self.groups[key]].index(group)
        remove(Slots(*self.slabs.arrays), key, self.slabs.positions(key)[place])
        self.groups[key][place] = self.groups[key][-1]
        self.groups[key].pop()

    def toggle(self, key: int, group: int) -> None:
        if group in [own for own, _ in self.groups[key]]:
            self.remove(key, group)
        else:
            self.append(key, group)

    def check(self) -> None:
        slabs = self.slabs
        everything = []
        for key, groups in enumerate(self.groups):
            positions = np.array(slabs.positions(key), np.int64)
            everything += positions.tolist()
            assert slabs.gids[positions].tolist() == [group for group, _ in groups]
            assert slabs.ints[positions].tolist() == [[number] * 2 for _, number in groups]
            assert slabs.dds[positions].tolist() == [[-number] * 2 for _, number in groups]
        assert slabs.live_positions().tolist() == everything and slabs.live == len(everything) == len(set(everything))
        assert slabs.longest == max(map(len, self.groups))
        assert (slabs.slabs[:, LENGTH] <= slabs.slabs[:, CAPACITY]).all()


@given(changes_of)
def test_slots_are_found_where_a_list_has_them(changes: list[tuple[int, int, bool]]) -> None:
    twin = Twin(5)
    for key, group, gives_back in changes:
        twin.toggle(key, group)
        if gives_back:
            twin.slabs._compact(at_least=0)
    twin.check()
    for key in range(5):
        check_found(twin, key, list(range(11)))


@pytest.mark.parametrize("spread", [1, 2**16])
def test_long_slabs_are_indexed_and_short_ones_again_are_not(spread: int) -> None:
    """Groups that differ in their high bits only, or in the low ones; other keys lie in between."""
    twin, rng, most = Twin(3), np.random.default_rng(4), 4 * SHORT
    for bound in (most, most // 2, most, 5, 2 * SHORT, 1):
        for group in rng.permutation(most).tolist():
            is_there = group * spread in [own for own, _ in twin.groups[1]]
            if is_there != (group < bound):
                twin.toggle(1, group * spread)
            if group % 50 == 0:
                twin.toggle(2, group)
            if group % 20 == 0:
                check_found(twin, 1, [other * spread for other in range(most + 1)])
        twin.check()
        twin.slabs._compact(at_least=0)
        twin.check()
        check_found(twin, 1, [other * spread for other in range(most + 1)])


def check_found(twin: Twin, key: int, groups: list[int]) -> None:
    """Each of the groups is found where the twin has it, or not at all."""
    slots, start = Slots(*twin.slabs.arrays), twin.slabs.positions(key).start
    places = {group: start + place for place, (group, _) in enumerate(twin.groups[key])}
    assert [find(slots, key, group) for group in groups] == [places.get(group, -1) for group in groups]


def test_memory_is_given_back_when_most_slots_have_gone() -> None:
    twin = Twin(1)
    for group in range(3000):
        twin.append(0, group)
    full = twin.slabs.bytes_held
    for group in range(2990):
        twin.remove(0, group)
    twin.slabs.give_back()
    twin.check()
    assert twin.slabs.bytes_held < full / 50


def test_a_key_beyond_all_slabs_has_no_slot() -> None:
    assert list(Slabs(1, 0).positions(7)) == []
