"""A batch of arrivals in one loop: at each, entries leave, entries enter, and the groups that have changed are written.

Every input has a *queue*: its entries in the order in which they enter, which is also the order in which they leave.
So two numbers per arrival and input tell all that happens: how many entries of the queue have left by then, and how
many have entered::

    queue of an input    e0  e1  e2  e3  e4  e5  e6  e7
    at an arrival             └── inside ──┘                 gone 1, entered 5

A kernel cannot make its arrays longer, and does not rebuild sums that have drifted. It stops there and says why; what
is done is in the cursor, so it goes on from there.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.aggregation_set import AggregationSet, Delta, update_entry
from joinfold.kernels.compiling import Arrays, Doubles, Ids, Integers, count_of_ids, kernel, part
from joinfold.kernels.dd_products import add_dd_products_of
from joinfold.kernels.identity import IdArrays, IdTable
from joinfold.kernels.products import add_int_products_of, has_room_for_pairs
from joinfold.kernels.slabs import LENGTH, START, Slots
from joinfold.kernels.totals import (
    NO_PAIRS,
    OF_ALL,
    OF_DELTA,
    OF_SLOT,
    PAIRED,
    TotalArrays,
    Totals,
    intern_pairs,
)

DONE, NO_SLOT, NO_PAIR, NO_ROW, INEXACT = range(5)
ARRIVAL, ROWS, TOUCHED, KEY, HEAD, TAIL = 0, 1, 2, 3, 4, 6  # HEAD and TAIL have a place for each of two inputs
LEAST_ROWS = 1024


class Settling(NamedTuple):
    """When a floating sum is exactly zero, and when it is no longer exact enough."""

    nonzero: Integers  # [Q]: the integer that is zero where the sum is; −1: it is always zero, −2: nothing tells it
    wide_count: int  # the double-double that counts combinations too, −1 without one
    watched: int  # so many of the sums drift
    drifted: float  # a sum below this share of its turnover has drifted,
    weighed: float  # and its weight is known but for this share
    limits: Doubles  # [Q]: from here on a product is not exact


class Changed(NamedTuple):
    """The groups that changed at each arrival, with their totals after it: arrays with a row for each."""

    number: Integers
    group: Integers
    ints: Integers
    dds: Doubles
    drift: Doubles


@dataclass(slots=True)
class Queue:
    """The entries of an input, and how many have left and entered at each arrival, int64[arrivals]."""

    delta: Arrays
    gone: Integers
    entered: Integers


class ArrivalLoop:
    """Two inputs by key, and the totals of their products, from arrival to arrival."""

    def __init__(
        self,
        queues: tuple[Queue, Queue],
        sets: tuple[AggregationSet, AggregationSet],
        modes: tuple[int, int],
        int_products: tuple[Integers, Integers],
        dd_products: tuple[Integers, Integers],
        totals: Totals,
        pairs: IdTable | None,
        settling: Settling,
        inside: tuple[tuple[int, int], tuple[int, int]],
        start: int = 0,
    ) -> None:
        """``inside``: for each input, how many entries of its queue have left already, and how many have entered.

        ``start`` is the first arrival that is not done.
        """
        self.queues, self.sets, self.totals = queues, sets, totals
        self.modes = np.array(modes, np.int64)
        self.products = int_products, dd_products
        self.table = NO_PAIRS if pairs is None else pairs
        self.settling = settling
        self.cursor = np.zeros(8, np.int64)
        self.cursor[ARRIVAL] = start
        for ordinal, (gone, entered) in enumerate(inside):
            self.cursor[HEAD + ordinal], self.cursor[TAIL + ordinal] = gone, entered
        self.moves = np.stack([queues[0].gone, queues[0].entered, queues[1].gone, queues[1].entered])
        most = 1
        for queue, own, other in zip(queues, sets, reversed(sets), strict=True):
            own.slots.cover_keys(queue.delta[0])
            groups = count_of_ids(queue.delta[1])
            most = max(most, groups, own.groups, other.groups)
        self.groups = np.empty(most if any(mode in PAIRED for mode in modes) else 0, np.int32)
        totals.cover(len(self.table) if len(self.groups) else max(1, most if OF_ALL not in modes else 1))
        self.touched = np.zeros(len(totals.room_touched), np.int64)
        self.rows = self._room(LEAST_ROWS)

    @property
    def arrival(self) -> int:
        """The arrival that the loop has come to."""
        return int(self.cursor[ARRIVAL])

    def give_back(self) -> None:
        """Returns memory of entries that have left. Cost: O(1), seldom O(keys + slots)."""
        for own in self.sets:
            own.slots.give_back()

    def inside(self, ordinal: int) -> tuple[int, int]:
        """How many entries of a queue have left, and how many have entered."""
        return int(self.cursor[HEAD + ordinal]), int(self.cursor[TAIL + ordinal])

    def touch(self, group: int) -> None:
        """Lets a group be written at the next arrival, whether it changes or not."""
        if not self.totals.room_touched[group]:
            self.totals.room_touched[group] = 1
            self.touched[self.cursor[TOUCHED]] = group
            self.cursor[TOUCHED] += 1

    def skip(self) -> None:
        """Goes on to the next arrival: what has changed at the present one was written elsewhere."""
        self.totals.room_touched[self.pending()] = 0
        self.cursor[TOUCHED] = 0
        self.cursor[ARRIVAL] += 1

    def run(self, until: int) -> int:
        """Goes on until all arrivals before ``until`` are done, or sums are inexact: DONE or INEXACT.

        Cost: O(P + Q) for each product, and for each group that is written.
        """
        while True:
            first, second = self.sets
            reason = _run(
                (self.queues[0].delta, self.queues[1].delta),
                self.moves[:, :until],
                (first.slots.arrays, second.slots.arrays),
                (first.largest_magnitude, second.largest_magnitude),
                (first.group_count, second.group_count),
                self.modes,
                *self.products,
                self.totals.arrays,
                self.table.arrays,
                self.groups,
                self.settling,
                self.cursor,
                self.touched,
                tuple(self.rows),
            )
            if reason in (DONE, INEXACT):
                if len(self.groups):
                    self.totals.cover(len(self.table))
                return int(reason)
            if reason == NO_SLOT:
                ordinal, key = divmod(int(self.cursor[KEY]), 2**32)
                self.sets[ordinal].slots.make_room(key)
            elif reason == NO_PAIR:
                self.table.reserve(len(self.groups))
                self.totals.make_room(len(self.table) + len(self.groups))
                self.touched = _longer(self.touched, len(self.totals.room_touched))
            else:
                room = max(2 * len(self.rows.number), int(self.cursor[ROWS] + self.cursor[TOUCHED]))
                self.rows = Changed(*(_longer(column, room) for column in self.rows))

    def take_changed(self) -> Changed:
        """What was written since the last call."""
        rows, self.cursor[ROWS] = int(self.cursor[ROWS]), 0
        number, group, ints, dds, drift = (column[:rows].copy() for column in self.rows)
        return Changed(number, group, ints, dds, drift)  # type: ignore[arg-type]

    def pending(self) -> Integers:
        """The groups that have changed at the present arrival and are not written."""
        return self.touched[: self.cursor[TOUCHED]].copy()

    def _room(self, rows: int) -> Changed:
        ints, dds = self.totals.room_ints.shape[1], self.totals.room_dds.shape[1]
        return Changed(
            np.empty(rows, np.int64),
            np.empty(rows, np.int64),
            np.empty((rows, ints), np.int64),
            np.empty((rows, dds)),
            np.empty((rows, dds)),
        )


def _longer(column: NDArray[Any], room: int) -> NDArray[Any]:
    longer = np.empty((max(room, len(column)), *column.shape[1:]), column.dtype)
    longer[: len(column)] = column
    return longer


@kernel
def _run(
    deltas: tuple[Arrays, Arrays],
    moves: Integers,
    slot_arrays: tuple[Arrays, Arrays],
    largest_magnitudes: tuple[Integers, Integers],
    group_counts: tuple[Integers, Integers],
    modes: Integers,
    int_products: tuple[Integers, Integers],
    dd_products: tuple[Integers, Integers],
    total_arrays: Arrays,
    table_arrays: Arrays,
    groups: Ids,
    settling: Settling,
    cursor: Integers,
    touched: Integers,
    rows_arrays: Arrays,
) -> int:
    """Go through arrivals from the cursor int64[8] on; moves int64[4, n] are gone and entered of the two inputs.

    Gives DONE, or why it stopped. Cost: O(P + Q) for each product, and for each group that is written.
    """
    totals, table = TotalArrays(*total_arrays), IdArrays(*table_arrays)
    rows = Changed(*rows_arrays)
    while cursor[ARRIVAL] < moves.shape[1]:
        arrival = cursor[ARRIVAL]
        for phase in range(4):  # all that leave before any enters
            ordinal = phase & 1
            sign, place = (-1, HEAD + ordinal) if phase < 2 else (1, TAIL + ordinal)
            until = moves[2 * ordinal + phase // 2, arrival]
            while cursor[place] < until:
                delta, entry, mode = Delta(*deltas[ordinal]), cursor[place], modes[ordinal]
                other = Slots(*slot_arrays[1 - ordinal])
                key = delta.kid[entry]
                meets = key < other.slabs.shape[0] and other.slabs[key, LENGTH] > 0
                if meets and mode in PAIRED and not has_room_for_pairs(other, key, table, totals):
                    return NO_PAIR
                own = Slots(*slot_arrays[ordinal])
                if not update_entry(delta, entry, sign, own, largest_magnitudes[ordinal], group_counts[ordinal]):
                    cursor[KEY] = (ordinal << 32) + key
                    return NO_SLOT
                if meets:
                    _touch(delta, entry, other, mode, table, groups, totals, touched, cursor)
                    add_int_products_of(delta, entry, sign, other, mode, int_products[ordinal], totals, table, groups)
                    if dd_products[ordinal].shape[0]:
                        add_dd_products_of(delta, entry, sign, other, mode, dd_products[ordinal], totals, table, groups)
                cursor[place] += 1
        for index in range(cursor[TOUCHED]):
            if not _settle(totals, touched[index], settling):
                return INEXACT
        for product in range(settling.limits.size):
            if totals.largest[product] >= settling.limits[product]:
                return INEXACT
        if cursor[ROWS] + cursor[TOUCHED] > rows.number.size:
            return NO_ROW
        _write(totals, touched, cursor, rows)
        cursor[ARRIVAL] += 1
    return DONE


@part
def _touch(
    delta: Delta,
    entry: int,
    other: Slots,
    mode: int,
    table: IdArrays,
    groups: Ids,
    totals: TotalArrays,
    touched: Integers,
    cursor: Integers,
) -> None:
    """Note the groups that an entry will change, each once for an arrival. Cost: O(length)."""
    key = delta.kid[entry]
    start, length = other.slabs[key, START], other.slabs[key, LENGTH]
    if mode in PAIRED:
        intern_pairs(mode, delta.gid[entry], other.gids[start : start + length], table, groups)
    elif mode != OF_SLOT:
        length = 1
    for offset in range(length):
        if mode == OF_DELTA:
            group = np.int64(delta.gid[entry])
        elif mode == OF_ALL:
            group = np.int64(0)
        elif mode == OF_SLOT:
            group = np.int64(other.gids[start + offset])
        else:
            group = np.int64(groups[offset])
        if totals.touched[group] == 0:
            totals.touched[group] = 1
            touched[cursor[TOUCHED]] = group
            cursor[TOUCHED] += 1


@part
def _settle(totals: TotalArrays, group: int, settling: Settling) -> bool:
    """Set floating sums to zero where nothing is left of them; false if one has drifted too far. Cost: O(Q)."""
    ints, dds, drift = totals.ints, totals.dds, totals.drift
    is_empty = ints[group, 0] == 0 and (settling.wide_count < 0 or dds[group, 2 * settling.wide_count] == 0)
    for product in range(settling.nonzero.size):
        column, hi = settling.nonzero[product], 2 * product
        if is_empty or column == -1 or (column >= 0 and ints[group, column] == 0):
            dds[group, hi], dds[group, hi + 1] = 0.0, 0.0
            drift[group, hi], drift[group, hi + 1] = 0.0, 0.0
        if product < settling.watched:
            turnover = drift[group, hi + 1]
            least = max(math.fabs(dds[group, hi]), drift[group, hi] - settling.weighed * turnover)
            if not (math.isfinite(turnover) and least >= settling.drifted * turnover):
                return False
    return True


@part
def _write(totals: TotalArrays, touched: Integers, cursor: Integers, rows: Changed) -> None:
    """Write the totals of the groups that were touched at an arrival. Cost: O(P + Q) for each."""
    for index in range(cursor[TOUCHED]):
        group, row = touched[index], cursor[ROWS] + index
        rows.number[row] = cursor[ARRIVAL]
        rows.group[row] = group
        for column in range(totals.ints.shape[1]):
            rows.ints[row, column] = totals.ints[group, column]
        for column in range(totals.dds.shape[1]):
            rows.dds[row, column] = totals.dds[group, column]
            rows.drift[row, column] = totals.drift[group, column]
        totals.touched[group] = 0
    cursor[ROWS] += cursor[TOUCHED]
    cursor[TOUCHED] = 0
