"""What a bucket has measured of its streams, as a record that it hands up."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamFigures:
    """One stream, lately: rows per second of its time, the share that passes, what is different in a window.

    ``skew`` is how many times as many pairs of rows have one key as if keys were even.
    """

    rate: float
    passes: float
    keys: float
    groups: float
    entries: float
    skew: float
    disorder: float


@dataclass(frozen=True, slots=True)
class Measured:
    """All streams, and the share of combinations with equal keys that conditions let through.

    The share is None where it was not counted yet, or cannot be; it is 1 where keys alone decide.
    """

    streams: tuple[StreamFigures, ...]
    selectivity: float | None
