"""What a bucket has observed of all streams lately: about one window of rows, from the headers of all micro-batches.

    time       ├──────┼───┼────┼──┼──┼─┤      one part per micro-batch; older neighbours are merged
                  ├────────────────────┤      a window: parts before it are dropped

Every bucket gets all headers, so all buckets observe the same. It is kept in memory only, and starts anew after a
restart.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from math import expm1
from typing import assert_never

from joinfold.kernels.sketch import BINS, distinct
from joinfold.operators.packing.sample_statistics import SampleStatistics
from joinfold.physical.measured import StreamFigures
from joinfold.window import Continuous, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window

MOST_PARTS = 32
SECOND_US = 1_000_000

Seen = tuple[int, int, int, SampleStatistics | None]  # stream, rows, largest time and sample statistics of a batch


@dataclass(frozen=True, slots=True)
class Part:
    """Some micro-batches of a stream: rows, by how much they moved its largest time, that time, sample statistics."""

    rows: int
    covered_us: int
    largest_us: int
    seen: SampleStatistics | None

    def together(self, later: "Part") -> "Part":
        """This part and the one after it as one part."""
        samples = [sample for sample in (self.seen, later.seen) if sample is not None]
        seen = samples[0].together(samples[1]) if len(samples) == 2 else next(iter(samples), None)
        largest_us = max(self.largest_us, later.largest_us)
        return Part(self.rows + later.rows, self.covered_us + later.covered_us, largest_us, seen)


class Observed:
    """The parts of each stream, oldest first."""

    def __init__(self, windows: tuple[Window, ...]) -> None:
        self.windows = windows
        self.parts: list[list[Part]] = [[] for _ in windows]
        self.batches = [0] * len(windows)

    def see(self, batches: Iterable[Seen]) -> None:
        """Adds the headers of a micro-batch."""
        new: dict[int, Part] = {}
        for stream, rows, largest_us, sample in batches:
            part = Part(rows, 0, largest_us, sample)
            new[stream] = new[stream].together(part) if stream in new else part
        for stream, part in new.items():
            parts = self.parts[stream]
            self.batches[stream] += 1
            if parts:
                largest_us = max(part.largest_us, parts[-1].largest_us)
                part = replace(part, covered_us=largest_us - parts[-1].largest_us, largest_us=largest_us)
            else:  # the time that the first rows cover is not known
                part = replace(part, rows=0)
            parts.append(part)
            while len(parts) > 1 and self._is_full(stream, parts[1:]):
                del parts[0]
            if len(parts) > MOST_PARTS:
                self.parts[stream] = _halved(parts)

    def figures(self, stream: int) -> StreamFigures | None:
        """What is known of a stream; None before its second micro-batch, and while none was sampled."""
        if self.batches[stream] < 2:
            return None
        lately = reduce(Part.together, self.parts[stream])
        seen, covered_us = lately.seen, lately.covered_us
        if seen is None or not covered_us:
            return None
        # of all batches, also those that were not sampled
        entries = seen.entries * max(lately.rows / max(seen.read, 1), 1.0)
        keys, groups, identities = (_in_all(distinct(sketch), seen.looked, entries) for sketch in seen.sketches)
        by_chance = 1 / BINS
        alike = (seen.alike / seen.compared - by_chance) / (1 - by_chance) if seen.compared else 0.0
        return StreamFigures(
            rate=lately.rows * SECOND_US / covered_us * (seen.rows / max(seen.read, 1)),
            passes=seen.passing / seen.rows,
            keys=keys,
            groups=groups,
            entries=identities,
            skew=min(max(keys * alike, 1.0), keys),
            disorder=seen.disordered / seen.timed,
        )

    def _is_full(self, stream: int, parts: list[Part]) -> bool:
        """Whether parts cover a window. Windows that never end are never covered."""
        window = self.windows[stream]
        match window:
            case Sliding() | Continuous() | RangeByRows():
                return sum(part.covered_us for part in parts) >= window.size_us
            case Rows():
                return sum(part.rows for part in parts) >= window.size
            case Landmark() | PartitionedRows():
                return False
            case _:
                assert_never(window)


def _halved(parts: list[Part]) -> list[Part]:
    """The parts, each two neighbours merged; an odd last part stays as it is."""
    found = [first.together(second) for first, second in zip(parts[::2], parts[1::2], strict=False)]
    return found + parts[len(found) * 2 :]


def _in_all(seen: float, looked: int, entries: float) -> float:
    """The number of different values in all entries, from the number ``seen`` in the ``looked`` ones.

    It assumes that all values are equally likely: of D values, n entries have D(1 − exp(−n/D)) different ones. D is
    found by bisection. Where nearly all entries that were looked at are different, D cannot be found, and all entries
    are assumed to be different.
    """
    seen = min(max(seen, 1.0), max(looked, 1))
    if looked >= entries:
        return seen
    if seen >= 0.95 * looked:
        return max(seen, entries)
    low, high = seen, 1e12
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if _expected(middle, looked) < seen else (low, middle)
    return max(_expected(low, entries), seen)


def _expected(values: float, entries: float) -> float:
    return -values * expm1(-entries / values)
