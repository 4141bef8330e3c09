"""Summed windows: IC over order statistics. A range of matches is summed without enumerating it.

An entry adds its payload times the sum of the payloads that match it. These lie in a range of codes, so their sum costs
O(log n) for each group, however many they are. Where a value x must lie between two bounds, the sum is a difference:
the bands that begin at or before x, minus those that end before it.

                              x
    band 1     ├────┤         ┊               low end ≤ x    high end < x
    band 2        ├────────┤  ┊               low end ≤ x    high end < x
    band 3            ├───────┼───┤           low end ≤ x                      holds x
    band 4                  ├─┼─────────┤     low end ≤ x                      holds x

Level bands, which have one width, need no difference: those that hold x begin between x − width and x.

                   x − width  x
    band 1    ├───────┤       ┊
    band 2            ┊   ├───┼───┤           x − width ≤ low end ≤ x          holds x
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joinfold.kernels.ranges.order_statistics import OrderStatistics
from joinfold.kernels.ranges.range_sums import RangeSums
from joinfold.operators.calendars.calendar import END
from joinfold.operators.entries import Entries, Flags, Ids, Integers, Payload
from joinfold.operators.methods.ic import Incremental
from joinfold.operators.vocabulary import Vocabulary
from joinfold.operators.wide_totals import too_many
from joinfold.operators.windows.group_totals import GroupTotals
from joinfold.operators.windows.pair import pair_side
from joinfold.operators.windows.pair_values import pair_values
from joinfold.operators.windows.probing import KeyIds
from joinfold.operators.windows.ranges import LEAST, MOST
from joinfold.operators.windows.side import Side
from joinfold.physical.combining import RangeJoin
from joinfold.physical.payload import InputSpec


@dataclass(frozen=True, slots=True)
class Order:
    """Sums of an input in the order of a carried column: of all entries, of ``level`` bands only, or of others only."""

    column: str
    level: bool | None
    sums: OrderStatistics


@dataclass(frozen=True, slots=True)
class Delta:
    """Entries that enter or leave, sorted by key, group and code: neighbours then read the same nodes of the trees.

    ``can`` is false for entries that cannot match anything.
    """

    key: Ids
    group: Ids
    carried: Ids
    can: Flags
    payload: Payload


class SummedWindows:
    """The windows of two inputs: one sorted by values, the other by bounds."""

    def __init__(self, vocabulary: Vocabulary, only_changed: bool, zone: str) -> None:
        self.body = body = vocabulary.body
        assert len(body.inputs) == 2 and not body.extremes
        (self.codes,) = vocabulary.ranges
        self.join = self.codes.join
        self.method = Incremental(body, only_changed)
        self.keys = KeyIds(len(body.bucket_classes))
        self.pair = pair_side(vocabulary, {}, 1, zone)
        self.orders = [
            [Order(column, level, _statistics(spec)) for column, level in _orders_of(self.join, ordinal)]
            for ordinal, spec in enumerate(body.inputs)
        ]

    @property
    def totals(self) -> GroupTotals:
        """The running sums of all groups."""
        return self.method.totals

    @property
    def has_drifted(self) -> bool:
        """Whether the rounding error of a floating sum may be too large; the bucket is then rebuilt."""
        return self.totals.has_drifted or any(sums.has_drifted for sums in self._sums)

    @property
    def may_have_wrapped(self) -> bool:
        """Whether an integer of the totals may have wrapped around."""
        return self.totals.may_have_wrapped

    @property
    def live_entries(self) -> int:
        """How many (key, group, code) have rows. An entry with two bounds is sorted by both, and counts once."""
        return sum(
            order.sums.live_entries for orders in self.orders for order in orders if order.column == orders[0].column
        )

    @property
    def given(self) -> int:
        """How many ids the largest table has, of keys or of combinations of groups."""
        return max(len(self.keys), self.totals.given)

    @property
    def bytes_held(self) -> int:
        """The memory of all sums."""
        return self.method.bytes_held + sum(sums.bytes_held for sums in self._sums)

    @property
    def _sums(self) -> list[OrderStatistics]:
        return [order.sums for orders in self.orders for order in orders]

    def expect(self, ordinal: int, entries: Entries) -> None:
        """Makes room for entries that will enter: in one step for many, which is cheaper."""
        delta = self._delta(ordinal, entries)
        for sums, rows, codes in self._in_orders(ordinal, delta):
            sums.place(delta.key[rows], delta.group[rows], codes)

    def enter(self, ordinal: int, entries: Entries, leaves: Integers, now: int) -> None:
        """Lets entries enter their window."""
        self._change(ordinal, self._delta(ordinal, entries), 1, now)

    def leave(self, ordinal: int, entries: Entries, now: int) -> None:
        """Lets entries leave their window."""
        self._change(ordinal, self._delta(ordinal, entries), -1, now)

    def advance(self, now: int) -> None:
        """Does nothing: the totals are up to date already."""

    def heads(self, now: int) -> list[tuple[Integers, Flags]]:
        """An empty list: there are no extremes. Raises an error first if an integer might have wrapped around."""
        if any(sums.largest_magnitude.max() >= MOST for sums in self._sums):
            raise too_many()
        return []

    def expire(self, now: int) -> None:
        """Does nothing: no memory is held for entries that have left."""

    def _delta(self, ordinal: int, entries: Entries) -> Delta:
        key = self.keys.of(list(entries.parts.T), len(entries))
        codes, can = self.codes.index_codes(ordinal, entries.carried)
        order = _ascending(key, entries.group, codes)
        return Delta(
            key[order],
            entries.group[order],
            entries.carried[order],
            can[order],
            entries.payload.take(order),
        )

    def _in_orders(self, ordinal: int, delta: Delta) -> Iterator[tuple[OrderStatistics, Integers, Integers]]:
        """For each order of the input, the rows of the delta that are in it, and their codes there."""
        for order in self.orders[ordinal]:
            chosen = delta.can
            if order.level is not None:
                chosen = chosen & (self.codes.level[delta.carried] == order.level)
            rows = np.flatnonzero(chosen)
            if len(rows):
                yield order.sums, rows, self.codes.columns[order.column].codes[delta.carried[rows]]

    def _change(self, ordinal: int, delta: Delta, sign: int, now: int) -> None:
        """Changes the totals by what matches the entries, and then the sums of their own window."""
        for part, found in self._matching(1 - ordinal, delta):
            values = pair_values(self.body, self.totals, self._sides(ordinal, delta, found))
            if sign * part > 0:
                self.method.add(values, now)
            else:
                self.method.subtract(values)
        for sums, rows, codes in self._in_orders(ordinal, delta):
            own = delta.payload.take(rows)
            sums.update(delta.key[rows], delta.group[rows], codes, own.ints, own.reals, sign)

    def _sides(self, ordinal: int, delta: Delta, found: RangeSums) -> list[Side]:
        """What is multiplied: the entries, the sums that match them, and the pair, which is one row."""
        delta_side = _side(delta.group[found.delta], delta.payload.take(found.delta))
        drift = np.repeat(found.weights, 2, axis=1)
        nothing = Payload.zeros(len(found.group), 0, 0, 0)
        other = _side(found.group, nothing._replace(ints=found.ints, reals=found.dds, drift=drift))
        return [*([delta_side, other] if ordinal == 0 else [other, delta_side]), _repeated(self.pair, len(found.delta))]

    def _matching(self, other: int, delta: Delta) -> Iterator[tuple[int, RangeSums]]:
        """The sums of the other input that match the entries, each with its sign."""
        join, orders, carried = self.join, self.orders[other], delta.carried
        if len(orders) == 1:
            yield from _ranges(1, orders[0].sums, delta.key, *self.codes.probe_codes(other, carried))
            return
        level, lows, highs = (order.sums for order in orders)
        yield from _ranges(1, level, delta.key, *self.codes.beginnings(carried, self.codes.width))
        value = self.codes.columns[join.value]
        codes, has = value.codes[carried], value.has[carried]
        assert join.low is not None and join.high is not None
        for part, sums, until in ((1, lows, join.low.inclusive), (-1, highs, not join.high.inclusive)):
            can = has if until else has & (codes > LEAST)
            high = codes if until else codes - (codes > LEAST)
            yield from _ranges(part, sums, delta.key, np.full(len(high), LEAST), high, can)


def _orders_of(join: RangeJoin, ordinal: int) -> list[tuple[str, bool | None]]:
    """The columns by which an input is sorted, and whether for level bands (True), others (False) or all (None)."""
    if ordinal == join.value_input:
        return [(join.value, None)]
    if join.low is not None and join.high is not None:
        return [(join.low.column, True), (join.low.column, False), (join.high.column, False)]
    return [(bound.column, None) for bound in (join.low, join.high) if bound is not None]


def _ascending(key: Ids, group: Ids, codes: Integers) -> Integers:
    """The indices that sort entries by key, group and code.

    Sorting numbers takes half the time of sorting indices by them. So key, group, code and the index of the entry are
    packed into one number where they fit.
    """
    if len(codes):
        groups, least, bits = int(group.max()) + 1, int(codes.min()), len(codes).bit_length()
        room = int(codes.max()) - least + 1
        if (int(key.max()) + 1) * groups * room << bits < 2**63:
            numbers = (key.astype(np.int64) * groups + group) * room + (codes - least)
            return np.sort(numbers << bits | np.arange(len(codes))) & ((1 << bits) - 1)
    return np.lexsort((codes, group, key))


def _ranges(
    part: int, sums: OrderStatistics, key: Ids, low: Integers, high: Integers, can: Flags
) -> Iterator[tuple[int, RangeSums]]:
    if not sums.live_entries:
        return
    rows = np.flatnonzero(can)
    for found in sums.ranges(key[rows], low[rows], high[rows]):
        yield part, RangeSums(rows[found.delta], found.group, found.ints, found.dds, found.weights)


def _side(group: Ids, payload: Payload) -> Side:
    return Side(group, np.zeros(len(group), np.int32), np.full(len(group), END), payload)


def _repeated(side: Side, rows: int) -> Side:
    """One row, repeated."""
    columns = (side.group, side.carried, side.leaves)
    group, carried, leaves = (np.broadcast_to(column, rows) for column in columns)
    payload = (None if own is None else np.broadcast_to(own, (rows, *own.shape[1:])) for own in side.payload)
    return Side(group, carried, leaves, Payload(*payload))  # type: ignore[arg-type]


def _statistics(spec: InputSpec) -> OrderStatistics:
    return OrderStatistics(spec.integer_columns, len(spec.reals))
