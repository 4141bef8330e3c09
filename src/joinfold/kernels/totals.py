"""The totals of every group, and which group a product adds to.

A product is that of an entry of a delta and a slot of the other input. Its group depends on the mode::

    OF_DELTA           the delta's group
    OF_SLOT            the slot's group
    OF_DELTA_AND_SLOT  the pair, delta first: the id that a table of pairs gives it
    OF_SLOT_AND_DELTA  the pair, slot first
    OF_ALL             0

Beside each double-double stands its drift, as in ``aggregation_set``.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.compiling import Arrays, Bytes, Doubles, Ids, Integers, count_of_ids, part
from joinfold.kernels.identity import IdArrays, IdTable, id_of

MODES = OF_DELTA, OF_SLOT, OF_DELTA_AND_SLOT, OF_SLOT_AND_DELTA, OF_ALL = range(5)
PAIRED = OF_DELTA_AND_SLOT, OF_SLOT_AND_DELTA
NO_PAIRS = IdTable(1)  # stands where a mode has no pairs

LOW_WORD = 0xFFFFFFFF


class TotalArrays(NamedTuple):
    """What kernels know of totals, with room for G groups."""

    ints: Integers  # [G, P]
    dds: Doubles  # [G, 2·Q]: hi, lo, hi, lo, …
    drift: Doubles  # [G, 2·Q]: weight, turnover, weight, turnover, …
    largest: Doubles  # [Q]
    touched: Bytes  # [G]


class Totals:
    """The running sums of every group: integers, the number of combinations first, and double-doubles.

    ``largest`` float64[dd_columns] is the largest |hi| that any sum, or product on the way to it, has ever had.
    """

    def __init__(self, int_columns: int, dd_columns: int, groups: int = 0) -> None:
        self.groups = groups
        self.room_ints = np.zeros((max(1, groups), int_columns), np.int64)
        self.room_dds = np.zeros((max(1, groups), 2 * dd_columns), np.float64)
        self.room_drift = np.zeros((max(1, groups), 2 * dd_columns), np.float64)
        self.room_touched = np.zeros(max(1, groups), np.uint8)
        self.largest = np.zeros(dd_columns, np.float64)

    @property
    def ints(self) -> Integers:
        """The integers, int64[groups, int_columns]."""
        return self.room_ints[: self.groups]

    @property
    def dds(self) -> Doubles:
        """The double-doubles, float64[groups, 2·dd_columns]: hi, lo, hi, lo, …"""
        return self.room_dds[: self.groups]

    @property
    def drift(self) -> Doubles:
        """Weight and turnover of each double-double, float64[groups, 2·dd_columns]; 0 for products of two integers."""
        return self.room_drift[: self.groups]

    @property
    def touched(self) -> Bytes:
        """1 for each group that may have changed since the last ``take_touched``, uint8[groups]."""
        return self.room_touched[: self.groups]

    @property
    def arrays(self) -> Arrays:
        """What kernels take: the fields of ``TotalArrays``."""
        return self.room_ints, self.room_dds, self.room_drift, self.largest, self.room_touched

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return self.room_ints.nbytes + self.room_dds.nbytes + self.room_drift.nbytes + self.room_touched.nbytes

    def cover(self, groups: int) -> None:
        """Have at least so many groups. Cost: O(1), seldom O(groups)."""
        self.make_room(groups)
        self.groups = max(self.groups, groups)

    def make_room(self, groups: int) -> None:
        """Have memory for so many groups. Cost: O(groups), seldom: room doubles."""
        if groups > len(self.room_touched):
            room = max(groups, 2 * len(self.room_touched))
            self.room_ints = _lengthened(self.room_ints, room)
            self.room_dds = _lengthened(self.room_dds, room)
            self.room_drift = _lengthened(self.room_drift, room)
            self.room_touched = _lengthened(self.room_touched, room)

    def take_touched(self, wide_count: int | None = None) -> Integers:
        """The groups touched since the last call, ascending, int64[m]; without a combination they become exactly empty.

        ``wide_count`` is the double-double that counts combinations too, if the first integer may have wrapped around.
        Call it between steps: within one, a group may have sums before it has combinations. Cost: O(groups).
        """
        groups = np.flatnonzero(self.touched)
        self.room_touched[groups] = 0
        if self.room_ints.shape[1]:
            empty = groups[self.room_ints[groups, 0] == 0]
            if wide_count is not None:
                empty = empty[self.room_dds[empty, 2 * wide_count] == 0]
            self.room_dds[empty] = 0.0
            self.room_drift[empty] = 0.0
        return groups


def _lengthened(array: NDArray[Any], room: int) -> NDArray[Any]:
    longer = np.zeros((room, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def groups_of(mode: int, delta_gids: Ids, slot_groups: int, pairs: IdTable) -> int:
    """How many groups there are before any pair is new. Cost: O(n) for OF_DELTA, else O(1)."""
    if mode == OF_DELTA:
        return count_of_ids(delta_gids)
    if mode == OF_SLOT:
        return slot_groups
    return len(pairs) if mode in PAIRED else 1


@part
def pair_of(mode: int, delta_gid: int, slot_gid: int) -> int:
    """Two groups as one value of a table of pairs, in the order that the mode says. Cost: O(1)."""
    if mode == OF_DELTA_AND_SLOT:
        return (delta_gid << 32) | (slot_gid & LOW_WORD)
    return (slot_gid << 32) | (delta_gid & LOW_WORD)


@part
def intern_pairs(mode: int, delta_gid: int, slot_gids: Ids, table: IdArrays, groups: Ids) -> None:
    """Write the ids of the pairs of a group with those of a slab, int32[n], into groups int32[n]. Cost: O(n)."""
    for offset in range(slot_gids.size):
        groups[offset] = id_of(table, pair_of(mode, delta_gid, slot_gids[offset]))
