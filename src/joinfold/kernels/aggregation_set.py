"""The live window of one input, aggregated: a payload for every (key, group).

A payload is a row of integers, the number of rows first, and of double-doubles. Sub-windows that enter add their
payloads, and those that leave subtract them. A slot whose number of rows becomes 0 is removed, and what rounding left
in its sums goes with it: an empty set is exactly empty. Integers wrap around; ``largest_magnitude`` tells whether one
may have.

Double-doubles round, so a sum *drifts* from the truth. Two doubles beside it bound its drift: the weight Σ|x| of what
is summed now, and the turnover, which is the sum of the weights after every step. A step rounds a sum by less than
2^−103 of its weight, and the weight, a plain double, by less than 2^−52. So a sum is wrong by less than 2^−103 of the
turnover, and a weight by less than 2^−52 of it.
"""

import math
from typing import NamedTuple

import numpy as np

from joinfold.kernels.compiling import Arrays, Doubles, Ids, Integers, kernel, part, readable, readable_ids
from joinfold.kernels.double_double import add_dd
from joinfold.kernels.slabs import LENGTH, Slabs, Slots, append, find, remove
from joinfold.kernels.wrapping import added


class Delta(NamedTuple):
    """Entries that enter or leave a window, as kernels read them."""

    kid: Ids  # [n]
    gid: Ids  # [n]
    ints: Integers  # [n, I]
    dds: Doubles  # [n, 2·F]: hi, lo, hi, lo, …


class AggregationSet:
    """Payloads of ``int_columns`` integers and ``dd_columns`` double-doubles by (key id, group id).

    ``largest_magnitude`` int64[int_columns] is the largest |value| that any slot has ever had in each column,
    2^63 − 1 if one was larger: below that, no integer of this set has ever wrapped.
    """

    def __init__(self, int_columns: int, dd_columns: int) -> None:
        assert int_columns >= 1, "the first integer is the number of rows"
        self.slots = Slabs(int_columns, 2 * dd_columns)  # all hi, lo, then all weight, turnover
        self.largest_magnitude = np.zeros(int_columns, np.int64)
        self.group_count = np.zeros(1, np.int64)

    @property
    def live_entries(self) -> int:
        """How many (key, group) have rows."""
        return self.slots.live

    @property
    def groups(self) -> int:
        """One more than the largest group id that ever had a slot."""
        return int(self.group_count[0])

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return self.slots.bytes_held

    def update(self, kid: Ids, gid: Ids, ints: Integers, dds: Doubles, sign: int) -> None:
        """Add (sign 1) or subtract (−1) payloads: kid, gid int32[n], ints int64[n, I], dds float64[n, 2·F].

        Cost: O(I + F) for each entry, amortised.
        """
        slots = self.slots
        assert sign in (1, -1)
        assert ints.shape == (len(kid), slots.ints.shape[1]) and 2 * dds.shape[1] == slots.dds.shape[1]
        kid, gid = readable_ids(kid), readable_ids(gid)
        delta = kid, gid, readable(ints, np.int64), readable(dds, np.float64)
        slots.cover_keys(kid)
        done = 0
        while True:
            done = _update(delta, sign, slots.arrays, self.largest_magnitude, self.group_count, done)
            if done == kid.size:
                break
            slots.make_room(kid[done])
        if sign < 0:
            slots.give_back()

    def members(self) -> tuple[Ids, Ids, Integers]:
        """All that have rows: kid, gid int32[live] and their integers int64[live, I]. Cost: O(keys + live)."""
        positions = self.slots.live_positions()
        kid = np.repeat(np.arange(len(self.slots.slabs), dtype=np.int32), self.slots.slabs[:, LENGTH])
        return kid, self.slots.gids[positions], self.slots.ints[positions]

    def entries_of(self, kid: int) -> dict[int, tuple[list[int], list[float]]]:
        """The payload of every group of a key: integers, and double-doubles as hi, lo, hi, lo, …"""
        return {
            int(self.slots.gids[position]): (
                self.slots.ints[position].tolist(),
                self.slots.dds[position, : self.slots.dds.shape[1] // 2].tolist(),
            )
            for position in self.slots.positions(kid)
        }


@kernel
def _update(
    delta_arrays: Arrays, sign: int, slot_arrays: Arrays, largest_magnitude: Integers, groups: Integers, done: int
) -> int:
    """Add sign times the payloads of a ``Delta`` from ``done`` on to ``Slots``, until there is no room.

    largest_magnitude int64[I] and groups int64[1] follow. Gives how many entries are done. Cost: O(I + F) for each.
    """
    delta, slots = Delta(*delta_arrays), Slots(*slot_arrays)
    for entry in range(done, delta.kid.size):
        if not update_entry(delta, entry, sign, slots, largest_magnitude, groups):
            return entry
    return delta.kid.size


@part
def update_entry(
    delta: Delta, entry: int, sign: int, slots: Slots, largest_magnitude: Integers, groups: Integers
) -> bool:
    """Add sign times one payload to its slot; false, and nothing is changed, if there is no room. Cost: O(I + F)."""
    ints, dds, slot_ints, slot_dds = delta.ints, delta.dds, slots.ints, slots.dds
    key, group = delta.kid[entry], delta.gid[entry]
    position = find(slots, key, group)
    if position < 0:
        position = append(slots, key, group)
        if position < 0:
            return False
        groups[0] = max(groups[0], group + 1)
    for column in range(ints.shape[1]):
        slot_ints[position, column], magnitude = added(slot_ints[position, column], ints[entry, column], sign)
        largest_magnitude[column] = max(largest_magnitude[column], magnitude)
    if slot_ints[position, 0] == 0:
        remove(slots, key, position)
        return True
    for hi in range(0, dds.shape[1], 2):
        slot_dds[position, hi], slot_dds[position, hi + 1] = add_dd(
            slot_dds[position, hi], slot_dds[position, hi + 1], sign * dds[entry, hi], sign * dds[entry, hi + 1]
        )
        drift, size = dds.shape[1] + hi, math.fabs(dds[entry, hi])
        slot_dds[position, drift] += sign * size
        slot_dds[position, drift + 1] += math.fabs(slot_dds[position, drift]) + size
    return True
