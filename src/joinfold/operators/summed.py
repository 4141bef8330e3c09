"""IC over order statistics: a range join of sums, without going through what matches.

What an entry adds to the totals is its payload times the sum of the payloads that match it, and these lie in a range of
codes: O(log n) for each group, however many they are. For bounds that a value lies between, the sum is a difference: of
those that begin up to x, without those that end before it.

    low end ≤ x     ├───┤   ├──────┤ ├──x──┤  ├─x─┤          all four
    high end < x    ├───┤   ├──────┤    x       x            the first two
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.order_statistics import OrderStatistics
from joinfold.kernels.range_sums import RangeSums
from joinfold.operators.entries import Entries, Ids, Integers
from joinfold.operators.groups import GroupTotals
from joinfold.operators.layout import FoldLayout
from joinfold.operators.methods.ic import Incremental
from joinfold.operators.pairs import pair_side
from joinfold.operators.probing import KeyIds
from joinfold.operators.ranges import LEAST, MOST
from joinfold.operators.side import Side, side_of
from joinfold.operators.timeline import END
from joinfold.operators.vocabulary import Vocabulary
from joinfold.operators.worth import too_many, worth_of


class Summed:
    """The windows of two inputs: by value for the one, by each bound for the other."""

    def __init__(self, layout: FoldLayout, vocabulary: Vocabulary) -> None:
        assert len(layout.inputs) == 2 and not layout.extremes
        self.layout = layout
        self.vocabulary = vocabulary
        (self.codes,) = vocabulary.ranges
        self.join = self.codes.join
        self.method = Incremental(layout)
        self.keys = KeyIds(len(layout.bucket_classes))
        self.sums = [
            {name: _statistics(layout, place) for name in self._columns(place)} for place in range(len(layout.inputs))
        ]

    @property
    def totals(self) -> GroupTotals:
        """The running sums of all groups."""
        return self.method.totals

    @property
    def is_worn(self) -> bool:
        """Whether a floating sum has become small against what has gone through it."""
        return self.totals.is_worn or any(sums.is_worn for side in self.sums for sums in side.values())

    @property
    def live_entries(self) -> int:
        """How many places in the order have rows."""
        return sum(max(sums.live_entries for sums in side.values()) for side in self.sums)

    @property
    def given(self) -> int:
        """How many ids the table of keys has given."""
        return len(self.keys)

    @property
    def bytes_held(self) -> int:
        """The memory of all sums."""
        return self.method.bytes_held + sum(sums.bytes_held for side in self.sums for sums in side.values())

    def expect(self, place: int, entries: Entries) -> None:
        """Makes places in the order for entries that will enter, for many at once."""
        entries = self._in_order(place, entries)
        key, can = self._key(entries), self._can(place, entries)
        for name, sums in self.sums[place].items():
            sums.place(key[can], entries.group[can], self._codes(name, entries.carried)[can])

    def enter(self, place: int, entries: Entries, leave: int, now: int) -> None:
        """Entries enter their window."""
        entries = self._in_order(place, entries)
        self._multiply(place, entries, 1, now)
        self._update(place, entries, 1)

    def leave(self, place: int, entries: Entries, now: int) -> None:
        """Entries leave their window."""
        entries = self._in_order(place, entries)
        self._multiply(place, entries, -1, now)
        self._update(place, entries, -1)

    def settle(self, now: int) -> None:
        """The totals are where they are."""

    def heads(self, now: int) -> list[tuple[Integers, NDArray[np.bool_]]]:
        """There are no extremes; integers are exact, or refused."""
        if any(sums.largest_magnitude.max() >= MOST for side in self.sums for sums in side.values()):
            raise too_many()
        return []

    def expire(self, now: int) -> None:
        """Nothing is held of what has left."""

    def _in_order(self, place: int, entries: Entries) -> Entries:
        """The entries by key and code: neighbours go through the same nodes, so these are in the cache."""
        codes = self._codes(self._columns(place)[0], entries.carried)
        return entries.part(np.lexsort((codes, self._key(entries))))

    def _columns(self, place: int) -> list[str]:
        """The carried columns by which an input is in order."""
        if place == self.join.value_place:
            return [self.join.value]
        return [bound.column for bound in (self.join.low, self.join.high) if bound is not None]

    def _codes(self, name: str, carried: Ids) -> Integers:
        return self.codes.columns[name].codes[carried]

    def _can(self, place: int, entries: Entries) -> NDArray[np.bool_]:
        return self.codes.index_codes(place, entries.carried)[1]

    def _key(self, entries: Entries) -> Ids:
        return self.keys.of(list(entries.parts.T), len(entries))

    def _update(self, place: int, entries: Entries, sign: int) -> None:
        key, can = self._key(entries), self._can(place, entries)
        for name, sums in self.sums[place].items():
            codes = self._codes(name, entries.carried)[can]
            sums.update(key[can], entries.group[can], codes, entries.integers[can], entries.reals[can], sign)

    def _multiply(self, place: int, entries: Entries, sign: int, now: int) -> None:
        delta = side_of(entries, END)
        for part, found in self._matching(1 - place, entries):
            sides = [delta.take(found.delta), _side(found)]
            sides = sides if place == 0 else sides[::-1]
            pair = pair_side(self.layout, self.vocabulary, {}, len(found.delta))
            worth = worth_of(self.layout, self.totals, [*sides, pair])
            if sign * part > 0:
                self.method.add(worth, now)
            else:
                self.method.subtract(worth)

    def _matching(self, other: int, entries: Entries) -> Iterator[tuple[int, RangeSums]]:
        """The sums of the other input that match the entries, each with a sign."""
        key, join, sums = self._key(entries), self.join, self.sums[other]
        if other == join.value_place or join.low is None or join.high is None:
            low, high, can = self.codes.probe_codes(other, entries.carried)
            (one,) = sums.values()
            for found in _ranges(one, key, low, high, can):
                yield 1, found
            return
        value = self.codes.columns[join.value]
        codes, has = value.codes[entries.carried], value.has[entries.carried]
        for part, bound, until in ((1, join.low, join.low.inclusive), (-1, join.high, not join.high.inclusive)):
            can = has if until else has & (codes > LEAST)
            high = codes if until else codes - (codes > LEAST)
            for found in _ranges(sums[bound.column], key, np.full(len(high), LEAST), high, can):
                yield part, found


def _ranges(
    sums: OrderStatistics, key: Ids, low: Integers, high: Integers, can: NDArray[np.bool_]
) -> Iterator[RangeSums]:
    rows = np.flatnonzero(can)
    for found in sums.ranges(key[rows], low[rows], high[rows]):
        yield RangeSums(rows[found.delta], found.group, found.ints, found.dds, found.weights)


def _side(found: RangeSums) -> Side:
    rows = len(found.delta)
    return Side(
        found.group,
        np.zeros(rows, np.int32),
        np.full(rows, END),
        found.ints,
        found.dds,
        np.repeat(found.weights, 2, axis=1),
        np.zeros((rows, 0), np.int64),
        np.zeros((rows, 0), np.bool_),
    )


def _statistics(layout: FoldLayout, place: int) -> OrderStatistics:
    side = layout.inputs[place]
    return OrderStatistics(len(side.integers) + len(side.reals), len(side.reals))
