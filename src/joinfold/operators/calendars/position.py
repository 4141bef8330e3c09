"""The position of a bucket: what it has seen of time, what it has answered, and how many rows were late.

It is the small part of a bucket's state that is not entries. It is stored by the names of the streams.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from joinfold.operators.entries import Integers


@dataclass(slots=True)
class StreamPosition:
    """The position of one stream; ``largest`` is its largest event time so far, also of late and filtered rows.

    ``occupied`` are the cells that have had a row, as far as instants still depend on them. ``origin`` is the first
    cell that had a row, under SYNC ON WINDOW ID. For a stream whose rows are numbered, ``numbered`` counts them and
    ``moved`` counts how often its window has moved. ``late`` counts late rows, ``shed`` those that SHED did not hold,
    ``unprobed`` those that SHED did not let probe, ``ahead`` those that lay ahead of their micro-batch.
    ``heard_us`` is the time of the last micro-batch that had a row with a time, where streams can be idle.
    """

    largest: int | None = None
    occupied: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    origin: int | None = None
    late: int = 0
    shed: int = 0
    unprobed: int = 0
    numbered: int = 0
    moved: int = 0
    ahead: int = 0
    heard_us: int | None = None

    def see(self, ts: int) -> None:
        """Adds the largest event time of a batch."""
        self.largest = ts if self.largest is None else max(self.largest, ts)


@dataclass(slots=True)
class Position:
    """The positions of all streams.

    ``answered`` is the watermark up to which answers were given, ``applied`` the last instant, or the number of the
    last result window, that windows were moved to. ``reached`` is the largest watermark so far: it stays where it is if
    an idle stream wakes up behind it. ``began_us`` and ``clock_us`` are the times of the first and the last micro-batch
    with rows, where streams can be idle.
    """

    streams: list[StreamPosition]
    answered: int | None = None
    applied: int | None = None
    reached: int | None = None
    began_us: int | None = None
    clock_us: int | None = None

    @classmethod
    def beginning(cls, streams: int) -> "Position":
        """The position before the first row."""
        return cls([StreamPosition() for _ in range(streams)])

    def hear(self, clock_us: int, heard: Iterable[int]) -> None:
        """Adds the time of a micro-batch, and which streams have had a row with a time in it."""
        self.began_us = clock_us if self.began_us is None else self.began_us
        self.clock_us = clock_us if self.clock_us is None else max(self.clock_us, clock_us)
        for stream in heard:
            self.streams[stream].heard_us = self.clock_us

    def idle(self, idles_us: Sequence[int | None]) -> list[bool]:
        """Which streams are idle: silent for as long as ``idles_us`` says, or since the first micro-batch."""
        if self.clock_us is None or self.began_us is None:
            return [False] * len(self.streams)
        heard = [self.began_us if stream.heard_us is None else stream.heard_us for stream in self.streams]
        pairs = zip(heard, idles_us, strict=True)
        return [idle_us is not None and self.clock_us - heard_us >= idle_us for heard_us, idle_us in pairs]

    def watermark(self, delays_us: Sequence[int], idles_us: Sequence[int | None]) -> int | None:
        """The minimum of ``largest`` minus delay over the streams that are not idle, but no less than it has been.

        It is None until every stream that is not idle has had a row. If all are idle, it stays as it is.
        """
        idle = self.idle(idles_us)
        awake = [number for number in range(len(self.streams)) if not idle[number]]
        behind = [
            largest - delays_us[number] for number in awake if (largest := self.streams[number].largest) is not None
        ]
        if not awake or len(behind) < len(awake):
            return self.reached
        return min(behind) if self.reached is None else max(self.reached, min(behind))

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
        whole = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "streams"}
        return {"streams": streams, **whole}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], names: Sequence[str]) -> "Position":
        """The inverse of `facts`. Facts of an older version may lack some."""
        streams = [
            StreamPosition(**stored | {"occupied": np.array(stored["occupied"], np.int64)})
            for stored in (facts["streams"][name] for name in names)
        ]
        return cls(**{**facts, "streams": streams})
