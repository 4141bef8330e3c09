"""Plain joins of windows that count rows, or of windows that are joined by number: combinations as the windows move.

Where rows decide when a window moves, a combination is final when the watermark has reached its instant. It is found
when the last of its rows enters, and goes out once.

By window ids a combination belongs to every result window that holds all its rows. It is found once, when the later of
its sub-windows enters, and shared by all result windows that hold both (Du's I-CDS-SW with JSW). Or each result window
is joined anew (CDS-SW), for comparison.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.kernels.structures.operations import INSERT, REMOVE
from joinfold.operators.batches import together
from joinfold.operators.calendars.calendar import BEGINNING, END
from joinfold.operators.calendars.emission import in_pieces, moves_of
from joinfold.operators.calendars.position import Position
from joinfold.operators.calendars.time import TimeCalendar
from joinfold.operators.emitted import Emitted
from joinfold.operators.entries import Entries, Ids, Integers, constant_entries
from joinfold.operators.stages.fold import Fold
from joinfold.operators.stages.intake import TimedIntake, ViewIntake
from joinfold.operators.vocabulary import Vocabulary
from joinfold.operators.windows.live import Live
from joinfold.operators.windows.members import Members
from joinfold.operators.windows.probing import IndexedWindow, Prober
from joinfold.physical.choice import FoldChoice
from joinfold.physical.column_names import INSTANT
from joinfold.physical.source import ViewOf
from joinfold.physical.stage import Body
from joinfold.physical.timing import ByWindowId, Timing


@dataclass(slots=True)
class Pairs:
    """Combinations: the carried row of each input, how often each occurs, and when the first of its rows leaves."""

    carried: dict[int, Ids]
    counts: Integers
    leaves: Integers

    def take(self, rows: NDArray[np.bool_] | Integers) -> "Pairs":
        """Some of the combinations."""
        carried = {ordinal: ids[rows] for ordinal, ids in self.carried.items()}
        return Pairs(carried, self.counts[rows], self.leaves[rows])


class MoveJoin(Fold):
    """One bucket, which answers with combinations at every move."""

    live: "PairLive"

    def open_live(self, earlier: list[pa.RecordBatch]) -> "PairLive":
        """Windows without totals."""
        return PairLive(self.body, self.choice, self.timing, earlier)

    def instants(self, until: int) -> Iterator[Integers]:
        """The instants at which a row of this bucket enters; by window ids, result windows, the same in all buckets."""
        if isinstance(self.timing.rule, ByWindowId):
            yield from super().instants(until)
            return
        moves = moves_of(self.calendars, until)
        entered = [np.empty(0, np.int64) if moves is None else moves]
        for intake in self.intakes.values():
            if isinstance(intake, ViewIntake):
                entered.append(intake.cells.occupied)
            elif isinstance(intake, TimedIntake) and isinstance(intake.calendar, TimeCalendar):
                entered.append(intake.calendar.entry(intake.cells.occupied))
        found = np.unique(np.concatenate(entered))
        applied = self.position.applied
        found = found[(found > (BEGINNING if applied is None else applied)) & (found <= until)]
        yield from in_pieces(found, self.timing.instants_per_piece)

    def rebuild(self, keep_labels: bool = False) -> None:
        """Makes new live windows from the entries. Their combinations have gone out already."""
        super().rebuild(keep_labels)
        self.live.windows.forget_found()

    def resume(self, position: Position) -> None:
        """Brings the windows to a position. Their combinations have gone out already."""
        super().resume(position)
        self.live.windows.forget_found()

    @property
    def touched(self) -> int:
        """How many members the structures of the windows have looked at so far."""
        return self.touched_before + self.live.windows.touched

    def emit(self, number: int, now: int) -> None:
        """Emits the combinations of an instant or of a result window."""
        self.live.windows.emit(number, now)

    def answer(self, to_the_end: bool = False) -> Iterator[Emitted]:
        """Moves over all instants up to the watermark. ``numbers`` has only those that have combinations."""
        for emitted in super().answer(to_the_end):
            if emitted.placed is None and emitted.rows is not None:
                emitted = Emitted(emitted.rows, np.unique(emitted.rows.column(INSTANT).to_numpy()).tolist())
            yield emitted


class PairLive(Live):
    """The live windows of a plain join."""

    windows: "Paired"  # type: ignore[assignment]

    def __init__(self, body: Body, choice: FoldChoice, timing: Timing, earlier: list[pa.RecordBatch]) -> None:
        self.timing = timing
        super().__init__(body, choice, earlier=earlier)

    def _windows(self, choice: FoldChoice, only_changed: bool, zone: str) -> "Paired":  # type: ignore[override]
        return Paired(self.vocabulary, choice, self.timing)

    def _emitted(self) -> Iterator[pa.RecordBatch]:
        yield from self.windows.take_emitted()


class Paired:
    """The windows of all inputs, and the combinations found since the last `emit`; by window ids all live ones."""

    def __init__(self, vocabulary: Vocabulary, choice: FoldChoice, timing: Timing) -> None:
        body, rule = vocabulary.body, timing.rule
        self.vocabulary = vocabulary
        self.by_number = isinstance(rule, ByWindowId)
        repeats = isinstance(rule, ByWindowId) and rule.modulus is not None
        self.shares = not self.by_number or (choice.shares and not body.is_open_ended and not repeats)
        self.prober = Prober(choice.order, vocabulary, timing.zone)
        self.windows = []
        for ordinal, spec in enumerate(body.inputs):
            is_view = isinstance(spec.source, ViewOf)
            members = Members(len(spec.keys), len(spec.integers), 0, 0, is_view, by_leave=False, is_queue=not is_view)
            asked = self.prober.asked(ordinal)
            self.windows.append(IndexedWindow(spec, ordinal, members, choice.indexes[ordinal], asked))
        self.found: list[Pairs] = []
        self.emitted_rows: list[pa.RecordBatch] = []
        if body.has_constant_row:
            self._insert(len(body.inputs) - 1, constant_entries(body), np.array([END]))

    @property
    def given(self) -> int:
        """How many ids its largest table of keys has."""
        return max(self.prober.given, *(window.members.given for window in self.windows))

    @property
    def has_drifted(self) -> bool:
        """False: there are no sums."""
        return False

    @property
    def may_have_wrapped(self) -> bool:
        """False: there are no sums."""
        return False

    @property
    def live_entries(self) -> int:
        """How many members the windows have."""
        return sum(len(window.members) for window in self.windows)

    @property
    def bytes_held(self) -> int:
        """The memory of windows and combinations."""
        pairs = sum(found.counts.nbytes + found.leaves.nbytes for found in self.found)
        return pairs + sum(window.bytes_held for window in self.windows)

    @property
    def touched(self) -> int:
        """How many members all structures have looked at."""
        return sum(window.touched for window in self.windows)

    def expect(self, ordinal: int, entries: Entries) -> None:
        """Does nothing: there is nothing to prepare."""

    def enter(self, ordinal: int, entries: Entries, leaves: Integers, now: int) -> None:
        """Finds the combinations of entries with all members of the other windows, then inserts the entries."""
        if self.shares:
            self.found += self._met(ordinal, entries, leaves)
        self._insert(ordinal, entries, leaves)

    def leave(self, ordinal: int, entries: Entries, now: int) -> None:
        """Removes entries from their window."""
        window = self.windows[ordinal]
        window.change(REMOVE, window.members.leave(entries), self.prober.keys, self.vocabulary)

    def expire(self, now: int) -> None:
        """Does nothing: no memory is held for entries that have left."""

    def forget_found(self) -> None:
        """Drops combinations that have gone out. By window ids they stay: they go out with every result window."""
        if not self.by_number:
            self.found = []

    def emit(self, number: int, now: int) -> None:
        """Emits the combinations found since the last call or, by window ids, all combinations in the windows."""
        if not self.shares:
            entries = self.windows[0].members.entries
            self.found = self._met(0, entries, np.full(len(entries), END)) if len(entries) else []
        elif self.by_number and self.found:
            pairs = _together(self.found)
            self.found = [pairs.take(pairs.leaves > now)]
        for pairs in self.found:
            rows = np.repeat(np.arange(len(pairs.counts)), pairs.counts)
            columns = {INSTANT: pa.array(np.full(len(rows), number, np.int64))}
            for ordinal, ids in pairs.carried.items():
                columns |= self.vocabulary.carried_columns(ordinal, ids[rows])
            self.emitted_rows.append(pa.RecordBatch.from_pydict(columns))
        if not self.by_number:
            self.found = []

    def take_emitted(self) -> list[pa.RecordBatch]:
        """What was emitted since the last call."""
        emitted_rows, self.emitted_rows = self.emitted_rows, []
        return [together(emitted_rows)] if emitted_rows else []

    def _met(self, ordinal: int, entries: Entries, leaves: Integers) -> list[Pairs]:
        found = []
        for chunk in self.prober.combinations(ordinal, self.prober.start(ordinal, entries), self.windows):
            counts, until = entries.payload.ints[chunk.delta, 0], leaves[chunk.delta]
            for other, slots in chunk.slots.items():
                members = self.windows[other].members
                counts = counts * members.payload.ints[slots, 0]
                until = np.minimum(until, members.leaves[slots])
            found.append(Pairs(dict(chunk.carried), counts, until))
        return found

    def _insert(self, ordinal: int, entries: Entries, leaves: Integers) -> Integers:
        window = self.windows[ordinal]
        slots = window.members.enter(entries, leaves)
        window.change(INSERT, slots, self.prober.keys, self.vocabulary)
        return slots


def _together(many: list[Pairs]) -> Pairs:
    ordinals = many[0].carried
    carried = {ordinal: np.concatenate([pairs.carried[ordinal] for pairs in many]) for ordinal in ordinals}
    counts, leaves = (np.concatenate([getattr(pairs, name) for pairs in many]) for name in ("counts", "leaves"))
    return Pairs(carried, counts, leaves)
