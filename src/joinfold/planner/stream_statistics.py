"""What is known of the streams of a query: how fast their rows come, how many keys and groups these have.

A number is *declared* by the user, *sampled* from bounded data, *measured* while the query runs, or else *assumed*: the
same for every stream, so that nothing is decided by it that could not be decided without.
"""

from dataclasses import dataclass, replace
from typing import Literal

from joinfold.physical.measured import Measured

Origin = Literal["assumed", "declared", "sampled", "measured"]


@dataclass(frozen=True, slots=True)
class StreamStatistics:
    """One stream, as a query reads it: keys, groups and entries are those of its window.

    ``rate`` is in rows for a second of the stream's own time, all rows, of which the share ``passes`` goes through the
    filters. ``entries`` counts the different combinations of keys, groups and carried values; as many as keys × groups
    where nobody knows. ``skew`` is how many times as many rows share the key of a row as if keys were even: 1 for even
    keys, ``keys`` where all rows have one. ``disorder`` is the share of rows that come after one of a later time.
    """

    rate: float = 1_000.0
    keys: float = 1_000.0
    groups: float = 100.0
    entries: float | None = None
    passes: float = 1.0
    skew: float = 1.0
    disorder: float = 0.0
    origin: Origin = "assumed"

    def __post_init__(self) -> None:
        assert self.rate >= 0 and min(self.keys, self.groups, self.skew) >= 1
        assert 0 <= self.passes <= 1 and 0 <= self.disorder <= 1

    @property
    def passing_rate(self) -> float:
        """Rows for a second that go through the filters."""
        return self.rate * self.passes


@dataclass(frozen=True, slots=True)
class Statistics:
    """The streams of a query in their order, and the share of combinations with equal keys that conditions let through.

    ``selectivity`` is about all that joins besides equal keys: inequalities, bands, conditions.
    """

    streams: tuple[StreamStatistics, ...]
    selectivity: float = 0.1

    @property
    def is_known(self) -> bool:
        """Whether anything is more than assumed."""
        return any(stream.origin != "assumed" for stream in self.streams)

    def with_stream(self, ordinal: int, known: StreamStatistics) -> "Statistics":
        """With other numbers for a stream."""
        return replace(self, streams=(*self.streams[:ordinal], known, *self.streams[ordinal + 1 :]))


def measured_statistics(measured: Measured) -> Statistics:
    """What a bucket has measured; what it could not count is as assumed."""
    streams = tuple(
        StreamStatistics(
            known.rate,
            known.keys,
            known.groups,
            max(known.entries, known.keys, known.groups),
            known.passes,
            known.skew,
            known.disorder,
            origin="measured",
        )
        for known in measured.streams
    )
    return Statistics(streams) if measured.selectivity is None else Statistics(streams, measured.selectivity)
