"""What a bucket holds while its windows move: keys and groups by id, a set for each input, totals for each group.

Entries that enter are joined with what the other input holds (Wang's IC), entries that leave are joined once more and
subtracted; extremes are charged until their first member leaves (Wang's TC). When that happens is up to the two ways of
answering: at instants (`fold`) and at every row (`arrivals`).

Ids and labels are never given back, and floating sums round as they move. So what is here is made anew from the live
entries now and then: when few of the ids are still in use, when no label is left between two values, and when a sum has
become so small that what it was before could show in it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.kernels.aggregation_set import AggregationSet
from joinfold.operators.extremes import ExtremeStairs
from joinfold.operators.groups import GroupTotals
from joinfold.operators.identities import RowIds
from joinfold.operators.layout import FoldLayout
from joinfold.operators.timeline import BEGINNING, END

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]
Ids = NDArray[np.int32]

MANY = 2**16  # ids that are kept whether they are in use or not


@dataclass(slots=True)
class Entries:
    """Entries of an input, keys and groups as ids."""

    cells: Integers
    key: Ids
    group: Ids
    integers: Integers
    reals: Doubles
    extremes: list[tuple[Integers, NDArray[np.bool_]]]

    def part(self, chosen: Integers) -> "Entries":
        """Some of the entries."""
        extremes = [(codes[chosen], has[chosen]) for codes, has in self.extremes]
        return Entries(
            self.cells[chosen],
            self.key[chosen],
            self.group[chosen],
            self.integers[chosen],
            self.reals[chosen],
            extremes,
        )


def joined(many: Sequence[Entries]) -> Entries:
    """Entries of one input, one after another."""
    columns = zip(*(entries.extremes for entries in many), strict=True)
    return Entries(
        np.concatenate([entries.cells for entries in many]),
        np.concatenate([entries.key for entries in many]),
        np.concatenate([entries.group for entries in many]),
        np.concatenate([entries.integers for entries in many]),
        np.concatenate([entries.reals for entries in many]),
        [(np.concatenate([codes for codes, _ in one]), np.concatenate([has for _, has in one])) for one in columns],
    )


class Live:
    """The live windows of one bucket; ``earlier`` is what was noted before they were made anew."""

    def __init__(self, layout: FoldLayout, earlier: Sequence[pa.RecordBatch] = ()) -> None:
        self.layout = layout
        self.earlier = list(earlier)
        self.keys = RowIds()
        self.groups = [RowIds(), RowIds()]
        self.sets = [AggregationSet(len(side.integers) + len(side.reals), len(side.reals)) for side in layout.inputs]
        self.totals = GroupTotals(layout)
        self.stairs = [ExtremeStairs(layout, extreme) for extreme in layout.extremes]
        if layout.streams == 1:
            self._add_constant_row()

    def entries_of(self, place: int, batch: pa.RecordBatch) -> Entries:
        """Stored entries of an input, with ids in place of values."""
        side = self.layout.inputs[place]
        rows = batch.num_rows
        key = self.keys.intern([batch.column(name) for name in side.keys], rows)
        group = self.groups[place].intern([batch.column(name) for name in side.groups], rows)
        integers = np.empty((rows, len(side.integers) + len(side.reals)), np.int64)
        for i in range(len(side.integers)):
            integers[:, i] = batch.column(f"i{i}").to_numpy()
        reals = np.empty((rows, 2 * len(side.reals)))
        for i in range(len(side.reals)):
            reals[:, 2 * i] = batch.column(f"h{i}").to_numpy()
            reals[:, 2 * i + 1] = batch.column(f"l{i}").to_numpy()
            integers[:, len(side.integers) + i] = np.where(reals[:, 2 * i] != 0, integers[:, 0], 0)
        extremes = [
            stairs.codes(batch.column(f"e{stairs.extreme.index}"))
            if stairs.extreme.place == place
            else (np.zeros(rows, np.int64), np.zeros(rows, np.bool_))
            for stairs in self.stairs
        ]
        return Entries(np.asarray(batch.column("cell").to_numpy()), key, group, integers, reals, extremes)

    def adopt(self, other: "Live", place: int, many: Sequence[Entries]) -> list[Entries]:
        """Entries with the ids and codes of another, with its own."""
        if not many:
            return []
        adopted = self.entries_of(place, other._batch_of(place, joined(many)))
        ends = np.cumsum([len(entries.key) for entries in many])
        parts = zip((0, *ends[:-1].tolist()), ends.tolist(), strict=True)
        return [adopted.part(np.arange(start, end)) for start, end in parts]

    def _batch_of(self, place: int, entries: Entries) -> pa.RecordBatch:
        """The inverse of ``entries_of``."""
        side = self.layout.inputs[place]
        columns = {"cell": pa.array(entries.cells)}
        columns |= dict(zip(side.keys, self.keys.take(entries.key), strict=True))
        columns |= dict(zip(side.groups, self.groups[place].take(entries.group), strict=True))
        columns |= {f"i{i}": pa.array(entries.integers[:, i]) for i in range(len(side.integers))}
        for i in range(len(side.reals)):
            columns |= {f"h{i}": pa.array(entries.reals[:, 2 * i]), f"l{i}": pa.array(entries.reals[:, 2 * i + 1])}
        for stairs, (codes, has) in zip(self.stairs, entries.extremes, strict=True):
            if stairs.extreme.place == place:
                columns[f"e{stairs.extreme.index}"] = stairs.values(codes, has)
        return pa.RecordBatch.from_pydict(columns)

    def is_outgrown(self, entries: int) -> bool:
        """Whether ids and labels are many more than the entries that are left."""
        given = [len(self.keys), *map(len, self.groups), len(self.totals.pairs)]
        given += [stairs.labelled for stairs in self.stairs]
        return max(given) > max(MANY, 4 * entries)

    @property
    def is_worn(self) -> bool:
        """Whether a floating sum has become small against what has gone through it."""
        return self.totals.is_worn

    def enter(self, place: int, entries: Entries, leave: int, now: int) -> None:
        """Entries enter their window, where they stay until ``leave``."""
        self._apply(place, entries, 1)
        mode, pairs = self.totals.mode(place), self.totals.pairs
        for stairs, (codes, has) in zip(self.stairs, entries.extremes, strict=True):
            if stairs.extreme.place == place:
                stairs.enter_values(entries.key[has], entries.group[has], leave, codes[has], mode, pairs, now)
            else:
                is_partner = entries.integers[:, stairs.extreme.partner] > 0
                stairs.enter_partners(entries.key[is_partner], entries.group[is_partner], leave, mode, pairs, now)

    def leave(self, place: int, entries: Entries) -> None:
        """Entries leave their window; their extremes have gone by themselves."""
        self._apply(place, entries, -1)

    def note(self, instant: int, now: int, always: bool) -> None:
        """Notes the groups as they stand ``now``, under an instant or another number."""
        self.totals.refuse_wrapped(self.sets)
        self.totals.note(instant, [stairs.heads(now) for stairs in self.stairs], always)

    def expire(self, now: int) -> None:
        """Forgets extremes that have left."""
        for stairs in self.stairs:
            stairs.expire(now)

    def noted(self) -> pa.RecordBatch | None:
        """The rows that were noted, with groups and extremes as values again."""
        parts, self.earlier = self.noted_so_far(), []
        if len(parts) < 2:
            return parts[0] if parts else None
        tables = [pa.Table.from_batches([part]) for part in parts]
        return pa.concat_tables(tables, promote_options="default").combine_chunks().to_batches()[0]

    def noted_so_far(self) -> list[pa.RecordBatch]:
        """The rows that were noted, in pieces."""
        return [*self.earlier, *self._noted()]

    def _noted(self) -> Iterator[pa.RecordBatch]:
        notes = self.totals.take_notes()
        if not notes.instants:
            return
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
        yield pa.RecordBatch.from_pydict(columns)

    def _apply(self, place: int, entries: Entries, sign: int) -> None:
        self.totals.add(place, entries.key, entries.group, entries.integers, entries.reals, sign, self.sets[1 - place])
        self.sets[place].update(entries.key, entries.group, entries.integers, entries.reals, sign)

    def _add_constant_row(self) -> None:
        ones = np.ones((1, len(self.layout.inputs[1].integers)), np.int64)
        assert not self.layout.inputs[1].reals
        nothing = np.zeros(1, np.int32)
        self.sets[1].update(nothing, nothing, ones, np.zeros((1, 0)), 1)
        for stairs in self.stairs:
            stairs.enter_partners(nothing, nothing, END, self.totals.mode(1), None, BEGINNING)
