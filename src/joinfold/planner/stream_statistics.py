"""What is known about the streams of a query: how fast rows come, and how many keys and groups they have.

A number is *declared* by the user, *sampled* from bounded data, *measured* while the query runs, or else *assumed*.
Assumed numbers are the same for every stream, so they cannot favour one stream over another.
"""

from dataclasses import dataclass, replace
from typing import Literal

from joinfold.physical.measured import Measured

Origin = Literal["assumed", "declared", "sampled", "measured"]


@dataclass(frozen=True, slots=True)
class StreamStatistics:
    """One stream, as a query reads it. Keys, groups and entries are counted in one window.

    - ``rate``: rows per second of the stream's own time, before filters.
    - ``passes``: the share of rows that pass the filters.
    - ``entries``: how many different combinations of keys, groups and carried values there are. None if unknown: then
      `cost.windows` takes keys × groups, or no limit if other values are carried.
    - ``skew``: how many rows share the key of an average row, relative to evenly distributed keys. 1 for even keys,
      ``keys`` if all rows have the same key.
    - ``disorder``: the share of rows that come after a row of a later time.
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
        """Rows per second that pass the filters."""
        return self.rate * self.passes


@dataclass(frozen=True, slots=True)
class Statistics:
    """The streams of a query in their order, and the selectivity of its join.

    ``selectivity`` is the share of combinations with equal keys that satisfy all other join conditions: inequalities,
    bands and residual conditions.
    """

    streams: tuple[StreamStatistics, ...]
    selectivity: float = 0.1

    @property
    def is_known(self) -> bool:
        """Whether anything is known that is not assumed."""
        return any(stream.origin != "assumed" for stream in self.streams)

    def with_stream(self, ordinal: int, known: StreamStatistics) -> "Statistics":
        """These statistics with other numbers for one stream."""
        return replace(self, streams=(*self.streams[:ordinal], known, *self.streams[ordinal + 1 :]))


def measured_statistics(measured: Measured) -> Statistics:
    """What a bucket has measured. The selectivity is assumed if the bucket has not measured it."""
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
