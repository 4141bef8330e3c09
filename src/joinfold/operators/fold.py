"""FOLD: the live windows of a bucket, and the answers as they move from instant to instant.

The durable state is the entries of the live cells; what `live` holds is made from it. A move costs what enters and
leaves, whatever the size of the window and the number of combinations. All buckets know the same watermark and the same
occupied cells, so they answer at the same instants.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from joinfold.operators.bucket import CUTS, Bucket, Noted
from joinfold.operators.cells import Cells, cells_gone, cells_new
from joinfold.operators.choice import FoldChoice
from joinfold.operators.cuts import Cuts
from joinfold.operators.entries import Entries, Integers, joined
from joinfold.operators.labels import GapUsedUp
from joinfold.operators.layout import FoldLayout
from joinfold.operators.live import Live
from joinfold.operators.matched import Matched
from joinfold.operators.merge import together
from joinfold.operators.ordering import cells_of
from joinfold.operators.standing import Standing
from joinfold.operators.timeline import BEGINNING, END
from joinfold.operators.window_ids import Numbering, WindowIds
from joinfold.window import Landmark, PartitionedRows, RangeByRows, Rows


class Fold(Bucket):
    """Answers at instants: lets cells enter and leave, and notes the totals of groups."""

    def __init__(self, layout: FoldLayout, number: int, choice: FoldChoice | None = None) -> None:
        super().__init__(layout, number, choice)
        self.timed = [(place, feed) for place, feed in enumerate(layout.feeds) if 0 <= feed < layout.streams]
        self.live = self.open_live([])
        self.cells = [Cells() for _ in layout.inputs]
        self.standing = {place: Standing() for place in layout.views}
        self.contents: list[tuple[int, int]] = [(BEGINNING, BEGINNING)] * layout.streams
        windows = enumerate(layout.timeline.windows)
        self.cuts = {stream: Cuts(window) for stream, window in windows if isinstance(window, Rows | RangeByRows)}
        self.unnumbered: dict[int, list[pa.RecordBatch]] = {place: [] for place in self._numbered_places()}
        self.numbered = dict.fromkeys(self.unnumbered, 0)  # up to which number cuts were applied

    def open_live(self, earlier: list[pa.RecordBatch]) -> Live:
        """Empty windows; ``earlier`` is what was noted before."""
        return Live(self.layout, self.choice, earlier)

    @property
    def entries_held(self) -> int:
        """How many entries the windows hold."""
        return self.live.windows.live_entries

    @property
    def cells_held(self) -> int:
        """How many cells have entries."""
        return sum(map(len, self.cells)) + sum(map(bool, self.standing.values()))

    @property
    def bytes_held(self) -> int:
        """The memory of the windows and of what is kept of combinations."""
        return self.live.windows.bytes_held

    @property
    def touched(self) -> int:
        """How many members the structures of the windows have looked at so far; without structures, none."""
        windows = self.live.windows
        return self.touched_before + (windows.touched if isinstance(windows, Matched) else 0)

    def absorb(self, blobs: Iterable[bytes]) -> list[tuple[int, pa.RecordBatch]]:
        """Takes in a micro-batch; what is ignored need not be stored."""
        accepted = [(place, self._used(place, batch)) for place, batch in super().absorb(blobs)]
        return [(place, batch) for place, batch in accepted if batch.num_rows]

    def add(self, place: int, batch: pa.RecordBatch) -> None:
        """Puts entries into their cells, where they wait for their instant."""
        batch = self._used(place, batch)
        if place >= CUTS:
            self.cuts[place - CUTS].add(batch)
        elif place in self.unnumbered:
            self.unnumbered[place].append(batch)
        else:
            self._add_entries(place, batch)

    def _used(self, place: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Entries, rows or cuts without those of windows that are ignored, as soon as it is certain which these are."""
        ids = self._by_number()
        if ids is None or self.moment.applied is None or place in self.standing:
            return batch
        stream = place - CUTS if place >= CUTS else self.layout.feeds[place]
        return batch.filter(pa.array(cells_of(batch) < ids.ignores(stream)))

    def _add_entries(self, place: int, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        entries = self._read(place, batch)
        self.live.windows.expect(place, entries)
        self.cells[place].add(entries)

    def _read(self, place: int, batch: pa.RecordBatch) -> Entries:
        """Stored entries with ids in place of values."""
        try:
            return self.live.vocabulary.entries_of(place, batch)
        except GapUsedUp:
            self.renew()
            return self.live.vocabulary.entries_of(place, batch)

    def renew(self, keep_labels: bool = False) -> None:
        """Makes what is live anew from the entries; with ``keep_labels`` values of pairs are labelled at once first."""
        if self.layout.is_view and self.moment.applied is not None:  # of what has changed, some may be gone
            self.live.note(self.moment.applied, self.moment.applied, always=False)
        self._drop_gone()
        old = self.put_aside(keep_labels)
        for place, standing in self.standing.items():
            stood = standing.take()
            if stood is not None:
                stood.cells[:] = BEGINNING  # they come before all that wait
                self.cells[place].add(stood)
        for place, cells in enumerate(self.cells):
            cells.replace(self.live.vocabulary.adopt(old.vocabulary, place, cells.all()))
            if cells.held:
                self.live.windows.expect(place, joined(cells.all()))
        self.contents = [(BEGINNING, BEGINNING)] * self.layout.streams
        if self.moment.applied is not None:
            self.move(self.moment.applied)
        self.live.remember_given()

    def go_on_with(self, choice: FoldChoice) -> None:
        """Makes what is live anew under another choice; entries and answers are the same."""
        self.choice = choice
        self.renew()

    def put_aside(self, keep_labels: bool) -> Live:
        """Begins with empty windows; gives back those that were there."""
        self.touched_before = self.touched
        self.live, old = self.open_live(self.live.noted_so_far()), self.live
        if keep_labels:
            self.live.vocabulary.label_pairs_of(old.vocabulary)
        return old

    def resume(self) -> None:
        """After the entries of a stored moment were added: brings the windows to where they stood."""
        applied = self.moment.applied
        if applied is not None:
            self._number()
            self.contents = [self._content(stream, applied) for stream in range(self.layout.streams)]
            self._drop_gone()
            self.contents = [(BEGINNING, BEGINNING)] * self.layout.streams
            self.move(applied)
            if self.layout.is_view:  # the view has this already
                self.note(applied, applied)
                self.live.windows.totals.take_notes()

    def answer(self, to_the_end: bool = False) -> Noted:
        """Moves over all instants that the watermark has passed, or all there are; a row per instant and group.

        For CHANGES the groups as they stand at the instant before come first, so that MERGE can tell what changed
        without having a state of its own.
        """
        moment, layout = self.moment, self.layout
        until = END if to_the_end else self.watermark
        if until is None:
            return Noted(None, [])
        self._number()
        moves, ids = self._moves(until), self._by_number()
        instants = self.instants(until, moves)
        before = [moment.applied] if layout.changes and len(instants) and moment.applied is not None else []
        for instant in (*before, *instants.tolist()):
            if instant not in before:
                self.move(instant)
            self.note(instant, instant)
        self._drop_gone()
        noted = self.live.noted()
        if len(instants):
            self.live.windows.expire(int(instants[-1]))
            if self._is_outgrown:
                self.renew()
        moment.answered = until
        where = None if ids is None else self._edges(ids, instants.tolist())
        for stream, cuts in self.cuts.items():
            cuts.forget(self._kept_from(stream))
        if ids is None and not layout.timeline.on_trigger and until != END:
            moment.occupancy.prune(layout.timeline, until, moves)
        return Noted(noted, instants.tolist(), before[0] if before else None, where)

    def instants(self, until: int, moves: Integers | None) -> Integers:
        """The instants to answer at, or the numbers of result windows, up to the watermark; ``moves`` are by rows."""
        moment, ids = self.moment, self._by_number()
        if ids is not None:
            return np.arange(0 if moment.applied is None else moment.applied + 1, ids.complete(moment.clock, until))
        if self.layout.timeline.on_trigger:
            return self._triggered(until)
        return moment.occupancy.instants(self.layout.timeline, moment.answered, until, moves)

    def _moves(self, until: int) -> Integers | None:
        """The instants at which windows that count rows have moved, in order."""
        windows, seen = self.layout.timeline.windows, self.moment.occupancy.cells
        keyed = [seen[place] + 1 for place, window in enumerate(windows) if isinstance(window, PartitionedRows)]
        found = [*(cuts.moves for cuts in self.cuts.values()), *(moves[moves <= until] for moves in keyed)]
        return np.unique(np.concatenate(found)) if found else None

    def _by_number(self) -> Numbering | None:
        """What is known of windows that are joined by their numbers."""
        timeline = self.layout.timeline
        return Numbering(timeline, self.cuts, self.moment.origins) if isinstance(timeline, WindowIds) else None

    def _edges(self, ids: Numbering, numbers: list[int]) -> list[list[int]]:
        """The numbers of result windows, and where the windows of each stream begin and end."""
        columns = [numbers]
        for stream in range(self.layout.streams):
            edges = [ids.edges(stream, number) for number in numbers]
            columns += [[begin for begin, _ in edges], [end for _, end in edges]]
        return columns

    @property
    def _is_outgrown(self) -> bool:
        """Whether ids are many more than the entries that are left."""
        held = sum(cells.held for cells in self.cells) + sum(map(len, self.standing.values()))
        return self.live.is_outgrown(held, max((rows.given for rows in self.standing.values()), default=0))

    def note(self, number: int, now: int) -> None:
        """Notes the groups as they stand ``now``, under an instant or another number; what has worn is made anew."""
        self.live.windows.settle(now)
        if self.live.windows.is_worn:
            self.renew()
            self.live.windows.settle(now)
        self.live.note(number, now, always=self.layout.is_global and self.is_first)

    def _triggered(self, until: int) -> Integers:
        latest = self.moment.clock.latest()
        if until == END:
            return np.array([] if latest is None else [latest + 1], np.int64)
        return np.array([until] if until != self.moment.answered else [], np.int64)

    def move(self, instant: int) -> None:
        """Lets cells leave and enter until the windows have their contents at the instant.

        What leaves any window goes before anything enters: the two never meet, so they must not be combined.
        """
        windows, before = self.live.windows, self.contents
        self.contents = [self._content(stream, instant) for stream in range(self.layout.streams)]
        self.moment.applied = instant
        for place, stream in self.timed:
            cells = self.cells[place]
            gone = cells.between(*cells_gone(before[stream], self.contents[stream]))
            if gone is not None:
                windows.leave(place, gone, instant)
        replaced = [(place, *self.standing[place].replace(come)) for place, come in self._come(instant)]
        for place, gone, _ in replaced:
            if len(gone):
                windows.leave(place, gone, instant)
        try:
            for place, stream in self.timed:
                new = self.cells[place].between(*cells_new(before[stream], self.contents[stream]))
                if new is not None:
                    windows.enter(place, new, self._leaves(stream, new.cells, instant), instant)
            for place, _, new in replaced:
                if len(new):
                    windows.enter(place, new, np.full(len(new), END), instant)
        except GapUsedUp:
            self.renew(keep_labels=True)

    def _content(self, stream: int, instant: int) -> tuple[int, int]:
        """First cell and end cell, exclusive, that a window holds at an instant; blocks of rows are cells too."""
        ids = self._by_number()
        if ids is not None:
            return ids.content(stream, instant)
        if stream in self.cuts:
            return self.cuts[stream].content(instant)
        if isinstance(self.layout.timeline.windows[stream], PartitionedRows):  # which comes as a view
            return BEGINNING, BEGINNING
        return self.layout.timeline.content(stream, instant)

    def _drop_gone(self) -> None:
        """Forgets the entries that have left their windows."""
        for place, stream in self.timed:
            self.cells[place].drop_before(self._kept_from(stream))

    def _kept_from(self, stream: int) -> int:
        """Cells before this one are of no more use."""
        ids, first = self._by_number(), self.contents[stream][0]
        return first if ids is None else ids.keeps(stream, first)

    def _numbered_places(self) -> list[int]:
        """The inputs whose rows have to be numbered to be put into cells."""
        windows = self.layout.timeline.windows
        return [place for place, stream in self.timed if isinstance(windows[stream], Rows)]

    def _number(self) -> None:
        """Puts rows that cuts tell the block of into that cell."""
        for place, waiting in self.unnumbered.items():
            if not waiting:
                continue
            rows = together(waiting)
            cuts = self.cuts[self.layout.feeds[place]]
            blocks = cuts.blocks(rows, self.numbered[place])
            self.numbered[place] = int(cuts.numbers.max(initial=0))
            known = blocks >= 0
            self.unnumbered[place] = [] if known.all() else [self._used(place, rows.filter(pa.array(~known)))]
            if known.any():
                rows = rows.set_column(rows.schema.get_field_index("cell"), "cell", pa.array(blocks))
                self._add_entries(place, rows.filter(pa.array(known)))

    def _leaves(self, stream: int, cells: Integers, instant: int) -> Integers:
        """When the cells of entries leave that enter at an instant."""
        ids, timeline = self._by_number(), self.layout.timeline
        if ids is not None:
            return ids.leave(stream, cells, instant)
        if cells[0] == cells[-1]:  # they are in order
            return np.full(len(cells), timeline.leave(stream, int(cells[0])))
        return timeline.leave(stream, cells)

    def _come(self, instant: int) -> list[tuple[int, Entries]]:
        """The rows of views that have come by the instant; they wait no longer."""
        found = []
        for place in self.standing:
            come = self.cells[place].between(BEGINNING, instant + 1)
            self.cells[place].drop_before(instant + 1)
            if come is not None:
                found.append((place, come))
        return found

    def is_done(self, place: int, last_cell: int) -> bool:
        """Whether stored entries up to this cell are of no more use."""
        if place in self.standing:
            return False
        stream = place - CUTS if place >= CUTS else self.layout.feeds[place]
        first = self._kept_from(stream)
        return last_cell < (self.cuts[stream].done_before(first) if stream in self.cuts else first)

    def compacted(self, place: int, entries: pa.RecordBatch, are_all: bool) -> pa.RecordBatch:
        """Without what came before it was certain that it is ignored."""
        return super().compacted(place, self._used(place, entries), are_all)

    def alike_before(self, place: int) -> int:
        """A landmark never lets go of what has entered, and of a view nothing waits."""
        if place in self.standing:
            return END
        stream = place - CUTS if place >= CUTS else self.layout.feeds[place]
        return self.contents[stream][1] if isinstance(self.layout.timeline.windows[stream], Landmark) else BEGINNING
