"""MAX by time-carrying values: staircases by (key, group), how long the other side stays, and staircases of groups.

One input has the values: ``StairSet`` keeps a staircase (see ``steps``) for every (key, group). Of the other input it
only matters how long it stays: ``LatestLeave`` keeps that. ``GroupStairs`` has the combinations that ``charging`` made
of both; its ``heads`` are the answer.

Entries are never subtracted: they leave when their time has come. The two sets drop those that have left whenever as
many have entered as are there. So memory follows the window.
"""

from typing import NamedTuple

import numpy as np

from joinfold.kernels.compiling import Arrays, Booleans, Ids, Integers, count_of_ids, kernel, readable, readable_ids
from joinfold.kernels.slabs import LENGTH, START, Slabs, Slots, append, find, remove
from joinfold.kernels.steps import BLOCK, COLUMNS, GONE, STEPS, StepPool, Steps, drop, insert_step

WITHOUT_CODES = readable((), np.int64)
SELDOM = 1024  # so many entries may enter a small set before it drops what has left
SPARSE = 16  # memory is given back when fewer than one place in so many has a step


class Elements(NamedTuple):
    """Entries that enter a window with a value, as kernels read them; without codes where only their stay counts."""

    kid: Ids  # [n]
    gid: Ids  # [n]
    leave: Integers  # [n]
    code: Integers  # [n], or [0]


class StairSet:
    """The live window of the input with the values: a staircase for every (key id, group id)."""

    def __init__(self) -> None:
        self.slots = Slabs(COLUMNS, 0)
        self.steps = StepPool()
        self.groups = 0
        self._entered = 0

    @property
    def live_entries(self) -> int:
        """How many (key, group) have a staircase; some may have left since they were last looked at."""
        return self.slots.live

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return self.slots.bytes_held + self.steps.bytes_held

    def insert(self, kid: Ids, gid: Ids, leave: Integers, code: Integers, now: int) -> None:
        """Add elements: kid, gid int32[n], leave, code int64[n]; what leaves at ``now`` or before is not kept.

        Cost: O(log steps) for each, amortised, where leaves come in ascending order.
        """
        slots, steps = self.slots, self.steps
        kid, gid = readable_ids(kid), readable_ids(gid)
        elements = kid, gid, readable(leave, np.int64), readable(code, np.int64)
        slots.cover_keys(kid)
        self.groups = max(self.groups, count_of_ids(gid))
        done = 0
        while True:
            stopped = _insert_elements(elements, slots.arrays, steps.arrays, now, done)
            if stopped == kid.size:
                break
            if stopped >= 0:
                done = stopped
                slots.make_room(kid[done])
            else:
                done = ~stopped
                steps.make_room(slots.ints, slots.live_positions(), now)
        self._entered += kid.size
        if self._entered > max(SELDOM, self.live_entries):
            self.expire(now)

    def expire(self, now: int) -> None:
        """Drop all that leaves at ``now`` or before, and give memory back. Cost: O(keys + slots + steps)."""
        slots = self.slots
        _sweep_stairs(slots.arrays, self.steps.arrays, now)
        slots.give_back()
        self.steps.make_room(slots.ints, slots.live_positions(), now)
        self._entered = 0

    def entries_of(self, kid: int) -> dict[int, list[tuple[int, int]]]:
        """The staircase of every group of a key, as (leave, code); some may have left."""
        found = {}
        for position in self.slots.positions(kid):
            block, gone, many, *_ = self.slots.ints[position].tolist()
            where = slice(block + gone, block + gone + many)
            steps = zip(self.steps.leaves[where].tolist(), self.steps.codes[where].tolist(), strict=True)
            found[int(self.slots.gids[position])] = list(steps)
        return found


class LatestLeave:
    """The live window of the other input: until when each (key id, group id) is there."""

    def __init__(self) -> None:
        self.slots = Slabs(1, 0)
        self.groups = 0
        self._entered = 0

    @property
    def live_entries(self) -> int:
        """How many (key, group) are kept; some may have left since they were last looked at."""
        return self.slots.live

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return self.slots.bytes_held

    def insert(self, kid: Ids, gid: Ids, leave: Integers, now: int) -> None:
        """Keep the largest leave of each (key, group): kid, gid int32[n], leave int64[n].

        What leaves at ``now`` or before is not kept. Cost: O(1) for each, amortised.
        """
        slots = self.slots
        kid, gid = readable_ids(kid), readable_ids(gid)
        elements = kid, gid, readable(leave, np.int64), WITHOUT_CODES
        slots.cover_keys(kid)
        self.groups = max(self.groups, count_of_ids(gid))
        done = 0
        while True:
            done = _insert_leaves(elements, slots.arrays, now, done)
            if done == kid.size:
                break
            slots.make_room(kid[done])
        self._entered += kid.size
        if self._entered > max(SELDOM, self.live_entries):
            self.expire(now)

    def expire(self, now: int) -> None:
        """Drop all that leaves at ``now`` or before, and give memory back. Cost: O(keys + slots)."""
        slots = self.slots
        _sweep_leaves(slots.arrays, now)
        slots.give_back()
        self._entered = 0

    def entries_of(self, kid: int) -> dict[int, int]:
        """The largest leave of every group of a key; some may have left."""
        return {
            int(self.slots.gids[position]): int(self.slots.ints[position, 0]) for position in self.slots.positions(kid)
        }


class GroupStairs:
    """A staircase for every group: the elements of its combinations."""

    def __init__(self, groups: int = 0) -> None:
        self.groups = groups
        self.stairs = np.zeros((max(1, groups), COLUMNS), np.int64)
        self.steps = StepPool()

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return self.stairs.nbytes + self.steps.bytes_held

    def cover(self, groups: int) -> None:
        """Have at least so many groups. Cost: O(1), seldom O(groups)."""
        self.make_group_room(groups)
        self.groups = max(self.groups, groups)

    def make_group_room(self, groups: int) -> None:
        """Have memory for so many groups. Cost: O(groups), seldom: room doubles."""
        if groups > len(self.stairs):
            longer = np.zeros((max(groups, 2 * len(self.stairs)), COLUMNS), np.int64)
            longer[: len(self.stairs)] = self.stairs
            self.stairs = longer

    def make_step_room(self, now: int) -> None:
        """Make sure that any staircase can double. Cost: see ``StepPool``."""
        self.steps.make_room(self.stairs, np.arange(len(self.stairs)), now)

    def heads(self, now: int) -> tuple[Booleans, Integers]:
        """Which groups have an element that leaves after ``now``, bool[groups], and the largest code, int64[groups].

        The code of a group without one is 0. Cost: O(groups) and O(1) for each step that has left.
        """
        present, codes = np.zeros(self.groups, np.bool_), np.zeros(self.groups, np.int64)
        _heads(self.stairs, self.steps.arrays, now, present, codes)
        if self.steps.used[0] > max(SELDOM, SPARSE * int(self.stairs[:, STEPS].sum())):
            self.make_step_room(now)
        return present, codes


@kernel
def _insert_elements(element_arrays: Arrays, slot_arrays: Arrays, step_arrays: Arrays, now: int, done: int) -> int:
    """Add ``Elements`` from ``done`` on to the staircases of their ``Slots``, made of ``Steps``; how many are done.

    Stops at entry e, and gives e if there is no room for a slot, −1 − e if there is none for a step.
    Cost: O(log steps) for each, amortised, where leaves come in ascending order.
    """
    elements, slots, steps = Elements(*element_arrays), Slots(*slot_arrays), Steps(*step_arrays)
    kid, gid, leave, stairs = elements.kid, elements.gid, elements.leave, slots.ints
    for entry in range(done, kid.size):
        if leave[entry] <= now:
            continue
        position = find(slots, kid[entry], gid[entry])
        if position < 0:
            position = append(slots, kid[entry], gid[entry])
            if position < 0:
                return entry
        drop(stairs, steps, position, now)
        if not insert_step(stairs, steps, position, leave[entry], elements.code[entry]):
            return ~entry
    return kid.size


@kernel
def _insert_leaves(element_arrays: Arrays, slot_arrays: Arrays, now: int, done: int) -> int:
    """Raise the latest leave of the ``Slots`` of ``Elements`` from ``done`` on, until there is no room.

    It is the only integer of a slot. Gives how many entries are done. Cost: O(1) for each, amortised.
    """
    elements, slots = Elements(*element_arrays), Slots(*slot_arrays)
    kid, gid, leave, latest = elements.kid, elements.gid, elements.leave, slots.ints
    for entry in range(done, kid.size):
        if leave[entry] <= now:
            continue
        position = find(slots, kid[entry], gid[entry])
        if position < 0:
            position = append(slots, kid[entry], gid[entry])
            if position < 0:
                return entry
            latest[position, 0] = leave[entry]
        latest[position, 0] = max(latest[position, 0], leave[entry])
    return kid.size


@kernel
def _sweep_stairs(slot_arrays: Arrays, step_arrays: Arrays, now: int) -> None:
    """Remove the ``Slots`` whose ``Steps`` have all left. Cost: O(K + slots)."""
    slots, steps = Slots(*slot_arrays), Steps(*step_arrays)
    slabs, stairs = slots.slabs, slots.ints
    for kid in range(slabs.shape[0]):
        for position in range(slabs[kid, START] + slabs[kid, LENGTH] - 1, slabs[kid, START] - 1, -1):
            drop(stairs, steps, position, now)
            if stairs[position, STEPS] == 0:
                remove(slots, kid, position)


@kernel
def _sweep_leaves(slot_arrays: Arrays, now: int) -> None:
    """Remove the ``Slots`` that have left. Cost: O(K + slots)."""
    slots = Slots(*slot_arrays)
    slabs, latest = slots.slabs, slots.ints
    for kid in range(slabs.shape[0]):
        for position in range(slabs[kid, START] + slabs[kid, LENGTH] - 1, slabs[kid, START] - 1, -1):
            if latest[position, 0] <= now:
                remove(slots, kid, position)


@kernel
def _heads(stairs: Integers, step_arrays: Arrays, now: int, present: Booleans, found: Integers) -> None:
    """Write whether each group has a step that leaves after ``now``, bool[G], and its code, int64[G]. Cost: O(G)."""
    steps = Steps(*step_arrays)
    for group in range(present.size):
        drop(stairs, steps, group, now)
        if stairs[group, STEPS] > 0:
            present[group] = True
            found[group] = steps.codes[stairs[group, BLOCK] + stairs[group, GONE]]
