"""What all ways of answering have in common: a bucket takes in blobs, keeps time, and counts what is late.

Every bucket gets the pulse of all rows, so all of them know the same watermark.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.operators.choice import FoldChoice
from joinfold.operators.codec import decode
from joinfold.operators.compaction import added_up, latest
from joinfold.operators.entries import Integers
from joinfold.operators.layout import FoldLayout
from joinfold.operators.observed import Observed, Pulsed
from joinfold.operators.ordering import by_cell, cells_of
from joinfold.operators.timeline import BEGINNING, Clock, Occupancy
from joinfold.operators.window_ids import WindowIds


@dataclass(slots=True)
class Moment:
    """Where a bucket stands: what it has seen of time, what it has answered, how many rows were late.

    Of streams whose rows are numbered, how many are and how often the window has moved; for window ids the first cells.
    """

    clock: Clock
    occupancy: Occupancy
    answered: int | None = None
    applied: int | None = None
    late: list[int] = field(default_factory=list)
    numbered: list[int] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)
    origins: list[int | None] = field(default_factory=list)

    @classmethod
    def beginning(cls, streams: int) -> "Moment":
        """Before the first row."""
        late, numbered, moved = ([0] * streams for _ in range(3))
        return cls(Clock.unset(streams), Occupancy.empty(streams), None, None, late, numbered, moved, [None] * streams)


@dataclass(frozen=True, slots=True)
class Noted:
    """What a bucket has to say: rows of totals under numbers, and the columns ``where`` that these stand for.

    Without such columns numbers are instants.
    ``before`` is the number under which stand the groups as they were before the first of them. ``cuts`` are those of
    streams whose rows are numbered.
    """

    rows: pa.RecordBatch | None
    numbers: list[int]
    before: int | None = None
    where: list[list[int]] | None = None
    cuts: dict[int, pa.RecordBatch] = field(default_factory=dict)


CUTS = 2000  # entries of input i are stored under i, the cuts of stream i under CUTS + i


class Bucket(ABC):
    """Absorbs blobs, then answers up to the watermark.

    The first bucket speaks for what no bucket has: the one group of a query without groups where nothing matches, and
    late rows without a key.
    """

    counts_late: ClassVar[bool] = True

    def __init__(self, layout: FoldLayout, number: int, choice: FoldChoice | None = None) -> None:
        self.layout = layout
        self.number = number
        self.choice = choice or FoldChoice.usual(layout)
        self.moment = Moment.beginning(layout.streams)
        self.rows_read = [0] * layout.streams  # of the last micro-batch, in all buckets together
        self.touched_before = 0  # by structures that were made anew since
        self.observed = Observed(layout.timeline.windows)

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
        """Takes in a micro-batch; gives back the entries that were in time, which are the new durable state.

        They are in the order of their cells, usually in one batch for each input.
        """
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
            if "cuts" in pulse:
                accepted.append((CUTS + feed, batch))
                continue
            self.rows_read[feed] += pulse["rows"]
            seen = np.array(pulse["cells"], np.int64)
            self._see(feed, seen[self.in_time(feed, seen, watermark)])
            if place is None:  # another fold has its entries
                continue
            in_time = self.in_time(feed, cells_of(batch), watermark)
            if in_time.any():
                accepted.append((place, batch if in_time.all() else batch.filter(pa.array(in_time))))
            if not self.counts_late:
                continue
            keyless = np.array(pulse["keyless_cells"], np.int64)
            counts = np.array(pulse["keyless_counts"], np.int64)
            counts_entries = self.is_first or not self.layout.is_replicated(place)  # all have what is replicated
            if counts_entries and pulse["counts_entries"]:  # else the pulse counts all rows
                self.moment.late[feed] += int(batch.column("i0").to_numpy()[~in_time].sum())
            if self.is_first:  # every bucket knows of these rows; one counts them
                self.moment.late[feed] += pulse["timeless"]
                self.moment.late[feed] += int(counts[~self.in_time(feed, keyless, watermark)].sum())
        pulses: list[Pulsed] = []
        for _, pulse in decoded:
            if pulse.get("largest_us") is not None:
                self.moment.clock.see(pulse["feed"], pulse["largest_us"])
                pulses.append((pulse["feed"], pulse["rows"], pulse["largest_us"], pulse["glimpse"]))
        self.observed.see(pulses)
        ordered = by_cell(accepted)
        for place, batch in ordered:
            self.receive(place, batch)
        return ordered

    def _see(self, stream: int, cells: Integers) -> None:
        """Cells of a stream that have a row, in time, whether filters remove it or not."""
        if not isinstance(self.layout.timeline, WindowIds):
            self.moment.occupancy.add(stream, cells)
        elif len(cells):
            origins, first = self.moment.origins, int(cells.min())
            known = origins[stream]
            origins[stream] = first if known is None else min(known, first)

    def in_time(self, stream: int, cells: Integers, watermark: int | None) -> NDArray[np.bool_]:
        """Which cells are not late; asked once for each where they lie close together."""
        if watermark is None or not len(cells):
            return np.ones(len(cells), np.bool_)
        first, last = int(cells.min()), int(cells.max())
        if last - first >= len(cells):
            return self.due(stream, cells) > watermark
        return (self.due(stream, np.arange(first, last + 1)) > watermark)[cells - first]

    def due(self, stream: int, cells: Integers) -> Integers:
        """The watermark from which on rows of these cells are late."""
        timeline = self.layout.timeline
        return timeline.due(stream, cells) if timeline.on_trigger else timeline.first_instant(stream, cells)

    def take_made(self) -> list[tuple[int, pa.RecordBatch]]:
        """What answering made that has to be stored: nothing, since most of it can be made again."""
        return []

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
        if self.layout.on_arrival or place >= CUTS or self.layout.feeds[place] in self.layout.timeline.counting:
            return entries  # every row is there by itself
        return added_up(self.layout.inputs[place], entries, self.alike_before(place))
