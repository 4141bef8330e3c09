"""What a delta adds to the groups' totals: each of its entries times every slot of the other input with the same key.

This is the ring's product (see ``algebra``) on arrays. Products of integers wrap around; those with a double-double
factor are double-doubles (see ``dd_products``). Which group a product adds to is the mode (see ``totals``), and with it
how a slab is read::

    OF_DELTA, OF_ALL                      one group: Σ over the slab first, then one multiplication
    OF_SLOT                               one row of totals for each slot
    OF_DELTA_AND_SLOT, OF_SLOT_AND_DELTA  the same, after the pairs have got their ids
"""

import numpy as np

from joinfold.kernels.aggregation_set import AggregationSet, Delta
from joinfold.kernels.compiling import Arrays, Doubles, Ids, Integers, kernel, part, readable, readable_ids
from joinfold.kernels.dd_products import add_dd_products
from joinfold.kernels.identity import IdArrays, IdTable
from joinfold.kernels.prefetching import prefetch_slab
from joinfold.kernels.slabs import LENGTH, START, Slots
from joinfold.kernels.totals import (
    MODES,
    NO_PAIRS,
    OF_ALL,
    OF_DELTA,
    OF_SLOT,
    PAIRED,
    TotalArrays,
    Totals,
    groups_of,
    intern_pairs,
)


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
    assert sign in (1, -1) and mode in MODES and (pairs is not None or mode not in PAIRED)
    int_products = readable(int_products, np.int64).reshape(-1, 2)
    dd_products = readable(dd_products, np.int64).reshape(-1, 4)
    assert totals.room_ints.shape[1] == len(int_products) and totals.room_dds.shape[1] == 2 * len(dd_products)
    kid, gid = readable_ids(kid), readable_ids(gid)
    delta, slots = (kid, gid, readable(ints, np.int64), readable(dds, np.float64)), other.slots.arrays
    table = NO_PAIRS if pairs is None else pairs
    totals.cover(groups_of(mode, gid, other.groups, table))
    groups = np.empty(other.slots.longest if mode in PAIRED else 0, np.int32)
    done = 0
    while True:
        output = totals.arrays, table.arrays, groups, done
        stopped = _add_int_products(delta, sign, slots, mode, int_products, *output)
        if len(dd_products):
            add_dd_products(delta, sign, slots, mode, dd_products, *output, stopped)
        if mode in PAIRED:
            totals.cover(len(table))
        if stopped == kid.size:
            return
        done = stopped
        table.reserve(groups.size)
        totals.make_room(len(table) + groups.size)


@kernel
def _add_int_products(
    delta_arrays: Arrays,
    sign: int,
    slot_arrays: Arrays,
    mode: int,
    products: Integers,
    total_arrays: Arrays,
    table_arrays: Arrays,
    groups: Ids,
    done: int,
) -> int:
    """Add products of integers, for the entries of a ``Delta`` from ``done`` on, and mark the groups as touched.

    products int64[P, 2] are those of ``add_products``; the table of pairs is ``IdArrays``; groups int32[longest slab]
    is overwritten. Stops before an entry whose pairs might find no room, in the table or in the totals. Gives how many
    entries are done. Cost: O(P) for each product.
    """
    delta, slots = Delta(*delta_arrays), Slots(*slot_arrays)
    totals, table = TotalArrays(*total_arrays), IdArrays(*table_arrays)
    kid, slabs = delta.kid, slots.slabs
    for entry in range(done, kid.size):
        prefetch_slab(slots, kid, entry)
        key = kid[entry]
        if key >= slabs.shape[0] or slabs[key, LENGTH] == 0:
            continue
        if mode in PAIRED and not has_room_for_pairs(slots, key, table, totals):
            return entry
        add_int_products_of(delta, entry, sign, slots, mode, products, totals, table, groups)
    return kid.size


@part
def has_room_for_pairs(slots: Slots, key: int, table: IdArrays, totals: TotalArrays) -> bool:
    """Whether all pairs with the slots of a key would find room, if all were new. Cost: O(1)."""
    room: bool = table.size[0] + slots.slabs[key, LENGTH] <= min(table.value_of_id.size, totals.touched.size)
    return room


@part
def add_int_products_of(
    delta: Delta,
    entry: int,
    sign: int,
    slots: Slots,
    mode: int,
    products: Integers,
    totals: TotalArrays,
    table: IdArrays,
    groups: Ids,
) -> None:
    """Add the products of one entry, whose key has a slab; its pairs have room. Cost: O(P·length)."""
    key = delta.kid[entry]
    start, length = slots.slabs[key, START], slots.slabs[key, LENGTH]
    if mode in (OF_DELTA, OF_ALL):
        group = delta.gid[entry] if mode == OF_DELTA else 0
        _gather(delta, entry, sign, slots, products, totals, group)
    elif mode == OF_SLOT:
        _scatter(delta, entry, sign, slots, products, totals, slots.gids, start)
    else:
        intern_pairs(mode, delta.gid[entry], slots.gids[start : start + length], table, groups)
        _scatter(delta, entry, sign, slots, products, totals, groups, 0)


@part
def _gather(
    delta: Delta, entry: int, sign: int, slots: Slots, products: Integers, totals: TotalArrays, group: int
) -> None:
    """Add an entry times the sum of the slab of its key to one group. Cost: O(P·length)."""
    key = delta.kid[entry]
    start, length = slots.slabs[key, START], slots.slabs[key, LENGTH]
    for product in range(products.shape[0]):
        column = products[product, 1]
        total = slots.ints[start, column]
        for position in range(np.uint64(start + 1), np.uint64(start + length)):
            total += slots.ints[position, column]
        totals.ints[group, product] += sign * delta.ints[entry, products[product, 0]] * total
    totals.touched[group] = 1


@part
def _scatter(
    delta: Delta,
    entry: int,
    sign: int,
    slots: Slots,
    products: Integers,
    totals: TotalArrays,
    groups: Ids,
    first: int,
) -> None:
    """Add an entry times each slot of the slab of its key to the slot's group: groups[first], … Cost: O(P·length).

    The loop over a slab is written out for one to four products: the compiler keeps the factors of the entry in
    registers only if it knows how many there are.
    """
    key = delta.kid[entry]
    start, length = slots.slabs[key, START], slots.slabs[key, LENGTH]
    ints, slot_ints, sums, touched = delta.ints, slots.ints, totals.ints, totals.touched
    if products.shape[0] == 0:
        for offset in range(length):
            touched[groups[first + offset]] = 1
    for product in range(0, products.shape[0], 4):
        many = min(4, products.shape[0] - product)
        # Unsigned, because a negative index would count from the end and every access would have to ask.
        p0 = np.uint64(product)
        p1, p2, p3 = p0 + np.uint64(1), p0 + np.uint64(2), p0 + np.uint64(3)
        a0, c0 = sign * ints[entry, products[p0, 0]], np.uint64(products[p0, 1])
        positions, shift = range(np.uint64(start), np.uint64(start + length)), np.uint64(first - start)
        if many == 1:
            for slot in positions:
                group = np.uint32(groups[slot + shift])
                sums[group, p0] += a0 * slot_ints[slot, c0]
                touched[group] = 1
            continue
        a1, c1 = sign * ints[entry, products[p1, 0]], np.uint64(products[p1, 1])
        if many == 2:
            for slot in positions:
                group = np.uint32(groups[slot + shift])
                sums[group, p0] += a0 * slot_ints[slot, c0]
                sums[group, p1] += a1 * slot_ints[slot, c1]
                touched[group] = 1
            continue
        a2, c2 = sign * ints[entry, products[p2, 0]], np.uint64(products[p2, 1])
        if many == 3:
            for slot in positions:
                group = np.uint32(groups[slot + shift])
                sums[group, p0] += a0 * slot_ints[slot, c0]
                sums[group, p1] += a1 * slot_ints[slot, c1]
                sums[group, p2] += a2 * slot_ints[slot, c2]
                touched[group] = 1
            continue
        a3, c3 = sign * ints[entry, products[p3, 0]], np.uint64(products[p3, 1])
        for slot in positions:
            group = np.uint32(groups[slot + shift])
            sums[group, p0] += a0 * slot_ints[slot, c0]
            sums[group, p1] += a1 * slot_ints[slot, c1]
            sums[group, p2] += a2 * slot_ints[slot, c2]
            sums[group, p3] += a3 * slot_ints[slot, c3]
            touched[group] = 1
