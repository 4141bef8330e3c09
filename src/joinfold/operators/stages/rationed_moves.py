"""Plain joins under SHED whose combinations come as windows move: where windows count rows.

Rows enter their windows in order, so a row that enters is the prober of all combinations that it finds
(`stages.rationing`). A row that may not probe finds nothing, and one that is not held does not enter. What is held of
the windows is thinned when a rate is lowered, before they move on.

The last rows of each partition come as rows of a view, at the instants at which they enter. They are all held: it takes
all of them to know which are the last.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from joinfold.kernels.structures.operations import REMOVE
from joinfold.operators.batches import cells_of, draws_of
from joinfold.operators.calendars.calendar import BEGINNING, Content
from joinfold.operators.calendars.position import Position
from joinfold.operators.calendars.rows import CountingCalendar
from joinfold.operators.calendars.time import KeyedCalendar, TimeCalendar
from joinfold.operators.emitted import Emitted
from joinfold.operators.entries import Entries, Flags, Integers
from joinfold.operators.packing.header import Header
from joinfold.operators.stages.bucket import Accepted
from joinfold.operators.stages.intake import TimedIntake
from joinfold.operators.stages.join_at_moves import MoveJoin, Paired, PairLive
from joinfold.operators.stages.rationing import Lowered, Rationer
from joinfold.operators.vocabulary import Vocabulary
from joinfold.physical.choice import FoldChoice
from joinfold.physical.shedding import PairRationing
from joinfold.physical.stage import Body, JoinAtMoves
from joinfold.physical.stored import EntriesOf, Stored
from joinfold.physical.timing import Timing
from joinfold.shedding.rates import threshold
from joinfold.shedding.timeline import NEVER

Ration = Callable[[int, Entries], tuple[Flags, Flags]]
"""Which entries of an input are held, and which may probe."""


class RationedMoves(MoveJoin):
    """One bucket of a plain join that sheds."""

    live: "RationedLive"

    def __init__(
        self, stage: JoinAtMoves, timing: Timing, number: int, choice: FoldChoice, shedding: PairRationing
    ) -> None:
        self.rationer = Rationer(shedding, timing)
        super().__init__(stage, timing, number, choice)

    @property
    def shedder(self) -> Rationer:
        """What decides the rates."""
        return self.rationer

    def open_live(self, earlier: list[pa.RecordBatch]) -> "RationedLive":
        """Windows without totals."""
        return RationedLive(self.body, self.choice, self.timing, earlier, self._ration)

    # --- taking in --------------------------------------------------------------------------------------------------

    def shed(self, accepted: Accepted, headers: Iterable[tuple[int, Header]], needed: Mapping[int, int]) -> Accepted:
        """Decides the rates. Rows are looked at when they enter, so none is dropped here."""
        loads = [(stream, header.load) for stream, header in headers if header.load is not None]
        self.rationer.see(loads, needed, self.watermark)
        return accepted

    def first_needed(self, stream: int) -> int:
        """The first cell that the window holds at the watermark, or its time where rows are numbered.

        All buckets find the same, although each moves its windows at its own instants.
        """
        calendar, watermark = self.calendars[stream], self.watermark
        return BEGINNING if watermark is None else calendar.done_before(calendar.content(watermark)[0])

    def _ration(self, ordinal: int, entries: Entries) -> tuple[Flags, Flags]:
        assert entries.draws is not None
        enters = self._entered(ordinal, entries.cells)
        return (
            self.rationer.held_until(ordinal, enters, entries.draws) == NEVER,
            self.rationer.may_probe(ordinal, enters, entries.draws),
        )

    def _entered(self, stream: int, cells: Integers) -> Integers:
        """When cells that are inside have entered."""
        calendar = self.calendars[stream]
        if isinstance(calendar, KeyedCalendar):  # the cells of a view are instants
            return cells
        assert isinstance(calendar, TimeCalendar | CountingCalendar)
        return calendar.entry(cells)

    # --- answering --------------------------------------------------------------------------------------------------

    def answer(self, to_the_end: bool = False) -> Iterator[Emitted]:
        """Moves over all instants up to the watermark, after what is no longer held has been dropped."""
        for lowered in self.rationer.take_lowered():
            self.live.windows.thin(lowered)
        yield from super().answer(to_the_end)
        for stream, (not_held, unprobed) in enumerate(self.live.windows.take_counts()):
            if self._counts_entries(stream):
                self.position.streams[stream].shed += not_held
                self.position.streams[stream].unprobed += unprobed
        self._drop_unheld()

    def rebuild(self, keep_labels: bool = False) -> None:
        """Makes new live windows from the entries. They have been counted already."""
        counts = self.live.windows.take_counts()
        super().rebuild(keep_labels)
        self.live.windows.counts = counts

    def resume(self, position: Position) -> None:
        """Brings the windows to a position. Their rows have been counted already."""
        super().resume(position)
        self.live.windows.take_counts()

    def _drop_unheld(self) -> None:
        """Drops the entries that have entered and are not held, and the rates that no entry needs."""
        rationer, watermark = self.rationer, self.watermark
        if watermark is None:
            return
        for ordinal, intake in self.intakes.items():
            if not rationer.holding[ordinal].is_whole:
                assert isinstance(intake, TimedIntake)
                parts = [self._held(ordinal, entries, self.contents[ordinal]) for entries in intake.cells.all()]
                intake.cells.replace([entries for entries in parts if len(entries)])
        firsts = [self._first_entered(stream) for stream in range(self.timing.streams)]
        rationer.forget(firsts, watermark)

    def _held(self, ordinal: int, entries: Entries, content: Content) -> Entries:
        """The entries that wait, and those inside that are held."""
        inside = np.flatnonzero(entries.cells < content[1])
        held, _ = self._ration(ordinal, entries.take(inside))
        return entries.take(np.delete(np.arange(len(entries)), inside[~held]))

    def _first_entered(self, stream: int) -> int:
        """A time before which nothing has entered that the window holds."""
        first, calendar = self.first_needed(stream), self.calendars[stream]
        return int(calendar.entry(np.array([first]))[0]) if isinstance(calendar, TimeCalendar) else first

    # --- state ------------------------------------------------------------------------------------------------------

    def still_held(self, stored: Stored, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Stored rows without those that have entered and are not held. Numbered rows stay, with unknown blocks."""
        if not isinstance(stored, EntriesOf):
            return batch
        stream = self.ordinal_of(stored.input)
        if self.rationer.holding[stream].is_whole or not isinstance(self.calendars[stream], TimeCalendar):
            return batch
        cells = cells_of(batch)
        enters = self._entered(stream, cells)
        dropped = self.rationer.held_until(stream, enters, draws_of(batch)) < NEVER
        dropped &= cells < self.contents[stream][1]
        return batch.filter(pa.array(~dropped)) if dropped.any() else batch

    def compacted(self, stored: Stored, rows: pa.RecordBatch, are_all: bool) -> pa.RecordBatch:
        """Also drops rows that are not held."""
        return super().compacted(stored, self.still_held(stored, rows), are_all)


class RationedLive(PairLive):
    """The live windows of a plain join that sheds."""

    windows: "RationedPaired"

    def __init__(
        self, body: Body, choice: FoldChoice, timing: Timing, earlier: list[pa.RecordBatch], ration: Ration
    ) -> None:
        self.ration = ration
        super().__init__(body, choice, timing, earlier)

    def _windows(self, choice: FoldChoice, only_changed: bool, zone: str) -> "RationedPaired":  # type: ignore[override]
        return RationedPaired(self.vocabulary, choice, self.timing, self.ration)


class RationedPaired(Paired):
    """The windows of all inputs. Only some rows probe, and only some are held.

    ``counts`` has, for each input, the rows that were not held, and those that did not probe.
    """

    def __init__(self, vocabulary: Vocabulary, choice: FoldChoice, timing: Timing, ration: Ration) -> None:
        super().__init__(vocabulary, choice, timing)
        self.ration = ration
        self.inside: list[deque[tuple[Integers, Integers, Integers]]] = [deque() for _ in self.windows]
        self.counts = [(0, 0)] * len(self.windows)

    def enter(self, ordinal: int, entries: Entries, leaves: Integers, now: int) -> None:
        """Finds the combinations of entries that may probe with all members; then inserts those that are held."""
        held, probes = self.ration(ordinal, entries)
        rows = entries.payload.ints[:, 0]
        before = self.counts[ordinal]
        self.counts[ordinal] = (before[0] + int(rows[~held].sum()), before[1] + int(rows[~probes].sum()))
        if probes.any():
            self.found += self._met(ordinal, entries.take(probes), leaves[probes])
        if held.any():
            self._insert(ordinal, entries.take(held), leaves[held])

    def _insert(self, ordinal: int, entries: Entries, leaves: Integers) -> Integers:
        assert entries.draws is not None
        slots = super()._insert(ordinal, entries, leaves)
        if self.windows[ordinal].members.is_queue:
            self.inside[ordinal].append((entries.cells, slots, entries.draws))
        return slots

    def leave(self, ordinal: int, entries: Entries, now: int) -> None:
        """Removes the members of the cells that leave. Members are in the order of their cells, but not in a view."""
        if not self.windows[ordinal].members.is_queue:
            super().leave(ordinal, entries, now)
            return
        last, inside = int(entries.cells.max()), self.inside[ordinal]
        gone = []
        while inside and inside[0][0][0] <= last:
            cells, slots, draws = inside.popleft()
            left = int(np.searchsorted(cells, last, "right"))
            gone.append(slots[:left])
            if left < len(cells):
                inside.appendleft((cells[left:], slots[left:], draws[left:]))
        if gone:
            self._drop(ordinal, np.concatenate(gone))

    def thin(self, lowered: Lowered) -> None:
        """Removes the members that are no longer held."""
        ordinal, limit = lowered.stream, threshold(lowered.rate)
        kept, gone = deque[tuple[Integers, Integers, Integers]](), [np.empty(0, np.int64)]
        for cells, slots, draws in self.inside[ordinal]:
            held = draws < limit
            gone.append(slots[~held])
            if held.any():
                kept.append((cells[held], slots[held], draws[held]))
        self.inside[ordinal], dropped = kept, np.concatenate(gone)
        not_held, unprobed = self.counts[ordinal]
        rows = int(self.windows[ordinal].members.payload.ints[dropped, 0].sum())
        self.counts[ordinal] = (not_held + rows, unprobed)
        self._drop(ordinal, dropped)

    def take_counts(self) -> list[tuple[int, int]]:
        """What was counted since the last call."""
        counts, self.counts = self.counts, [(0, 0)] * len(self.windows)
        return counts

    def _drop(self, ordinal: int, slots: Integers) -> None:
        window = self.windows[ordinal]
        window.members.drop(slots)
        window.change(REMOVE, slots, self.prober.keys, self.vocabulary)
