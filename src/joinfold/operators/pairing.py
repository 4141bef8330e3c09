"""Plain joins: each combination once, as soon as it exists.

A row is in its window for one interval of time, its *stay*. Rows combine if their stays have an instant in common, and
the combination's instant is the first of them: the latest of the entries. That needs no watermark, so combinations go
out with the micro-batch that brings their last row. The watermark says which rows can be forgotten: rows to come enter
after it, so whatever has left by then meets nobody any more.

    a      [-------)
    b          [---------)           a and b: at b's entry
    c                 [------)       b and c: at c's entry; a and c never meet
    W          ^                     from here on, what is not known yet enters later
"""

import numpy as np
import pyarrow as pa

from joinfold.kernels.structures.operations import INSERT, REMOVE
from joinfold.operators.bucket import Bucket, Noted
from joinfold.operators.choice import FoldChoice
from joinfold.operators.entries import Entries, Integers, constant_entries
from joinfold.operators.labels import GapUsedUp
from joinfold.operators.layout import FoldLayout
from joinfold.operators.live import MANY
from joinfold.operators.members import Members
from joinfold.operators.merge import together
from joinfold.operators.probing import Bound, IndexedWindow, Prober
from joinfold.operators.timeline import NEVER
from joinfold.operators.vocabulary import Vocabulary


class PairFold(Bucket):
    """One bucket of a plain join."""

    def __init__(self, layout: FoldLayout, number: int, choice: FoldChoice | None = None) -> None:
        super().__init__(layout, number, choice)
        self.fresh: list[tuple[int, pa.RecordBatch]] = []
        self._open()

    def _open(self) -> None:
        layout = self.layout
        self.vocabulary = Vocabulary(layout, by_class=True)
        self.prober = Prober(layout, self.choice.order, self.vocabulary)
        self.windows = []
        for place, side in enumerate(layout.inputs):
            members = Members(len(side.keys), len(side.integers), 0, 0, merged=False, by_leave=False)
            index = self.choice.indexes[place]
            self.windows.append(IndexedWindow(layout, place, members, index, self.prober.asked(place)))
        self.leaving: list[list[tuple[Integers, Integers]]] = [[] for _ in layout.inputs]
        if layout.has_constant_row:
            self._insert(1, constant_entries(layout), np.array([NEVER]))

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

    def due(self, place: int, cells: Integers) -> Integers:
        """A row is late from the moment on at which its window would hold it; one that none will hold never is."""
        timeline = self.layout.timeline
        return np.where(timeline.accepts(place, cells), timeline.first_instant(place, cells), NEVER)

    def receive(self, place: int, batch: pa.RecordBatch) -> None:
        """New entries wait for the answer."""
        self.fresh.append((place, batch))

    def add(self, place: int, batch: pa.RecordBatch) -> None:
        """Entries of the state have met each other already."""
        entries = self._read(place, batch)
        self._insert(place, entries, self.layout.timeline.leave(place, entries.cells))

    def resume(self) -> None:
        """Everything is where it stood."""

    def answer(self, to_the_end: bool = False) -> Noted:
        """The combinations of new entries with each other and with all that were there."""
        parts = []
        for place, batch in self.fresh:
            entries = self._read(place, batch)
            parts += self._meet(place, entries)
            self._insert(place, entries, self.layout.timeline.leave(place, entries.cells))
        self.fresh = []
        self.moment.answered = self.watermark
        self._forget()
        if max(self.vocabulary.given, self.prober.given) > max(MANY, 4 * self.entries_held):
            self._renew()
        if not parts:
            return Noted(None, [])
        rows = together(parts)
        return Noted(rows, np.unique(rows.column("instant").to_numpy()).tolist())

    def is_done(self, place: int, last_cell: int) -> bool:
        """Whether entries up to this cell meet nobody any more."""
        return self._has_left(int(self.layout.timeline.leave(place, np.array([last_cell]))[0]))

    def _meet(self, place: int, entries: Entries) -> list[pa.RecordBatch]:
        timeline, side = self.layout.timeline, self.layout.inputs[place]
        parts = {own: entries.parts[:, number] for number, own in enumerate(side.classes)}
        start = Bound(np.arange(len(entries)), {}, parts, {place: entries.carried})
        found = []
        for chunk in self.prober.combinations(place, start, self.windows):
            entered, left = [], []
            counts = np.ones(len(chunk.delta), np.int64)
            for other, window in enumerate(self.windows):
                if other == place:
                    cells, count = entries.cells[chunk.delta], entries.integers[chunk.delta, 0]
                else:
                    slots = chunk.slots[other]
                    cells, count = window.members.cells[slots], window.members.integers[slots, 0]
                counts = counts * count
                if other < self.layout.streams:
                    entered.append(timeline.entry(other, cells))
                    left.append(timeline.leave(other, cells))
            instant = np.maximum.reduce(entered)
            meets = np.flatnonzero(instant < np.minimum.reduce(left))
            rows = np.repeat(meets, counts[meets])
            if len(rows):
                found.append(self._shown(instant[rows], chunk.take(rows)))
        return found

    def _shown(self, instant: Integers, chunk: Bound) -> pa.RecordBatch:
        columns = {"instant": pa.array(instant)}
        for place, carried in chunk.carried.items():
            columns |= self.vocabulary.carried_columns(place, carried)
        return pa.RecordBatch.from_pydict(columns)

    def _insert(self, place: int, entries: Entries, leaves: Integers) -> None:
        window = self.windows[place]
        slots = window.members.enter(entries, leaves)
        window.change(INSERT, slots, self.prober.keys, self.vocabulary)
        order = np.argsort(leaves, kind="stable")
        self.leaving[place].append((leaves[order], slots[order]))

    def _forget(self) -> None:
        """Drops what has left; each batch of entries has its own in the order of leaving."""
        if self.moment.answered is None:
            return
        for place, window in enumerate(self.windows):
            held, gone = [], []
            for leaves, slots in self.leaving[place]:
                left = int(np.searchsorted(leaves, self.moment.answered + 1, "right"))
                gone.append(slots[:left])
                if left < len(leaves):
                    held.append((leaves[left:], slots[left:]))
            self.leaving[place] = held
            if gone and any(map(len, gone)):
                slots = np.concatenate(gone)
                window.members.drop(slots)
                window.change(REMOVE, slots, self.prober.keys, self.vocabulary)

    def _has_left(self, leave: int) -> bool:
        """Whether all that will come enters after this time; entries are at least 1 µs after the watermark."""
        return self.moment.answered is not None and leave <= self.moment.answered + 1

    def _read(self, place: int, batch: pa.RecordBatch) -> Entries:
        try:
            return self.vocabulary.entries_of(place, batch)
        except GapUsedUp:
            self._renew()
            return self.vocabulary.entries_of(place, batch)

    def _renew(self) -> None:
        """Makes ids and windows anew from the entries that are there."""
        old, held = self.vocabulary, [window.members.entries for window in self.windows]
        self.touched_before = self.touched
        self._open()
        for place, entries in enumerate(held[: self.layout.streams]):
            for own in self.vocabulary.adopt(old, place, [entries]):
                self._insert(place, own, self.layout.timeline.leave(place, own.cells))
