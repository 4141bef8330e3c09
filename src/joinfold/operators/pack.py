"""PACK: rows to entries, the moment they leave Spark's batch.

Rows of one cell, key and group become one entry with their sums. What leaves is one blob per bucket: the bucket's
entries and, for every bucket alike, the *pulse* of these rows: the largest event time, the cells that have a row,
filtered or not, and how many rows of each cell pass the filters but have a NULL in their key. The pulse lets every
bucket find the same watermark and the same instants by itself. It also has a *glimpse* of what the rows are like.

A stream that is joined with relations comes with a row for each match. Rows of the stream are counted where they are
``first``, and only what ``matches`` makes entries. These do not tell how many rows came, so the pulse counts all rows:

    row of the stream     first   matches
    •  two matches        T       T            one row, two entries
                          F       T
    •  no match           T       F            one row, no entry
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.algebra import Monomial
from joinfold.kernels.grouping import count, group_rows, sum_dds, sum_ints
from joinfold.numbers import double_double
from joinfold.operators.codec import encode
from joinfold.operators.glimpse import Glimpse, glimpse_of
from joinfold.operators.layout import (
    LIMB_BITS,
    Bit,
    Extreme,
    Factor,
    FoldLayout,
    InputLayout,
    IntegerSum,
    Limb,
    Special,
    SpecialKind,
)
from joinfold.operators.ordering import order_names
from joinfold.operators.timeline import NEVER
from joinfold.operators.values import (
    extreme_of,
    floats,
    identity_codes,
    in_utc,
    integers,
    ordered_pairs,
    present,
    stable_hash,
)

Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]
HALF_LIMB = np.int64(2 ** (LIMB_BITS - 1))
LIMB = np.int64(2**LIMB_BITS - 1)


@dataclass(slots=True)
class Pulse:
    """What every bucket learns of a batch of rows."""

    stream: int
    rows: int
    largest_us: int | None
    cells: Integers
    keyless_cells: Integers
    keyless_counts: Integers
    timeless: int
    has_matches: bool
    glimpse: Glimpse | None

    def facts(self) -> dict[str, Any]:
        """The pulse as it travels beside the entries of a blob."""
        return {
            "feed": self.stream,
            "rows": self.rows,
            "largest_us": self.largest_us,
            "cells": self.cells.tolist(),
            "keyless_cells": self.keyless_cells.tolist(),
            "keyless_counts": self.keyless_counts.tolist(),
            "timeless": self.timeless,
            "counts_entries": not self.has_matches,
            "glimpse": None if self.glimpse is None else self.glimpse.text(),
        }


@dataclass(slots=True)
class Cut:
    """The rows of a batch that have a time, cut into cells, and which of them count for what.

    ``rows`` counts those of the stream, also without a time; ``first`` and ``matches`` are None where all are both.
    """

    rows: int
    batch: pa.RecordBatch
    ts: Integers
    cells: Integers
    kept: Flags
    accepted: Flags
    keyed: Flags
    timeless: int
    first: Flags | None = None
    matches: Flags | None = None

    @property
    def chosen(self) -> Flags:
        """The rows that make entries: filtered, matched, not before a mark, and with a key."""
        passing = self.kept if self.matches is None else self.kept & self.matches
        return passing & self.accepted & self.keyed

    @property
    def uncounted(self) -> Flags:
        """The rows of the stream that pass the filters and that entries do not count."""
        return self.kept & ~(self.accepted & self.keyed) if self.first is None else self.kept & self.first

    @property
    def largest_us(self) -> int | None:
        """The largest event time."""
        return int(self.ts.max()) if len(self.ts) else None


def cut(layout: FoldLayout, stream: int, batch: pa.RecordBatch) -> Cut:
    """Reads what PACK has to know of every row, whether it passes the filters or not."""
    batch = in_utc(batch)
    timeline, times = layout.timeline, batch.column("ts")
    ts, timed = integers(times), present(times)
    assert ts is not None
    counted = _flags(batch.column("first")) if "first" in batch.schema.names else np.ones(len(ts), np.bool_)
    rows = int(np.count_nonzero(counted))
    kept = _flags(batch.column("keep")) if "keep" in batch.schema.names else np.ones(len(ts), np.bool_)
    timeless = 0
    if timed is not None:
        timeless = int(np.count_nonzero(kept & counted & ~timed))
        batch, ts, kept = batch.filter(pa.array(timed)), ts[timed], kept[timed]
    keyed = np.ones(len(ts), np.bool_)
    for name in layout.input_of(stream).keys:
        there = present(batch.column(name))
        keyed = keyed if there is None else keyed & there
    cells = timeline.cell_of(stream, ts)
    accepted = timeline.accepts(stream, ts)
    if not timeline.on_trigger and stream not in timeline.counting:
        # Rows that no instant will ever hold are none of our business; of those that are numbered there are none.
        distinct = distinct_values(cells)
        unheld = distinct[timeline.first_instant(stream, distinct) == NEVER]
        accepted = accepted & ~np.isin(cells, unheld) if len(unheld) else accepted
    first, matches = (
        _flags(batch.column(name)) if name in batch.schema.names else None for name in ("first", "matches")
    )
    return Cut(rows, batch, ts, cells, kept, accepted, keyed, timeless, first, matches)


def distinct_values(values: Integers) -> Integers:
    """The distinct values in order; by counting where they lie close together, as cells do."""
    if not len(values):
        return values
    first, last = int(values.min()), int(values.max())
    if last - first > 4 * len(values):
        return np.unique(values)
    return np.flatnonzero(np.bincount(values - first)) + first


def pack_rows(
    layout: FoldLayout, stream: int, rows: Cut, by_row: bool = False, number: int = 0
) -> tuple[pa.RecordBatch, Pulse]:
    """The entries and the pulse of a stream's batch, which has a number; rows that are to be numbered stay single."""
    is_counted, is_partitioned = stream in layout.timeline.counting, bool(layout.partition)
    in_window = rows.accepted | layout.timeline.on_trigger  # ON TRIGGER rows before a mark can be late too
    keyless_cells, keyless_counts = np.unique(rows.cells[rows.uncounted & in_window], return_counts=True)
    occupied = distinct_values(rows.cells[rows.accepted & (not layout.timeline.on_trigger and not is_counted)])
    chosen = rows.accepted if is_partitioned else rows.chosen  # what is not in the view drives rows out of it
    everything = bool(chosen.all())
    batch = rows.batch if everything else rows.batch.filter(pa.array(chosen))
    cells = rows.cells if everything else rows.cells[chosen]
    entries = aggregate(layout.input_of(stream), batch, cells, single=by_row or is_counted or is_partitioned)
    made = entries
    if is_partitioned:
        counts = rows.chosen[chosen].astype(np.int64)
        made = entries.filter(pa.array(counts > 0))
        entries = entries.set_column(entries.schema.get_field_index("i0"), "i0", pa.array(counts))
        entries = entries.append_column("row", pa.array(_row_names(rows)[chosen]))
    for name in order_names(batch) if is_counted or is_partitioned else ():
        entries = entries.append_column(name, batch.column(name))
    pulse = Pulse(
        stream,
        rows.rows,
        rows.largest_us,
        occupied,
        keyless_cells,
        keyless_counts,
        rows.timeless,
        rows.matches is not None,
        glimpse_of(layout.input_of(stream), number, rows.rows, rows.ts, made),
    )
    return entries, pulse


def _row_names(rows: Cut) -> Integers:
    """A number for each row of the stream that no other row has, the same for all its matches."""
    first = np.ones(len(rows.ts), np.bool_) if rows.first is None else rows.first
    return int.from_bytes(os.urandom(5), "little", signed=True) * 2**24 + np.cumsum(first)


def order_of(rows: Cut) -> pa.RecordBatch:
    """What numbers rows of a stream: their times, and the values that order rows of one time."""
    first = pa.array(np.ones(len(rows.ts), np.bool_) if rows.first is None else rows.first)
    columns = {name: rows.batch.column(name).filter(first) for name in order_names(rows.batch)}
    return pa.RecordBatch.from_pydict({"cell": pa.array(rows.ts).filter(first), **columns})


def by_bucket(
    layout: FoldLayout, feed: int, labels: tuple[int, ...], entries: pa.RecordBatch, facts: dict[str, Any]
) -> Iterator[tuple[int, bytes]]:
    """Entries of a stream or a view as a blob for every bucket label; what is replicated goes to each."""
    place = layout.place_of(feed)
    assert place is not None
    others = facts | {"keyless_cells": [], "keyless_counts": []}  # only the first bucket counts these rows
    if layout.is_replicated(place):
        blobs = [encode(entries, told) for told in (facts, others)[: len(labels)]]
        yield from ((label, blobs[min(number, 1)]) for number, label in enumerate(labels))
        return
    bucket = bucket_of(layout, place, entries, len(labels))
    for number, label in enumerate(labels):
        yield label, encode(entries.take(pa.array(np.flatnonzero(bucket == number))), others if number else facts)


def bucket_of(layout: FoldLayout, place: int, entries: pa.RecordBatch, buckets: int) -> Integers:
    """The number of the bucket of each entry, by a hash of its key, or of all that tells it apart if it has none."""
    side, classes = layout.inputs[place], layout.bucket_classes
    names = [name for name, own in zip(side.keys, side.classes, strict=True) if own in classes]
    names = list(layout.partition) or names
    if not names and layout.is_distributed:
        names = [*(() if place in layout.views else ("cell",)), *side.identity]  # rows of a view stay together
    if not names or not entries.num_rows:
        return np.zeros(entries.num_rows, np.int64)
    hashed = stable_hash([entries.column(name) for name in names])
    return (hashed % np.uint64(buckets)).astype(np.int64)


def aggregate(side: InputLayout, batch: pa.RecordBatch, cells: Integers, single: bool = False) -> pa.RecordBatch:
    """One entry for each cell, key and group of the rows; ``single``: for each row."""
    named = side.identity
    if single:
        entry_of_row = first_row = np.arange(len(cells))
    else:
        codes = [cells, *(code for name in named for code in identity_codes(batch.column(name)))]
        entry_of_row, first_row = group_rows(np.stack(codes))
    grouping = _Grouping(side, batch, entry_of_row, len(first_row))
    first = pa.array(first_row)
    columns: dict[str, pa.Array] = {"cell": pa.array(cells[first_row])}
    columns |= {name: batch.column(name).take(first) for name in named}
    columns |= {f"i{place}": pa.array(grouping.integer(column)) for place, column in enumerate(side.integers)}
    for place, monomial in enumerate(side.reals):
        high, low = grouping.real(monomial)
        columns |= {f"h{place}": pa.array(high), f"l{place}": pa.array(low)}
    columns |= {f"e{place}": grouping.extreme(column) for place, column in enumerate(side.extremes)}
    return pa.RecordBatch.from_pydict(columns)


class _Grouping:
    """The rows of a batch with the entry each belongs to."""

    def __init__(self, side: InputLayout, batch: pa.RecordBatch, entry_of_row: Integers, entries: int) -> None:
        self.batch = batch
        self.entry_of_row = entry_of_row
        self.entries = entries
        self.factors = {factor.name: factor for factor in side.factors}
        self.cache: dict[tuple[str, str], Any] = {}

    def integer(self, column: IntegerSum) -> Integers:
        """The sum of a limb, or the number of rows, of special values, or of values that have a bit."""
        mask = self._mask(column.monomial)
        match column.part:
            case Special(kind=kind):
                return count(self.entry_of_row, self.entries, mask & self._special(column.monomial, kind))
            case Bit(number=number):
                return count(self.entry_of_row, self.entries, mask & self._bit(column.monomial, number))
            case Limb() if column.counts:
                return count(self.entry_of_row, self.entries, mask)
            case Limb(number=number):
                ((name, _),) = [power for power in column.monomial.powers if power[1]]
                limb = self._limbs(self.factors[name])[number]
                return sum_ints(self.entry_of_row, self.entries, limb if mask.all() else np.where(mask, limb, 0))
            case _:
                assert_never(column.part)

    def real(self, monomial: Monomial) -> double_double.DoubleDoubles:
        """The sum of a monomial of numbers, each product exact to twice the precision."""
        mask = self._mask(monomial)
        product = (mask.astype(np.float64), np.zeros(len(mask)))
        for name, power in monomial.powers:
            for _ in range(power):
                value = np.where(mask, self._number(self.factors[name]), 0.0)
                product = double_double.multiply(product, (value, np.zeros(len(mask))))
        high = sum_dds(self.entry_of_row, self.entries, product[0])
        return double_double.add(high, sum_dds(self.entry_of_row, self.entries, product[1]))

    def extreme(self, column: Extreme) -> pa.Array:
        """The smallest or largest value of each entry, NULL where it has none."""
        values = self.batch.column(column.column)
        if column.by is not None:
            values = ordered_pairs(self.batch.column(column.by), values)
        mask = self._mask(Monomial.presence(column.conditions))
        return extreme_of(values, mask, column.largest, self.entry_of_row, self.entries)

    def _mask(self, monomial: Monomial) -> Flags:
        """The rows in which every factor that the monomial names is there."""
        mask = np.ones(self.batch.num_rows, np.bool_)
        for name, _ in monomial.powers:
            column = self.batch.column(name)
            if self.factors[name].kind == "condition":
                mask = mask & _flags(column)
            else:
                there = present(column)
                mask = mask if there is None else mask & there
        return mask

    def _numbers(self, monomial: Monomial) -> list[Factor]:
        return [factor for name, _ in monomial.powers if (factor := self.factors[name]).kind != "condition"]

    def _bit(self, monomial: Monomial, number: int) -> Flags:
        """Where the integer of the monomial has a bit set."""
        (factor,) = self._numbers(monomial)
        value = self._cached("integers", factor, lambda: integers(self.batch.column(factor.name)))
        return (value >> number) & 1 == 1  # type: ignore[no-any-return]

    def _special(self, monomial: Monomial, kind: SpecialKind) -> Flags:
        """Where a number of the monomial is of a kind."""
        flags = np.zeros(self.batch.num_rows, np.bool_)
        for factor in self._numbers(monomial):
            value = self._raw(factor)
            match kind:
                case "nan":
                    flags |= np.isnan(value)
                case "inf" | "-inf":
                    flags |= value == float(kind)
                case "positive":
                    flags |= (value > 0) & np.isfinite(value)
                case "negative":
                    flags |= (value < 0) & np.isfinite(value)
                case "zero":
                    flags |= value == 0
                case _:
                    assert_never(kind)
        return flags

    def _raw(self, factor: Factor) -> NDArray[np.float64]:
        return self._cached("raw", factor, lambda: _as_floats(self.batch.column(factor.name)))  # type: ignore[no-any-return]

    def _number(self, factor: Factor) -> NDArray[np.float64]:
        raw = self._raw(factor)
        return self._cached("number", factor, lambda: np.where(np.isfinite(raw), raw, 0.0))  # type: ignore[no-any-return]

    def _limbs(self, factor: Factor) -> list[Integers]:
        return self._cached("limbs", factor, lambda: limbs_of(self.batch.column(factor.name), factor.limbs))  # type: ignore[no-any-return]

    def _cached(self, what: str, factor: Factor, make: Any) -> Any:
        key = (what, factor.name)
        if key not in self.cache:
            self.cache[key] = make()
        return self.cache[key]


def limbs_of(column: pa.Array, limbs: int) -> list[Integers]:
    """Exact numbers as limbs of 32 bits balanced about zero, lowest first, the last with what is left; NULL as 0."""
    if pa.types.is_decimal(column.type):
        words = np.frombuffer(column.fill_null(0).buffers()[1], np.int64).reshape(-1, 2)
        words = words[column.offset : column.offset + len(column)]
        low, high = words[:, 0].copy(), words[:, 1].copy()
    else:
        found = integers(column)
        assert found is not None
        low, high = found, found >> 63
    parts = []
    for _ in range(limbs - 1):
        part = ((low + HALF_LIMB) & LIMB) - HALF_LIMB
        parts.append(part)
        borrowed = low.view(np.uint64) < part.view(np.uint64)
        high = high - (part >> 63) - borrowed
        low = (((low - part) >> LIMB_BITS) & LIMB) | (high << LIMB_BITS)
        high = high >> LIMB_BITS
    return [*parts, low]


def _as_floats(column: pa.Array) -> NDArray[np.float64]:
    return floats(column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column)


def _flags(column: pa.Array) -> Flags:
    """True where a condition is true; NULL is not."""
    return column.fill_null(False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
