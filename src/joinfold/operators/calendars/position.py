"""The position of a bucket: what it has seen of time, what it has answered, and how many rows were late.

It is the small part of a bucket's state that is not entries. It is stored by the names of the streams.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from joinfold.operators.entries import Integers


@dataclass(slots=True)
class StreamPosition:
    """The position of one stream; ``largest`` is its largest event time so far, also of late and filtered rows.

    ``occupied`` are the cells that have had a row, as far as instants still depend on them. ``origin`` is the first
    cell that had a row, under SYNC ON WINDOW ID. For a stream whose rows are numbered, ``numbered`` counts them and
    ``moved`` counts how often its window has moved. ``late`` counts late rows, ``shed`` those that SHED did not hold,
    ``unprobed`` those that SHED did not let probe.
    """

    largest: int | None = None
    occupied: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    origin: int | None = None
    late: int = 0
    shed: int = 0
    unprobed: int = 0
    numbered: int = 0
    moved: int = 0

    def see(self, ts: int) -> None:
        """Adds the largest event time of a batch."""
        self.largest = ts if self.largest is None else max(self.largest, ts)


@dataclass(slots=True)
class Position:
    """The positions of all streams.

    ``answered`` is the watermark up to which answers were given, ``applied`` the last instant, or the number of the
    last result window, that windows were moved to.
    """

    streams: list[StreamPosition]
    answered: int | None = None
    applied: int | None = None

    @classmethod
    def beginning(cls, streams: int) -> "Position":
        """The position before the first row."""
        return cls([StreamPosition() for _ in range(streams)])

    def watermark(self, delays_us: Sequence[int]) -> int | None:
        """The minimum over the streams of ``largest`` minus delay; None until every stream has had a row."""
        pairs = zip(self.streams, delays_us, strict=True)
        behind = [stream.largest - delay for stream, delay in pairs if stream.largest is not None]
        return min(behind) if len(behind) == len(self.streams) else None

    @property
    def latest(self) -> int | None:
        """The largest event time of all streams. A bounded run ON TRIGGER answers 1 µs after it."""
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
            StreamPosition(**stored | {"occupied": np.array(stored["occupied"], np.int64)})
            for stored in (facts["streams"][name] for name in names)
        ]
        return cls(streams, facts["answered"], facts["applied"])
