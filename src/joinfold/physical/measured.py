"""What a bucket has measured about its streams."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamFigures:
    """One stream over about the last window. The numbers mean the same as in `StreamStatistics`."""

    rate: float
    passes: float
    keys: float
    groups: float
    entries: float
    skew: float
    disorder: float


@dataclass(frozen=True, slots=True)
class Measured:
    """All streams, and the share of combinations with equal keys that satisfy all other conditions.

    ``selectivity`` is None if it is not counted yet, or cannot be counted. It is 1 if there are no other conditions.
    """

    streams: tuple[StreamFigures, ...]
    selectivity: float | None
