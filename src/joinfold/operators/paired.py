"""Plain joins of windows that count rows, or that are joined by their numbers: combinations as the windows move.

Where rows decide when a window moves, a combination is final when the watermark has passed its last entry: it is found
when the last of its rows enters, and goes out once. By window ids it belongs to every result window that holds all its
rows. There what a pair of sub-windows comes to is found once, when the later one enters, and shared by all result
windows that hold both (Du's I-CDS-SW with JSW); or each result window is joined anew (CDS-SW), to be compared with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.kernels.structures.operations import INSERT, REMOVE
from joinfold.operators.bucket import Noted
from joinfold.operators.choice import FoldChoice
from joinfold.operators.entries import Entries, Ids, Integers, constant_entries
from joinfold.operators.fold import Fold
from joinfold.operators.layout import CONSTANT_ROW, FoldLayout
from joinfold.operators.live import Live
from joinfold.operators.members import Members
from joinfold.operators.merge import together
from joinfold.operators.probing import Bound, IndexedWindow, Prober
from joinfold.operators.timeline import BEGINNING, END, NEVER
from joinfold.operators.vocabulary import Vocabulary
from joinfold.operators.window_ids import WindowIds


@dataclass(slots=True)
class Pairs:
    """Combinations: the carried row of each input, how many there are of it, and when the first of its rows leaves."""

    carried: dict[int, Ids]
    counts: Integers
    leaves: Integers

    def take(self, rows: NDArray[np.bool_] | Integers) -> "Pairs":
        """Some of them."""
        carried = {place: ids[rows] for place, ids in self.carried.items()}
        return Pairs(carried, self.counts[rows], self.leaves[rows])


class PairMoves(Fold):
    """One bucket, which answers with combinations at every move."""

    live: "PairLive"

    def open_live(self, earlier: list[pa.RecordBatch]) -> "PairLive":
        """Windows without totals."""
        return PairLive(self.layout, self.choice, earlier)

    def due(self, stream: int, cells: Integers) -> Integers:
        """A row is late from the moment on at which its window would hold it; one that none will hold never is."""
        timeline = self.layout.timeline
        if isinstance(timeline, WindowIds):  # cells are not times here, and of rows before START there are none
            return timeline.first_instant(stream, cells)
        return np.where(timeline.accepts(stream, cells), timeline.first_instant(stream, cells), NEVER)

    def instants(self, until: int, moves: Integers | None) -> Integers:
        """Every instant at which a row of this bucket enters; result windows are the same in all buckets."""
        if isinstance(self.layout.timeline, WindowIds):
            return super().instants(until, moves)
        entered = [np.empty(0, np.int64) if moves is None else moves]
        for place, stream in self.timed:
            if stream not in self.cuts:
                entered.append(self.layout.timeline.entry(stream, self.cells[place].occupied))
        entered += [self.cells[place].occupied for place in self.standing]
        found = np.unique(np.concatenate(entered))
        applied = self.moment.applied
        return found[(found > (BEGINNING if applied is None else applied)) & (found <= until)]

    def renew(self, keep_labels: bool = False) -> None:
        """Makes what is live anew; its combinations have gone out."""
        super().renew(keep_labels)
        self.live.windows.forget_found()

    def resume(self) -> None:
        """Brings the windows to where they stood; their combinations have gone out."""
        super().resume()
        self.live.windows.forget_found()

    @property
    def touched(self) -> int:
        """How many members the structures of the windows have looked at so far."""
        return self.touched_before + self.live.windows.touched

    def note(self, number: int, now: int) -> None:
        """Notes the combinations of an instant or of a result window."""
        self.live.windows.note(number, now)

    def answer(self, to_the_end: bool = False) -> Noted:
        """Moves over all instants that the watermark has passed; numbers are those that have combinations."""
        noted = super().answer(to_the_end)
        if noted.where is not None or noted.rows is None:
            return noted
        return Noted(noted.rows, np.unique(noted.rows.column("instant").to_numpy()).tolist())


class PairLive(Live):
    """The live windows of a plain join."""

    windows: "Paired"  # type: ignore[assignment]

    def _windows(self, choice: FoldChoice) -> "Paired":  # type: ignore[override]
        return Paired(self.layout, choice, self.vocabulary)

    def _noted(self) -> Iterator[pa.RecordBatch]:
        yield from self.windows.take_noted()


class Paired:
    """The windows of all inputs, what was found since the last note and, by window ids, what is live of it."""

    def __init__(self, layout: FoldLayout, choice: FoldChoice, vocabulary: Vocabulary) -> None:
        self.layout = layout
        self.vocabulary = vocabulary
        timeline = layout.timeline
        self.by_number = isinstance(timeline, WindowIds)
        repeats = isinstance(timeline, WindowIds) and timeline.modulus is not None
        self.shares = not self.by_number or (choice.shares and not layout.is_open_ended and not repeats)
        self.prober = Prober(layout, choice.order, vocabulary)
        self.windows = []
        for place, side in enumerate(layout.inputs):
            is_view = place in layout.views
            members = Members(len(side.keys), len(side.integers), 0, 0, is_view, by_leave=False, is_queue=not is_view)
            asked = self.prober.asked(place)
            self.windows.append(IndexedWindow(layout, place, members, choice.indexes[place], asked))
        self.found: list[Pairs] = []
        self.notes: list[pa.RecordBatch] = []
        if layout.has_constant_row:
            self._insert(layout.feeds.index(CONSTANT_ROW), constant_entries(layout), np.array([END]))

    @property
    def given(self) -> int:
        """How many ids its largest table of keys has given."""
        return max(self.prober.given, *(window.members.given for window in self.windows))

    @property
    def is_worn(self) -> bool:
        """There are no sums."""
        return False

    @property
    def live_entries(self) -> int:
        """How many members the windows have."""
        return sum(len(window.members) for window in self.windows)

    @property
    def bytes_held(self) -> int:
        """The memory of windows and combinations."""
        pairs = sum(own.counts.nbytes + own.leaves.nbytes for own in self.found)
        return pairs + sum(window.bytes_held for window in self.windows)

    @property
    def touched(self) -> int:
        """How many members all structures have looked at."""
        return sum(window.touched for window in self.windows)

    def expect(self, place: int, entries: Entries) -> None:
        """Nothing has to be prepared for entries that will enter."""

    def enter(self, place: int, entries: Entries, leaves: Integers, now: int) -> None:
        """Entries enter their window; they meet all that are in the others."""
        if self.shares:
            self.found += self._met(place, entries, leaves)
        self._insert(place, entries, leaves)

    def leave(self, place: int, entries: Entries, now: int) -> None:
        """Entries leave their window."""
        window = self.windows[place]
        window.change(REMOVE, window.members.leave(entries), self.prober.keys, self.vocabulary)

    def expire(self, now: int) -> None:
        """Nothing is held of what has left."""

    def forget_found(self) -> None:
        """What was found has gone out already; by window ids it goes out with every window."""
        if not self.by_number:
            self.found = []

    def note(self, number: int, now: int) -> None:
        """Notes what was found since the last time or, by window ids, all that is in the windows."""
        if not self.shares:
            entries = self.windows[0].members.entries
            self.found = self._met(0, entries, np.full(len(entries), END)) if len(entries) else []
        elif self.by_number and self.found:
            pairs = _together(self.found)
            self.found = [pairs.take(pairs.leaves > now)]
        for pairs in self.found:
            rows = np.repeat(np.arange(len(pairs.counts)), pairs.counts)
            columns = {"instant": pa.array(np.full(len(rows), number, np.int64))}
            for place, ids in pairs.carried.items():
                columns |= self.vocabulary.carried_columns(place, ids[rows])
            self.notes.append(pa.RecordBatch.from_pydict(columns))
        if not self.by_number:
            self.found = []

    def take_noted(self) -> list[pa.RecordBatch]:
        """What was noted since the last time."""
        notes, self.notes = self.notes, []
        return [together(notes)] if notes else []

    def _met(self, place: int, entries: Entries, leaves: Integers) -> list[Pairs]:
        classes = self.layout.inputs[place].classes
        parts = {own: entries.parts[:, number] for number, own in enumerate(classes)}
        start = Bound(np.arange(len(entries)), {}, parts, {place: entries.carried})
        found = []
        for chunk in self.prober.combinations(place, start, self.windows):
            counts, until = entries.integers[chunk.delta, 0], leaves[chunk.delta]
            for other, slots in chunk.slots.items():
                members = self.windows[other].members
                counts = counts * members.integers[slots, 0]
                until = np.minimum(until, members.leaves[slots])
            found.append(Pairs(dict(chunk.carried), counts, until))
        return found

    def _insert(self, place: int, entries: Entries, leaves: Integers) -> None:
        window = self.windows[place]
        window.change(INSERT, window.members.enter(entries, leaves), self.prober.keys, self.vocabulary)


def _together(many: list[Pairs]) -> Pairs:
    places = many[0].carried
    carried = {place: np.concatenate([pairs.carried[place] for pairs in many]) for place in places}
    counts, leaves = (np.concatenate([getattr(pairs, name) for pairs in many]) for name in ("counts", "leaves"))
    return Pairs(carried, counts, leaves)
