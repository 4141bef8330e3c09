"""What all stages have in common: a bucket takes blobs, keeps time, answers, and counts late rows.

Every bucket gets the headers of all rows, so all buckets know the same watermark. Bucket 0 also reports what belongs to
no bucket: the empty group of a query without groups, and late rows without a key.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from joinfold.errors import EvaluationError
from joinfold.operators.batches import by_cell, cells_of, draws_of
from joinfold.operators.calendars.calendar import BEGINNING
from joinfold.operators.calendars.open_calendars import calendars_of
from joinfold.operators.calendars.position import Position
from joinfold.operators.calendars.time import TimeCalendar
from joinfold.operators.codec import decode
from joinfold.operators.compaction import added_up, latest
from joinfold.operators.emitted import Emitted
from joinfold.operators.entries import Flags, Integers
from joinfold.operators.packing.header import Header
from joinfold.operators.stages.observed import Observed
from joinfold.operators.stages.rationing import Rationer
from joinfold.operators.stages.sampling import Sampler
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
from joinfold.physical.shedding import Sampling, Shedding
from joinfold.physical.source import StreamRows, ViewOf
from joinfold.physical.stage import StatefulStage, input_from, inputs_of, is_replicated
from joinfold.physical.stored import BoundariesOf, EntriesOf, Inside, OrderOf, Stored, Waiting
from joinfold.physical.timing import Timing
from joinfold.timetext import time_shown

Accepted = list[tuple[Stored, pa.RecordBatch]]


class Bucket(ABC):
    """One bucket of a stage. For every micro-batch it gets three calls, in this order:

        absorb(blobs)    takes new rows; returns what has to be stored of them
        answer()         moves to the watermark; returns what is emitted, piece by piece
        take_made()      returns what else has to be stored since `answer`

    `is_done` and `compacted` then tell the state store what it may delete and merge. A bucket that is opened from its
    state gets `add` for every stored chunk, and then `resume`.
    """

    counts_late: ClassVar[bool] = True
    sees_cells: ClassVar[bool] = True  # false in stages that find no instants: cells would only pile up there

    def __init__(
        self,
        stage: StatefulStage,
        timing: Timing,
        number: int,
        choice: FoldChoice = NO_CHOICE,
        shedding: Shedding | None = None,
    ) -> None:
        self.stage = stage
        self.timing = timing
        self.number = number
        self.choice = choice
        self.inputs = inputs_of(stage)
        self.position = Position.beginning(timing.streams)
        orders = {spec.source.stream: spec.order for spec in self.inputs if isinstance(spec.source, StreamRows)}
        self.calendars = calendars_of(timing, self.position, orders)
        self.rows_read = [0] * timing.streams  # of the last micro-batch, in all buckets together
        self.touched_before = 0  # by the structures of earlier windows, before a rebuild
        self.observed = Observed(timing.windows)
        self.thins = False
        self.sampler = Sampler(shedding, timing) if isinstance(shedding, Sampling) else None

    @property
    def is_first(self) -> bool:
        """Whether this is bucket 0, which also reports what belongs to no bucket."""
        return self.number == 0

    @property
    def watermark(self) -> int | None:
        """The query's watermark; None until every stream has had a row, or is idle."""
        return self.position.watermark(self.timing.delays_us, self.timing.idles_us)

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

    @property
    def shedder(self) -> Sampler | Rationer | None:
        """What decides the rates of SHED; None without SHED."""
        return self.sampler

    @property
    def kept(self) -> float | None:
        """The probability with which a combination of the last answer was kept; None without SHED."""
        return None

    @property
    def missing_groups(self) -> int | None:
        """About how many groups of this bucket the last answer lacks; None unless groups are shed as a whole."""
        return None

    @property
    def at_floor(self) -> bool:
        """Whether the query cannot keep up, whatever it sheds."""
        return self.shedder is not None and self.shedder.controller.pace.at_floor

    # --- taking in --------------------------------------------------------------------------------------------------

    def absorb(self, blobs: Iterable[bytes]) -> Accepted:
        """Takes a micro-batch. Returns what is not late, which has to be stored.

        What it returns is sorted by cell, mostly one batch per kind. Time moves on only after all blobs are read: the
        watermark before this micro-batch decides what is late.
        """
        watermark, accepted, headers = self.watermark, Accepted(), []
        self.rows_read = [0] * self.timing.streams
        for batch, facts in [decode(blob) for blob in blobs]:
            edge = edge_of(facts)
            match edge:
                case ViewRows(stage=number):  # final already, so never late
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
        needed = {stream: self.first_needed(stream) for stream in range(self.timing.streams)}
        self.take_headers(headers)
        ordered = by_cell(self.shed(accepted, headers, needed))
        for stored, batch in ordered:
            self.receive(stored, batch)
        return ordered

    def stored_from(self, edge: EntriesFrom | OrderFrom) -> Stored:
        """The kind under which rows that PACK sends are stored."""
        if isinstance(edge, OrderFrom):
            return OrderOf(self.timing.names[edge.stream])
        ordinal = input_from(self.stage, StreamRows(edge.stream))
        assert ordinal is not None
        return EntriesOf(self.inputs[ordinal].name)

    def take_headers(self, headers: Sequence[tuple[int, Header]]) -> None:
        """Moves time on by the headers of a micro-batch; raises `EvaluationError` if all first rows lie ahead of it."""
        seen = []
        for stream, header in headers:
            self.position.streams[stream].ahead += header.ahead
            if header.largest_us is not None:
                self.position.streams[stream].see(header.largest_us)
                seen.append((stream, header.rows, header.largest_us, header.sample))
        self._refuse_ahead([(stream, header.first_ahead_us) for stream, header in headers])
        self.observed.see(seen)
        clocks_us = [header.clock_us for _, header in headers if header.clock_us is not None]
        if clocks_us:
            self.position.hear(max(clocks_us), {stream for stream, *_ in seen})
        self.position.reached = self.watermark

    def _refuse_ahead(self, ahead: Iterable[tuple[int, int | None]]) -> None:
        """Raises an error if all first rows of a stream lie ahead; ``ahead`` has the streams and times of such rows."""
        for stream, first_us in sorted((stream, us) for stream, us in ahead if us is not None):
            if self.position.streams[stream].largest is None:
                raise EvaluationError(
                    f"the first rows of '{self.timing.names[stream]}' all lie in the future: the earliest has the time "
                    f"{time_shown(first_us)}",
                    "is the unit of its time column right? A TIMESTAMP has microseconds. If only these rows are wrong, "
                    "filter them out before the stream is registered. To accept them, register it with ahead='off'.",
                )

    def shed(self, accepted: Accepted, headers: Iterable[tuple[int, Header]], needed: Mapping[int, int]) -> Accepted:
        """What SHED holds of new rows, given the first cells that are needed. Counts the rows that it does not hold."""
        if self.sampler is None:
            return accepted
        loads = [(stream, header.load) for stream, header in headers if header.load is not None]
        self.sampler.see(loads, needed)
        held: Accepted = []
        for stored, batch in accepted:
            stream = self._sampled_stream(stored)
            if stream is not None:
                holds = self.sampler.holds(stream, cells_of(batch), draws_of(batch))
                self._count_shed(stored, batch, ~holds)
                batch = batch if holds.all() else batch.filter(pa.array(holds))
            held += [(stored, batch)] if batch.num_rows else []
        return held

    def first_needed(self, stream: int) -> int:
        """The first cell of a stream that a later answer may need, as far as the watermark alone tells it.

        All stages of a query must find the same, as they derive their rates from it.
        """
        calendar, watermark = self.calendars[stream], self.watermark
        if watermark is None or not isinstance(calendar, TimeCalendar):
            return BEGINNING
        return calendar.content(watermark)[0]

    def still_held(self, stored: Stored, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Stored rows without those that SHED no longer holds."""
        stream = self._sampled_stream(stored)
        if self.sampler is None or stream is None:
            return batch
        holds = self.sampler.still_holds(draws_of(batch))
        return batch if holds.all() else batch.filter(pa.array(holds))

    @property
    def has_shed_more(self) -> bool:
        """Whether stored rows have to be thinned after this micro-batch."""
        return self.thins

    def _sampled_stream(self, stored: Stored) -> int | None:
        """The stream that stored rows come from, if it is sampled."""
        match stored:
            case EntriesOf(input=name):
                spec = self.inputs[self.ordinal_of(name)]
            case Waiting() | Inside():
                (spec,) = self.inputs
            case _:
                return None
        return self.timing.names.index(spec.name) if spec.drawn_by else None

    def _count_shed(self, stored: Stored, batch: pa.RecordBatch, is_shed: Flags) -> None:
        stream = self._sampled_stream(stored)
        if stream is not None and is_shed.any() and self._counts_entries(stream):
            self.position.streams[stream].shed += int(batch.column(COUNT).to_numpy()[is_shed].sum())

    def _counts_entries(self, stream: int) -> bool:
        """Whether this bucket counts the entries of a stream: of a replicated input every bucket has all of them."""
        ordinal = next(ordinal for ordinal, spec in enumerate(self.inputs) if spec.name == self.timing.names[stream])
        return self.is_first or not is_replicated(self.stage, ordinal)

    def in_time(self, stream: int, cells: Integers, watermark: int | None) -> Flags:
        """True for cells that are not late. Computes each cell once where cells lie close together."""
        if watermark is None or not len(cells):
            return np.ones(len(cells), np.bool_)
        calendar, first, last = self.calendars[stream], int(cells.min()), int(cells.max())
        if last - first >= len(cells):
            return calendar.due(cells) > watermark
        return (calendar.due(np.arange(first, last + 1)) > watermark)[cells - first]

    def _count_late(
        self, stream: int, header: Header, batch: pa.RecordBatch, late: Flags, watermark: int | None
    ) -> None:
        position = self.position.streams[stream]
        if header.counts_entries and self._counts_entries(stream):  # otherwise the header counts all rows
            position.late += int(batch.column(COUNT).to_numpy()[late].sum())
        if self.is_first:  # every bucket knows of these rows, so only bucket 0 counts them
            keyless = ~self.in_time(stream, header.keyless_cells, watermark)
            position.late += header.timeless + int(header.keyless_counts[keyless].sum())

    def receive(self, stored: Stored, batch: pa.RecordBatch) -> None:
        """Takes new rows that are not late; `absorb` calls it."""
        self.add(stored, batch)

    # --- state ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def add(self, stored: Stored, batch: pa.RecordBatch) -> None:
        """Takes rows of a kind: stored ones when the bucket is opened, before `resume`, and new ones from `receive`."""

    def resume(self, position: Position) -> None:
        """Brings the bucket to a position, after `add` was called for everything that is stored."""
        self.stand_at(position)

    def stand_at(self, position: Position) -> None:
        """Sets the position, also in all calendars."""
        self.position = position
        for calendar, stream_position in zip(self.calendars, position.streams, strict=True):
            calendar.position = stream_position

    def take_made(self) -> Accepted:
        """What has to be stored besides what `absorb` returned; called once after `answer`. Here, nothing."""
        return []

    @abstractmethod
    def is_done(self, stored: Stored, last_cell: int) -> bool:
        """Whether everything that is stored of this kind up to this cell can be deleted."""

    def alike_before(self, stored: Stored) -> int:
        """Cells of stored entries before this one no longer matter, so their entries may be merged across cells."""
        return BEGINNING

    def compacted(self, stored: Stored, rows: pa.RecordBatch, are_all: bool) -> pa.RecordBatch:
        """Stored rows as the fewest rows that mean the same; ``are_all``: no other rows of their kind are stored."""
        match stored:
            case EntriesOf(input=name):
                spec = self.inputs[self.ordinal_of(name)]
                if isinstance(spec.source, ViewOf):
                    return latest(spec, rows, keep_gone=not are_all)
                assert isinstance(spec.source, StreamRows)
                if spec.source.stream in self.timing.counting:  # every row stays single
                    return rows
                return added_up(spec, rows, self.alike_before(stored))
            case _:
                return rows

    def ordinal_of(self, name: str) -> int:
        """The ordinal of the input with this name."""
        return next(ordinal for ordinal, spec in enumerate(self.inputs) if spec.name == name)

    # --- answering --------------------------------------------------------------------------------------------------

    @abstractmethod
    def answer(self, to_the_end: bool = False) -> Iterator[Emitted]:
        """Answers all that is final by the watermark; ``to_the_end``: everything, at the end of a bounded run.

        Emits at least one piece. Pieces of the same number in all buckets have the same instants. All pieces must be
        read before anything else is called.
        """

    def go_on_with(self, choice: FoldChoice) -> None:
        """Continues with another choice. Stored entries and answers do not depend on it."""
        raise AssertionError(f"{type(self).__name__} has nothing to choose")

    def measured(self) -> Measured | None:
        """What was measured; None until every stream has had two micro-batches, of which one was sampled."""
        figures = [self.observed.figures(stream) for stream in range(self.timing.streams)]
        known = tuple(stream_figures for stream_figures in figures if stream_figures is not None)
        return Measured(known, self.selectivity()) if len(known) == len(figures) else None

    def selectivity(self) -> float | None:
        """The share of combinations with equal keys that fulfil all conditions; None where it is not known."""
        return None
