"""The live window of one input, aggregated: a payload for every (key, group).

A payload is a row of integers, the number of rows first, and of double-doubles. Sub-windows that enter add theirs
and those that leave subtract it; a slot whose number of rows becomes 0 is gone, and with it whatever rounding left
in its sums, so an empty set is exactly empty. Integers wrap around: ``largest_magnitude`` tells whether any can have.

Double-doubles round. Beside each stands its *wear*: the weight Σ|x| of what was summed, and the turnover, which is the
sum of the weights that it had after every step. A step rounds by less than 2^−103 of the weight, and the weight itself,
a plain double, by less than 2^−52; so both are known to that part of the turnover.
"""

import math

import numpy as np

from joinfold.kernels.compiling import Doubles, Ids, Integers, kernel, readable, readable_ids
from joinfold.kernels.double_double import add_dd
from joinfold.kernels.slabs import LENGTH, Slabs, append, find, remove
from joinfold.kernels.wrapping import added


class AggregationSet:
    """Payloads of ``int_columns`` integers and ``dd_columns`` double-doubles by (key id, group id).

    ``largest_magnitude`` int64[int_columns] is the largest |value| that any slot has ever had in each column,
    2^63 − 1 if one was larger: below that, no integer of this set has ever wrapped.
    """

    def __init__(self, int_columns: int, dd_columns: int) -> None:
        assert int_columns >= 1, "the first integer is the number of rows"
        self.slots = Slabs(int_columns, 2 * dd_columns)  # all hi, lo, then all weight, turnover
        self.largest_magnitude = np.zeros(int_columns, np.int64)
        self._groups = np.zeros(1, np.int64)

    @property
    def live_entries(self) -> int:
        """How many (key, group) have rows."""
        return self.slots.live

    @property
    def groups(self) -> int:
        """One more than the largest group id that ever had a slot."""
        return int(self._groups[0])

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
        ints, dds = readable(ints, np.int64), readable(dds, np.float64)
        slots.cover_keys(kid)
        done = 0
        while True:
            done = _update(
                kid,
                gid,
                ints,
                dds,
                sign,
                slots.slabs,
                slots.gids,
                slots.ints,
                slots.dds,
                slots.probes,
                slots.usage,
                self.largest_magnitude,
                self._groups,
                done,
            )
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
    kid: Ids,
    gid: Ids,
    ints: Integers,
    dds: Doubles,
    sign: int,
    slabs: Integers,
    slot_gids: Ids,
    slot_ints: Integers,
    slot_dds: Doubles,
    probes: Ids,
    usage: Integers,
    largest_magnitude: Integers,
    groups: Integers,
    done: int,
) -> int:
    """Add sign times the payloads from ``done`` on, until there is no room; how many are done (see ``slabs``)."""
    for entry in range(done, kid.size):
        key, group = kid[entry], gid[entry]
        position = find(slabs, slot_gids, probes, key, group)
        if position < 0:
            position = append(slabs, slot_gids, slot_ints, slot_dds, probes, usage, key, group)
            if position < 0:
                return entry
            groups[0] = max(groups[0], group + 1)
        for column in range(ints.shape[1]):
            slot_ints[position, column], magnitude = added(slot_ints[position, column], ints[entry, column], sign)
            largest_magnitude[column] = max(largest_magnitude[column], magnitude)
        if slot_ints[position, 0] == 0:
            remove(slabs, slot_gids, slot_ints, slot_dds, probes, usage, key, position)
            continue
        for hi in range(0, dds.shape[1], 2):
            slot_dds[position, hi], slot_dds[position, hi + 1] = add_dd(
                slot_dds[position, hi], slot_dds[position, hi + 1], sign * dds[entry, hi], sign * dds[entry, hi + 1]
            )
            wear, size = dds.shape[1] + hi, math.fabs(dds[entry, hi])
            slot_dds[position, wear] += sign * size
            slot_dds[position, wear + 1] += math.fabs(slot_dds[position, wear]) + size
    return kid.size
