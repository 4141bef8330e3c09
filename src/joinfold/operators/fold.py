"""FOLD: the live window of a bucket, and the answers as it moves from instant to instant.

The durable state is the entries of the live cells. Everything else is made from it: an aggregation set for each input,
and per group the totals over all live combinations. A cell that enters or leaves is joined with the other input's set
(Wang's IC); an extreme is charged to the entry that leaves first and forgotten when that has left (Wang's TC). So a
move costs what enters and leaves, whatever the size of the window and the number of combinations.

Every bucket gets the pulse of all rows, so all of them know the same watermark and answer at the same instants.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.kernels.aggregation_set import AggregationSet
from joinfold.operators.codec import decode
from joinfold.operators.extremes import ExtremeStairs
from joinfold.operators.groups import GroupTotals
from joinfold.operators.identities import RowIds
from joinfold.operators.layout import FoldLayout
from joinfold.operators.timeline import BEGINNING, END, Clock, Occupancy

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]
Ids = NDArray[np.int32]


@dataclass(slots=True)
class Entries:
    """Entries of one cell of an input, keys and groups as ids."""

    key: Ids
    group: Ids
    integers: Integers
    reals: Doubles
    extremes: list[tuple[Integers, NDArray[np.bool_]]]


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
    """What a bucket has to say: rows of totals, the instants they answer, and the instant they continue from."""

    rows: pa.RecordBatch | None
    instants: list[int]
    before: int | None = None


class Fold:
    """One bucket: absorbs blobs, then answers up to the watermark.

    The first bucket answers for a query without groups where no bucket has a combination, and counts the late rows that
    no bucket has.
    """

    def __init__(self, layout: FoldLayout, is_first: bool, moment: Moment | None = None) -> None:
        self.layout = layout
        self.is_first = is_first
        self.moment = moment or Moment.beginning(layout.streams)
        self.keys = RowIds()
        self.groups = [RowIds(), RowIds()]
        self.cells: list[dict[int, list[Entries]]] = [{}, {}]
        self.sets = [AggregationSet(len(side.integers), len(side.reals)) for side in layout.inputs]
        self.contents: list[tuple[int, int]] = [(BEGINNING, BEGINNING)] * layout.streams
        self.totals = GroupTotals(layout)
        self.stairs = [ExtremeStairs(layout, extreme) for extreme in layout.extremes]
        if layout.streams == 1:
            self._add_constant_row()

    # --- rows come in ---------------------------------------------------------------------------------------

    def absorb(self, blobs: Iterable[bytes]) -> list[tuple[int, pa.RecordBatch]]:
        """Takes in a micro-batch; gives back the entries that were in time, which are the new durable state."""
        watermark = self.moment.clock.watermark(self.layout.delays_us)
        decoded = [decode(blob) for blob in blobs]
        accepted = []
        for batch, pulse in decoded:
            place = pulse["place"]
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
        side = self.layout.inputs[place]
        rows = batch.num_rows
        key = self.keys.intern([batch.column(name) for name in side.keys], rows)
        group = self.groups[place].intern([batch.column(name) for name in side.groups], rows)
        integers = np.stack([batch.column(f"i{i}").to_numpy() for i in range(len(side.integers))], axis=1)
        reals = np.empty((rows, 2 * len(side.reals)))
        for i in range(len(side.reals)):
            reals[:, 2 * i] = batch.column(f"h{i}").to_numpy()
            reals[:, 2 * i + 1] = batch.column(f"l{i}").to_numpy()
        extremes = [
            stairs.codes(batch.column(f"e{stairs.extreme.index}"))
            if stairs.extreme.place == place
            else (np.zeros(rows, np.int64), np.zeros(rows, np.bool_))
            for stairs in self.stairs
        ]
        cells = _cells(batch)
        order = np.argsort(cells, kind="stable")
        bounds = np.flatnonzero(np.diff(cells[order], prepend=cells[order][:1] - 1))
        for part in np.split(order, bounds[1:]):
            mine = [(codes[part], has[part]) for codes, has in extremes]
            entries = Entries(key[part], group[part], integers[part], reals[part], mine)
            self.cells[place].setdefault(int(cells[part[0]]), []).append(entries)

    def resume(self) -> None:
        """After the entries of a stored moment were added: brings the windows to where they stood."""
        applied = self.moment.applied
        if applied is not None:
            for place in range(self.layout.streams):
                first, _ = self.layout.timeline.content(place, applied)
                self.cells[place] = {cell: held for cell, held in self.cells[place].items() if cell >= first}
            self.move(applied)

    def _in_time(self, place: int, cells: Integers, watermark: int | None) -> NDArray[np.bool_]:
        if watermark is None:
            return np.ones(len(cells), np.bool_)
        timeline = self.layout.timeline
        due = timeline.due(place, cells) if timeline.on_trigger else timeline.first_instant(place, cells)
        return due > watermark

    def _add_constant_row(self) -> None:
        ones = np.ones((1, len(self.layout.inputs[1].integers)), np.int64)
        nothing = np.zeros(1, np.int32)
        self.sets[1].update(nothing, nothing, ones, np.zeros((1, 0)), 1)
        for stairs in self.stairs:
            stairs.enter_partners(nothing, nothing, END, self.totals.mode(1), None, BEGINNING)

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
            heads = [stairs.heads(instant) for stairs in self.stairs]
            self.totals.note(instant, heads, always=layout.is_global and self.is_first)
        for stairs in self.stairs if len(instants) else ():
            stairs.expire(int(instants[-1]))
        moment.answered = until
        if not layout.timeline.on_trigger and until != END:
            moment.occupancy.prune(layout.timeline, until)
        return Noted(self._rows(), instants.tolist(), before[0] if before else None)

    def _rows(self) -> pa.RecordBatch | None:
        """The rows that were noted, with groups and extremes as values again."""
        notes = self.totals.take_notes()
        if not notes.instants:
            return None
        ids = self.totals.group_ids(np.concatenate(notes.groups))
        groups = [column for table, own in zip(self.groups, ids, strict=True) for column in table.take(own)]
        integers, reals = np.concatenate(notes.integers), np.concatenate(notes.reals)
        columns = {"instant": pa.array(np.concatenate(notes.instants))}
        columns |= {f"g{place}": column for place, column in enumerate(groups)}
        columns |= {f"i{place}": pa.array(integers[:, place]) for place in range(integers.shape[1])}
        for place in range(reals.shape[1] // 2):
            columns |= {f"h{place}": pa.array(reals[:, 2 * place]), f"l{place}": pa.array(reals[:, 2 * place + 1])}
        for place, stairs in enumerate(self.stairs):
            codes = np.concatenate([extremes[place][0] for extremes in notes.extremes])
            has = np.concatenate([extremes[place][1] for extremes in notes.extremes])
            columns[f"e{place}"] = stairs.values(codes, has)
        return pa.RecordBatch.from_pydict(columns)

    def _triggered(self, until: int) -> Integers:
        latest = self.moment.clock.latest()
        if until == END:
            return np.array([] if latest is None else [latest + 1], np.int64)
        return np.array([until] if until != self.moment.answered else [], np.int64)

    def move(self, instant: int) -> None:
        """Lets cells enter and leave until the sets hold the windows' contents at the instant."""
        for place in range(self.layout.streams):
            first, end = self.layout.timeline.content(place, instant)
            old_first, old_end = self.contents[place]
            for cell in self._between(place, max(first, old_end), end):
                for entries in self.cells[place][cell]:
                    self._enter(place, cell, entries, instant)
            for cell in self._between(place, old_first, min(first, old_end)):
                for entries in self.cells[place].pop(cell):
                    self._apply(place, entries, -1)
            self.contents[place] = (first, end)
        self.moment.applied = instant

    def _between(self, place: int, first: int, end: int) -> list[int]:
        return [cell for cell in sorted(self.cells[place]) if first <= cell < end]

    def _enter(self, place: int, cell: int, entries: Entries, instant: int) -> None:
        self._apply(place, entries, 1)
        leave = int(self.layout.timeline.leave(place, np.array([cell]))[0])
        mode, pairs = self.totals.mode(place), self.totals.pairs
        for stairs, (codes, has) in zip(self.stairs, entries.extremes, strict=True):
            if stairs.extreme.place == place:
                stairs.enter_values(entries.key[has], entries.group[has], leave, codes[has], mode, pairs, instant)
            else:
                is_partner = entries.integers[:, stairs.extreme.partner] > 0
                stairs.enter_partners(entries.key[is_partner], entries.group[is_partner], leave, mode, pairs, instant)

    def _apply(self, place: int, entries: Entries, sign: int) -> None:
        self.totals.add(place, entries.key, entries.group, entries.integers, entries.reals, sign, self.sets[1 - place])
        self.sets[place].update(entries.key, entries.group, entries.integers, entries.reals, sign)


def _cells(batch: pa.RecordBatch) -> Integers:
    return np.asarray(batch.column("cell").to_numpy(), np.int64)
