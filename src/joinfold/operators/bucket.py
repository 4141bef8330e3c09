"""What all ways of answering have in common: a bucket takes in blobs, keeps time, and counts what is late.

Every bucket gets the pulse of all rows, so all of them know the same watermark.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.operators.choice import FoldChoice
from joinfold.operators.codec import decode
from joinfold.operators.compaction import added_up, latest
from joinfold.operators.entries import Integers
from joinfold.operators.layout import FoldLayout
from joinfold.operators.timeline import BEGINNING, Clock, Occupancy


@dataclass(slots=True)
class Moment:
    """Where a bucket stands: what it has seen of time, what it has answered, and how many rows were late."""

    clock: Clock
    occupancy: Occupancy
    answered: int | None = None
    applied: int | None = None
    late: list[int] = field(default_factory=list)

    @classmethod
    def beginning(cls, streams: int) -> "Moment":
        """Before the first row."""
        return cls(Clock.unset(streams), Occupancy.empty(streams), late=[0] * streams)


@dataclass(frozen=True, slots=True)
class Noted:
    """What a bucket has to say: rows of totals under numbers, and the instants (and arrivals) that these stand for.

    ``before`` is the number under which stand the groups as they were before the first of them.
    """

    rows: pa.RecordBatch | None
    numbers: list[int]
    before: int | None = None
    arrivals: list[tuple[int, int]] | None = None


class Bucket(ABC):
    """Absorbs blobs, then answers up to the watermark.

    The first bucket speaks for what no bucket has: the one group of a query without groups where nothing matches, and
    late rows without a key.
    """

    def __init__(self, layout: FoldLayout, number: int, choice: FoldChoice | None = None) -> None:
        self.layout = layout
        self.number = number
        self.choice = choice or FoldChoice.usual(layout)
        self.moment = Moment.beginning(layout.streams)
        self.rows_read = [0] * layout.streams  # of the last micro-batch, in all buckets together
        self.touched_before = 0  # by structures that were made anew since

    @property
    def is_first(self) -> bool:
        """Whether this bucket speaks for what no bucket has."""
        return self.number == 0

    @property
    def watermark(self) -> int | None:
        """Up to where time has moved; None until every stream has had a row."""
        return self.moment.clock.watermark(self.layout.delays_us)

    @property
    @abstractmethod
    def entries_held(self) -> int:
        """How many entries the windows hold."""

    @property
    @abstractmethod
    def cells_held(self) -> int:
        """How many cells have entries."""

    @property
    @abstractmethod
    def bytes_held(self) -> int:
        """The memory of the windows and of what is kept of combinations."""

    @property
    @abstractmethod
    def touched(self) -> int:
        """How many members the structures of the windows have looked at so far."""

    def absorb(self, blobs: Iterable[bytes]) -> list[tuple[int, pa.RecordBatch]]:
        """Takes in a micro-batch; gives back the entries that were in time, which are the new durable state."""
        watermark = self.watermark
        decoded = [decode(blob) for blob in blobs]
        accepted = []
        self.rows_read = [0] * self.layout.streams
        for batch, pulse in decoded:
            feed = pulse["feed"]
            place = self.layout.place_of(feed)
            if feed >= self.layout.streams:  # a view: its rows are of instants that are answered
                assert place is not None
                accepted += [(place, batch)] if batch.num_rows else []
                continue
            self.rows_read[feed] += pulse["rows"]
            seen = np.array(pulse["cells"], np.int64)
            self.moment.occupancy.add(feed, seen[self.in_time(feed, seen, watermark)])
            if place is None:  # another fold has its entries
                continue
            in_time = self.in_time(feed, cells_of(batch), watermark)
            keyless = np.array(pulse["keyless_cells"], np.int64)
            counts = np.array(pulse["keyless_counts"], np.int64)
            counts_entries = self.is_first or not self.layout.is_replicated(place)  # all have what is replicated
            if counts_entries and pulse["counts_entries"]:  # else the pulse counts all rows
                self.moment.late[feed] += int(batch.column("i0").to_numpy()[~in_time].sum())
            if self.is_first:  # every bucket knows of these rows; one counts them
                self.moment.late[feed] += pulse["timeless"]
                self.moment.late[feed] += int(counts[~self.in_time(feed, keyless, watermark)].sum())
            if in_time.any():
                accepted.append((place, batch if in_time.all() else batch.filter(pa.array(in_time))))
        for _, pulse in decoded:
            if pulse.get("largest_us") is not None:
                self.moment.clock.see(pulse["feed"], pulse["largest_us"])
        for place, batch in accepted:
            self.receive(place, batch)
        return accepted

    def in_time(self, stream: int, cells: Integers, watermark: int | None) -> NDArray[np.bool_]:
        """Which cells are not late."""
        if watermark is None:
            return np.ones(len(cells), np.bool_)
        return self.due(stream, cells) > watermark

    def due(self, stream: int, cells: Integers) -> Integers:
        """The watermark from which on rows of these cells are late."""
        timeline = self.layout.timeline
        return timeline.due(stream, cells) if timeline.on_trigger else timeline.first_instant(stream, cells)

    def receive(self, place: int, batch: pa.RecordBatch) -> None:
        """Takes in entries that are new."""
        self.add(place, batch)

    @abstractmethod
    def add(self, place: int, batch: pa.RecordBatch) -> None:
        """Takes in entries of the state."""

    @abstractmethod
    def resume(self) -> None:
        """After the entries of a stored moment were added: brings everything to where it stood."""

    @abstractmethod
    def answer(self, to_the_end: bool = False) -> Noted:
        """What is final up to the watermark, or all there is."""

    @abstractmethod
    def is_done(self, place: int, last_cell: int) -> bool:
        """Whether stored entries up to this cell are of no more use."""

    def alike_before(self, place: int) -> int:
        """Stored entries of cells before this one have entered for good: nothing depends on their cells any more."""
        return BEGINNING

    def compacted(self, place: int, entries: pa.RecordBatch, are_all: bool) -> pa.RecordBatch:
        """Stored entries, all of an input or its latest, in as few as say the same."""
        if place in self.layout.views:
            return latest(self.layout.inputs[place], entries, keep_gone=not are_all)
        if self.layout.on_arrival:  # every row is there by itself
            return entries
        return added_up(self.layout.inputs[place], entries, self.alike_before(place))


def cells_of(batch: pa.RecordBatch) -> Integers:
    """The cells of stored entries."""
    return np.asarray(batch.column("cell").to_numpy(), np.int64)
