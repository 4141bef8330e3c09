"""What all stages have in common: a bucket takes in blobs, keeps time, and counts what is late.

Every bucket gets the headers of all rows, so all of them know the same watermark. Bucket 0 also reports what belongs to
no bucket: the empty group of a query without groups, and late rows without a key.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import numpy as np
import pyarrow as pa

from joinfold.operators.batches import by_cell, cells_of
from joinfold.operators.calendars.calendar import BEGINNING
from joinfold.operators.calendars.open_calendars import calendars_of
from joinfold.operators.calendars.position import Position
from joinfold.operators.codec import decode
from joinfold.operators.compaction import added_up, latest
from joinfold.operators.emitted import Emitted
from joinfold.operators.entries import Flags, Integers
from joinfold.operators.packing.header import Header
from joinfold.operators.stages.observed import Observed
from joinfold.physical.choice import NO_CHOICE, FoldChoice
from joinfold.physical.column_names import COUNT
from joinfold.physical.edge import (
    ArrivalsFrom,
    BoundariesFrom,
    EntriesFrom,
    HeaderFrom,
    OrderFrom,
    ViewRows,
    edge_of,
)
from joinfold.physical.measured import Measured
from joinfold.physical.source import StreamRows, ViewOf
from joinfold.physical.stage import StatefulStage, input_from, inputs_of, is_replicated
from joinfold.physical.stored import BoundariesOf, EntriesOf, OrderOf, Stored
from joinfold.physical.timing import Timing

Accepted = list[tuple[Stored, pa.RecordBatch]]


class Bucket(ABC):
    """Absorbs blobs, then answers up to the watermark."""

    counts_late: ClassVar[bool] = True
    sees_cells: ClassVar[bool] = True  # instants are found by the stages that answer; elsewhere cells would pile up

    def __init__(self, stage: StatefulStage, timing: Timing, number: int, choice: FoldChoice = NO_CHOICE) -> None:
        self.stage = stage
        self.timing = timing
        self.number = number
        self.choice = choice
        self.inputs = inputs_of(stage)
        self.position = Position.beginning(timing.streams)
        orders = {spec.source.stream: spec.order for spec in self.inputs if isinstance(spec.source, StreamRows)}
        self.calendars = calendars_of(timing, self.position, orders)
        self.rows_read = [0] * timing.streams  # of the last micro-batch, in all buckets together
        self.touched_before = 0  # by structures that were rebuilt since
        self.observed = Observed(timing.windows)

    @property
    def is_first(self) -> bool:
        """Whether this bucket reports what belongs to no bucket."""
        return self.number == 0

    @property
    def watermark(self) -> int | None:
        """Up to where time has moved; None until every stream has had a row."""
        return self.position.watermark(self.timing.delays_us)

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

    # --- taking in --------------------------------------------------------------------------------------------------

    def absorb(self, blobs: Iterable[bytes]) -> Accepted:
        """Takes in a micro-batch; gives back what was in time, which is the new durable state.

        It is in the order of its cells, usually in one batch of each kind.
        """
        watermark, accepted, headers = self.watermark, Accepted(), []
        self.rows_read = [0] * self.timing.streams
        for batch, facts in [decode(blob) for blob in blobs]:
            edge = edge_of(facts)
            match edge:
                case ViewRows(stage=number):  # its rows are of instants that are answered
                    ordinal = input_from(self.stage, ViewOf(number))
                    assert ordinal is not None
                    accepted += [(EntriesOf(self.inputs[ordinal].name), batch)] if batch.num_rows else []
                case BoundariesFrom(stream=stream):
                    accepted.append((BoundariesOf(self.timing.names[stream]), batch))
                case EntriesFrom(stream=stream) | OrderFrom(stream=stream) | HeaderFrom(stream=stream):
                    header = Header.of_facts(facts)
                    headers.append((stream, header))
                    self.rows_read[stream] += header.rows
                    if self.sees_cells:
                        self.calendars[stream].see(header.cells[self.in_time(stream, header.cells, watermark)])
                    if isinstance(edge, HeaderFrom):
                        continue
                    in_time = self.in_time(stream, cells_of(batch), watermark)
                    if in_time.any():
                        kept = batch if in_time.all() else batch.filter(pa.array(in_time))
                        accepted.append((self.stored_from(edge), kept))
                    if self.counts_late:
                        self._count_late(stream, header, batch, ~in_time, watermark)
                case ArrivalsFrom():
                    raise AssertionError("arrivals are for stages that answer every row")
        self.take_headers(headers)
        ordered = by_cell(accepted)
        for stored, batch in ordered:
            self.receive(stored, batch)
        return ordered

    def stored_from(self, edge: EntriesFrom | OrderFrom) -> Stored:
        """Under which name rows are stored that PACK sends."""
        if isinstance(edge, OrderFrom):
            return OrderOf(self.timing.names[edge.stream])
        ordinal = input_from(self.stage, StreamRows(edge.stream))
        assert ordinal is not None
        return EntriesOf(self.inputs[ordinal].name)

    def take_headers(self, headers: Iterable[tuple[int, Header]]) -> None:
        """Time moves on by what all streams have brought."""
        seen = []
        for stream, header in headers:
            if header.largest_us is not None:
                self.position.streams[stream].see(header.largest_us)
                seen.append((stream, header.rows, header.largest_us, header.sample))
        self.observed.see(seen)

    def in_time(self, stream: int, cells: Integers, watermark: int | None) -> Flags:
        """Which cells are not late; asked once for each where they lie close together."""
        if watermark is None or not len(cells):
            return np.ones(len(cells), np.bool_)
        calendar, first, last = self.calendars[stream], int(cells.min()), int(cells.max())
        if last - first >= len(cells):
            return calendar.due(cells) > watermark
        return (calendar.due(np.arange(first, last + 1)) > watermark)[cells - first]

    def _count_late(
        self, stream: int, header: Header, batch: pa.RecordBatch, late: Flags, watermark: int | None
    ) -> None:
        position, ordinal = self.position.streams[stream], input_from(self.stage, StreamRows(stream))
        assert ordinal is not None
        counts_entries = self.is_first or not is_replicated(self.stage, ordinal)  # all have what is replicated
        if counts_entries and header.counts_entries:  # else the header counts all rows
            position.late += int(batch.column(COUNT).to_numpy()[late].sum())
        if self.is_first:  # every bucket knows of these rows; one counts them
            keyless = ~self.in_time(stream, header.keyless_cells, watermark)
            position.late += header.timeless + int(header.keyless_counts[keyless].sum())

    def receive(self, stored: Stored, batch: pa.RecordBatch) -> None:
        """Takes in what is new."""
        self.add(stored, batch)

    # --- state ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def add(self, stored: Stored, batch: pa.RecordBatch) -> None:
        """Takes in a part of the state."""

    def resume(self, position: Position) -> None:
        """After the state of a position was added: brings everything to where it stood."""
        self.stand_at(position)

    def stand_at(self, position: Position) -> None:
        """Takes a position, which all calendars share."""
        self.position = position
        for calendar, own in zip(self.calendars, position.streams, strict=True):
            calendar.position = own

    def take_made(self) -> Accepted:
        """What answering made that has to be stored: nothing, since most of it can be made again."""
        return []

    @abstractmethod
    def is_done(self, stored: Stored, last_cell: int) -> bool:
        """Whether what is stored up to this cell is of no more use."""

    def alike_before(self, stored: Stored) -> int:
        """Stored entries of cells before this one have entered for good: nothing depends on their cells any more."""
        return BEGINNING

    def compacted(self, stored: Stored, rows: pa.RecordBatch, are_all: bool) -> pa.RecordBatch:
        """Stored rows, put into as few as say the same; ``are_all``: there are no others of their kind."""
        match stored:
            case EntriesOf(input=name):
                spec = self.inputs[self.ordinal_of(name)]
                if isinstance(spec.source, ViewOf):
                    return latest(spec, rows, keep_gone=not are_all)
                assert isinstance(spec.source, StreamRows)
                if spec.source.stream in self.timing.counting:  # every row is there by itself
                    return rows
                return added_up(spec, rows, self.alike_before(stored))
            case _:
                return rows

    def ordinal_of(self, name: str) -> int:
        """The input of a name."""
        return next(ordinal for ordinal, spec in enumerate(self.inputs) if spec.name == name)

    # --- answering --------------------------------------------------------------------------------------------------

    @abstractmethod
    def answer(self, to_the_end: bool = False) -> Emitted:
        """What is final up to the watermark, or all there is."""

    def go_on_with(self, choice: FoldChoice) -> None:
        """Goes on under another choice; entries and answers are the same."""
        raise AssertionError(f"{type(self).__name__} has nothing to choose")

    def measured(self) -> Measured | None:
        """What was measured; None until every stream has had two micro-batches, and one that was looked at."""
        figures = [self.observed.figures(stream) for stream in range(self.timing.streams)]
        known = tuple(own for own in figures if own is not None)
        return Measured(known, self.selectivity()) if len(known) == len(figures) else None

    def selectivity(self) -> float | None:
        """The share of combinations with equal keys that conditions let through; None where nothing tells."""
        return None
