"""The vocabulary of a bucket: ids for keys, groups and carried values, codes for extremes, and the values of both.

An id or label is never used again for another value. So a bucket makes a new vocabulary now and then, from the entries
that are left.
"""

from collections.abc import Sequence, Sized

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.kernels.compiling import readable
from joinfold.kernels.identity import IdTable
from joinfold.operators.entries import Entries, Flags, Ids, Integers, Payload, joined
from joinfold.operators.identities import RowIds
from joinfold.operators.labels import OrderLabels, PairLabels
from joinfold.operators.windows.ranges import RangeCodes
from joinfold.physical.column_names import CELL, DRAW
from joinfold.physical.payload import Sums
from joinfold.physical.stage import Body


class ExtremeLabels:
    """The codes of one extreme's values. The largest code is the extreme, also for MIN."""

    def __init__(self, is_largest: bool) -> None:
        self.is_largest = is_largest
        self.labels: OrderLabels | PairLabels | None = None

    def __len__(self) -> int:
        return 0 if self.labels is None else len(self.labels)

    def codes(self, column: pa.Array) -> tuple[Integers, Flags]:
        """The code of each value, and where there is a value."""
        if pa.types.is_null(column.type):  # a column of a view that has no value yet
            return np.zeros(len(column), np.int64), np.zeros(len(column), np.bool_)
        if self.labels is None:
            kind = PairLabels if pa.types.is_struct(column.type) else OrderLabels
            self.labels = kind(column.type, complement=not self.is_largest)
        return self.labels.codes(column)

    def values(self, codes: Integers, has: Flags) -> pa.Array:
        """The values of codes; NULLs before the first value."""
        return pa.nulls(len(codes)) if self.labels is None else self.labels.values(codes, has)


class Vocabulary:
    """Ids and codes for the entries of all inputs; ``by_class``: an id for each key instead of one for all keys."""

    def __init__(self, body: Body, by_class: bool) -> None:
        self.body = body
        self.by_class = by_class
        self.keys = RowIds()
        self.classes = {number: RowIds() for spec in body.inputs for number in spec.classes}
        self.groups = [RowIds() for _ in body.all_sums]
        self.replicated = {number: IdTable() for number, spec in enumerate(body.inputs) if spec.replicate is not None}
        for table in self.replicated.values():  # the one group of a query without groups has the id 0
            table.intern_pairs(np.zeros(1, np.int32), np.zeros(1, np.int32))
        for own, spec in zip(self.groups, body.inputs, strict=False):  # of a view, that is NULL
            if body.is_global and spec.groups and spec.replicate is None:
                own.intern([pa.nulls(1, pa.int64())], 1)
        self.carried = [RowIds() for _ in body.inputs]
        self.ranges = [RangeCodes(join) for join in body.combining.ranges]
        self.extremes = [ExtremeLabels(body.extreme(fold).largest) for fold in body.extremes]

    @property
    def given(self) -> int:
        """How many ids or labels the largest table has."""
        tables: tuple[Sized, ...] = (
            self.keys,
            *self.classes.values(),
            *self.groups,
            *self.replicated.values(),
            *self.carried,
            *self.ranges,
            *self.extremes,
        )
        return max(map(len, tables))

    def entries_of(self, ordinal: int, batch: pa.RecordBatch) -> Entries:
        """Stored entries of an input, with ids and codes instead of values."""
        spec, rows = self.body.inputs[ordinal], batch.num_rows
        parts = np.empty((rows, len(spec.keys) if self.by_class else 0), np.int32)
        if self.by_class:
            for number, (name, key_class) in enumerate(zip(spec.keys, spec.classes, strict=True)):
                parts[:, number] = self.classes[key_class].intern([batch.column(name)], rows)
            key = np.zeros(rows, np.int32)
        else:
            key = self.keys.intern([batch.column(name) for name in spec.keys], rows)
        return Entries(
            np.asarray(batch.column(CELL).to_numpy()),
            readable(key, np.int32),
            parts,
            readable(self.groups[ordinal].intern([batch.column(name) for name in spec.stored_groups], rows), np.int32),
            self._carried(ordinal, batch),
            self.payload_of(ordinal, batch),
            np.asarray(batch.column(DRAW).to_numpy()) if spec.drawn_by else None,
        )

    def with_replicates(self, ordinal: int, groups: Ids, replicates: Integers) -> Ids:
        """The ids of groups together with the number of a replicate, −1 for what is not sampled.

        The groups themselves where the input has no replicates.
        """
        table = self.replicated.get(ordinal)
        return groups if table is None else table.intern_pairs(groups, (replicates + 1).astype(np.int32))

    def payload_of(self, ordinal: int, batch: pa.RecordBatch) -> Payload:
        """The sums and extremes of an input's entries; of the pair where ``ordinal`` is the number of inputs."""
        spec = self.body.all_sums[ordinal]
        integers, reals = sums_of(spec, batch)
        codes = np.zeros((batch.num_rows, len(self.extremes)), np.int64)
        has = np.zeros((batch.num_rows, len(self.extremes)), np.bool_)
        for number, (labels, extreme) in enumerate(zip(self.extremes, self.body.extremes, strict=True)):
            if extreme.ordinal == ordinal:
                values = batch.column(spec.extreme_names[extreme.index])
                codes[:, number], has[:, number] = labels.codes(values)
        return Payload(readable(integers, np.int64), readable(reals, np.float64), None, codes, has)

    def carried_columns(self, ordinal: int, ids: Ids) -> dict[str, pa.Array]:
        """The carried columns of rows, from their ids."""
        return dict(zip(self.body.inputs[ordinal].carried, self.carried[ordinal].take(ids), strict=True))

    def _carried(self, ordinal: int, batch: pa.RecordBatch) -> Ids:
        """The ids of carried rows. New rows also get their range codes."""
        table = self.carried[ordinal]
        known = table.count
        ids = table.intern([batch.column(name) for name in self.body.inputs[ordinal].carried], batch.num_rows)
        if self.ranges and table.count > known:
            columns = self.carried_columns(ordinal, np.arange(known, table.count, dtype=np.int32))
            for codes in self.ranges:
                codes.learn(ordinal, columns)
        return ids

    def label_pairs_of(self, other: "Vocabulary") -> None:
        """Labels the extremes of the pair that ``other`` has, all at once: so there are gaps between them again."""
        for new, old, extreme in zip(self.extremes, other.extremes, self.body.extremes, strict=True):
            if extreme.ordinal == len(self.body.inputs) and old.labels is not None:
                new.codes(old.labels.labelled())

    def adopt(self, other: "Vocabulary", ordinal: int, many: Sequence[Entries]) -> list[Entries]:
        """Entries that have the ids and codes of ``other``, with the ids and codes of this vocabulary."""
        if not many:
            return []
        adopted = self.entries_of(ordinal, other._batch_of(ordinal, joined(many)))
        ends = np.cumsum([len(entries) for entries in many])
        parts = zip((0, *ends[:-1].tolist()), ends.tolist(), strict=True)
        return [adopted.take(slice(start, end)) for start, end in parts]

    def _batch_of(self, ordinal: int, entries: Entries) -> pa.RecordBatch:
        """The inverse of ``entries_of``."""
        spec, payload = self.body.inputs[ordinal], entries.payload
        columns = {CELL: pa.array(entries.cells)}
        if self.by_class:
            for number, (name, key_class) in enumerate(zip(spec.keys, spec.classes, strict=True)):
                (columns[name],) = self.classes[key_class].take(entries.parts[:, number])
        else:
            columns |= dict(zip(spec.keys, self.keys.take(entries.key), strict=True))
        columns |= dict(zip(spec.stored_groups, self.groups[ordinal].take(entries.group), strict=True))
        columns |= self.carried_columns(ordinal, entries.carried)
        columns |= {} if entries.draws is None else {DRAW: pa.array(entries.draws)}
        columns |= {name: pa.array(payload.ints[:, i]) for i, name in enumerate(spec.integer_names)}
        for number, names in enumerate(spec.real_names):
            columns |= {name: pa.array(payload.reals[:, 2 * number + part]) for part, name in enumerate(names)}
        for number, (labels, extreme) in enumerate(zip(self.extremes, self.body.extremes, strict=True)):
            if extreme.ordinal == ordinal:
                values = labels.values(payload.codes[:, number], payload.has[:, number])
                columns[spec.extreme_names[extreme.index]] = values
        return pa.RecordBatch.from_pydict(columns)

    def group_columns(self, ids: dict[int, Ids]) -> list[pa.Array]:
        """The group columns of all inputs and the pair, in their order, from the group ids of each."""
        columns: list[pa.Array] = []
        for ordinal, groups in sorted(ids.items()):
            table = self.replicated.get(ordinal)
            if table is None:
                columns += self.groups[ordinal].take(groups)
                continue
            stored, replicates = (half[groups] for half in table.pairs())
            columns += [*self.groups[ordinal].take(stored), pa.array(replicates.astype(np.int64) - 1)]
        return columns

    def group_ids_of(self, other: "Vocabulary", ids: dict[int, Ids]) -> dict[int, Ids]:
        """Group ids of ``other`` as group ids of this vocabulary."""
        found = {}
        for ordinal, groups in ids.items():
            table = other.replicated.get(ordinal)
            stored, replicates = (groups, groups) if table is None else (half[groups] for half in table.pairs())
            own = self.groups[ordinal].intern(other.groups[ordinal].take(stored), len(groups))
            found[ordinal] = self.with_replicates(ordinal, readable(own, np.int32), replicates.astype(np.int64) - 1)
        return found


def sums_of(spec: Sums, batch: pa.RecordBatch) -> tuple[Integers, NDArray[np.float64]]:
    """The sums of entries: integers and reals. For each real an extra integer counts the rows where it is not zero."""
    integers = np.empty((batch.num_rows, spec.integer_columns), np.int64)
    for i, name in enumerate(spec.integer_names):
        integers[:, i] = batch.column(name).to_numpy()
    reals = np.empty((batch.num_rows, 2 * len(spec.reals)))
    for i, (high, low) in enumerate(spec.real_names):
        reals[:, 2 * i] = batch.column(high).to_numpy()
        reals[:, 2 * i + 1] = batch.column(low).to_numpy()
        integers[:, len(spec.integers) + i] = np.where(reals[:, 2 * i] != 0, integers[:, 0], 0)
    return integers, reals
