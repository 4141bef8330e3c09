"""All that MAX needs of a set of values, if it is known when each will leave: a *staircase*.

Rows only enter; each carries the time at which it leaves (Wang's time-carrying values). An element (leave, code) will
never be the maximum if another one stays at least as long and has a code at least as large. All others, by ascending
leave, have strictly descending codes::

    code │ ■─────┐
         │       └───■──┐          the maximum at any later time is the first step that has not left
         │              └─────■
         └──────────────────────── leave

MIN is the same on complemented codes. ``NEVER`` is the leave of an element that stays for good.

The steps of a staircase are a block of a pool, and the staircase is a row of int64[…, 5]: where its block begins
(BLOCK), how many steps at the front of the block have left (GONE), how many are there (STEPS), how many the block has
room for (ROOM), and when the last one leaves (LAST). Blocks move and are compacted like slabs. Steps that have left are
dropped when their staircase is read or changed.
"""

from typing import NamedTuple

import numpy as np

from joinfold.kernels.compiling import Arrays, Integers, kernel, part

BLOCK, GONE, STEPS, ROOM, LAST = 0, 1, 2, 3, 4
COLUMNS = 5
LEAST_ROOM = 16
NEVER = np.iinfo(np.int64).max


class Steps(NamedTuple):
    """What kernels know of the memory in which the steps of many staircases lie."""

    leaves: Integers  # [room]
    codes: Integers  # [room]
    used: Integers  # [1]: where the room begins that no block has been given


class StepPool:
    """The memory in which the steps of many staircases lie."""

    def __init__(self) -> None:
        self.leaves = np.empty(LEAST_ROOM, np.int64)
        self.codes = np.empty(LEAST_ROOM, np.int64)
        self.used = np.zeros(1, np.int64)

    @property
    def arrays(self) -> Arrays:
        """What kernels take: the fields of ``Steps``."""
        return self.leaves, self.codes, self.used

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return self.leaves.nbytes + self.codes.nbytes

    def make_room(self, stairs: Integers, rows: Integers, now: int) -> None:
        """Drop what has left and make sure that any staircase can double; ``rows`` int64[m] are all that there are.

        Cost: O(m + steps), amortised O(1) per step.
        """
        capacities = np.empty(rows.size, np.int64)
        compact_blocks(self.arrays, stairs, rows, capacities, now)
        needed = int(capacities.sum())
        room = max(LEAST_ROOM, needed + needed // 2 + 2 * int(capacities.max(initial=0)) + 2)
        old = self.arrays
        self.leaves, self.codes = np.empty(room, np.int64), np.empty(room, np.int64)
        move_blocks(old, self.arrays, stairs, rows, capacities)
        self.used[0] = needed


@part
def drop(stairs: Integers, steps: Steps, row: int, now: int) -> None:
    """Forget the steps of a staircase that leave at ``now`` or before. Cost: O(1) for each."""
    while stairs[row, STEPS] > 0 and steps.leaves[stairs[row, BLOCK] + stairs[row, GONE]] <= now:
        stairs[row, GONE] += 1
        stairs[row, STEPS] -= 1


@part
def insert_step(stairs: Integers, steps: Steps, row: int, leave: int, code: int) -> bool:
    """Add an element to a staircase; false if there is no room. Cost: O(log steps), and O(steps) in the middle."""
    leaves, codes = steps.leaves, steps.codes
    first = stairs[row, BLOCK] + stairs[row, GONE]
    end = first + stairs[row, STEPS]
    later, high = first, end  # ``later`` becomes the first step that leaves at ``leave`` or later; seldom there is one
    if stairs[row, LAST] < leave:
        later = end
    while later < high:
        middle = (later + high) >> 1
        if leaves[middle] < leave:
            later = middle + 1
        else:
            high = middle
    if later < end and codes[later] >= code:
        return True
    stop = later + 1 if later < end and leaves[later] == leave else later
    keep = later
    while keep > first and codes[keep - 1] <= code:
        keep -= 1
    if keep == stop and end == stairs[row, BLOCK] + stairs[row, ROOM]:
        offset = keep - first
        if not _open_end(stairs, steps, row):
            return False
        first = stairs[row, BLOCK]
        end = first + stairs[row, STEPS]
        keep = stop = first + offset
    _shift(steps, stop, end, keep + 1)
    leaves[keep] = leave
    codes[keep] = code
    stairs[row, STEPS] += keep + 1 - stop
    if stop == end:
        stairs[row, LAST] = leave
    return True


@kernel
def compact_blocks(arrays: Arrays, stairs: Integers, rows: Integers, capacities: Integers, now: int) -> None:
    """Drop what has left, and write the capacity int64[m] that each block needs: less if at most a quarter is used.

    ``arrays`` are those of ``Steps``; rows int64[m] are the staircases. Cost: O(m), and O(1) for each step dropped.
    """
    steps = Steps(*arrays)
    for index in range(rows.size):
        row = rows[index]
        drop(stairs, steps, row, now)
        length, capacity = stairs[row, STEPS], stairs[row, ROOM]
        while capacity > 0 and 4 * length <= capacity:
            capacity >>= 1
        capacities[index] = capacity


@kernel
def move_blocks(old_arrays: Arrays, new_arrays: Arrays, stairs: Integers, rows: Integers, capacities: Integers) -> None:
    """Move the steps of all staircases to the front of another pool, with capacities int64[m]. Cost: O(m + steps)."""
    old, new = Steps(*old_arrays), Steps(*new_arrays)
    used = 0
    for index in range(rows.size):
        row = rows[index]
        first = stairs[row, BLOCK] + stairs[row, GONE]
        for offset in range(stairs[row, STEPS]):
            new.leaves[used + offset] = old.leaves[first + offset]
            new.codes[used + offset] = old.codes[first + offset]
        stairs[row, BLOCK] = used
        stairs[row, GONE] = 0
        stairs[row, ROOM] = capacities[index]
        used += capacities[index]


@kernel
def _open_end(stairs: Integers, steps: Steps, row: int) -> bool:
    """Make a place at the end of a full block: move steps to its front if half has left, else to twice the room.

    False if there is no such room. Cost: O(steps).
    """
    leaves, codes = steps.leaves, steps.codes
    start, length, capacity = stairs[row, BLOCK], stairs[row, STEPS], stairs[row, ROOM]
    first = start + stairs[row, GONE]
    if capacity == 0 or 2 * stairs[row, GONE] < capacity:
        start, capacity = steps.used[0], max(1, 2 * capacity)
        if start + capacity > leaves.size:
            return False
        steps.used[0] += capacity
    for offset in range(length):
        leaves[start + offset] = leaves[first + offset]
        codes[start + offset] = codes[first + offset]
    stairs[row, BLOCK] = start
    stairs[row, GONE] = 0
    stairs[row, ROOM] = capacity
    return True


@part
def _shift(steps: Steps, start: int, end: int, to: int) -> None:
    """Move steps ``start`` to ``end`` so that they begin at ``to``. Cost: O(end − start)."""
    leaves, codes = steps.leaves, steps.codes
    if to < start:
        for offset in range(end - start):
            leaves[to + offset] = leaves[start + offset]
            codes[to + offset] = codes[start + offset]
    elif to > start:
        for offset in range(end - start - 1, -1, -1):
            leaves[to + offset] = leaves[start + offset]
            codes[to + offset] = codes[start + offset]
