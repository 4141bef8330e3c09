"""Products with double-doubles, and how far they drift.

A factor is a double-double or an integer, which is taken as one; a product of two integers is exact while it and all
its sums stay below 2^100. Other products drift as sums do (see ``aggregation_set``): the weight of a product is the
product of the weights, and its turnover takes in those of the slots.
"""

import math

from joinfold.kernels.aggregation_set import Delta
from joinfold.kernels.compiling import Arrays, Doubles, Ids, Integers, kernel, part
from joinfold.kernels.double_double import DoubleDouble, add_dd, dd_of_int64, multiply_dd
from joinfold.kernels.identity import IdArrays
from joinfold.kernels.slabs import LENGTH, START, Slots
from joinfold.kernels.totals import OF_ALL, OF_DELTA, OF_SLOT, PAIRED, TotalArrays, intern_pairs


@kernel
def add_dd_products(
    delta_arrays: Arrays,
    sign: int,
    slot_arrays: Arrays,
    mode: int,
    products: Integers,
    total_arrays: Arrays,
    table_arrays: Arrays,
    groups: Ids,
    done: int,
    end: int,
) -> None:
    """Add products with double-doubles, for the entries of a ``Delta`` from ``done`` to ``end``.

    products int64[Q, 4] are those of ``products.add_products``. The slots have hi, lo of all columns and then their
    drift, float64[P, 4·F]. The pairs of these entries are in their table, ``IdArrays``; groups int32[longest slab] is
    overwritten. Cost: O(Q) for each product.
    """
    delta, slots = Delta(*delta_arrays), Slots(*slot_arrays)
    totals, table = TotalArrays(*total_arrays), IdArrays(*table_arrays)
    slabs = slots.slabs
    for entry in range(done, end):
        key = delta.kid[entry]
        if key >= slabs.shape[0] or slabs[key, LENGTH] == 0:
            continue
        add_dd_products_of(delta, entry, sign, slots, mode, products, totals, table, groups)


@part
def add_dd_products_of(
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
    """Add the products of one entry with double-doubles; its key has a slab, its pairs ids. Cost: O(Q·length)."""
    key, slabs = delta.kid[entry], slots.slabs
    start, length = slabs[key, START], slabs[key, LENGTH]
    if mode in PAIRED:
        intern_pairs(mode, delta.gid[entry], slots.gids[start : start + length], table, groups)
    for product in range(products.shape[0]):
        of_entry, own = products[product, 0], products[product, 1]
        is_int, column = products[product, 2], products[product, 3]
        hi, lo = _factor(delta.ints, delta.dds, entry, of_entry, own)
        hi, lo = sign * hi, sign * lo
        drifts = not (of_entry and is_int)
        if mode in (OF_DELTA, OF_ALL):
            group = delta.gid[entry] if mode == OF_DELTA else 0
            sum_hi, sum_lo = _factor(slots.ints, slots.dds, start, is_int, column)
            weight, turnover = _drift(slots, start, is_int, column)
            for position in range(start + 1, start + length):
                slot_hi, slot_lo = _factor(slots.ints, slots.dds, position, is_int, column)
                sum_hi, sum_lo = add_dd(sum_hi, sum_lo, slot_hi, slot_lo)
                slot_weight, slot_turnover = _drift(slots, position, is_int, column)
                weight += slot_weight
                turnover += slot_turnover + weight
            _add_to(totals, group, product, *multiply_dd(hi, lo, sum_hi, sum_lo))
            if drifts:
                _add_drift(totals.drift, group, product, sign, math.fabs(hi), weight, turnover)
        else:
            for offset in range(length):
                slot_hi, slot_lo = _factor(slots.ints, slots.dds, start + offset, is_int, column)
                group = slots.gids[start + offset] if mode == OF_SLOT else groups[offset]
                _add_to(totals, group, product, *multiply_dd(hi, lo, slot_hi, slot_lo))
                if drifts:
                    weight, turnover = _drift(slots, start + offset, is_int, column)
                    _add_drift(totals.drift, group, product, sign, math.fabs(hi), weight, turnover)


@part
def _factor(ints: Integers, dds: Doubles, row: int, is_int: int, column: int) -> DoubleDouble:
    """A column of a payload as a double-double. Cost: O(1)."""
    if is_int:
        return dd_of_int64(ints[row, column])
    return dds[row, 2 * column], dds[row, 2 * column + 1]


@part
def _drift(slots: Slots, position: int, is_int: int, column: int) -> DoubleDouble:
    """Weight and turnover of a column of a slot; an integer is its own weight, and has no turnover. Cost: O(1)."""
    if is_int:
        return math.fabs(float(slots.ints[position, column])), 0.0
    place = slots.dds.shape[1] // 2 + 2 * column
    return slots.dds[position, place], slots.dds[position, place + 1]


@part
def _add_drift(
    drift: Doubles, group: int, product: int, sign: int, size: float, weight: float, turnover: float
) -> None:
    """Add to a total's drift what an entry of this size does, times slots of that weight and turnover. Cost: O(1)."""
    place = 2 * product
    drift[group, place] += sign * size * weight
    drift[group, place + 1] += math.fabs(drift[group, place]) + size * (math.fabs(weight) + turnover)


@part
def _add_to(totals: TotalArrays, group: int, product: int, hi: float, lo: float) -> None:
    """Add a double-double to a total. Cost: O(1)."""
    dds, largest, place = totals.dds, totals.largest, 2 * product
    dds[group, place], dds[group, place + 1] = add_dd(dds[group, place], dds[group, place + 1], hi, lo)
    largest[product] = max(largest[product], math.fabs(hi), math.fabs(dds[group, place]))
