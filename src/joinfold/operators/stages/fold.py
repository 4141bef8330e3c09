"""FOLD at instants: the live windows of a bucket, and its answers as the windows move from instant to instant.

    stored entries ──▶ intake of each input ──▶ cells that enter and leave ──▶ live windows ──▶ totals of groups

The durable state is the entries of live cells. The live windows are in memory only, and are made from it. The cost of a
move depends on what enters and leaves, not on the size of the windows or the number of combinations. All buckets know
the same watermark and the same occupied cells, so they answer at the same instants.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pyarrow as pa

from joinfold.operators.calendars.calendar import BEGINNING, END, NOTHING, Calendar, Content
from joinfold.operators.calendars.emission import OccupiedWindows, WindowIdEmission, emission_of
from joinfold.operators.calendars.position import Position
from joinfold.operators.emitted import NOTHING_EMITTED, Emitted
from joinfold.operators.entries import Entries, Flags, Integers, joined
from joinfold.operators.labels import GapUsedUp
from joinfold.operators.stages.bucket import Accepted
from joinfold.operators.stages.intake import TimedIntake, ViewIntake, intakes_of
from joinfold.operators.stages.live_bucket import LiveBucket
from joinfold.operators.stages.measured_selectivity import SelectivityCount
from joinfold.physical.choice import FoldChoice
from joinfold.physical.shedding import Shedding
from joinfold.physical.stage import FoldAtInstants, JoinAtMoves, ToMerge
from joinfold.physical.stored import BoundariesOf, EntriesOf, Stored
from joinfold.physical.timing import Timing
from joinfold.shedding.rates import EVERYTHING
from joinfold.window import PartitionedRows


class Fold(LiveBucket):
    """Answers at instants: lets cells enter and leave, and emits the totals of groups."""

    stage: FoldAtInstants | JoinAtMoves

    def __init__(
        self,
        stage: FoldAtInstants | JoinAtMoves,
        timing: Timing,
        number: int,
        choice: FoldChoice,
        shedding: Shedding | None = None,
    ) -> None:
        super().__init__(stage, timing, number, choice, shedding)
        self.changes = isinstance(stage, FoldAtInstants) and stage.output == ToMerge(changes=True)
        self.emission = emission_of(timing, self.calendars)
        self.intakes = intakes_of(self.inputs, self.calendars)
        self.contents: list[Content] = [NOTHING] * timing.streams
        self.counted = SelectivityCount(self.body)

    @property
    def cells_held(self) -> int:
        """How many cells have entries; the current rows of a view count as one cell."""
        views = [intake for intake in self.intakes.values() if isinstance(intake, ViewIntake)]
        return sum(len(intake.cells) for intake in self.intakes.values()) + sum(bool(view.current) for view in views)

    # --- taking in --------------------------------------------------------------------------------------------------

    def absorb(self, blobs: Iterable[bytes]) -> Accepted:
        """Takes a micro-batch. Rows of ignored windows (MOD k) are not stored."""
        accepted = [(stored, self._used(stored, batch)) for stored, batch in super().absorb(blobs)]
        return [(stored, batch) for stored, batch in accepted if batch.num_rows]

    def add(self, stored: Stored, batch: pa.RecordBatch) -> None:
        """Puts entries into their cells, where they wait for their instant; row boundaries go to the calendar."""
        batch = self._used(stored, batch)
        match stored:
            case BoundariesOf(stream=name):
                self._calendar(name).learn(batch)
            case EntriesOf(input=name):
                ordinal = self.ordinal_of(name)
                self._take(ordinal, self.intakes[ordinal].admit(batch))
            case _:
                raise AssertionError(f"a fold stores no {stored}")

    def _used(self, stored: Stored, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Entries or boundaries, without those of ignored windows (MOD k)."""
        if self.position.applied is None:
            return batch
        match stored:
            case BoundariesOf(stream=name):
                return self._calendar(name).used(batch)
            case EntriesOf(input=name):
                intake = self.intakes[self.ordinal_of(name)]
                return intake.calendar.used(batch) if isinstance(intake, TimedIntake) else batch
            case _:
                raise AssertionError(f"a fold stores no {stored}")

    def _calendar(self, stream: str) -> Calendar:
        return self.calendars[self.timing.names.index(stream)]

    def _take(self, ordinal: int, batch: pa.RecordBatch | None) -> None:
        if batch is None or not batch.num_rows:
            return
        entries = self.read(ordinal, batch)
        self.expect(ordinal, entries)
        self.intakes[ordinal].cells.add(entries)

    def expect_all(self) -> None:
        """Prepares the windows for all entries that are there."""
        for ordinal, intake in self.intakes.items():
            if intake.cells.held:
                self.expect(ordinal, joined(intake.cells.all()))

    def _take_numbered(self) -> None:
        """Puts waiting rows into their blocks, as far as row boundaries tell these."""
        for ordinal, intake in self.intakes.items():
            self._take(ordinal, intake.ready())

    # --- rebuilding -------------------------------------------------------------------------------------------------

    def rebuild(self, keep_labels: bool = False) -> None:
        """Makes new live windows from the entries.

        ``keep_labels``: the values of the pair's extremes get new order labels first, all at once.
        """
        if self.is_view and self.position.applied is not None:  # later it would not find changed groups that are gone
            self.live.emit(self.position.applied, self.position.applied, always=False)
        self._drop_gone()
        old = self.put_aside(keep_labels)
        for ordinal, intake in self.intakes.items():
            intake.rebuild(partial(self.live.vocabulary.adopt, old.vocabulary, ordinal))
        self.expect_all()
        contents, self.contents = self.contents, [NOTHING] * self.timing.streams
        if self.position.applied is not None:
            self._move_to(contents, self.position.applied)
        self.live.remember_given()

    def go_on_with(self, choice: FoldChoice) -> None:
        """Rebuilds the live windows under another choice."""
        self.choice = choice
        self.rebuild()

    def resume(self, position: Position) -> None:
        """Brings the windows to a position, after everything that is stored was added."""
        super().resume(position)
        applied = position.applied
        if applied is not None:
            self._take_numbered()
            contents = self.contents = [calendar.content(applied) for calendar in self.calendars]
            self._drop_gone()
            self.contents = [NOTHING] * self.timing.streams
            self.sample = EVERYTHING if self.sampler is None else self.sampler.used
            if not self.sample.is_whole:  # until now, entries were expected under other groups
                self.expect_all()
            self._move_to(contents, applied)
            if self.is_view:  # the reader of the view has these rows already
                self.emit(applied, applied)
                self.live.windows.totals.take_emitted()

    # --- answering --------------------------------------------------------------------------------------------------

    def answer(self, to_the_end: bool = False) -> Iterator[Emitted]:
        """Moves over all instants up to the watermark, or all there are; emits a row per instant and group."""
        position = self.position
        before, until = position.applied, END if to_the_end else self.watermark
        if until is None:
            yield NOTHING_EMITTED
            return
        self._take_numbered()
        visits = self._visits()
        for instants in self.instants(until):
            yield self._piece(instants, instants if visits is None else visits.among(instants))
        is_moved = position.applied != before
        self._drop_gone()
        self.thin(is_moved, self._first_cells(self.contents))
        if is_moved:
            assert position.applied is not None
            self.live.windows.expire(position.applied)
            if self._is_outgrown:
                self.rebuild()
        position.answered = until
        self.emission.prune(until)
        for calendar, content in zip(self.calendars, self.contents, strict=True):
            calendar.forget(content[0])

    def _piece(self, instants: Integers, visited: Integers) -> Emitted:
        """Moves over some instants; only those of ``visited`` can have answers.

        For CHANGES the groups as they were at the instant before come first, so MERGE needs no state to find changes.
        """
        before = self.position.applied if self.changes and len(instants) else None
        self.samples = {} if before is None else {before: self.sample}
        if before is not None:
            self.emit(before, before)
        for instant in visited.tolist():
            self.move(instant)
            self.samples[instant] = self.sample
            self.emit(instant, instant)
        placed = self.emission.placed(instants.tolist())
        return Emitted(self.live.emitted(), instants.tolist(), before, placed, samples=self.rates_of_samples())

    def _visits(self) -> OccupiedWindows | None:
        """The result windows that hold a row of this bucket; None if all instants have to be visited."""
        timed = [intake for intake in self.intakes.values() if isinstance(intake, TimedIntake)]
        always = self.sampler is not None or (self.body.is_global and self.is_first)
        if always or len(timed) < len(self.intakes) or not isinstance(self.emission, WindowIdEmission):
            return None
        return self.emission.visits({intake.stream: intake.cells.occupied for intake in timed})

    def instants(self, until: int) -> Iterator[Integers]:
        """The instants, or the numbers of result windows, that the watermark ``until`` completes, in pieces.

        A view emits only what has changed, in one piece: this is never more than what its windows have gained and lost.
        """
        return self.emission.instants(self.position, until, END if self.is_view else self.timing.instants_per_piece)

    def move(self, instant: int) -> None:
        """Lets cells leave and enter until the windows have their contents of the instant."""
        contents = [calendar.content(instant) for calendar in self.calendars]
        self.use_sample(self._first_cells(contents))
        self._move_to(contents, instant)

    def _move_to(self, contents: list[Content], instant: int) -> None:
        """Lets cells leave and enter until the windows have these contents.

        All cells that leave go before any enters: what leaves and what enters are never inside together, and must not
        combine.
        """
        before, self.contents = self.contents, contents
        self.position.applied = instant
        moved = [(ordinal, intake.move(before, contents, instant)) for ordinal, intake in self.intakes.items()]
        for ordinal, (gone, _, _) in moved:
            if gone is not None:
                self.leave(ordinal, gone, instant)
        try:
            for ordinal, (_, new, leaves) in moved:
                if new is not None and leaves is not None:
                    self.enter(ordinal, new, leaves, instant)
        except GapUsedUp:
            self.rebuild(keep_labels=True)

    # --- sampling ---------------------------------------------------------------------------------------------------

    def first_needed(self, stream: int) -> int:
        """The first cell, or row, that the window holds. Beside PARTITION BY, only what its stage knows too."""
        if any(isinstance(window, PartitionedRows) for window in self.timing.windows):
            return super().first_needed(stream)
        return self.calendars[stream].done_before(self.contents[stream][0])

    def _first_cells(self, contents: list[Content]) -> dict[int, int]:
        return {stream: own.done_before(contents[stream][0]) for stream, own in enumerate(self.calendars)}

    @property
    def leaves_by_time(self) -> bool:
        """False if an input that is sampled is a view."""
        return all(isinstance(self.intakes[ordinal], TimedIntake) for ordinal in self.drawn)

    def inside_of(self, ordinal: int) -> Entries | None:
        """The entries of a stream's window."""
        intake = self.intakes[ordinal]
        assert isinstance(intake, TimedIntake)
        return intake.cells.between(*self.contents[intake.stream])

    def leaves_of(self, ordinal: int, entries: Entries, now: int) -> Integers:
        """When entries of a stream leave, by their cells."""
        intake = self.intakes[ordinal]
        assert isinstance(intake, TimedIntake)
        return intake.calendar.leave(entries.cells, now)

    def drop_unheld(self, holds: Callable[[Integers], Flags]) -> None:
        """Drops them from the intakes."""
        for ordinal in self.drawn:
            self.intakes[ordinal].thin(holds)

    # --- keeping the windows small ----------------------------------------------------------------------------------

    def _drop_gone(self) -> None:
        """Drops the entries that have left their windows."""
        for intake in self.intakes.values():
            intake.drop_gone(self.contents)

    @property
    def _is_outgrown(self) -> bool:
        """Whether the tables have many more ids than there are entries."""
        held = sum(intake.held for intake in self.intakes.values())
        return self.live.is_outgrown(held, max((intake.given for intake in self.intakes.values()), default=0))

    def selectivity(self) -> float | None:
        """The share of combinations with equal keys that are in the totals, counted now and then."""
        if isinstance(self.stage, JoinAtMoves):
            return None
        live = partial(self.live.combinations, self.position.applied)
        return self.counted.share(self._inside, live, max(self.observed.batches))

    def _inside(self) -> list[Entries | None]:
        streams = [ordinal for ordinal, intake in self.intakes.items() if isinstance(intake, TimedIntake)]
        return [self.inside_of(ordinal) for ordinal in streams]

    # --- state ------------------------------------------------------------------------------------------------------

    def is_done(self, stored: Stored, last_cell: int) -> bool:
        """Whether what is stored up to this cell is no longer needed."""
        match stored:
            case BoundariesOf(stream=name):
                stream = self.timing.names.index(name)
                return last_cell < self.calendars[stream].done_before(self.contents[stream][0])
            case EntriesOf(input=name):
                return self.intakes[self.ordinal_of(name)].is_done(last_cell, self.contents)
            case _:
                raise AssertionError(f"a fold stores no {stored}")

    def compacted(self, stored: Stored, rows: pa.RecordBatch, are_all: bool) -> pa.RecordBatch:
        """Also drops rows of ignored windows (MOD k) that came before it was known which windows are ignored."""
        return super().compacted(stored, self._used(stored, rows), are_all)

    def alike_before(self, stored: Stored) -> int:
        """Cells before this one have entered a landmark, which their entries never leave."""
        if not isinstance(stored, EntriesOf):
            return BEGINNING
        return self.intakes[self.ordinal_of(stored.input)].alike_before(self.contents)
