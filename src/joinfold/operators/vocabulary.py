"""The ids and codes of a bucket: what stands for keys, groups, carried values and extremes, and back.

Ids and labels are never given back: a bucket makes all of this anew now and then, from the entries that are left.
"""

from collections.abc import Sequence, Sized

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.kernels.compiling import readable
from joinfold.operators.entries import Entries, Ids, Integers, joined
from joinfold.operators.identities import RowIds
from joinfold.operators.labels import OrderLabels, PairLabels
from joinfold.operators.layout import FoldLayout, InputLayout
from joinfold.operators.ranges import RangeCodes

Flags = NDArray[np.bool_]


class ExtremeLabels:
    """The codes of one extreme's values, whose largest is wanted."""

    def __init__(self, is_largest: bool) -> None:
        self.is_largest = is_largest
        self.labels: OrderLabels | PairLabels | None = None

    def __len__(self) -> int:
        return 0 if self.labels is None else len(self.labels)

    def codes(self, column: pa.Array) -> tuple[Integers, Flags]:
        """Values as codes, and where there is one."""
        if pa.types.is_null(column.type):  # a view that has none yet
            return np.zeros(len(column), np.int64), np.zeros(len(column), np.bool_)
        if self.labels is None:
            kind = PairLabels if pa.types.is_struct(column.type) else OrderLabels
            self.labels = kind(column.type, complement=not self.is_largest)
        return self.labels.codes(column)

    def values(self, codes: Integers, has: Flags) -> pa.Array:
        """Codes as values; before the first value there are only NULLs."""
        return pa.nulls(len(codes)) if self.labels is None else self.labels.values(codes, has)


class Vocabulary:
    """Ids and codes for the entries of all inputs; ``by_class``: keys also one by one."""

    def __init__(self, layout: FoldLayout, by_class: bool) -> None:
        self.layout = layout
        self.by_class = by_class
        self.keys = RowIds()
        self.classes = {number: RowIds() for side in layout.inputs for number in side.classes}
        self.groups = [RowIds() for _ in layout.places]
        self.carried = [RowIds() for _ in layout.inputs]
        self.ranges = [RangeCodes(join) for join in layout.combining.ranges]
        self.extremes = [ExtremeLabels(layout.is_largest(extreme)) for extreme in layout.extremes]

    @property
    def given(self) -> int:
        """How many ids or labels the largest table has given."""
        tables: tuple[Sized, ...] = (
            self.keys,
            *self.classes.values(),
            *self.groups,
            *self.carried,
            *self.ranges,
            *self.extremes,
        )
        return max(map(len, tables))

    def entries_of(self, place: int, batch: pa.RecordBatch) -> Entries:
        """Stored entries of an input, with ids in place of values."""
        side, rows = self.layout.inputs[place], batch.num_rows
        parts = np.empty((rows, len(side.keys) if self.by_class else 0), np.int32)
        if self.by_class:
            for number, (name, own) in enumerate(zip(side.keys, side.classes, strict=True)):
                parts[:, number] = self.classes[own].intern([batch.column(name)], rows)
            key = np.zeros(rows, np.int32)
        else:
            key = self.keys.intern([batch.column(name) for name in side.keys], rows)
        integers, reals = payload_of(side, batch)
        extremes = [
            labels.codes(batch.column(f"e{extreme.index}"))
            if extreme.place == place
            else (np.zeros(rows, np.int64), np.zeros(rows, np.bool_))
            for labels, extreme in zip(self.extremes, self.layout.extremes, strict=True)
        ]
        return Entries(
            np.asarray(batch.column("cell").to_numpy()),
            readable(key, np.int32),
            parts,
            readable(self.groups[place].intern([batch.column(name) for name in side.groups], rows), np.int32),
            self._carried(place, batch),
            readable(integers, np.int64),
            readable(reals, np.float64),
            extremes,
        )

    def carried_columns(self, place: int, ids: Ids) -> dict[str, pa.Array]:
        """The carried columns of rows by their ids."""
        return dict(zip(self.layout.inputs[place].carried, self.carried[place].take(ids), strict=True))

    def _carried(self, place: int, batch: pa.RecordBatch) -> Ids:
        """The ids of carried rows; ranges learn those that are new."""
        table = self.carried[place]
        known = table.count
        ids = table.intern([batch.column(name) for name in self.layout.inputs[place].carried], batch.num_rows)
        if self.ranges and table.count > known:
            columns = self.carried_columns(place, np.arange(known, table.count, dtype=np.int32))
            for codes in self.ranges:
                codes.learn(place, columns)
        return ids

    def label_pairs_of(self, other: "Vocabulary") -> None:
        """Labels the pair's extremes of another, all at once: so there is room again between any two of them."""
        for own, theirs, extreme in zip(self.extremes, other.extremes, self.layout.extremes, strict=True):
            if extreme.place == len(self.layout.inputs) and theirs.labels is not None:
                own.codes(theirs.labels.labelled())

    def adopt(self, other: "Vocabulary", place: int, many: Sequence[Entries]) -> list[Entries]:
        """Entries with the ids and codes of another, with its own."""
        if not many:
            return []
        adopted = self.entries_of(place, other._batch_of(place, joined(many)))
        ends = np.cumsum([len(entries) for entries in many])
        parts = zip((0, *ends[:-1].tolist()), ends.tolist(), strict=True)
        return [adopted.take(slice(start, end)) for start, end in parts]

    def _batch_of(self, place: int, entries: Entries) -> pa.RecordBatch:
        """The inverse of ``entries_of``."""
        side = self.layout.inputs[place]
        columns = {"cell": pa.array(entries.cells)}
        if self.by_class:
            for number, (name, own) in enumerate(zip(side.keys, side.classes, strict=True)):
                (columns[name],) = self.classes[own].take(entries.parts[:, number])
        else:
            columns |= dict(zip(side.keys, self.keys.take(entries.key), strict=True))
        columns |= dict(zip(side.groups, self.groups[place].take(entries.group), strict=True))
        columns |= self.carried_columns(place, entries.carried)
        columns |= {f"i{i}": pa.array(entries.integers[:, i]) for i in range(len(side.integers))}
        for i in range(len(side.reals)):
            columns |= {f"h{i}": pa.array(entries.reals[:, 2 * i]), f"l{i}": pa.array(entries.reals[:, 2 * i + 1])}
        for labels, extreme, (codes, has) in zip(self.extremes, self.layout.extremes, entries.extremes, strict=True):
            if extreme.place == place:
                columns[f"e{extreme.index}"] = labels.values(codes, has)
        return pa.RecordBatch.from_pydict(columns)

    def group_columns(self, ids: dict[int, Ids]) -> list[pa.Array]:
        """The group columns of all places, in their order."""
        return [column for place, own in sorted(ids.items()) for column in self.groups[place].take(own)]


def payload_of(side: InputLayout, batch: pa.RecordBatch) -> tuple[Integers, NDArray[np.float64]]:
    """The sums of entries: integers, with one more column for each real that counts where it is not zero, and reals."""
    integers = np.empty((batch.num_rows, len(side.integers) + len(side.reals)), np.int64)
    for i in range(len(side.integers)):
        integers[:, i] = batch.column(f"i{i}").to_numpy()
    reals = np.empty((batch.num_rows, 2 * len(side.reals)))
    for i in range(len(side.reals)):
        reals[:, 2 * i] = batch.column(f"h{i}").to_numpy()
        reals[:, 2 * i + 1] = batch.column(f"l{i}").to_numpy()
        integers[:, len(side.integers) + i] = np.where(reals[:, 2 * i] != 0, integers[:, 0], 0)
    return integers, reals
