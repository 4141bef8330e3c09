"""Fused windows of more than two inputs: a delta times the slots, with its key, of all other inputs but the last.

An input without groups has one slot per key, so the delta does not get more rows. The product of a column of the delta
with columns of these inputs is one column of the result. Products that differ only in the last input share it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joinfold.kernels.aggregation_set import AggregationSet
from joinfold.kernels.slabs import LENGTH, START
from joinfold.operators.entries import Entries, Ids, Integers
from joinfold.operators.windows.pair_values import WHOLE, too_many


@dataclass(frozen=True, slots=True)
class Multiplied:
    """The delta that is multiplied with the last input; ``columns`` has, for each product, its column here."""

    key: Ids
    group: Ids
    integers: Integers
    columns: Integers


def multiplied(
    entries: Entries, products: Integers, ordinal: int, others: Sequence[tuple[int, AggregationSet, bool]]
) -> Multiplied:
    """Entries times all other inputs but the last; ``others`` has the ordinal, the set and whether it is grouped.

    products int64[P, inputs]. At most one of the delta and the others is grouped. Cost: O(P) for each combination of
    slots.
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
        if size.max(initial=0.0) >= WHOLE:
            raise too_many()
        integers[:, number] = column
    return Multiplied(entries.key[rows], group, integers, columns.reshape(-1))
