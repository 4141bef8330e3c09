"""FOLD at instants: the live windows of a bucket, and its answers as the windows move from instant to instant.

    stored entries ──▶ intake of each input ──▶ cells that enter and leave ──▶ live windows ──▶ totals of groups

The durable state is the entries of live cells. The live windows are in memory only, and are made from it. The cost of a
move depends on what enters and leaves, not on the size of the windows or the number of combinations. All buckets know
the same watermark and the same occupied cells, so they answer at the same instants.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from joinfold.operators.calendars.calendar import BEGINNING, END, NOTHING, Calendar, Content
from joinfold.operators.calendars.emission import emission_of
from joinfold.operators.calendars.position import Position
from joinfold.operators.emitted import NOTHING_EMITTED, Emitted
from joinfold.operators.entries import Entries, Integers, joined
from joinfold.operators.labels import GapUsedUp
from joinfold.operators.stages.bucket import Accepted
from joinfold.operators.stages.intake import Intake, Moved, TimedIntake, ViewIntake
from joinfold.operators.stages.live_bucket import LiveBucket
from joinfold.operators.stages.measured_selectivity import SelectivityCount
from joinfold.operators.stages.sampling import difference, in_sample, replicates, weighted
from joinfold.physical.choice import FoldChoice
from joinfold.physical.shedding import WHOLE, KeySampling, Shedding
from joinfold.physical.source import ConstantRow, StreamRows, ViewOf
from joinfold.physical.stage import FoldAtInstants, JoinAtMoves, ToMerge
from joinfold.physical.stored import BoundariesOf, EntriesOf, Stored
from joinfold.physical.timing import Timing
from joinfold.shedding.rates import EVERYTHING, Sample
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
        self.intakes: dict[int, Intake] = {}
        for ordinal, spec in enumerate(self.inputs):
            match spec.source:
                case StreamRows(stream=stream):
                    self.intakes[ordinal] = TimedIntake(stream, self.calendars[stream])
                case ViewOf():
                    self.intakes[ordinal] = ViewIntake()
                case ConstantRow():
                    pass  # it is in its window from the start
        self.contents: list[Content] = [NOTHING] * timing.streams
        self.counted = SelectivityCount(self.body)
        self.sample = EVERYTHING  # what the windows have now
        self.samples: dict[int, Sample] = {}  # of each answer of this micro-batch

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
        self._expect(ordinal, entries)
        self.intakes[ordinal].cells.add(entries)

    def _expect_all(self) -> None:
        """Prepares the windows for all entries that are there."""
        for ordinal, intake in self.intakes.items():
            if intake.cells.held:
                self._expect(ordinal, joined(intake.cells.all()))

    def _expect(self, ordinal: int, entries: Entries) -> None:
        """Prepares the windows for entries, whether the sample has them or not."""
        if entries.draws is not None:
            entries = self._with_replicates(ordinal, entries)
        self.live.windows.expect(ordinal, entries)

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
        self._expect_all()
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
            contents = [calendar.content(applied) for calendar in self.calendars]
            self.contents = contents
            self._drop_gone()
            self.contents = [NOTHING] * self.timing.streams
            self.sample = EVERYTHING if self.sampler is None else self.sampler.used
            if not self.sample.is_whole:  # until now, entries were expected under other groups
                self._expect_all()
            self._move_to(contents, applied)
            if self.is_view:  # the reader of the view has these rows already
                self.emit(applied, applied)
                self.live.windows.totals.take_emitted()

    # --- answering --------------------------------------------------------------------------------------------------

    def answer(self, to_the_end: bool = False) -> Emitted:
        """Moves over all instants up to the watermark, or all there are; emits a row per instant and group.

        For CHANGES the groups as they were at the instant before come first, so MERGE finds what changed without any
        state.
        """
        position = self.position
        until = END if to_the_end else self.watermark
        if until is None:
            return NOTHING_EMITTED
        self._take_numbered()
        instants = self.instants(until)
        before = [position.applied] if self.changes and len(instants) and position.applied is not None else []
        self.samples = {}
        for instant in (*before, *instants.tolist()):
            if instant not in before:
                self.move(instant)
            self.samples[instant] = self.sample
            self.emit(instant, instant)
        self._drop_gone()
        if self.sampler is not None:
            self._thin(is_moved=bool(len(instants)))
        emitted = self.live.emitted()
        if len(instants):
            self.live.windows.expire(int(instants[-1]))
            if self._is_outgrown:
                self.rebuild()
        position.answered = until
        placed = self.emission.placed(instants.tolist())
        self.emission.prune(until)
        for calendar, content in zip(self.calendars, self.contents, strict=True):
            calendar.forget(content[0])
        rates = None if self.sampler is None else {at: sample.rate for at, sample in self.samples.items()}
        return Emitted(emitted, instants.tolist(), before[0] if before else None, placed, rates=rates)

    def instants(self, until: int) -> Integers:
        """The instants, or the numbers of result windows, that the watermark ``until`` completes."""
        return self.emission.instants(self.position, until)

    def move(self, instant: int) -> None:
        """Lets cells leave and enter until the windows have their contents of the instant."""
        contents = [calendar.content(instant) for calendar in self.calendars]
        sample = self._sample_of(contents)
        if sample != self.sample:
            self._use(sample)
        self._move_to(contents, instant)

    def _move_to(self, contents: list[Content], instant: int) -> None:
        """Lets cells leave and enter until the windows have these contents.

        All cells that leave go before any enters: what leaves and what enters are never inside together, and must not
        combine.
        """
        windows, before = self.live.windows, self.contents
        self.contents = contents
        self.position.applied = instant
        moved = [(ordinal, intake.move(before, contents, instant)) for ordinal, intake in self.intakes.items()]
        moved = [(ordinal, self._sampled(ordinal, own)) for ordinal, own in moved]
        for ordinal, (gone, _, _) in moved:
            if gone is not None:
                windows.leave(ordinal, gone, instant)
        try:
            for ordinal, (_, new, leaves) in moved:
                if new is not None and leaves is not None:
                    windows.enter(ordinal, new, leaves, instant)
        except GapUsedUp:
            self.rebuild(keep_labels=True)

    # --- sampling ---------------------------------------------------------------------------------------------------

    def first_needed(self, stream: int) -> int:
        """The first cell, or row, that the window holds. Beside PARTITION BY, only what its stage knows too."""
        if any(isinstance(window, PartitionedRows) for window in self.timing.windows):
            return super().first_needed(stream)
        return self.calendars[stream].done_before(self.contents[stream][0])

    @property
    def kept(self) -> float | None:
        """The rate of the last answer."""
        return None if self.sampler is None else self.sample.rate / WHOLE

    @property
    def missing_groups(self) -> int | None:
        """For every group that the sample keeps at rate p there are (1 − p)/p others."""
        shedding = None if self.sampler is None else self.sampler.shedding
        if not isinstance(shedding, KeySampling) or not shedding.groups_are_whole:
            return None
        groups, rate = self.live.groups(), self.sample.rate
        replicates = groups[self.body.groups.index(self.body.replicates[0])].to_numpy()
        return int(np.count_nonzero(replicates >= 0) * (WHOLE - rate) / rate)

    def _sample_of(self, contents: list[Content]) -> Sample:
        """What all cells of these contents have in common."""
        return EVERYTHING if self.sampler is None else self.sampler.sample(self._first_cells(contents))

    def _first_cells(self, contents: list[Content]) -> dict[int, int]:
        pairs = zip(self.calendars, contents, strict=True)
        return {stream: calendar.done_before(own[0]) for stream, (calendar, own) in enumerate(pairs)}

    def _use(self, sample: Sample) -> None:
        """Lets the windows have another sample: exchanges what differs, if it can be taken back, or rebuilds all.

        A view that is rebuilt also emits the groups that the new sample does not have.
        """
        if self._can_exchange(sample):
            self._exchange(sample)
            return
        old, self.sample = self.live, sample
        self.rebuild()
        if self.is_view:
            self.live.touch_groups_of(old)

    def _can_exchange(self, sample: Sample) -> bool:
        """Extremes, and what TC charges, are not taken back. If rows are sampled, all of them count for others."""
        if self.position.applied is None or self.sample.is_whole or sample.is_whole or self.sampler is None:
            return False
        timed = all(isinstance(intake, TimedIntake) for intake in self._drawn.values())
        by_key = isinstance(self.sampler.shedding, KeySampling)
        return timed and by_key and not self.body.extremes and self.choice.method == "ic"

    def _exchange(self, sample: Sample) -> None:
        now, entering = self.position.applied, list[tuple[int, Moved]]()
        assert self.sampler is not None and now is not None
        for ordinal, intake in self._drawn.items():
            assert isinstance(intake, TimedIntake)
            held = intake.cells.between(*self.contents[intake.stream])
            if held is not None:
                leaves, enters = difference(self.sampler.shedding, self.sample, sample, held)
                gone = self._sampled(ordinal, Moved(held.take(leaves), None, None)).gone
                if gone is not None:
                    self.live.windows.leave(ordinal, gone, now)
                new = held.take(enters)
                entering += [(ordinal, Moved(None, new, intake.calendar.leave(new.cells, now)))] if len(new) else []
        self.sample = sample
        self._expect_all()
        for ordinal, moved in entering:
            _, entered, until = self._sampled(ordinal, moved)
            assert entered is not None and until is not None
            self.live.windows.enter(ordinal, entered, until, now)

    @property
    def _drawn(self) -> dict[int, Intake]:
        """The intakes of the inputs that are sampled."""
        return {ordinal: intake for ordinal, intake in self.intakes.items() if self.inputs[ordinal].drawn_by}

    def _sampled(self, ordinal: int, moved: Moved) -> Moved:
        """What leaves and enters, without what the sample does not have."""
        gone, new, leaves = moved
        if new is not None and leaves is not None and new.draws is not None:
            has = in_sample(self.sample, new)
            new, leaves = self._with_replicates(ordinal, new.take(has)), leaves[has]
        if gone is not None and gone.draws is not None:
            gone = self._with_replicates(ordinal, gone.take(in_sample(self.sample, gone)))
        return Moved(gone or None, new or None, leaves)

    def _with_replicates(self, ordinal: int, entries: Entries) -> Entries:
        """Entries whose groups are divided by the replicates of the sample.

        A sampled row counts for those that were shed.
        """
        assert self.sampler is not None
        numbers = replicates(self.sampler.shedding, self.sample, entries)
        group = self.live.vocabulary.with_replicates(ordinal, entries.group, numbers)
        payload = entries.payload if isinstance(self.sampler.shedding, KeySampling) else weighted(self.sample, entries)
        return replace(entries, group=group, payload=payload)

    def _thin(self, is_moved: bool) -> None:
        """Drops the entries that are no longer held, once the windows have a sample that does not need them."""
        assert self.sampler is not None
        self.sampler.used, self.thins = self.sample, False
        if self.sampler.lowered and (is_moved or self.position.applied is None):
            for intake in self._drawn.values():
                intake.thin(self.sampler.still_holds)
            self.sampler.lowered, self.thins = False, True
        self.sampler.forget(self._first_cells(self.contents))

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
        return self.counted.share(self._inside, self._live_combinations, max(self.observed.batches))

    def _inside(self) -> list[Entries | None]:
        streams = [intake for intake in self.intakes.values() if isinstance(intake, TimedIntake)]
        return [intake.cells.between(*self.contents[intake.stream]) for intake in streams]

    def _live_combinations(self) -> float:
        if self.position.applied is not None:
            self.live.windows.advance(self.position.applied)  # PC has no totals before this, after a rebuild
        return float(self.live.windows.totals.totals.ints[:, 0].sum())

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
