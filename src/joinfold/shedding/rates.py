"""Sampling rates by cell: how much of each cell of a stream is held, and which keys are held for certain.

A micro-batch may lower the rate or raise it. Lowering thins all cells at once. Raising holds for new cells only, as
the rows that were shed do not come back. So the rates never fall from older cells to newer ones, and the least rate
that ever applied to a cell is kept in a few *segments*:

    rate 1     ├──────────────────┤                      everything is held
    to 1/4     ├──────────────────┼──────┤               older cells are thinned too
    to 1/2     ├──── 1/4 ────────────────┼── 1/2 ──┤     what was shed stays away

A window that begins in some segment can use no more than the rate of that segment, although newer cells hold more.

A key is *certain* in a segment if none of its rows was shed there. A key that becomes certain at some micro-batch, its
*since*, is certain in the segments whose ``era`` is not earlier: those that began then or later, and those that held
everything until then.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joinfold.physical.shedding import DRAWS, WHOLE

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
BEGINNING = -(2**63)
MOST_SEGMENTS = 256
MANY = 10**9
"""More keys than it matters."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Cells from ``start`` on, up to the next segment. ``era``: keys certain since then, or earlier, are complete."""

    start: int
    rate: int
    era: int


@dataclass(frozen=True, slots=True)
class Sample:
    """What an answer is made of: keys whose draw is below the rate, and those that are certain.

    ``expected`` is the effective number of keys below the rate that it should have, given how many rows each key has.
    """

    rate: int
    certain: frozenset[int] = frozenset()
    expected: int = field(default=MANY, compare=False)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is shed."""
        return self.rate == WHOLE

    def extends(self, other: "Sample") -> bool:
        """Whether this sample has all that another one has, in the same replicates."""
        return self.rate >= other.rate and self.certain == other.certain


EVERYTHING = Sample(WHOLE)


@dataclass(slots=True)
class Rates:
    """The segments of each sampled stream, oldest first, and the certain keys: the micro-batch since which each is."""

    segments: dict[int, list[Segment]]
    certain: dict[int, int] = field(default_factory=dict)

    @classmethod
    def whole(cls, streams: tuple[int, ...]) -> "Rates":
        """The rates of a query that sheds nothing yet."""
        return cls({stream: [Segment(BEGINNING, WHOLE, 0)] for stream in streams})

    @property
    def current(self) -> int:
        """The rate that applies to new cells."""
        return next(iter(self.segments.values()))[-1].rate

    @property
    def is_whole(self) -> bool:
        """Whether every cell holds everything: rates never fall, so the oldest one tells."""
        return all(segments[0].rate == WHOLE for segments in self.segments.values())

    def is_rising(self, first_cells: Mapping[int, int]) -> bool:
        """Whether windows that begin at these cells still hold cells from before the rate was last raised."""
        return any(
            segments[-1].start > first_cells[stream] and segments[-2].rate < segments[-1].rate
            for stream, segments in self.segments.items()
            if len(segments) > 1
        )

    def lower(self, rate: int, batch: int, certain: set[int]) -> None:
        """Thins all cells to at most this rate, except for keys that are certain from now on."""
        self._replace_certain(certain, batch)
        for stream, segments in self.segments.items():
            lowered = [
                Segment(own.start, min(own.rate, rate), batch if own.rate == WHOLE else own.era) for own in segments
            ]
            self.segments[stream] = _without_repetitions(lowered)

    def go_on(self, rate: int, batch: int, certain: set[int], after: Mapping[int, int]) -> None:
        """Lets another rate, or other certain keys, apply to the cells after the last one that each stream has had."""
        assert rate >= self.current
        self._replace_certain(certain, batch)
        for stream, segments in self.segments.items():
            start = after[stream] + 1 if stream in after else BEGINNING
            kept = [own for own in segments if own.start < start]
            self.segments[stream] = _without_repetitions([*kept, Segment(start, rate, batch)])

    def sample(self, first_cells: Mapping[int, int]) -> Sample:
        """The sample of windows that begin at these cells of the sampled streams."""
        oldest = [self._segment(stream, first_cells[stream]) for stream in self.segments]
        rate = min(own.rate for own in oldest)
        if rate == WHOLE:
            return EVERYTHING
        era = min(own.era for own in oldest if own.rate < WHOLE)
        return Sample(rate, frozenset(key for key, since in self.certain.items() if since <= era))

    def holds(self, stream: int, cells: Integers, draws: Integers) -> Flags:
        """True for the entries of a stream that are held."""
        segments = self.segments[stream]
        if segments[0].rate == WHOLE:  # rates never fall, so all are
            return np.ones(len(cells), np.bool_)
        at = np.searchsorted([own.start for own in segments], cells, "right") - 1
        held = draws < np.array([threshold(own.rate) for own in segments])[at]
        if self.certain:
            keys = np.sort(np.fromiter(self.certain, np.int64))
            since = np.array([self.certain[key] for key in keys.tolist()])
            found = np.searchsorted(keys, draws).clip(max=len(keys) - 1)
            eras = np.array([own.era for own in segments])[at]
            held |= (keys[found] == draws) & (since[found] <= eras)
        return held

    def forget(self, first_cells: Mapping[int, int]) -> None:
        """Drops the segments before the cells that are still needed."""
        for stream, segments in self.segments.items():
            del segments[: self._index(stream, first_cells[stream])]

    def facts(self, names: tuple[str, ...]) -> dict[str, Any]:
        """The rates as they are stored, by the names of the streams."""
        return {
            "segments": {
                names[stream]: [[own.start, own.rate, own.era] for own in segments]
                for stream, segments in self.segments.items()
            },
            "certain": sorted(self.certain.items()),
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], names: tuple[str, ...]) -> "Rates":
        """The inverse of `facts`."""
        segments = {
            names.index(name): [Segment(*own) for own in segments] for name, segments in facts["segments"].items()
        }
        return cls(dict(sorted(segments.items())), dict(facts["certain"]))

    def _replace_certain(self, certain: set[int], batch: int) -> None:
        self.certain = {key: self.certain.get(key, batch) for key in sorted(certain)}

    def _segment(self, stream: int, cell: int) -> Segment:
        return self.segments[stream][self._index(stream, cell)]

    def _index(self, stream: int, cell: int) -> int:
        return max(bisect_right(self.segments[stream], cell, key=lambda own: own.start) - 1, 0)


def threshold(rate: int) -> int:
    """The draw below which a key is kept at a rate."""
    return rate * (DRAWS // WHOLE)


def _without_repetitions(segments: list[Segment]) -> list[Segment]:
    """The segments without those that continue the one before; if there are many, every second one does.

    Then the smaller rate of the older one holds for both.
    """
    found: list[Segment] = []
    for own in segments:
        if not found or (own.rate, own.era) != (found[-1].rate, found[-1].era):
            found.append(own)
    return found if len(found) <= MOST_SEGMENTS else [*found[:-1:2], found[-1]]
