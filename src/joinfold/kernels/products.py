"""What a delta adds to the groups' totals: each of its entries times every slot of the other input with the same key.

This is the ring's product (see ``algebra``) on arrays. Products of integers wrap around; those with a double-double
factor are double-doubles. Which group a product belongs to is the mode::

    OF_DELTA           the delta's group          Σ over the slab first, then one multiplication
    OF_SLOT            the slot's group           one row of totals for each slot
    OF_DELTA_AND_SLOT  the pair, delta first      interned in a table of pairs, then as OF_SLOT
    OF_SLOT_AND_DELTA  the pair, slot first
    OF_ALL             0                          as OF_DELTA

Double-doubles wear as in ``aggregation_set``: the weight of a product is the product of the weights, and its turnover
takes in those of the slots. A product of two integers is exact while it and all its sums stay below 2^100.

The loop over a slab with one to four products is written out for each number: the compiler keeps the factors
of the delta in registers only if it knows how many there are.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.aggregation_set import AggregationSet
from joinfold.kernels.compiling import Bytes, Doubles, Ids, Integers, count_of_ids, kernel, part, readable, readable_ids
from joinfold.kernels.double_double import DoubleDouble, add_dd, dd_of_int64, multiply_dd
from joinfold.kernels.identity import IdTable, id_of
from joinfold.kernels.prefetching import prefetch_slab
from joinfold.kernels.slabs import LENGTH, START

OF_DELTA, OF_SLOT, OF_DELTA_AND_SLOT, OF_SLOT_AND_DELTA, OF_ALL = range(5)

LOW_WORD = 0xFFFFFFFF


class Totals:
    """The running sums of every group: integers, the number of combinations first, and double-doubles.

    ``largest`` float64[dd_columns] is the largest |hi| that any sum, or product on the way to it, has ever had.
    """

    def __init__(self, int_columns: int, dd_columns: int, groups: int = 0) -> None:
        self.groups = groups
        self.room_ints = np.zeros((max(1, groups), int_columns), np.int64)
        self.room_dds = np.zeros((max(1, groups), 2 * dd_columns), np.float64)
        self.room_wear = np.zeros((max(1, groups), 2 * dd_columns), np.float64)
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
    def wear(self) -> Doubles:
        """Of each double-double its weight and turnover, float64[groups, 2·dd_columns]; unused for two integers."""
        return self.room_wear[: self.groups]

    @property
    def touched(self) -> Bytes:
        """1 for each group that may have changed since the last ``take_touched``, uint8[groups]."""
        return self.room_touched[: self.groups]

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return self.room_ints.nbytes + self.room_dds.nbytes + self.room_wear.nbytes + self.room_touched.nbytes

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
            self.room_wear = _lengthened(self.room_wear, room)
            self.room_touched = _lengthened(self.room_touched, room)

    def take_touched(self) -> Integers:
        """The groups touched since the last call, ascending, int64[m]; those without a combination are exactly empty.

        To be called between steps: within one, sums of a group may be there before the combinations are.
        Cost: O(groups).
        """
        groups = np.flatnonzero(self.touched)
        self.room_touched[groups] = 0
        if self.room_ints.shape[1]:
            empty = groups[self.room_ints[groups, 0] == 0]
            self.room_dds[empty] = 0.0
            self.room_wear[empty] = 0.0
        return groups


_NO_PAIRS = IdTable(1)


def add_products(
    kid: Ids,
    gid: Ids,
    ints: Integers,
    dds: Doubles,
    sign: int,
    other: AggregationSet,
    mode: int,
    pairs: IdTable | None,
    int_products: Integers,
    dd_products: Integers,
    totals: Totals,
) -> None:
    """Add sign times the products of a delta with the slots of ``other`` that have its keys.

    The delta is kid, gid int32[n], ints int64[n, I], dds float64[n, 2·F]. A row of int_products int64[P, 2] is
    (column of the delta, column of the slot); of dd_products int64[Q, 4] it is (1 if the delta's factor is an
    integer, its column, the same two for the slot). Column p of the totals belongs to row p. ``pairs`` is needed
    by the two modes of pairs; its ids are the groups. A delta in the order of its keys is read fastest.
    Cost: O(P + Q) for each product, or for each slot that is summed.
    """
    assert sign in (1, -1) and mode in range(5) and (pairs is not None or mode not in (2, 3))
    int_products = readable(int_products, np.int64).reshape(-1, 2)
    dd_products = readable(dd_products, np.int64).reshape(-1, 4)
    assert totals.room_ints.shape[1] == len(int_products) and totals.room_dds.shape[1] == 2 * len(dd_products)
    slots = other.slots
    kid, gid = readable_ids(kid), readable_ids(gid)
    ints, dds = readable(ints, np.int64), readable(dds, np.float64)
    table = _NO_PAIRS if pairs is None else pairs
    paired = mode in (OF_DELTA_AND_SLOT, OF_SLOT_AND_DELTA)
    scratch = np.empty(slots.longest if paired else 0, np.int32)
    if mode == OF_DELTA:
        totals.cover(count_of_ids(gid))
    elif mode == OF_SLOT:
        totals.cover(other.groups)
    else:
        totals.cover(len(table) if paired else 1)
    done = 0
    while True:
        stopped = _add_int_products(
            kid,
            gid,
            ints,
            sign,
            slots.slabs,
            slots.gids,
            slots.ints,
            mode,
            int_products,
            totals.room_ints,
            totals.room_touched,
            *table.arrays,
            scratch,
            done,
        )
        if len(dd_products):
            _add_dd_products(
                kid,
                gid,
                ints,
                dds,
                sign,
                slots.slabs,
                slots.gids,
                slots.ints,
                slots.dds,
                mode,
                dd_products,
                totals.room_dds,
                totals.room_wear,
                totals.largest,
                *table.arrays,
                scratch,
                done,
                stopped,
            )
        if paired:
            totals.cover(len(table))
        if stopped == kid.size:
            return
        done = stopped
        table.reserve(scratch.size)
        totals.make_room(len(table) + scratch.size)


def _lengthened(array: NDArray[Any], room: int) -> NDArray[Any]:
    longer = np.zeros((room, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


@kernel
def _add_int_products(
    kid: Ids,
    gid: Ids,
    ints: Integers,
    sign: int,
    slabs: Integers,
    slot_gids: Ids,
    slot_ints: Integers,
    mode: int,
    products: Integers,
    totals: Integers,
    touched: Bytes,
    places: Integers,
    value_of_id: Integers,
    size: Integers,
    groups: Ids,
    done: int,
) -> int:
    """Add products of integers to totals int64[G, P], for the entries from ``done`` on, and mark groups in uint8[G].

    Stops before an entry whose pairs might find no room in the table of pairs or in the totals; gives how many entries
    are done. ``groups`` int32[longest slab] is overwritten. Cost: O(P) for each product.
    """
    for entry in range(done, kid.size):
        prefetch_slab(slabs, slot_gids, slot_ints, kid, entry)
        key = kid[entry]
        if key >= slabs.shape[0] or slabs[key, LENGTH] == 0:
            continue
        start, length = slabs[key, START], slabs[key, LENGTH]
        if mode in (OF_DELTA, OF_ALL):
            group = gid[entry] if mode == OF_DELTA else 0
            _gather(ints, entry, sign, slot_ints, start, length, products, totals, group)
            touched[group] = 1
        elif mode == OF_SLOT:
            _scatter(ints, entry, sign, slot_ints, start, length, products, totals, slot_gids, start, touched)
        else:
            if size[0] + length > min(value_of_id.size, touched.size):
                return entry
            _intern(gid[entry], slot_gids, start, length, mode, places, value_of_id, size, groups)
            _scatter(ints, entry, sign, slot_ints, start, length, products, totals, groups, 0, touched)
    return kid.size


@part
def _gather(
    ints: Integers,
    entry: int,
    sign: int,
    slot_ints: Integers,
    start: int,
    length: int,
    products: Integers,
    totals: Integers,
    group: int,
) -> None:
    """Add an entry times the sum of a slab to one group. Cost: O(P·length)."""
    for product in range(products.shape[0]):
        column = products[product, 1]
        total = slot_ints[start, column]
        for position in range(np.uint64(start + 1), np.uint64(start + length)):
            total += slot_ints[position, column]
        totals[group, product] += sign * ints[entry, products[product, 0]] * total


@part
def _scatter(
    ints: Integers,
    entry: int,
    sign: int,
    slot_ints: Integers,
    start: int,
    length: int,
    products: Integers,
    totals: Integers,
    groups: Ids,
    first: int,
    touched: Bytes,
) -> None:
    """Add an entry times each slot of a slab to the slot's group, groups[first], … Cost: O(P·length)."""
    if products.shape[0] == 0:
        for offset in range(length):
            touched[groups[first + offset]] = 1
    for product in range(0, products.shape[0], 4):
        many = min(4, products.shape[0] - product)
        # Unsigned, because a negative index would count from the end and every access would have to ask.
        p0 = np.uint64(product)
        p1, p2, p3 = p0 + np.uint64(1), p0 + np.uint64(2), p0 + np.uint64(3)
        a0, c0 = sign * ints[entry, products[p0, 0]], np.uint64(products[p0, 1])
        slots, shift = range(np.uint64(start), np.uint64(start + length)), np.uint64(first - start)
        if many == 1:
            for slot in slots:
                group = np.uint32(groups[slot + shift])
                totals[group, p0] += a0 * slot_ints[slot, c0]
                touched[group] = 1
            continue
        a1, c1 = sign * ints[entry, products[p1, 0]], np.uint64(products[p1, 1])
        if many == 2:
            for slot in slots:
                group = np.uint32(groups[slot + shift])
                totals[group, p0] += a0 * slot_ints[slot, c0]
                totals[group, p1] += a1 * slot_ints[slot, c1]
                touched[group] = 1
            continue
        a2, c2 = sign * ints[entry, products[p2, 0]], np.uint64(products[p2, 1])
        if many == 3:
            for slot in slots:
                group = np.uint32(groups[slot + shift])
                totals[group, p0] += a0 * slot_ints[slot, c0]
                totals[group, p1] += a1 * slot_ints[slot, c1]
                totals[group, p2] += a2 * slot_ints[slot, c2]
                touched[group] = 1
            continue
        a3, c3 = sign * ints[entry, products[p3, 0]], np.uint64(products[p3, 1])
        for slot in slots:
            group = np.uint32(groups[slot + shift])
            totals[group, p0] += a0 * slot_ints[slot, c0]
            totals[group, p1] += a1 * slot_ints[slot, c1]
            totals[group, p2] += a2 * slot_ints[slot, c2]
            totals[group, p3] += a3 * slot_ints[slot, c3]
            touched[group] = 1


@part
def pair_of(mode: int, delta_gid: int, slot_gid: int) -> int:
    """Two groups as one value of a table of pairs, in the order that the mode says. Cost: O(1)."""
    if mode == OF_DELTA_AND_SLOT:
        return (delta_gid << 32) | (slot_gid & LOW_WORD)
    return (slot_gid << 32) | (delta_gid & LOW_WORD)


@part
def _intern(
    delta_gid: int,
    slot_gids: Ids,
    start: int,
    length: int,
    mode: int,
    places: Integers,
    value_of_id: Integers,
    size: Integers,
    groups: Ids,
) -> None:
    """Write the ids of the pairs of a group with those of a slab into groups int32[length]. Cost: O(length)."""
    for offset in range(length):
        groups[offset] = id_of(places, value_of_id, size, pair_of(mode, delta_gid, slot_gids[start + offset]))


@kernel
def _add_dd_products(
    kid: Ids,
    gid: Ids,
    ints: Integers,
    dds: Doubles,
    sign: int,
    slabs: Integers,
    slot_gids: Ids,
    slot_ints: Integers,
    slot_dds: Doubles,
    mode: int,
    products: Integers,
    totals: Doubles,
    wear: Doubles,
    largest: Doubles,
    places: Integers,
    value_of_id: Integers,
    size: Integers,
    groups: Ids,
    done: int,
    end: int,
) -> None:
    """Add products with double-doubles to totals float64[G, 2·Q], for the entries from ``done`` to ``end``.

    Their wear float64[G, 2·Q] and largest float64[Q] follow. The slots have hi, lo of all columns and then their wear,
    float64[P, 4·F]. The pairs of these entries are in their table. Cost: O(Q) for each product.
    """
    for entry in range(done, end):
        key = kid[entry]
        if key >= slabs.shape[0] or slabs[key, LENGTH] == 0:
            continue
        start, length = slabs[key, START], slabs[key, LENGTH]
        if mode in (OF_DELTA_AND_SLOT, OF_SLOT_AND_DELTA):
            _intern(gid[entry], slot_gids, start, length, mode, places, value_of_id, size, groups)
        for product in range(products.shape[0]):
            of_entry, own = products[product, 0], products[product, 1]
            is_int, column = products[product, 2], products[product, 3]
            hi, lo = _factor(ints, dds, entry, of_entry, own)
            hi, lo = sign * hi, sign * lo
            wears = not (of_entry and is_int)
            if mode in (OF_DELTA, OF_ALL):
                group = gid[entry] if mode == OF_DELTA else 0
                sum_hi, sum_lo = _factor(slot_ints, slot_dds, start, is_int, column)
                weight, turnover = _wear(slot_ints, slot_dds, start, is_int, column)
                for position in range(start + 1, start + length):
                    slot_hi, slot_lo = _factor(slot_ints, slot_dds, position, is_int, column)
                    sum_hi, sum_lo = add_dd(sum_hi, sum_lo, slot_hi, slot_lo)
                    slot_weight, slot_turnover = _wear(slot_ints, slot_dds, position, is_int, column)
                    weight += slot_weight
                    turnover += slot_turnover + weight
                _add_to(totals, largest, group, product, *multiply_dd(hi, lo, sum_hi, sum_lo))
                if wears:
                    _wear_out(wear, group, product, sign, math.fabs(hi), weight, turnover)
            else:
                for offset in range(length):
                    slot_hi, slot_lo = _factor(slot_ints, slot_dds, start + offset, is_int, column)
                    group = slot_gids[start + offset] if mode == OF_SLOT else groups[offset]
                    _add_to(totals, largest, group, product, *multiply_dd(hi, lo, slot_hi, slot_lo))
                    if wears:
                        weight, turnover = _wear(slot_ints, slot_dds, start + offset, is_int, column)
                        _wear_out(wear, group, product, sign, math.fabs(hi), weight, turnover)


@part
def _factor(ints: Integers, dds: Doubles, row: int, is_int: int, column: int) -> DoubleDouble:
    """A column of a payload as a double-double. Cost: O(1)."""
    if is_int:
        return dd_of_int64(ints[row, column])
    return dds[row, 2 * column], dds[row, 2 * column + 1]


@part
def _wear(ints: Integers, dds: Doubles, row: int, is_int: int, column: int) -> DoubleDouble:
    """Weight and turnover of a column of a slot, float64[P, 4·F]; a count is its own weight. Cost: O(1)."""
    if is_int:
        return math.fabs(float(ints[row, column])), 0.0
    place = dds.shape[1] // 2 + 2 * column
    return dds[row, place], dds[row, place + 1]


@part
def _wear_out(wear: Doubles, group: int, product: int, sign: int, size: float, weight: float, turnover: float) -> None:
    """What a delta of this size, times slots of that weight and turnover, does to the wear of a total. Cost: O(1)."""
    place = 2 * product
    wear[group, place] += sign * size * weight
    wear[group, place + 1] += math.fabs(wear[group, place]) + size * (math.fabs(weight) + turnover)


@part
def _add_to(totals: Doubles, largest: Doubles, group: int, product: int, hi: float, lo: float) -> None:
    place = 2 * product
    totals[group, place], totals[group, place + 1] = add_dd(totals[group, place], totals[group, place + 1], hi, lo)
    largest[product] = max(largest[product], math.fabs(hi), math.fabs(totals[group, place]))
