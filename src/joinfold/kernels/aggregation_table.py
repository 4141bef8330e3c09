"""An aggregation set as a table: a row of places for every key, one for every group.

Key and group say where a payload is; `aggregation_set` has to look for it in a slab. An entry is multiplied with the
whole row of its key, which processors do many places at a time::

    key 0    count  │ 2 │ 0 │ 1 │ 1 │      key 1    count  │ 0 │ 0 │ 4 │ 0 │      groups 0 to 3
             sum    │ 7 │ 0 │ 9 │ 5 │               sum    │ 0 │ 0 │ 3 │ 0 │

That is quicker while a good part of the places is in use, and then it takes about the same memory. A key with few
groups costs as much as one with all of them, so rows are kept short. There are no double-doubles.
"""

import numpy as np

from joinfold.kernels.aggregation_set import AggregationSet
from joinfold.kernels.compiling import Bytes, Doubles, Ids, Integers, count_of_ids, kernel, readable, readable_ids
from joinfold.kernels.totals import OF_ALL, OF_DELTA, OF_SLOT, Totals
from joinfold.kernels.wrapping import added

FULL = 3  # a table is made where it has at most so many places for each one in use
EMPTY = 8  # a table is given up where it has more places than this for each one in use,
SMALL = 64  # unless it has no more places than these in all
LONGEST = 512  # the most places in a row


class AggregationTable:
    """Payloads of integers by (key id, group id), for ids below limits; see ``AggregationSet`` for the rest."""

    def __init__(self, int_columns: int, keys: int, groups: int) -> None:
        self.ints = np.zeros((keys, int_columns, groups), np.int64)
        self.largest_magnitude = np.zeros(int_columns, np.int64)
        self._live = np.zeros(1, np.int64)

    @property
    def live_entries(self) -> int:
        """How many (key, group) have rows."""
        return int(self._live[0])

    @property
    def bytes_held(self) -> int:
        """The memory of the table."""
        return self.ints.nbytes

    def cover(self, keys: int, groups: int) -> None:
        """Have places for so many keys and groups. Cost: O(1), seldom O(places): both grow by half at least."""
        rows, columns, width = self.ints.shape
        if keys > rows or groups > width:
            grown = np.zeros((_grown(rows, keys), columns, _grown(width, groups)), np.int64)
            grown[:rows, :, :width] = self.ints
            self.ints = grown

    def update(self, kid: Ids, gid: Ids, ints: Integers, dds: Doubles, sign: int) -> None:
        """Add (sign 1) or subtract (−1) payloads: kid, gid int32[n], ints int64[n, I]. Cost: O(I) for each entry."""
        kid, gid = readable_ids(kid), readable_ids(gid)
        rows, columns, width = self.ints.shape
        assert sign in (1, -1) and ints.shape == (len(kid), columns) and not dds.shape[1]
        assert count_of_ids(kid) <= rows and count_of_ids(gid) <= width, "places are made before entries come"
        _update(kid, gid, readable(ints, np.int64), sign, self.ints, self._live, self.largest_magnitude)

    def members(self) -> tuple[Ids, Ids, Integers]:
        """All that have rows: kid, gid int32[live] and their payloads int64[live, I]. Cost: O(places)."""
        kid, gid = np.nonzero(self.ints[:, 0, :])
        return kid.astype(np.int32), gid.astype(np.int32), self.ints[kid, :, gid]


def _grown(size: int, wanted: int) -> int:
    return max(wanted, size + size // 2) if wanted > size else size


Aggregated = AggregationSet | AggregationTable


def laid_out(held: Aggregated, keys: int, groups: int) -> Aggregated:
    """The same payloads, for so many keys and groups: as a table if a good part of its places is in use, else as a set.

    Cost: O(1), seldom O(places): more than half of the payloads have to go before a table becomes a set again.
    """
    places, live = keys * groups, held.live_entries
    if isinstance(held, AggregationSet):
        if not 0 < places <= FULL * live or groups > LONGEST:
            return held
        return _moved(held, AggregationTable(held.slots.ints.shape[1], keys, groups))
    if places > max(SMALL, EMPTY * live) or groups > LONGEST:
        return _moved(held, AggregationSet(held.ints.shape[1], 0))
    held.cover(keys, groups)
    return held


def _moved(held: Aggregated, empty: Aggregated) -> Aggregated:
    kid, gid, ints = held.members()
    empty.update(kid, gid, ints, np.zeros((len(kid), 0)), 1)
    np.maximum(empty.largest_magnitude, held.largest_magnitude, out=empty.largest_magnitude)
    return empty


def add_products(
    kid: Ids,
    gid: Ids,
    ints: Integers,
    sign: int,
    other: AggregationTable,
    mode: int,
    products: Integers,
    totals: Totals,
) -> None:
    """What ``products.add_products`` does, with a table and without double-doubles or pairs of groups.

    Cost: O(P) for each place in the row of a key.
    """
    assert sign in (1, -1) and mode in (OF_DELTA, OF_SLOT, OF_ALL)
    assert totals.room_ints.shape[1] == len(products) and not totals.room_dds.shape[1]
    kid, gid, ints = readable_ids(kid), readable_ids(gid), readable(ints, np.int64)
    products = readable(products, np.int64)
    width = other.ints.shape[2]
    if mode == OF_SLOT:
        totals.cover(width)
        scratch = np.zeros((len(products), width), np.int64)
        _add_rows(kid, ints, sign, other.ints, products, totals.room_ints, totals.room_touched, scratch)
        return
    assert width == 1, "only the delta has groups"
    totals.cover(count_of_ids(gid) if mode == OF_DELTA else 1)
    group_step = 1 if mode == OF_DELTA else 0
    _add_places(kid, gid, ints, sign, other.ints, products, totals.room_ints, totals.room_touched, group_step)


@kernel
def _update(
    kid: Ids, gid: Ids, ints: Integers, sign: int, table: Integers, live: Integers, largest_magnitude: Integers
) -> None:
    """Add sign times the payloads int64[n, I] to a table int64[K, I, G]; live int64[1]. Cost: O(I) for each entry."""
    for entry in range(kid.size):
        key, group = kid[entry], gid[entry]
        had_rows = table[key, 0, group] != 0
        for column in range(ints.shape[1]):
            table[key, column, group], magnitude = added(table[key, column, group], ints[entry, column], sign)
            largest_magnitude[column] = max(largest_magnitude[column], magnitude)
        has_rows = table[key, 0, group] != 0
        live[0] += has_rows - had_rows
        if not has_rows:
            for column in range(1, ints.shape[1]):
                table[key, column, group] = 0


@kernel
def _add_rows(
    kid: Ids,
    ints: Integers,
    sign: int,
    table: Integers,
    products: Integers,
    totals: Integers,
    touched: Bytes,
    scratch: Integers,
) -> None:
    """Add entries times the rows of their keys to the totals int64[G, P] of the places' groups, and mark the groups.

    Sums are collected in scratch int64[P, G] of zeros, where they lie side by side like the places. Cost: O(P·G) for
    each entry.
    """
    for entry in range(kid.size):
        key = kid[entry]
        if key >= table.shape[0]:
            continue
        for product in range(products.shape[0]):
            factor = sign * ints[entry, products[product, 0]]
            row, sums = table[key, products[product, 1]], scratch[product]
            for group in range(row.size):
                sums[group] += factor * row[group]
    for group in range(scratch.shape[1]):
        for product in range(scratch.shape[0]):
            if scratch[product, group] != 0:
                totals[group, product] += scratch[product, group]
                touched[group] = 1


@kernel
def _add_places(
    kid: Ids,
    gid: Ids,
    ints: Integers,
    sign: int,
    table: Integers,
    products: Integers,
    totals: Integers,
    touched: Bytes,
    group_step: int,
) -> None:
    """Add entries times the one place of their keys to the totals of their groups, or with step 0 of group 0.

    Table int64[K, I, 1]. Cost: O(P) for each entry.
    """
    for entry in range(kid.size):
        key, group = kid[entry], gid[entry] * group_step
        if key >= table.shape[0] or table[key, 0, 0] == 0:
            continue
        for product in range(products.shape[0]):
            totals[group, product] += sign * ints[entry, products[product, 0]] * table[key, products[product, 1], 0]
        touched[group] = 1
