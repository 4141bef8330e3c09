"""Where a bucket stands: what it has seen of time, what it has answered, how many rows were late.

It is the small part of a bucket's state that is not entries. It is kept by the names of streams.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from joinfold.operators.entries import Integers


@dataclass(slots=True)
class StreamPosition:
    """One stream: its largest event time so far, late rows and rows that filters remove included.

    ``occupied`` are the cells that have had a row, as far as instants still depend on them; by window ids ``origin`` is
    the first. Of streams whose rows are numbered, how many are and how often the window has moved.
    """

    largest: int | None = None
    occupied: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    origin: int | None = None
    late: int = 0
    numbered: int = 0
    moved: int = 0

    def see(self, ts: int) -> None:
        """Takes in the largest event time of some rows."""
        self.largest = ts if self.largest is None else max(self.largest, ts)


@dataclass(slots=True)
class Position:
    """All streams, the watermark up to which answers were given, and the last instant that was applied."""

    streams: list[StreamPosition]
    answered: int | None = None
    applied: int | None = None

    @classmethod
    def beginning(cls, streams: int) -> "Position":
        """Before the first row."""
        return cls([StreamPosition() for _ in range(streams)])

    def watermark(self, delays_us: Sequence[int]) -> int | None:
        """The least, over the streams, of largest time − delay; None until every stream has had a row."""
        pairs = zip(self.streams, delays_us, strict=True)
        behind = [stream.largest - delay for stream, delay in pairs if stream.largest is not None]
        return min(behind) if len(behind) == len(self.streams) else None

    @property
    def latest(self) -> int | None:
        """The largest event time of all: a bounded run ON TRIGGER answers 1 µs after it."""
        return max((stream.largest for stream in self.streams if stream.largest is not None), default=None)

    def facts(self, names: Sequence[str]) -> dict[str, Any]:
        """The position as it is stored."""
        streams = {
            name: asdict(stream) | {"occupied": stream.occupied.tolist()}
            for name, stream in zip(names, self.streams, strict=True)
        }
        return {"streams": streams, "answered": self.answered, "applied": self.applied}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], names: Sequence[str]) -> "Position":
        """The inverse of `facts`."""
        streams = [
            StreamPosition(**known | {"occupied": np.array(known["occupied"], np.int64)})
            for known in (facts["streams"][name] for name in names)
        ]
        return cls(streams, facts["answered"], facts["applied"])
