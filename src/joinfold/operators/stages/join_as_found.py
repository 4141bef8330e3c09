"""Plain joins of windows in time: each combination goes out once, as soon as its last row has come.

A row is in its window during one interval, its *stay*. Rows combine if their stays have an instant in common. The
instant of the combination is the first such one: when the last of its rows enters. That needs no watermark, so
combinations go out with the micro-batch that brings their last row. The watermark tells which rows can be dropped: rows
that come later enter after it, so a row that has left by then cannot match any of them.

    a      [-------)
    b          [---------)           a and b: when b enters
    c                 [------)       b and c: when c enters; a and c never match
    W          ^                     rows that have not come yet enter after W
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from joinfold.kernels.structures.operations import INSERT, REMOVE
from joinfold.operators.batches import together
from joinfold.operators.calendars.calendar import NEVER
from joinfold.operators.calendars.time import TimeCalendar
from joinfold.operators.emitted import NOTHING_EMITTED, Emitted
from joinfold.operators.entries import Entries, Integers, constant_entries
from joinfold.operators.labels import GapUsedUp
from joinfold.operators.stages.bucket import Accepted, Bucket
from joinfold.operators.vocabulary import Vocabulary
from joinfold.operators.windows.live import MANY
from joinfold.operators.windows.members import Members
from joinfold.operators.windows.probing import IndexedWindow, PartialCombinations, Prober
from joinfold.physical.choice import FoldChoice
from joinfold.physical.column_names import INSTANT
from joinfold.physical.stage import JoinAsFound
from joinfold.physical.stored import EntriesOf, Stored
from joinfold.physical.timing import Timing


class AsFoundJoin(Bucket):
    """One bucket of a plain join. Its inputs are the streams, in their order."""

    def __init__(self, stage: JoinAsFound, timing: Timing, number: int, choice: FoldChoice) -> None:
        super().__init__(stage, timing, number, choice)
        self.body = stage.body
        self.fresh: Accepted = []
        self._open()

    def _calendar(self, ordinal: int) -> TimeCalendar:
        calendar = self.calendars[ordinal]
        assert isinstance(calendar, TimeCalendar)
        return calendar

    def _open(self) -> None:
        self.vocabulary = Vocabulary(self.body, by_class=True)
        self.prober = Prober(self.choice.order, self.vocabulary, self.timing.zone)
        self.windows = []
        for ordinal, spec in enumerate(self.inputs):
            members = Members(len(spec.keys), len(spec.integers), 0, 0, merged=False, by_leave=False)
            index = self.choice.indexes[ordinal]
            self.windows.append(IndexedWindow(spec, ordinal, members, index, self.prober.asked(ordinal)))
        self.leaving: list[list[tuple[Integers, Integers]]] = [[] for _ in self.inputs]
        if self.body.has_constant_row:
            self._insert(1, constant_entries(self.body), np.array([NEVER]))

    @property
    def entries_held(self) -> int:
        """How many entries the windows hold."""
        return sum(len(window.members) for window in self.windows)

    @property
    def cells_held(self) -> int:
        """How many leaving times there are, one for each entry."""
        return sum(len(leaves) for batches in self.leaving for leaves, _ in batches)

    @property
    def bytes_held(self) -> int:
        """The memory of the windows."""
        return sum(window.bytes_held for window in self.windows)

    @property
    def touched(self) -> int:
        """How many members the structures of the windows have looked at so far."""
        return self.touched_before + sum(window.touched for window in self.windows)

    def receive(self, stored: Stored, batch: pa.RecordBatch) -> None:
        """Keeps new entries for `answer`."""
        self.fresh.append((stored, batch))

    def add(self, stored: Stored, batch: pa.RecordBatch) -> None:
        """Inserts stored entries. They have been combined with each other already."""
        ordinal = self._ordinal(stored)
        entries = self._read(ordinal, batch)
        self._insert(ordinal, entries, self._calendar(ordinal).leave_at(entries.cells))

    def answer(self, to_the_end: bool = False) -> Iterator[Emitted]:
        """The combinations of new entries with each other and with all entries in the windows."""
        parts = []
        for stored, batch in self.fresh:
            ordinal = self._ordinal(stored)
            entries = self._read(ordinal, batch)
            parts += self._combinations_of(ordinal, entries)
            self._insert(ordinal, entries, self._calendar(ordinal).leave_at(entries.cells))
        self.fresh = []
        self.position.answered = self.watermark
        self._forget()
        if self._is_outgrown:
            self._rebuild()
        if not parts:
            yield NOTHING_EMITTED
            return
        rows = together(parts)
        yield Emitted(rows, np.unique(rows.column(INSTANT).to_numpy()).tolist())

    def is_done(self, stored: Stored, last_cell: int) -> bool:
        """Whether entries up to this cell match no later row: these enter at least 1 µs after the watermark."""
        answered, leave = self.position.answered, self._calendar(self._ordinal(stored)).leave_at(last_cell)
        return answered is not None and leave <= answered + 1

    @property
    def _is_outgrown(self) -> bool:
        """Whether the tables have many more ids than there are entries."""
        return max(self.vocabulary.given, self.prober.given) > max(MANY, 4 * self.entries_held)

    def _ordinal(self, stored: Stored) -> int:
        assert isinstance(stored, EntriesOf)
        return self.ordinal_of(stored.input)

    def _combinations_of(self, ordinal: int, entries: Entries) -> list[pa.RecordBatch]:
        found = []
        for chunk in self.prober.combinations(ordinal, self.prober.start(ordinal, entries), self.windows):
            entered, left = [], []
            for other, window in enumerate(self.windows[: self.timing.streams]):
                cells = entries.cells[chunk.delta] if other == ordinal else window.members.cells[chunk.slots[other]]
                entered.append(self._calendar(other).entry(cells))
                left.append(self._calendar(other).leave_at(cells))
            instant = np.maximum.reduce(entered)
            meets = np.flatnonzero(instant < np.minimum.reduce(left))
            rows = np.repeat(meets, self._counts(ordinal, entries, chunk)[meets])
            if len(rows):
                found.append(self._output_rows(instant[rows], chunk.take(rows)))
        return found

    def _counts(self, ordinal: int, entries: Entries, chunk: PartialCombinations) -> Integers:
        """How often each combination occurs."""
        counts: Integers = entries.payload.ints[chunk.delta, 0]
        for other, slots in chunk.slots.items():
            counts = counts * self.windows[other].members.payload.ints[slots, 0]
        return counts

    def _output_rows(self, instant: Integers, chunk: PartialCombinations) -> pa.RecordBatch:
        columns = {INSTANT: pa.array(instant)}
        for ordinal, carried in chunk.carried.items():
            columns |= self.vocabulary.carried_columns(ordinal, carried)
        return pa.RecordBatch.from_pydict(columns)

    def _insert(self, ordinal: int, entries: Entries, leaves: Integers) -> None:
        window = self.windows[ordinal]
        slots = window.members.enter(entries, leaves)
        window.change(INSERT, slots, self.prober.keys, self.vocabulary)
        self._schedule(ordinal, leaves, slots)

    def _schedule(self, ordinal: int, leaves: Integers, slots: Integers) -> None:
        """Lets entries be dropped when they have left."""
        order = np.argsort(leaves, kind="stable")
        self.leaving[ordinal].append((leaves[order], slots[order]))

    def _forget(self) -> None:
        """Drops the entries that have left; each batch in ``leaving`` is sorted by leaving time."""
        if self.position.answered is None:
            return
        for ordinal, window in enumerate(self.windows):
            held, gone = [], []
            for leaves, slots in self.leaving[ordinal]:
                left = int(np.searchsorted(leaves, self.position.answered + 1, "right"))
                gone.append(slots[:left])
                if left < len(leaves):
                    held.append((leaves[left:], slots[left:]))
            self.leaving[ordinal] = held
            if gone and any(map(len, gone)):
                slots = np.concatenate(gone)
                window.members.drop(slots)
                window.change(REMOVE, slots, self.prober.keys, self.vocabulary)

    def _read(self, ordinal: int, batch: pa.RecordBatch) -> Entries:
        try:
            return self.vocabulary.entries_of(ordinal, batch)
        except GapUsedUp:
            self._rebuild()
            return self.vocabulary.entries_of(ordinal, batch)

    def _rebuild(self) -> None:
        """Makes new ids and windows from the entries that are left."""
        old, held = self.vocabulary, [window.members.entries for window in self.windows]
        self.touched_before = self.touched
        self._open()
        for ordinal, entries in enumerate(held[: self.timing.streams]):
            for adopted in self.vocabulary.adopt(old, ordinal, [entries]):
                self._insert(ordinal, adopted, self._calendar(ordinal).leave_at(adopted.cells))
