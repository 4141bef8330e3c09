"""Fused windows of more than two inputs: a delta times the slots, with its key, of all other inputs but the last.

An input without groups has one slot per key, so the delta does not get more rows. The product of a column of the delta
with columns of these inputs is one column of the result. Products that differ only in the last input share it. Wide
totals also need these products in double-double, since integers wrap around.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joinfold.kernels.aggregation_set import AggregationSet
from joinfold.kernels.slabs import LENGTH, START
from joinfold.numbers import double_double as dd
from joinfold.operators.entries import Doubles, Entries, Ids, Integers
from joinfold.operators.wide_totals import WHOLE
from joinfold.operators.windows.group_totals import GroupTotals


@dataclass(frozen=True, slots=True)
class Multiplied:
    """The delta that is multiplied with the last input; ``columns`` has, for each product, its column here.

    ``real_columns`` int64[reals, 2] has the same of each real product, in the format of the kernels.
    """

    key: Ids
    group: Ids
    integers: Integers
    columns: Integers
    reals: Doubles
    real_columns: Integers


def multiplied(
    entries: Entries,
    products: Integers,
    ordinal: int,
    others: Sequence[tuple[int, AggregationSet, bool]],
    totals: GroupTotals,
) -> Multiplied:
    """Entries times all other inputs but the last; ``others`` has the ordinal, the set and whether it is grouped.

    products int64[P, inputs]. The real products of ``totals`` are products of integers: there are others only with two
    inputs. ``totals`` learns whether an integer has wrapped around. At most one of the delta and the others is grouped.
    Cost: O(P) for each combination of slots.
    """
    rows, group = np.arange(len(entries)), entries.group
    slots: list[tuple[int, Integers, Integers]] = []
    for other, window, is_grouped in others:
        slabs = window.slots.slabs
        key = entries.key[rows]
        known = key < len(slabs)
        lengths = np.where(known, slabs[np.where(known, key, 0), LENGTH], 0) if len(slabs) else np.zeros(len(key), int)
        starts = slabs[key[lengths > 0], START]
        chosen = np.repeat(np.arange(len(rows)), lengths)
        first = np.repeat(np.cumsum(lengths) - lengths, lengths)
        positions = np.repeat(starts, lengths[lengths > 0]) + np.arange(len(chosen)) - first
        rows, group = rows[chosen], group[chosen]
        group = window.slots.gids[positions] if is_grouped else group
        slots = [(earlier, ints, at[chosen]) for earlier, ints, at in slots]
        slots.append((other, window.slots.ints, positions))
    begun = products[:, [ordinal, *(other for other, _, _ in slots)]]
    distinct, columns = np.unique(begun, axis=0, return_inverse=True)
    integers = np.empty((len(rows), len(distinct)), np.int64)
    for number, (delta_column, *factors) in enumerate(distinct.tolist()):
        column = entries.payload.ints[rows, delta_column]
        size = np.abs(column.astype(np.float64))
        for factor, (_, ints, positions) in zip(factors, slots, strict=True):
            found = ints[positions, factor]
            column, size = column * found, size * np.abs(found.astype(np.float64))
        totals.may_have_wrapped |= not totals.is_wide and bool(size.max(initial=0.0) >= WHOLE)
        integers[:, number] = column
    sizes = _real_products(entries.payload.ints[rows], totals, ordinal, slots)
    return Multiplied(entries.key[rows], group, integers, columns.reshape(-1), *sizes)


def _real_products(
    delta: Integers, totals: GroupTotals, ordinal: int, slots: Sequence[tuple[int, Integers, Integers]]
) -> tuple[Doubles, Integers]:
    """The distinct factors of real products so far, float64[rows, 2·factors], and which of them each product has."""
    wanted = [
        (refs[ordinal].index, *(refs[other].index for other, _, _ in slots)) for refs in totals.body.real_products
    ]
    distinct = sorted(set(wanted))
    reals = np.empty((len(delta), 2 * len(distinct)))
    for number, (own, *factors) in enumerate(distinct):
        product = dd.from_int64(delta[:, own])
        for factor, (_, ints, positions) in zip(factors, slots, strict=True):
            product = dd.multiply(product, dd.from_int64(ints[positions, factor]))
        reals[:, 2 * number], reals[:, 2 * number + 1] = product
    is_integer = np.zeros(len(wanted), np.int64)
    return reals, np.stack([is_integer, np.array([distinct.index(own) for own in wanted], np.int64)], axis=1)
