"""FOLD: the live windows of a bucket, and the answers as they move from instant to instant.

The durable state is the entries of the live cells; what `live` holds is made from it. A move costs what enters and
leaves, whatever the size of the window and the number of combinations. Every bucket gets the pulse of all rows, so all
of them know the same watermark and answer at the same instants.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.operators.codec import decode
from joinfold.operators.labels import GapUsedUp
from joinfold.operators.layout import FoldLayout
from joinfold.operators.live import Entries, Live
from joinfold.operators.timeline import BEGINNING, END, Clock, Occupancy

Integers = NDArray[np.int64]


@dataclass(slots=True)
class Moment:
    """Where a bucket stands: what it has seen of time, what it has answered, and how many rows were late."""

    clock: Clock
    occupancy: Occupancy
    answered: int | None = None
    applied: int | None = None
    late: list[int] = field(default_factory=list)

    @classmethod
    def beginning(cls, streams: int) -> "Moment":
        """Before the first row."""
        return cls(Clock.unset(streams), Occupancy.empty(streams), late=[0] * streams)


@dataclass(frozen=True, slots=True)
class Noted:
    """What a bucket has to say: rows of totals under numbers, and the instants (and arrivals) that these stand for.

    ``before`` is the number under which stand the groups as they were before the first of them.
    """

    rows: pa.RecordBatch | None
    numbers: list[int]
    before: int | None = None
    arrivals: list[tuple[int, int]] | None = None


class Fold:
    """One bucket: absorbs blobs, then answers up to the watermark.

    The first bucket answers for a query without groups where no bucket has a combination, and counts the late rows that
    no bucket has.
    """

    def __init__(self, layout: FoldLayout, number: int, moment: Moment | None = None) -> None:
        self.layout = layout
        self.number = number
        self.moment = moment or Moment.beginning(layout.streams)
        self.live = Live(layout)
        self.cells = [Cells(), Cells()]
        self.contents: list[tuple[int, int]] = [(BEGINNING, BEGINNING)] * layout.streams
        self.rows_read = [0] * layout.streams  # of the last micro-batch, in all buckets together

    @property
    def is_first(self) -> bool:
        """Whether this bucket speaks for what no bucket has."""
        return self.number == 0

    # --- rows come in ---------------------------------------------------------------------------------------

    def absorb(self, blobs: Iterable[bytes]) -> list[tuple[int, pa.RecordBatch]]:
        """Takes in a micro-batch; gives back the entries that were in time, which are the new durable state."""
        watermark = self.moment.clock.watermark(self.layout.delays_us)
        decoded = [decode(blob) for blob in blobs]
        accepted = []
        self.rows_read = [0] * self.layout.streams
        for batch, pulse in decoded:
            place = pulse["place"]
            self.rows_read[place] += pulse["rows"]
            in_time = self._in_time(place, _cells(batch), watermark)
            late = batch.column("i0").to_numpy()[~in_time].sum()
            keyless = np.array(pulse["keyless_cells"], np.int64)
            counts = np.array(pulse["keyless_counts"], np.int64)
            self.moment.late[place] += int(late)
            if self.is_first:  # every bucket knows of these rows; one counts them
                self.moment.late[place] += pulse["timeless"]
                self.moment.late[place] += int(counts[~self._in_time(place, keyless, watermark)].sum())
            seen = np.array(pulse["cells"], np.int64)
            self.moment.occupancy.add(place, seen[self._in_time(place, seen, watermark)])
            if in_time.any():
                accepted.append((place, batch if in_time.all() else batch.filter(pa.array(in_time))))
        for _, pulse in decoded:
            if pulse["largest_us"] is not None:
                self.moment.clock.see(pulse["place"], pulse["largest_us"])
        for place, batch in accepted:
            self.add(place, batch)
        return accepted

    def add(self, place: int, batch: pa.RecordBatch) -> None:
        """Puts entries into their cells, where they wait for their instant."""
        entries = self._read(place, batch)
        order = np.argsort(entries.cells, kind="stable")
        ordered = entries.cells[order]
        bounds = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        for part in np.split(order, bounds):
            self.cells[place].add(int(entries.cells[part[0]]), entries.part(part))

    def _read(self, place: int, batch: pa.RecordBatch) -> Entries:
        """Stored entries with ids in place of values."""
        try:
            return self.live.entries_of(place, batch)
        except GapUsedUp:
            self.renew()
            return self.live.entries_of(place, batch)

    def renew(self) -> None:
        """Makes what is live anew from the entries."""
        self.live, old = Live(self.layout, self.live.noted_so_far()), self.live
        for place, cells in enumerate(self.cells):
            cells.replace(self.live.adopt(old, place, cells.all()))
        self.contents = [(BEGINNING, BEGINNING)] * self.layout.streams
        if self.moment.applied is not None:
            self.move(self.moment.applied)

    def resume(self) -> None:
        """After the entries of a stored moment were added: brings the windows to where they stood."""
        applied = self.moment.applied
        if applied is not None:
            for place in range(self.layout.streams):
                self.cells[place].drop_before(self.layout.timeline.content(place, applied)[0])
            self.move(applied)

    def _in_time(self, place: int, cells: Integers, watermark: int | None) -> NDArray[np.bool_]:
        if watermark is None:
            return np.ones(len(cells), np.bool_)
        timeline = self.layout.timeline
        due = timeline.due(place, cells) if timeline.on_trigger else timeline.first_instant(place, cells)
        return due > watermark

    # --- answers go out -------------------------------------------------------------------------------------

    def answer(self, to_the_end: bool = False) -> Noted:
        """Moves over all instants that the watermark has passed, or all there are; a row per instant and group.

        For CHANGES the groups as they stand at the instant before come first, so that MERGE can tell what changed
        without having a state of its own.
        """
        moment, layout = self.moment, self.layout
        until = END if to_the_end else moment.clock.watermark(layout.delays_us)
        if until is None:
            return Noted(None, [])
        if layout.timeline.on_trigger:
            instants = self._triggered(until)
        else:
            instants = moment.occupancy.instants(layout.timeline, moment.answered, until)
        before = [moment.applied] if layout.changes and len(instants) and moment.applied is not None else []
        for instant in (*before, *instants.tolist()):
            if instant not in before:
                self.move(instant)
            if self.live.is_worn:
                self.renew()
            self.live.note(instant, instant, always=layout.is_global and self.is_first)
        noted = self.live.noted()
        if len(instants):
            self.live.expire(int(instants[-1]))
            if self.live.is_outgrown(sum(cells.held for cells in self.cells)):
                self.renew()
        moment.answered = until
        if not layout.timeline.on_trigger and until != END:
            moment.occupancy.prune(layout.timeline, until)
        return Noted(noted, instants.tolist(), before[0] if before else None)

    def _triggered(self, until: int) -> Integers:
        latest = self.moment.clock.latest()
        if until == END:
            return np.array([] if latest is None else [latest + 1], np.int64)
        return np.array([until] if until != self.moment.answered else [], np.int64)

    def move(self, instant: int) -> None:
        """Lets cells enter and leave until the windows have their contents at the instant."""
        for place in range(self.layout.streams):
            first, end = self.layout.timeline.content(place, instant)
            _, old_end = self.contents[place]
            cells = self.cells[place]
            for cell in cells.between(max(first, old_end), end):
                leave = int(self.layout.timeline.leave(place, np.array([cell]))[0])
                for entries in cells.entries[cell]:
                    self.live.enter(place, entries, leave, instant)
            for cell in cells.between(BEGINNING, first):
                for entries in cells.entries[cell] if cell < old_end else ():
                    self.live.leave(place, entries)
            cells.drop_before(first)
            self.contents[place] = (first, end)
        self.moment.applied = instant

    def is_done(self, place: int, last_cell: int) -> bool:
        """Whether stored entries up to this cell are of no more use."""
        return last_cell < self.contents[place][0]


class Cells:
    """The entries of an input's cells, in order of the cells."""

    def __init__(self) -> None:
        self.entries: dict[int, list[Entries]] = {}
        self.order: list[int] = []

    def __len__(self) -> int:
        return len(self.order)

    def add(self, cell: int, entries: Entries) -> None:
        """Puts entries into a cell."""
        if cell not in self.entries:
            insort(self.order, cell)
        self.entries.setdefault(cell, []).append(entries)

    @property
    def held(self) -> int:
        """How many entries there are."""
        return sum(len(entries.key) for entries in self.all())

    def all(self) -> list[Entries]:
        """The entries of all cells, in order."""
        return [entries for cell in self.order for entries in self.entries[cell]]

    def replace(self, entries: list[Entries]) -> None:
        """Puts others in the places of all entries."""
        others = iter(entries)
        for cell in self.order:
            self.entries[cell] = [next(others) for _ in self.entries[cell]]

    def between(self, first: int, end: int) -> list[int]:
        """The cells from first to end, exclusive, that have entries."""
        return self.order[bisect_left(self.order, first) : bisect_left(self.order, end)]

    def drop_before(self, first: int) -> None:
        """Forgets the cells before this one."""
        gone = bisect_left(self.order, first)
        for cell in self.order[:gone]:
            del self.entries[cell]
        del self.order[:gone]


def _cells(batch: pa.RecordBatch) -> Integers:
    return np.asarray(batch.column("cell").to_numpy(), np.int64)
