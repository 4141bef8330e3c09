"""A combination is charged to its group until its first member leaves (Wang's TC, for MAX).

An element that enters on either side meets what the other side holds. Each combination goes into the staircase of its
output group as (the earlier leave, code). Charging twice does no harm::

    enters        meets            charges
    a: leave 9    b until 7        (7, code of a)
    b: until 8    a: leave 9       (8, code of a)      a's later steps are lower and would leave at 8 too

If a slot like b was there until 7 before, then all that a's steps give until 7 has been charged. So b meets only those
of a's steps that leave after 7.
"""

from collections.abc import Callable

import numpy as np

from joinfold.kernels.compiling import Arrays, Ids, Integers, kernel, part, readable, readable_ids
from joinfold.kernels.identity import IdArrays, IdTable, id_of
from joinfold.kernels.slabs import LENGTH, START, Slabs, Slots, find
from joinfold.kernels.staircase import WITHOUT_CODES, Elements, GroupStairs, LatestLeave, StairSet
from joinfold.kernels.steps import BLOCK, GONE, LAST, STEPS, Steps, drop, insert_step
from joinfold.kernels.totals import MODES, NO_PAIRS, OF_ALL, OF_DELTA, OF_SLOT, PAIRED, groups_of, pair_of


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

    The delta is kid, gid int32[n], leave, code int64[n]; modes are those of ``totals``. Cost: O(log steps) for
    each slot that is met, amortised, where leaves come in ascending order.
    """
    elements = readable_ids(kid), readable_ids(gid), readable(leave, np.int64), readable(code, np.int64)
    met = (other.slots.arrays,)
    _charge(_charge_valued, elements, met, other.slots, other.groups, mode, pairs, groups, now)


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

    ``latest`` is the set that the entries are about to enter: it tells what has been charged before. Cost: O(1) for
    each slot, and O(log steps) for each step in it that is met and not charged yet.
    """
    elements = readable_ids(kid), readable_ids(gid), readable(leave, np.int64), WITHOUT_CODES
    met = latest.slots.arrays, valued.slots.arrays, valued.steps.arrays
    _charge(_charge_leaves, elements, met, valued.slots, valued.groups, mode, pairs, groups, now)


def _charge(
    charge: Callable[..., int],
    elements: Arrays,
    met: tuple[Arrays, ...],
    slots: Slabs,
    slot_groups: int,
    mode: int,
    pairs: IdTable | None,
    groups: GroupStairs,
    now: int,
) -> None:
    """Call a kernel until all elements are charged, and make room in the output whenever it stops."""
    paired = mode in PAIRED
    assert mode in MODES and (pairs is not None or not paired)
    table = NO_PAIRS if pairs is None else pairs
    groups.cover(groups_of(mode, Elements(*elements).gid, slot_groups, table))
    longest = slots.longest if paired else 0
    done, many = 0, elements[0].size
    while True:
        stopped = charge(elements, *met, mode, now, table.arrays, groups.stairs, groups.steps.arrays, done)
        if paired:
            groups.cover(len(table))
        if stopped == many:
            return
        if stopped >= 0:
            done = stopped
            table.reserve(longest)
            groups.make_group_room(len(table) + longest)
        else:
            done = ~stopped
            groups.make_step_room(now)


@part
def _group_of(mode: int, delta_gid: int, slot_gid: int, table: IdArrays) -> int:
    """The output group of two groups; a pair that is new gets the next id. Cost: O(1)."""
    if mode == OF_DELTA:
        return delta_gid
    if mode == OF_SLOT:
        return slot_gid
    if mode == OF_ALL:
        return 0
    return id_of(table, pair_of(mode, delta_gid, slot_gid))


@part
def _is_full(mode: int, pairs: int, table: IdArrays, stairs: Integers) -> bool:
    """Whether the groups of so many more pairs might find no room. Cost: O(1)."""
    return mode in PAIRED and table.size[0] + pairs > min(table.value_of_id.size, stairs.shape[0])


@kernel
def _charge_valued(
    element_arrays: Arrays,
    slot_arrays: Arrays,
    mode: int,
    now: int,
    table_arrays: Arrays,
    stairs: Integers,
    step_arrays: Arrays,
    done: int,
) -> int:
    """Charge ``Elements`` from ``done`` on with ``Slots`` whose latest leave, an integer, is after ``now``.

    The output is stairs int64[G, 5] of groups and their ``Steps``; the table of pairs is ``IdArrays``. Gives how many
    elements are done. Stops at entry e, and gives e if groups might find no room, −1 − e if there is none for a step.
    """
    elements, slots = Elements(*element_arrays), Slots(*slot_arrays)
    table, steps = IdArrays(*table_arrays), Steps(*step_arrays)
    kid, leave, slabs = elements.kid, elements.leave, slots.slabs
    for entry in range(done, kid.size):
        key = kid[entry]
        if key >= slabs.shape[0] or leave[entry] <= now:
            continue
        start, length = slabs[key, START], slabs[key, LENGTH]
        if _is_full(mode, length, table, stairs):
            return entry
        for position in range(start, start + length):
            until = min(leave[entry], slots.ints[position, 0])
            if until > now:
                group = _group_of(mode, elements.gid[entry], slots.gids[position], table)
                drop(stairs, steps, group, now)
                if not insert_step(stairs, steps, group, until, elements.code[entry]):
                    return ~entry
    return kid.size


@kernel
def _charge_leaves(
    element_arrays: Arrays,
    latest_arrays: Arrays,
    slot_arrays: Arrays,
    slot_step_arrays: Arrays,
    mode: int,
    now: int,
    table_arrays: Arrays,
    stairs: Integers,
    step_arrays: Arrays,
    done: int,
) -> int:
    """Charge the steps of ``Slots`` that leave after ``now`` with ``Elements`` from ``done`` on.

    Of an element's own slot (``latest_arrays``) the latest leave is known: until then the steps have been charged.
    The output, and what is given, are those of ``_charge_valued``.
    """
    elements, latest = Elements(*element_arrays), Slots(*latest_arrays)
    slots, slot_steps = Slots(*slot_arrays), Steps(*slot_step_arrays)
    table, steps = IdArrays(*table_arrays), Steps(*step_arrays)
    kid, gid, leave, slabs, slot_stairs = elements.kid, elements.gid, elements.leave, slots.slabs, slots.ints
    for entry in range(done, kid.size):
        key = kid[entry]
        if key >= slabs.shape[0]:
            continue
        charged = now
        if key < latest.slabs.shape[0]:
            position = find(latest, key, gid[entry])
            charged = max(now, latest.ints[position, 0]) if position >= 0 else now
        if leave[entry] <= charged:
            continue
        start, length = slabs[key, START], slabs[key, LENGTH]
        if _is_full(mode, length, table, stairs):
            return entry
        for position in range(start, start + length):
            if slot_stairs[position, STEPS] == 0 or slot_stairs[position, LAST] <= charged:
                continue
            group = _group_of(mode, gid[entry], slots.gids[position], table)
            drop(stairs, steps, group, now)
            first = slot_stairs[position, BLOCK] + slot_stairs[position, GONE]
            step = first + slot_stairs[position, STEPS] - 1
            while step > first and slot_steps.leaves[step - 1] >= leave[entry]:
                step -= 1
            while step >= first and slot_steps.leaves[step] > charged:
                until = min(leave[entry], slot_steps.leaves[step])
                if not insert_step(stairs, steps, group, until, slot_steps.codes[step]):
                    return ~entry
                step -= 1
    return kid.size
