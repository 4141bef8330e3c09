"""Dense ids for sparse values: int64 → 0, 1, 2, … in order of first appearance, and back.

What is known of keys and groups is in arrays, and ids are the indexes. The table is open addressing with linear
probing, at most half full. A place holds a value beside its id + 1, so one cache line answers. Values are never
removed.

A kernel cannot make its arrays longer. It stops where there is no room and says how far it came; ``IdTable`` makes room
and calls it again from there.
"""

from typing import NamedTuple

import numpy as np

from joinfold.kernels.compiling import Arrays, Ids, Integers, kernel, part, readable
from joinfold.kernels.hashing import spread


class IdArrays(NamedTuple):
    """What kernels know of a table of ids."""

    places: Integers  # [capacity, 2]: a value, and its id + 1; an empty place has 0 there
    value_of_id: Integers  # [room]
    size: Integers  # [1]: how many ids are given


class IdTable:
    """Which id each int64 has, and which value each id stands for."""

    def __init__(self, room: int = 64) -> None:
        assert room > 0
        self.places = np.zeros((_capacity_for(room), 2), np.int64)
        self._value_of_id = np.empty(room, np.int64)
        self.size = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return int(self.size[0])

    @property
    def values(self) -> Integers:
        """The value of each id, int64[ids]."""
        return self._value_of_id[: len(self)]

    @property
    def bytes_held(self) -> int:
        """The memory of its arrays."""
        return self.places.nbytes + self._value_of_id.nbytes

    def intern(self, values: Integers) -> Ids:
        """The ids int32[n] of values int64[n]; new values get the next ids in order. Cost: O(n)."""
        values = readable(values, np.int64)
        ids = np.empty(values.size, np.int32)
        done = 0
        while True:
            done = intern_ints(self.arrays, values, ids, done)
            if done == values.size:
                return ids
            self.reserve(1)

    def intern_pairs(self, first: Ids, second: Ids) -> Ids:
        """The ids int32[n] of pairs of int32[n]. Cost: O(n)."""
        return self.intern(packed(first, second))

    def pairs(self) -> tuple[Ids, Ids]:
        """Both halves of the value of each id, for a table of pairs: (int32[ids], int32[ids])."""
        return (self.values >> 32).astype(np.int32), self.values.astype(np.int32)

    def reserve(self, more: int) -> None:
        """Make room for so many new values. Cost: O(ids), seldom: room doubles."""
        needed = len(self) + more
        if needed <= self._value_of_id.size:
            return
        room = max(needed, 2 * self._value_of_id.size)
        grown = np.empty(room, np.int64)
        grown[: len(self)] = self.values
        self._value_of_id = grown
        self.places = np.zeros((_capacity_for(room), 2), np.int64)
        _fill_places(self.places, self.values)

    @property
    def arrays(self) -> Arrays:
        """What kernels take: the fields of ``IdArrays``."""
        return self.places, self._value_of_id, self.size


def packed(first: Ids, second: Ids) -> Integers:
    """Pairs of int32[n] as int64[n]: the first in the high word. Cost: O(n)."""
    return (np.asarray(first, np.int64) << 32) | np.asarray(second, np.int32).view(np.uint32)


def _capacity_for(room: int) -> int:
    return 1 << (2 * room - 1).bit_length()


@part
def place_of(places: Integers, value: int) -> np.uint64:
    """The place in int64[capacity, 2] that holds a value, or the empty one that it belongs in. Cost: O(1)."""
    limit = np.uint64(places.shape[0] - 1)
    place = spread(value) & limit
    while places[place, 1] != 0 and places[place, 0] != value:
        place = (place + np.uint64(1)) & limit
    return place


@part
def id_of(table: IdArrays, value: int) -> int:
    """The id of a value, a new one where it has none: then the table must have room. Cost: O(1)."""
    places, size = table.places, table.size
    place = place_of(places, value)
    if places[place, 1] == 0:
        table.value_of_id[size[0]] = value
        size[0] += 1
        places[place, 0] = value
        places[place, 1] = size[0]
    identity: int = places[place, 1] - 1
    return identity


@kernel
def intern_ints(arrays: Arrays, values: Integers, ids: Ids, done: int) -> int:
    """Write the ids of ``values`` int64[n] from ``done`` on into ids int32[n] until a new one finds no room.

    ``arrays`` are those of ``IdArrays``. Gives how many values are done. Cost: O(1) for each.
    """
    table = IdArrays(*arrays)
    for row in range(done, values.size):
        if table.size[0] == table.value_of_id.size:
            place = place_of(table.places, values[row])
            if table.places[place, 1] == 0:
                return row
        ids[row] = id_of(table, values[row])
    return values.size


@kernel
def _fill_places(places: Integers, value_of_id: Integers) -> None:
    """Enter values int64[ids] into empty places int64[capacity, 2]. Cost: O(ids)."""
    for identity in range(value_of_id.size):
        place = place_of(places, value_of_id[identity])
        places[place, 0] = value_of_id[identity]
        places[place, 1] = identity + 1
