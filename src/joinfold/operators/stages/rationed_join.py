"""Plain joins of windows in time under SHED: fewer rows probe, and fewer are held.

The last row of a combination, in the order in which rows enter their windows, is its prober (`stages.rationing`). New
rows are put into their windows first, and then those that may probe find all combinations in which they come last:

    may probe      finds combinations with rows that entered before it
    may not        is in its window, and does nothing: that is what saves time
    comes late     finds, besides, rows that entered after it, came before it, and may probe

A row that is not held is found by no row that enters after it. It stays only as long as rows may come that enter
before it, and only if it may probe.

    not held            e)                     e: the row enters
    comes afterwards   x                       x enters before e: the row probes for it, while W < e
    W              ^
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from joinfold.kernels.structures.operations import INSERT
from joinfold.operators.batches import cells_of, draws_of, together
from joinfold.operators.emitted import NOTHING_EMITTED, Emitted
from joinfold.operators.entries import Entries, Flags, Integers
from joinfold.operators.labels import GapUsedUp
from joinfold.operators.packing.header import Header
from joinfold.operators.stages.bucket import Accepted
from joinfold.operators.stages.join_as_found import AsFoundJoin
from joinfold.operators.stages.rationing import Lowered, Rationer
from joinfold.operators.windows.probing import PartialCombinations
from joinfold.physical.choice import FoldChoice
from joinfold.physical.column_names import COUNT, INSTANT
from joinfold.physical.shedding import WHOLE, PairRationing
from joinfold.physical.stage import JoinAsFound
from joinfold.physical.stored import EntriesOf, Stored
from joinfold.physical.timing import Timing
from joinfold.shedding.rates import BEGINNING, threshold

THINNED = 1.25
"""Stored entries are thinned when the rate of holding has been divided by this. Until then, merging chunks does it."""


@dataclass(slots=True)
class Rationed:
    """What rationing has to know of rows: when each enters and leaves, until when it is held, whether it may probe."""

    enters: Integers
    leaves: Integers
    until: Integers
    probes: Flags

    @property
    def is_held(self) -> Flags:
        """True for rows that are held when they enter."""
        flags: Flags = self.until > self.enters
        return flags

    @property
    def needed(self) -> Integers:
        """The time up to which rows that come may find each row."""
        by_rows_before = np.where(self.probes, self.enters + 1, BEGINNING)
        found: Integers = np.minimum(np.maximum(self.until, by_rows_before), self.leaves)
        return found

    def take(self, rows: Integers | Flags) -> "Rationed":
        """Some of the rows."""
        return Rationed(self.enters[rows], self.leaves[rows], self.until[rows], self.probes[rows])

    def put(self, rows: Integers, others: "Rationed") -> None:
        """Replaces some of the rows by others."""
        self.enters[rows], self.leaves[rows] = others.enters, others.leaves
        self.until[rows], self.probes[rows] = others.until, others.probes

    def grown(self, more: int) -> "Rationed":
        """The rows, and room for more of them."""
        nothing = np.zeros(more, np.int64)
        enters, leaves, until = (np.append(column, nothing) for column in (self.enters, self.leaves, self.until))
        return Rationed(enters, leaves, until, np.append(self.probes, nothing > 0))


class RationedSlots:
    """The same of the members of a window, by slot; ``draws`` too, and which of them are new in this micro-batch."""

    def __init__(self) -> None:
        nothing: Integers = np.empty(0, np.int64)
        nobody: Flags = np.empty(0, np.bool_)
        self.rationed = Rationed(nothing, nothing, nothing, nobody)
        self.draws, self.is_new = nothing, nobody
        self.last_probing = BEGINNING  # the latest time at which an earlier row entered that may probe

    def put(self, slots: Integers, rationed: Rationed, draws: Integers) -> None:
        """Fills slots."""
        room = int(slots.max(initial=-1)) + 1
        if room > len(self.draws):
            more = max(room, 2 * len(self.draws)) - len(self.draws)
            self.rationed = self.rationed.grown(more)
            self.draws = np.append(self.draws, np.zeros(more, np.int64))
            self.is_new = np.append(self.is_new, np.zeros(more, np.bool_))
        self.rationed.put(slots, rationed)
        self.draws[slots] = draws
        self.is_new[slots] = True

    def settle(self) -> None:
        """Ends a micro-batch: all members are earlier ones from now on."""
        new = self.rationed.take(self.is_new)
        self.last_probing = max(self.last_probing, int(new.enters[new.probes].max(initial=BEGINNING)))
        self.is_new[:] = False


class RationedJoin(AsFoundJoin):
    """One bucket of a plain join that sheds."""

    def __init__(
        self, stage: JoinAsFound, timing: Timing, number: int, choice: FoldChoice, shedding: PairRationing
    ) -> None:
        self.rationer = Rationer(shedding, timing)
        self.thinned = [WHOLE] * timing.streams  # the rates of holding when stored entries were last thinned
        self.thin_at: int | None = None
        self.thins = False
        super().__init__(stage, timing, number, choice)

    @property
    def shedder(self) -> Rationer:
        """What decides the rates."""
        return self.rationer

    def _open(self) -> None:
        super()._open()
        self.slots = [RationedSlots() for _ in self.windows]

    # --- taking in --------------------------------------------------------------------------------------------------

    def absorb(self, blobs: Iterable[bytes]) -> Accepted:
        """Takes a micro-batch. Returns what has to be stored: rows that may still be found by rows to come."""
        stored = [(kind, self.still_held(kind, batch)) for kind, batch in super().absorb(blobs)]
        return [(kind, batch) for kind, batch in stored if batch.num_rows]

    def shed(self, accepted: Accepted, headers: Iterable[tuple[int, Header]], needed: Mapping[int, int]) -> Accepted:
        """Decides the rates. All new rows are looked at when they enter, so none is dropped here."""
        loads = [(stream, header.load) for stream, header in headers if header.load is not None]
        self.rationer.see(loads, needed, self._latest())
        for kind, batch in accepted:
            self._count(kind, batch)
        return accepted

    def _latest(self) -> int | None:
        """The last time at which a row of any stream enters its window."""
        largest = ((stream, own.largest) for stream, own in enumerate(self.position.streams))
        times = [self._calendar(stream).entry(np.array([ts])) for stream, ts in largest if ts is not None]
        return max((int(time[0]) for time in times), default=None)

    def _rationed(self, ordinal: int, cells: Integers, draws: Integers) -> Rationed:
        calendar = self._calendar(ordinal)
        enters = calendar.entry(cells)
        return Rationed(
            enters,
            calendar.leave_at(cells),
            self.rationer.held_until(ordinal, enters, draws),
            self.rationer.may_probe(ordinal, enters, draws),
        )

    def _count(self, stored: Stored, batch: pa.RecordBatch) -> None:
        """Counts rows that are not held, and those that do not probe."""
        ordinal = self._ordinal(stored)
        if self._counts_entries(ordinal):
            rationed = self._rationed(ordinal, cells_of(batch), draws_of(batch))
            counts, position = batch.column(COUNT).to_numpy(), self.position.streams[ordinal]
            position.shed += int(counts[~rationed.is_held].sum())
            position.unprobed += int(counts[~rationed.probes].sum())

    def add(self, stored: Stored, batch: pa.RecordBatch) -> None:
        """Inserts stored entries. They have been combined with each other already."""
        ordinal = self._ordinal(stored)
        entries = self._read(ordinal, batch)
        self._hold(ordinal, entries, self._rationed(ordinal, entries.cells, _draws(entries)))
        self.slots[ordinal].settle()

    # --- answering --------------------------------------------------------------------------------------------------

    def answer(self, to_the_end: bool = False) -> Iterator[Emitted]:
        """The combinations of new entries with each other and with all entries in the windows."""
        for lowered in self.rationer.take_lowered():
            self._lower(lowered)
        self.position.answered = self.watermark
        new = self._take_fresh()
        for ordinal, entries, rationed in new:
            self._hold(ordinal, entries, rationed)
        parts = [part for ordinal, entries, rationed in new for part in self._found(ordinal, entries, rationed)]
        for slots in self.slots:
            slots.settle()
        self._forget()
        self._forget_rates()
        if self._is_outgrown:
            self._rebuild()
        if not parts:
            yield NOTHING_EMITTED
            return
        rows = together(parts)
        yield Emitted(rows, np.unique(rows.column(INSTANT).to_numpy()).tolist())

    def _take_fresh(self) -> list[tuple[int, Entries, Rationed]]:
        """The new entries of this micro-batch."""
        fresh, self.fresh = [(self._ordinal(stored), batch) for stored, batch in self.fresh], []
        try:
            read = [(ordinal, self.vocabulary.entries_of(ordinal, batch)) for ordinal, batch in fresh]
        except GapUsedUp:
            self._rebuild()
            read = [(ordinal, self.vocabulary.entries_of(ordinal, batch)) for ordinal, batch in fresh]
        return [(ordinal, own, self._rationed(ordinal, own.cells, _draws(own))) for ordinal, own in read]

    def _hold(self, ordinal: int, entries: Entries, rationed: Rationed) -> None:
        """Inserts the entries that other rows may find."""
        answered = BEGINNING if self.position.answered is None else self.position.answered
        chosen = np.flatnonzero(rationed.is_held | (rationed.needed > answered + 1))
        if len(chosen):
            self._put(ordinal, entries.take(chosen), rationed.take(chosen))

    def _put(self, ordinal: int, entries: Entries, rationed: Rationed) -> None:
        window = self.windows[ordinal]
        slots = window.members.enter(entries, rationed.leaves)
        self.slots[ordinal].put(slots, rationed, _draws(entries))
        window.change(INSERT, slots, self.prober.keys, self.vocabulary)
        self._schedule(ordinal, rationed.needed, slots)

    def _found(self, ordinal: int, entries: Entries, rationed: Rationed) -> list[pa.RecordBatch]:
        """The combinations of new entries in which they come last, or a row of an earlier micro-batch does."""
        others = [slots.last_probing for other, slots in enumerate(self.slots) if other != ordinal]
        chosen = np.flatnonzero(rationed.probes | (rationed.is_held & (rationed.enters <= max(others))))
        if not len(chosen):
            return []
        entries, rationed = entries.take(chosen), rationed.take(chosen)
        found = []
        for chunk in self.prober.combinations(ordinal, self.prober.start(ordinal, entries), self.windows):
            own = rationed.take(chunk.delta)
            bound = [
                own if other == ordinal else slots.rationed.take(chunk.slots[other])
                for other, slots in enumerate(self.slots)
            ]
            instant, comes = _combining(bound)
            comes &= self._is_finder(ordinal, chunk, bound, instant)
            rows = np.repeat(np.flatnonzero(comes), self._counts(ordinal, entries, chunk)[comes])
            if len(rows):
                found.append(self._output_rows(instant[rows], chunk.take(rows)))
        return found

    def _is_finder(self, ordinal: int, chunk: PartialCombinations, bound: list[Rationed], instant: Integers) -> Flags:
        """True if the combination is found from this input.

        That is the input of the prober if the prober is new, or else the last one of which the row is new.
        """
        prober = _prober(bound, instant)
        is_last_new, prober_is_new = np.ones(len(instant), np.bool_), np.zeros(len(instant), np.bool_)
        for other, slots in chunk.slots.items():
            is_new = self.slots[other].is_new[slots]
            prober_is_new |= is_new & (prober == other)
            if other > ordinal:
                is_last_new &= ~is_new
        found: Flags = (prober == ordinal) | (is_last_new & ~prober_is_new)
        return found

    def _lower(self, lowered: Lowered) -> None:
        """Lets rows that are no longer held leave."""
        ordinal, window = lowered.stream, self.windows[lowered.stream]
        slots, own = window.members.live_slots, self.slots[lowered.stream]
        ends = slots[own.draws[slots] >= threshold(lowered.rate)]
        until = np.minimum(own.rationed.until[ends], np.maximum(own.rationed.enters[ends], lowered.start))
        if self._counts_entries(ordinal):
            newly = ends[(own.rationed.until[ends] >= own.rationed.leaves[ends]) & (until < own.rationed.leaves[ends])]
            self.position.streams[ordinal].shed += int(window.members.payload.ints[newly, 0].sum())
        own.rationed.until[ends] = until
        self.leaving[ordinal] = []
        self._schedule(ordinal, own.rationed.take(slots).needed, slots)
        if lowered.rate * THINNED <= self.thinned[ordinal]:
            self.thinned[ordinal], self.thin_at = lowered.rate, lowered.start

    # --- forgetting -------------------------------------------------------------------------------------------------

    def _forget_rates(self) -> None:
        answered = self.position.answered
        self.thins = False
        if answered is None:
            return
        cells = [np.array([self.first_needed(stream)]) for stream in range(self.timing.streams)]
        firsts = [int(self._calendar(stream).entry(cell)[0]) for stream, cell in enumerate(cells)]
        self.rationer.forget(firsts, answered)
        current = [timeline.current for timeline in self.rationer.holding]
        self.thinned = [max(rates) for rates in zip(self.thinned, current, strict=True)]
        if self.thin_at is not None and self.thin_at <= answered + 1:
            self.thins, self.thin_at = True, None

    def still_held(self, stored: Stored, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Stored rows without those that no row to come will find."""
        watermark = self.watermark
        if watermark is None or not isinstance(stored, EntriesOf):
            return batch
        needed = self._rationed(self._ordinal(stored), cells_of(batch), draws_of(batch)).needed > watermark + 1
        return batch if needed.all() else batch.filter(pa.array(needed))

    def compacted(self, stored: Stored, rows: pa.RecordBatch, are_all: bool) -> pa.RecordBatch:
        """Also drops rows that no row to come will find."""
        return super().compacted(stored, self.still_held(stored, rows), are_all)

    def _rebuild(self) -> None:
        """Makes new ids and windows from the entries that are left."""
        old, held = self.vocabulary, []
        for window, own in zip(self.windows, self.slots, strict=True):
            live = window.members.live_slots
            entries = replace(window.members.entries, draws=own.draws[live])
            held.append((entries, own.rationed.take(live)))
        self.touched_before = self.touched
        self._open()
        for ordinal, (entries, rationed) in enumerate(held):
            (adopted,) = self.vocabulary.adopt(old, ordinal, [entries])
            self._put(ordinal, adopted, rationed)
            self.slots[ordinal].settle()


def _combining(bound: list[Rationed]) -> tuple[Integers, Flags]:
    """The instant of each combination, and whether it comes, given what is known of the row of each input."""
    instant = np.maximum.reduce([own.enters for own in bound])
    prober = _prober(bound, instant)
    comes = np.ones(len(instant), np.bool_)
    for ordinal, own in enumerate(bound):
        is_prober = prober == ordinal
        comes &= (instant < own.leaves) & np.where(is_prober, own.probes, instant < own.until)
    return instant, comes


def _prober(bound: list[Rationed], instant: Integers) -> Integers:
    """The input whose row comes last: of those that enter at the instant, the last one of FROM."""
    prober = np.zeros(len(instant), np.int64)
    for ordinal, own in enumerate(bound):
        prober[own.enters == instant] = ordinal
    return prober


def _draws(entries: Entries) -> Integers:
    assert entries.draws is not None
    return entries.draws
