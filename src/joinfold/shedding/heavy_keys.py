"""Heavy keys: those with the most rows lately, counted over all rows, whether they are shed or not.

A sample of keys estimates badly if one key has a large part of the rows: it is missing, or it counts several times. So
the heaviest keys are kept for certain. They take room from the others, of which a smaller part p can be kept. So many
keys are certain that the sample of the others has enough keys for bounds, and that its error is smallest.

A key is known by its draw. PACK counts the heaviest keys of every batch, and tells the smallest draws: k draws that are
below d mean about k/d keys. Here the counts of one to two windows are added up. Counts are whole numbers, and equal
counts have a fixed order, so every bucket finds the same keys. This order must not be that of the draws: otherwise more
of the keys that are in the sample would be certain than of those that are not, and estimates would be too low.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from joinfold.physical.shedding import DRAWS

MOST_CERTAIN = 256
REMEMBERED = 2 * MOST_CERTAIN
SMALLEST = 64
MOST_ROOM = 0.75  # the part of what can be held that certain keys may take
PLENTY = 75.0  # keys in a sample: enough for all bounds
STAYS = 4  # the rows of a key that is certain count so many times: the choice seldom changes
MULTIPLIER = 0x9E3779B97F4A7C15  # Knuth: 2^64 divided by the golden ratio, and odd

Counted = tuple[int, int, int]  # the draw of a key, its rows and its entries


def tie_break(draw: int) -> int:
    """The place of a key among those with equal counts: a permutation of the draws that has nothing to do with them."""
    return draw * MULTIPLIER % 2**64


@dataclass(slots=True)
class HeavyKeys:
    """Rows and entries of the heaviest keys, and of all keys, since counts were last halved.

    ``smallest`` are the smallest draws since then, ``smallest_before`` those of the time before.
    """

    counts: dict[int, tuple[int, int]] = field(default_factory=dict)
    rows: int = 0
    entries: int = 0
    smallest: list[int] = field(default_factory=list)
    smallest_before: list[int] = field(default_factory=list)

    def see(self, counted: Iterable[Counted], smallest: Iterable[int], rows: int, entries: int, live_rows: int) -> None:
        """Adds the heaviest keys of a micro-batch. Halves all counts when they cover more than two windows of rows."""
        for draw, own_rows, own_entries in counted:
            before = self.counts.get(draw, (0, 0))
            self.counts[draw] = before[0] + own_rows, before[1] + own_entries
        self.smallest = sorted({*self.smallest, *smallest})[:SMALLEST]
        self.rows, self.entries = self.rows + rows, self.entries + entries
        if self.rows > 2 * max(live_rows, 1):
            self.counts = {draw: (own[0] // 2, own[1] // 2) for draw, own in self.counts.items() if own[0] > 1}
            self.rows, self.entries = self.rows // 2, self.entries // 2
            self.smallest_before, self.smallest = self.smallest, []
        if len(self.counts) > REMEMBERED:
            self.counts = {draw: self.counts[draw] for draw in self._by_weight()[:REMEMBERED]}

    @property
    def keys(self) -> float:
        """About how many different keys there are."""
        smallest = sorted({*self.smallest, *self.smallest_before})[:SMALLEST]
        if len(smallest) < SMALLEST:
            return float(len(smallest))
        return (SMALLEST - 1) * DRAWS / smallest[-1]

    def chosen(self, certain: Collection[int], share: float, streams: int, live_rows: int) -> set[int]:
        """The keys to keep for certain from now on if this share of all entries can be held.

        ``certain`` are those so far; they stay if they can. For the other arguments see `effective_number`.
        """
        weights = {draw: rows * (STAYS if draw in certain else 1) for draw, (rows, _) in self.counts.items()}
        by_weight = sorted(weights, key=lambda draw: (-weights[draw], tie_break(draw)))
        means, entries, room = self._means(streams, live_rows), float(self.entries), share * self.entries
        rest, most_taken = self._sums(means.values(), streams, live_rows), MOST_ROOM * room
        fitting, found, best = list[int](), 0, rest.rank(room / entries) if entries else (0.0, 0.0)
        for draw in by_weight[:MOST_CERTAIN]:
            own = self.counts[draw][1]
            if own <= most_taken:
                fitting.append(draw)
                most_taken, room, entries = most_taken - own, room - own, entries - own
                rest = rest.without(means[draw], streams)
                rank = rest.rank(room / entries)
                if rank > best:
                    found, best = len(fitting), rank
        return set(fitting[:found])

    def effective_number(self, without: Collection[int], streams: int, live_rows: int) -> float:
        """The effective number of all other keys, (Σx)²/Σx², if a key adds the product of its rows in some streams.

        The windows have so many live rows. A key has its share of them, the same in every stream, or as many as chance
        gives it (Poisson). Keys that are not counted are taken to be alike.
        """
        means = self._means(streams, live_rows)
        rest = self._sums((mean for draw, mean in means.items() if draw not in without), streams, live_rows)
        return rest.number

    def _means(self, streams: int, live_rows: int) -> dict[int, float]:
        """The rows that each counted key has in the window of a stream."""
        scale = live_rows / self.rows / streams if self.rows else 0.0
        return {draw: rows * scale for draw, (rows, _) in self.counts.items()}

    def _sums(self, means: Iterable[float], streams: int, live_rows: int) -> "_Sums":
        """The sums over counted keys with these means, and over all keys that are not counted."""
        others = max(self.keys - len(self.counts), 0.0)
        rows = max(self.rows - sum(rows for rows, _ in self.counts.values()), 0)
        mean = rows / others * live_rows / self.rows / streams if others and self.rows else 0.0
        known = [_Sums.of(own, streams) for own in sorted(means)]  # in order, so that every bucket rounds alike
        rest = _Sums.of(mean, streams)
        return _Sums(
            sum(own.total for own in known) + others * rest.total,
            sum(own.squares for own in known) + others * rest.squares,
        )

    def share(self, keys: Iterable[int]) -> float:
        """The share of all entries that these keys have."""
        if not self.entries:
            return 0.0
        return min(sum(self.counts.get(draw, (0, 0))[1] for draw in keys) / self.entries, 1.0)

    def facts(self) -> dict[str, Any]:
        """The counts as they are stored."""
        return {
            "counts": [[draw, *self.counts[draw]] for draw in self._by_weight()],
            "rows": self.rows,
            "entries": self.entries,
            "smallest": self.smallest,
            "smallest_before": self.smallest_before,
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "HeavyKeys":
        """The inverse of `facts`."""
        return cls(**{**facts, "counts": {draw: (rows, entries) for draw, rows, entries in facts["counts"]}})

    def _by_weight(self) -> list[int]:
        """The draws of all counted keys, heaviest first."""
        return sorted(self.counts, key=lambda draw: (-self.counts[draw][0], tie_break(draw)))


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums over keys of what each adds to an answer, and of its square, as expected."""

    total: float
    squares: float

    @classmethod
    def of(cls, mean: float, streams: int) -> "_Sums":
        """Of a key whose rows in each stream have this mean, and are distributed by chance."""
        return cls(mean**streams, (mean * mean + mean) ** streams)

    def without(self, mean: float, streams: int) -> "_Sums":
        """The sums without such a key."""
        own = _Sums.of(mean, streams)
        return _Sums(max(self.total - own.total, 0.0), max(self.squares - own.squares, 0.0))

    @property
    def number(self) -> float:
        """The effective number of keys."""
        return self.total**2 / self.squares if self.squares else 0.0

    def rank(self, rate: float) -> tuple[float, float]:
        """How good a sample of these keys at a rate is: how many it has, until they are plenty; then, its error.

        The variance of an estimate is (1 − p)/p · Σx².
        """
        if rate <= 0:
            return 0.0, -math.inf
        return min(rate * self.number, PLENTY), -(1 - rate) / rate * self.squares
