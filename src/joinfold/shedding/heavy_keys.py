"""Heavy keys: those with the most rows lately, counted over all rows, whether they are shed or not.

A sample of keys estimates badly if one key has a large part of the rows: it is missing, or it counts several times. So
the heaviest keys are kept for certain. If a sample keeps m keys, a key weighs as much as the rest of the sample does
when it has 1/m of the rows; it is heavy when it has half of that.

A key is known by its draw. PACK counts the heaviest keys of every batch, and tells the smallest draws: k draws that are
below d mean about k/d keys. Here the counts of one to two windows are added up. Counts are whole numbers, and equal
counts are ordered by draw, so every bucket finds the same keys.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from joinfold.physical.shedding import DRAWS

MOST_CERTAIN = 256
REMEMBERED = 2 * MOST_CERTAIN
SMALLEST = 64
MOST_ROOM = 0.75  # the part of what can be held that certain keys may take
HEAVY = 3  # a heavy key has at least so many times the rows of an average key
STAYS = 2  # a key that is certain stays so with half the rows that it takes to become so: the choice seldom changes

Counted = tuple[int, int, int]  # the draw of a key, its rows and its entries


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

    def chosen(self, certain: set[int], share: float) -> set[int]:
        """The keys to keep for certain from now on if this share of all entries can be held.

        ``certain`` are those so far. They get at most three quarters of what can be held.
        """
        least = self.rows / max(min(2 * share, 1 / HEAVY) * self.keys, 1)
        found, room = set[int](), MOST_ROOM * share * self.entries
        for draw in self._by_weight()[:MOST_CERTAIN]:
            rows, entries = self.counts[draw]
            if rows * (STAYS if draw in certain else 1) >= least and entries <= room:
                found.add(draw)
                room -= entries
        return found

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
        return sorted(self.counts, key=lambda draw: (-self.counts[draw][0], draw))
