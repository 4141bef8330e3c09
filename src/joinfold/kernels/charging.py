"""A combination is charged to its group until its first member leaves (Wang's TC, for MAX).

An element that enters on either side meets what the other side holds, and (the earlier leave, code) goes into the
staircase of the output group. Charging twice does no harm::

    enters        meets            charges
    a: leave 9    b until 7        (7, code of a)
    b: until 8    a: leave 9       (8, code of a)      a's later steps are lower and would leave at 8 too

Where b was there until 7 already, what a loses before 7 has been charged: only a's steps after that are met.
"""

import numpy as np

from joinfold.kernels.compiling import Ids, Integers, count_of_ids, kernel, part, readable, readable_ids
from joinfold.kernels.identity import IdTable, id_of
from joinfold.kernels.products import OF_ALL, OF_DELTA, OF_DELTA_AND_SLOT, OF_SLOT, OF_SLOT_AND_DELTA, pair_of
from joinfold.kernels.slabs import LENGTH, START, Slabs, find
from joinfold.kernels.staircase import GroupStairs, LatestLeave, StairSet
from joinfold.kernels.steps import BLOCK, GONE, LAST, STEPS, StepPool, drop, insert_step


def charge_valued(
    kid: Ids,
    gid: Ids,
    leave: Integers,
    code: Integers,
    other: LatestLeave,
    mode: int,
    pairs: IdTable | None,
    groups: GroupStairs,
    now: int,
) -> None:
    """Charge elements that enter on the side of the values to the groups of what they meet on the other.

    The delta is kid, gid int32[n], leave, code int64[n]; modes are those of ``products``. Cost: O(log steps) for
    each slot that is met, amortised, where leaves come in ascending order.
    """
    _charge(kid, gid, leave, code, other.slots, other.groups, None, mode, pairs, groups, now)


def charge_leaves(
    kid: Ids,
    gid: Ids,
    leave: Integers,
    latest: LatestLeave,
    valued: StairSet,
    mode: int,
    pairs: IdTable | None,
    groups: GroupStairs,
    now: int,
) -> None:
    """Charge the values that entries of the other side meet: kid, gid int32[n], leave int64[n].

    ``latest`` is the set that the entries are about to enter: it tells what they would charge again. Cost: O(1) for
    each slot, and O(log steps) for each step in it that is met and not charged yet.
    """
    _charge(kid, gid, leave, None, valued.slots, valued.groups, (valued.steps, latest.slots), mode, pairs, groups, now)


def _charge(
    kid: Ids,
    gid: Ids,
    leave: Integers,
    code: Integers | None,
    slots: Slabs,
    slot_groups: int,
    staying: tuple[StepPool, Slabs] | None,
    mode: int,
    pairs: IdTable | None,
    groups: GroupStairs,
    now: int,
) -> None:
    paired = mode in (OF_DELTA_AND_SLOT, OF_SLOT_AND_DELTA)
    assert mode in (OF_DELTA, OF_SLOT, OF_ALL) or (paired and pairs is not None)
    kid, gid, leave = readable_ids(kid), readable_ids(gid), readable(leave, np.int64)
    table = pairs if pairs is not None else IdTable(1)
    delta_groups = count_of_ids(gid)
    groups.cover({OF_DELTA: delta_groups, OF_SLOT: slot_groups, OF_ALL: 1}.get(mode, len(table)))
    longest = slots.longest if paired else 0
    done = 0
    while True:
        output = (*table.arrays, groups.stairs, groups.steps.leaves, groups.steps.codes, groups.steps.used, done)
        if staying is None:
            codes = readable(code if code is not None else (), np.int64)
            stopped = _charge_valued(kid, gid, leave, codes, slots.slabs, slots.gids, slots.ints, mode, now, *output)
        else:
            steps, latest = staying
            stopped = _charge_leaves(
                kid,
                gid,
                leave,
                latest.slabs,
                latest.gids,
                latest.ints,
                latest.probes,
                slots.slabs,
                slots.gids,
                slots.ints,
                steps.leaves,
                steps.codes,
                mode,
                now,
                *output,
            )
        if paired:
            groups.cover(len(table))
        if stopped == kid.size:
            return
        if stopped >= 0:
            done = stopped
            table.reserve(longest)
            groups.make_group_room(len(table) + longest)
        else:
            done = ~stopped
            groups.make_step_room(now)


@part
def _group_of(mode: int, delta_gid: int, slot_gid: int, places: Integers, value_of_id: Integers, size: Integers) -> int:
    if mode == OF_DELTA:
        return delta_gid
    if mode == OF_SLOT:
        return slot_gid
    if mode == OF_ALL:
        return 0
    return id_of(places, value_of_id, size, pair_of(mode, delta_gid, slot_gid))


@kernel
def _charge_valued(
    kid: Ids,
    gid: Ids,
    leave: Integers,
    code: Integers,
    slabs: Integers,
    slot_gids: Ids,
    latest: Integers,
    mode: int,
    now: int,
    places: Integers,
    value_of_id: Integers,
    size: Integers,
    stairs: Integers,
    leaves: Integers,
    codes: Integers,
    used: Integers,
    done: int,
) -> int:
    """Charge elements from ``done`` on with slots whose latest int64[P, 1] is after ``now``; how many are done.

    Stops at entry e, and gives e if groups might find no room, −1 − e if there is none for a step.
    """
    for entry in range(done, kid.size):
        key = kid[entry]
        if key >= slabs.shape[0] or leave[entry] <= now:
            continue
        start, length = slabs[key, START], slabs[key, LENGTH]
        if mode in (OF_DELTA_AND_SLOT, OF_SLOT_AND_DELTA) and size[0] + length > min(value_of_id.size, stairs.shape[0]):
            return entry
        for position in range(start, start + length):
            until = min(leave[entry], latest[position, 0])
            if until > now:
                group = _group_of(mode, gid[entry], slot_gids[position], places, value_of_id, size)
                drop(stairs, leaves, group, now)
                if not insert_step(stairs, leaves, codes, used, group, until, code[entry]):
                    return ~entry
    return kid.size


@kernel
def _charge_leaves(
    kid: Ids,
    gid: Ids,
    leave: Integers,
    latest_slabs: Integers,
    latest_gids: Ids,
    latest: Integers,
    latest_probes: Ids,
    slabs: Integers,
    slot_gids: Ids,
    slot_stairs: Integers,
    slot_leaves: Integers,
    slot_codes: Integers,
    mode: int,
    now: int,
    places: Integers,
    value_of_id: Integers,
    size: Integers,
    stairs: Integers,
    leaves: Integers,
    codes: Integers,
    used: Integers,
    done: int,
) -> int:
    """Charge the steps of slots that leave after ``now`` and after ``latest`` with entries from ``done`` on.

    Gives how many are done. Stops at entry e, and gives e if groups might find no room, −1 − e if there is none for
    a step.
    """
    for entry in range(done, kid.size):
        key = kid[entry]
        if key >= slabs.shape[0]:
            continue
        charged = now
        if key < latest_slabs.shape[0]:
            position = find(latest_slabs, latest_gids, latest_probes, key, gid[entry])
            charged = max(now, latest[position, 0]) if position >= 0 else now
        if leave[entry] <= charged:
            continue
        start, length = slabs[key, START], slabs[key, LENGTH]
        if mode in (OF_DELTA_AND_SLOT, OF_SLOT_AND_DELTA) and size[0] + length > min(value_of_id.size, stairs.shape[0]):
            return entry
        for position in range(start, start + length):
            if slot_stairs[position, STEPS] == 0 or slot_stairs[position, LAST] <= charged:
                continue
            group = _group_of(mode, gid[entry], slot_gids[position], places, value_of_id, size)
            drop(stairs, leaves, group, now)
            first = slot_stairs[position, BLOCK] + slot_stairs[position, GONE]
            step = first + slot_stairs[position, STEPS] - 1
            while step > first and slot_leaves[step - 1] >= leave[entry]:
                step -= 1
            while step >= first and slot_leaves[step] > charged:
                until = min(leave[entry], slot_leaves[step])
                if not insert_step(stairs, leaves, codes, used, group, until, slot_codes[step]):
                    return ~entry
                step -= 1
    return kid.size
