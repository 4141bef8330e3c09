"""Slots by key and group, the slots of a key side by side: a *slab*.

A probe with a key reads all slots of the key in order. Memory is quickest where they are neighbours, so slabs are
contiguous pieces of one pool and not chains::

    slabs   key 0 ─▶ start 0, length 3, capacity 4      key 1 ─▶ start 6, length 1, capacity 1
    pool    │ g7 │ g2 │ g5 │    │ ×  │ ×  │ g2 │          × a slab that moved away when it was full

A full slab moves to the end of the pool with twice the capacity. When the pool is full, all slabs move into a new one,
in the order of their keys and without the gaps; a slab that is at most a quarter full gives capacity back. Copies per
insertion are O(1) amortised.

A short slab is scanned for a slot. A long one has an index: places ``2·start`` to ``2·(start + capacity)`` of
``probes`` are an open-addressing table of positions within the slab. So a slot costs no more in a key with very many
groups than in one with few.

"""

from typing import NamedTuple

import numpy as np

from joinfold.kernels.compiling import Arrays, Doubles, Ids, Integers, count_of_ids, kernel, part
from joinfold.kernels.hashing import scattered

START, LENGTH, CAPACITY = 0, 1, 2
TAIL, LIVE = 0, 1
SHORT = 64  # scanning so many slots takes less time than fetching another cache line
LEAST_ROOM = 16
SPARSE = 8  # memory is given back when fewer than one slot in so many is in use


class Slots(NamedTuple):
    """What kernels know of a set of slots, in a pool of P, by K keys."""

    slabs: Integers  # [K, 3]: start, length and capacity of the slab of each key
    gids: Ids  # [P]: the group of each slot
    ints: Integers  # [P, I]
    dds: Doubles  # [P, 2·F]
    probes: Ids  # [2·P]: the indexes of long slabs; [0] while every slab is short
    usage: Integers  # [2]: how many slots of the pool are given to slabs, and how many are in use


class Slabs:
    """The arrays of a set of slots, with ``int_columns`` integers and ``dd_columns`` double-doubles in each."""

    def __init__(self, int_columns: int, dd_columns: int) -> None:
        self.slabs = np.zeros((0, 3), np.int64)
        self.usage = np.zeros(2, np.int64)
        self._allocate(LEAST_ROOM, int_columns, dd_columns, indexed=False)

    def _allocate(self, room: int, int_columns: int, dd_columns: int, indexed: bool) -> None:
        self.gids = np.empty(room, np.int32)
        self.ints = np.empty((room, int_columns), np.int64)
        self.dds = np.empty((room, 2 * dd_columns), np.float64)
        self.probes = np.zeros(2 * room if indexed else 0, np.int32)

    @property
    def arrays(self) -> Arrays:
        """What kernels take: the fields of ``Slots``."""
        return self.slabs, self.gids, self.ints, self.dds, self.probes, self.usage

    @property
    def live(self) -> int:
        """How many slots are in use."""
        return int(self.usage[LIVE])

    @property
    def longest(self) -> int:
        """The length of the longest slab now. Cost: O(keys)."""
        return int(self.slabs[:, LENGTH].max(initial=0))

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return sum(array.nbytes for array in (self.slabs, self.gids, self.ints, self.dds, self.probes))

    def cover_keys(self, kid: Ids) -> None:
        """Make sure that every key id has a slab, if only an empty one. Cost: O(n), seldom O(keys)."""
        needed = count_of_ids(kid)
        if needed > len(self.slabs):
            grown = np.zeros((max(needed, 2 * len(self.slabs)), 3), np.int64)
            grown[: len(self.slabs)] = self.slabs
            self.slabs = grown

    def positions(self, kid: int) -> range:
        """Where the slots of a key are in the pool."""
        if kid >= len(self.slabs):
            return range(0)
        start, length, _ = self.slabs[kid].tolist()
        return range(start, start + length)

    def live_positions(self) -> Integers:
        """Where all slots in use are in the pool, int64[live]. Cost: O(keys + live)."""
        found = np.empty(self.live, np.int64)
        live_positions(self.slabs, found)
        return found

    def make_room(self, kid: int) -> None:
        """Make sure that the slab of a key can take one more slot. Cost: O(keys + pool), amortised O(1) per slot."""
        self._compact(at_least=2 * int(self.slabs[kid, CAPACITY]) + 1)

    def give_back(self) -> None:
        """Return memory to the system if most of the pool is not in use. Cost: O(1), seldom O(keys + pool)."""
        if self.usage[TAIL] > max(1024, len(self.slabs), SPARSE * self.live):
            self._compact(at_least=0)

    def _compact(self, at_least: int) -> None:
        capacities = np.empty(len(self.slabs), np.int64)
        compact_capacities(self.slabs, capacities)
        capacity = int(capacities.sum())
        old = self.arrays
        longest = max(2 * int(self.slabs[:, CAPACITY].max(initial=0)), at_least)
        self._allocate(
            max(LEAST_ROOM, capacity + capacity // 2 + 2 * at_least),
            self.ints.shape[1],
            self.dds.shape[1] // 2,
            indexed=longest > SHORT,
        )
        move_slabs(old, self.arrays, capacities)
        self.usage[TAIL] = capacity


@part
def find(slots: Slots, kid: int, gid: int) -> int:
    """The position of a slot in the pool, −1 if there is none. Cost: O(1), at most a scan of ``SHORT`` slots."""
    slabs = slots.slabs
    start, length, capacity = slabs[kid, START], slabs[kid, LENGTH], slabs[kid, CAPACITY]
    if capacity <= SHORT:
        found = np.int32(-1)
        slab = slots.gids[start : start + length]
        for offset in range(slab.size):  # no branch and no early end, so that the compiler makes vectors of it
            found = max(found, np.int32(offset) if slab[offset] == gid else np.int32(-1))
        return start + found if found >= 0 else -1
    held = slots.probes[_place_of(slots, start, capacity, gid)]
    return start + held - 1 if held else -1


@part
def append(slots: Slots, kid: int, gid: int) -> int:
    """The position of a new slot of zeros for a group that the key has not; −1 if there is no room. Cost: O(1)."""
    slabs = slots.slabs
    if slabs[kid, LENGTH] == slabs[kid, CAPACITY] and not _double(slots, kid):
        return -1
    start, capacity = slabs[kid, START], slabs[kid, CAPACITY]
    position: int = start + slabs[kid, LENGTH]
    slabs[kid, LENGTH] += 1
    slots.usage[LIVE] += 1
    slots.gids[position] = gid
    for column in range(slots.ints.shape[1]):
        slots.ints[position, column] = 0
    for column in range(slots.dds.shape[1]):
        slots.dds[position, column] = 0.0
    if capacity > SHORT:
        slots.probes[_place_of(slots, start, capacity, gid)] = position - start + 1
    return position


@part
def remove(slots: Slots, kid: int, position: int) -> None:
    """Take a slot of a key away and put the slab's last slot in its place. Cost: O(1)."""
    slabs, gids = slots.slabs, slots.gids
    start, capacity = slabs[kid, START], slabs[kid, CAPACITY]
    last = start + slabs[kid, LENGTH] - 1
    if capacity > SHORT:
        _erase(slots, start, capacity, gids[position])
        if last != position:
            slots.probes[_place_of(slots, start, capacity, gids[last])] = position - start + 1
    if last != position:
        _copy_slot(slots, last, slots, position)
    slabs[kid, LENGTH] -= 1
    slots.usage[LIVE] -= 1


@kernel
def live_positions(slabs: Integers, found: Integers) -> None:
    """Write the positions of all slots into found int64[live], key by key. Cost: O(K + live)."""
    count = 0
    for kid in range(slabs.shape[0]):
        for position in range(slabs[kid, START], slabs[kid, START] + slabs[kid, LENGTH]):
            found[count] = position
            count += 1


@kernel
def compact_capacities(slabs: Integers, capacities: Integers) -> None:
    """Fill in the capacity int64[K] that each slab needs: its own, less if at most a quarter is in use. Cost: O(K)."""
    for kid in range(slabs.shape[0]):
        length, capacity = slabs[kid, LENGTH], slabs[kid, CAPACITY]
        while capacity > 0 and 4 * length <= capacity:
            capacity //= 2
        capacities[kid] = capacity


@kernel
def move_slabs(old_arrays: Arrays, new_arrays: Arrays, capacities: Integers) -> None:
    """Move all slabs to the front of another pool, with capacities int64[K]. Cost: O(K + slots).

    ``Slots`` of the two pools have the same slabs, which say where slots are in the old one and then in the new one.
    """
    old, new = Slots(*old_arrays), Slots(*new_arrays)
    slabs = new.slabs
    tail = 0
    for kid in range(slabs.shape[0]):
        start, length, capacity = slabs[kid, START], slabs[kid, LENGTH], capacities[kid]
        slabs[kid, START] = tail
        slabs[kid, CAPACITY] = capacity
        for offset in range(length):
            _copy_slot(old, start + offset, new, tail + offset)
        if capacity > SHORT:
            _index(new, tail, length, capacity)
        tail += capacity


@kernel
def _double(slots: Slots, kid: int) -> bool:
    """Move a slab to the end of the pool with twice the capacity, unless there is no room. Cost: O(length)."""
    slabs = slots.slabs
    start, length = slabs[kid, START], slabs[kid, LENGTH]
    capacity = max(1, 2 * slabs[kid, CAPACITY])
    tail = slots.usage[TAIL]
    if tail + capacity > slots.gids.size or (capacity > SHORT and slots.probes.size == 0):
        return False
    for offset in range(length):
        _copy_slot(slots, start + offset, slots, tail + offset)
    slabs[kid, START] = tail
    slabs[kid, CAPACITY] = capacity
    slots.usage[TAIL] += capacity
    if capacity > SHORT:
        _index(slots, tail, length, capacity)
    return True


@part
def _copy_slot(slots: Slots, source: int, new: Slots, to: int) -> None:
    new.gids[to] = slots.gids[source]
    for column in range(slots.ints.shape[1]):
        new.ints[to, column] = slots.ints[source, column]
    for column in range(slots.dds.shape[1]):
        new.dds[to, column] = slots.dds[source, column]


@part
def _home(capacity: int, gid: int) -> int:
    """The place, from 0, at which the search for a group begins in a slab's index of 2·capacity places."""
    return scattered(gid) & (2 * capacity - 1)


@part
def _place_of(slots: Slots, start: int, capacity: int, gid: int) -> int:
    """The place of a slab's index that holds a group, or the empty one where it belongs. Cost: O(1)."""
    gids, probes = slots.gids, slots.probes
    place = _home(capacity, gid)
    while True:
        held = probes[2 * start + place]
        if held == 0 or gids[start + held - 1] == gid:
            return 2 * start + place
        place = (place + 1) & (2 * capacity - 1)


@kernel
def _erase(slots: Slots, start: int, capacity: int, gid: int) -> None:
    """Take a group out of a slab's index and close the gap, so that no search ends too soon. Cost: O(1)."""
    gids, probes = slots.gids, slots.probes
    limit = 2 * capacity - 1
    gap = _place_of(slots, start, capacity, gid) - 2 * start
    place = gap
    while True:
        place = (place + 1) & limit
        held = probes[2 * start + place]
        if held == 0:
            break
        home = _home(capacity, gids[start + held - 1])
        if (place - home) & limit >= (place - gap) & limit:
            probes[2 * start + gap] = held
            gap = place
    probes[2 * start + gap] = 0


@kernel
def _index(slots: Slots, start: int, length: int, capacity: int) -> None:
    """Index a long slab. Cost: O(capacity)."""
    slots.probes[2 * start : 2 * (start + capacity)] = 0
    for position in range(start, start + length):
        slots.probes[_place_of(slots, start, capacity, slots.gids[position])] = position - start + 1
