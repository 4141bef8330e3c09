"""Routing: which blob goes to which bucket of which stage.

    auction ──┐
    person  ──┴─▶ FOLD by seller ──▶ view by auction ──┐
    bid ───────────────────────────────────────────────┴─▶ FOLD by auction ──▶ MERGE

The rows of a stream become entries of the one stage that reads the stream, with one blob for each of its buckets. All
other stages get only the header, so all stages find the same watermark and answer at the same instants. A view is made
from the totals of a fold: at every instant of the query, one row for each group that has changed.
"""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from joinfold.operators.codec import encode
from joinfold.operators.emitted import Emitted
from joinfold.operators.entries import Integers
from joinfold.operators.packing.draws import draws, row_draws, seed_of, smallest_draws, weigh_keys, with_draws
from joinfold.operators.packing.header import NOTHING_KEYLESS, Header, Load
from joinfold.operators.packing.rows import TimedRows, distinct_values, timed_rows
from joinfold.operators.packing.rows_to_entries import aggregate
from joinfold.operators.packing.sample_statistics import sample_statistics
from joinfold.operators.values import present, stable_hash
from joinfold.physical.column_names import (
    BATCH,
    CELL,
    COUNT,
    DRAW,
    INSTANT,
    KEEP,
    ORIGIN,
    ROW,
    extreme_column,
    integer_column,
    real_columns,
)
from joinfold.physical.edge import (
    ArrivalsFrom,
    BoundariesFrom,
    EntriesFrom,
    HeaderFrom,
    OrderFrom,
    ViewRows,
    edge_facts,
)
from joinfold.physical.payload import InputSpec
from joinfold.physical.plan import Pipeline
from joinfold.physical.shedding import KeySampling, PairRationing, RowSampling, Shedding
from joinfold.physical.source import ViewOf
from joinfold.physical.stage import (
    FoldAtArrivals,
    LastRowsPerKey,
    NumberRows,
    StatefulStage,
    inputs_of,
    is_distributed,
    is_replicated,
)

Addressed = tuple[int, int, bytes]  # stage, shuffle key, blob
ShuffleKeys = tuple[int, ...]
NO_ROWS = pa.RecordBatch.from_pydict({CELL: pa.array([], pa.int64())})


def pack(
    pipeline: Pipeline,
    stream: int,
    shuffle_keys: ShuffleKeys,
    batch: pa.RecordBatch,
    by_row: bool = False,
    number: int = 0,
    clock_us: int | None = None,
) -> Iterator[Addressed]:
    """The blobs of a batch of a stream's rows, which is batch ``number`` of its task; ``by_row`` keeps rows single.

    ``clock_us`` is the time of the micro-batch, for budgets in wall-clock time and for idle streams.
    """
    reading, spec = pipeline.stage_of(stream), pipeline.input_of(stream)
    stage, rows = pipeline.stages[reading], timed_rows(pipeline.timing, spec, batch)
    if isinstance(stage, FoldAtArrivals):
        yield from _arrivals(pipeline, stage, spec, stream, shuffle_keys, rows, number, clock_us)
        return
    entries, header = pack_rows(pipeline, stage, spec, stream, rows, by_row, number, clock_us)
    facts = header.facts()
    header_blob = encode(NO_ROWS, edge_facts(HeaderFrom(stream)) | facts) if len(pipeline.stages) > 1 else b""
    for other, reader in enumerate(pipeline.stages):
        if other == reading:
            facts_of_entries = edge_facts(EntriesFrom(stream)) | facts
            ordinal = inputs_of(stage).index(spec)
            yield from (
                (reading, *blob) for blob in _by_bucket(stage, ordinal, shuffle_keys, entries, facts_of_entries)
            )
            continue
        is_numbered = isinstance(reader, NumberRows) and stream in reader.streams
        numbering = numbering_bucket(stream, len(shuffle_keys)) if is_numbered else None
        for bucket, shuffle_key in enumerate(shuffle_keys):
            if bucket == numbering:  # one bucket numbers all rows of a stream
                order = pa.RecordBatch.from_pydict(_order_columns(spec, rows))
                yield other, shuffle_key, encode(order, edge_facts(OrderFrom(stream)) | facts)
            else:
                yield other, shuffle_key, header_blob


def pack_rows(
    pipeline: Pipeline,
    stage: StatefulStage,
    spec: InputSpec,
    stream: int,
    rows: TimedRows,
    by_row: bool,
    number: int,
    clock_us: int | None,
) -> tuple[pa.RecordBatch, Header]:
    """The entries and the header of a stream's batch. Rows that will be numbered stay single."""
    timing, shedding = pipeline.timing, pipeline.shedding
    is_counted, is_keyed = stream in timing.counting, isinstance(stage, LastRowsPerKey)
    in_window = rows.accepted | timing.any_instant  # ON TRIGGER, rows before a landmark begins can be late too
    keyless_cells, keyless_counts = np.unique(rows.cells[rows.uncounted & in_window], return_counts=True)
    occupied = distinct_values(rows.cells[rows.accepted & (not timing.any_instant and not is_counted)])
    chosen = rows.accepted if is_keyed else rows.chosen  # rows that are not in the view still push older rows out of it
    everything = bool(chosen.all())
    batch = rows.batch if everything else rows.batch.filter(pa.array(chosen))
    cells = rows.cells if everything else rows.cells[chosen]
    entries = _entries(shedding, spec, stream, batch, cells, single=by_row or is_counted or is_keyed)
    sampled = entries
    if is_keyed:
        counts = rows.chosen[chosen].astype(np.int64)
        sampled = entries.filter(pa.array(counts > 0))
        entries = entries.set_column(entries.schema.get_field_index(COUNT), COUNT, pa.array(counts))
        entries = entries.append_column(ROW, pa.array(_row_names(rows)[chosen]))
    for name in spec.order if is_counted or is_keyed else ():
        entries = entries.append_column(name, batch.column(name))
    header = Header(
        rows.rows,
        rows.largest_us,
        occupied,
        keyless_cells,
        keyless_counts,
        rows.timeless,
        rows.ahead,
        rows.first_ahead_us,
        rows.matches is None,
        sample_statistics(spec, number, rows.rows, rows.ts, sampled),
        None if shedding is None else load_of(shedding, stage, spec, clock_us, entries),
        clock_us if timing.reads_clock else None,
    )
    return entries, header


def _entries(
    shedding: Shedding | None, spec: InputSpec, stream: int, batch: pa.RecordBatch, cells: Integers, single: bool
) -> pa.RecordBatch:
    """The entries of rows, with draws if SHED samples or rations them."""
    if shedding is None or not spec.drawn_by:
        return aggregate(spec, spec.identity, batch, cells, single)
    if isinstance(shedding, RowSampling):
        drawn = row_draws([batch.column(name) for name in spec.drawn_by], seed_of(shedding, stream))
        return aggregate(spec, spec.stored_identity, batch.append_column(DRAW, pa.array(drawn)), cells, single)
    return with_draws(aggregate(spec, spec.identity, batch, cells, single), spec.drawn_by, seed_of(shedding, stream))


def load_of(
    shedding: Shedding, stage: StatefulStage, spec: InputSpec, clock_us: int | None, entries: pa.RecordBatch
) -> Load:
    """What SHED has to know of a batch. A plain join has to know how many partitions there are, and no keys."""
    cells = entries.column(CELL).to_numpy()
    heavy, smallest = weigh_keys(entries) if isinstance(shedding, KeySampling) and spec.drawn_by else ([], [])
    if isinstance(shedding, PairRationing) and isinstance(stage, LastRowsPerKey):
        drawn = draws([entries.column(name) for name in stage.by], shedding.seed)
        smallest = smallest_draws(np.unique(drawn))
    return Load(
        rows=int(entries.column(COUNT).to_numpy().sum()),
        entries=entries.num_rows,
        size_bytes=entries.nbytes,
        last_cell=int(cells.max()) if len(cells) else None,
        heavy=heavy,
        smallest=smallest,
        clock_us=clock_us,
    )


def pass_on(
    pipeline: Pipeline, number: int, bucket: int, shuffle_keys: ShuffleKeys, emitted: Emitted
) -> Iterator[Addressed]:
    """The blobs that a bucket sends to later stages: row boundaries to all that need them, a view to its reader."""
    for stream, rows in emitted.boundaries.items():
        blob = encode(rows, edge_facts(BoundariesFrom(stream)))
        later = range(number + 1, len(pipeline.stages))
        readers = [reader for reader in later if not isinstance(pipeline.stages[reader], LastRowsPerKey)]
        yield from ((reader, shuffle_key, blob) for reader in readers for shuffle_key in shuffle_keys)
    if emitted.rows is None:
        return
    reader, ordinal, rows = view_entries(pipeline, number, bucket, emitted.rows)
    blobs = _by_bucket(pipeline.stages[reader], ordinal, shuffle_keys, rows, edge_facts(ViewRows(number)))
    yield from ((reader, shuffle_key, blob) for shuffle_key, blob in blobs)


def view_entries(
    pipeline: Pipeline, number: int, bucket: int, emitted: pa.RecordBatch
) -> tuple[int, int, pa.RecordBatch]:
    """What a bucket of stage ``number`` has emitted, as a view: its reader, the ordinal there, the entries."""
    reader = pipeline.reader_of(number)
    inputs = inputs_of(pipeline.stages[reader])
    ordinal, spec = next(found for found in enumerate(inputs) if found[1].source == ViewOf(number))
    keyed = isinstance(pipeline.stages[number], LastRowsPerKey)
    return reader, ordinal, _with_keys(spec, emitted if keyed else view_rows(spec, bucket, emitted))


def view_rows(spec: InputSpec, bucket: int, totals: pa.RecordBatch) -> pa.RecordBatch:
    """The totals of a fold as rows of a view, with the column names of the input that reads it."""
    names = {integer_column(number): name for number, name in enumerate(spec.integer_names)}
    for number, high_low in enumerate(spec.real_names):
        names |= dict(zip(real_columns(number), high_low, strict=True))
    names |= {extreme_column(number): name for number, name in enumerate(spec.extreme_names)}
    columns = {names.get(name, name): column for name, column in zip(totals.schema.names, totals.columns, strict=True)}
    columns[CELL] = columns.pop(INSTANT)
    columns[ORIGIN] = pa.array(np.full(totals.num_rows, bucket, np.int64))
    return pa.RecordBatch.from_pydict(columns)


def bucket_of(stage: StatefulStage, ordinal: int, entries: pa.RecordBatch, buckets: int) -> Integers:
    """The bucket of each entry: by a hash of its key, or of all columns that identify it where it has no key."""
    names = _bucket_columns(stage, ordinal)
    if not names or not entries.num_rows:
        return np.zeros(entries.num_rows, np.int64)
    hashed = stable_hash([entries.column(name) for name in names])
    return (hashed % np.uint64(buckets)).astype(np.int64)


def entries_by_bucket(
    stage: StatefulStage, ordinal: int, entries: pa.RecordBatch, buckets: int
) -> list[pa.RecordBatch]:
    """The entries of each bucket. All buckets get those of a replicated input."""
    if is_replicated(stage, ordinal):
        return [entries] * buckets
    bucket = bucket_of(stage, ordinal, entries, buckets)
    return [entries.take(pa.array(np.flatnonzero(bucket == number))) for number in range(buckets)]


def numbering_bucket(stream: int, buckets: int) -> int:
    """The bucket of `NumberRows` that numbers the rows of a stream."""
    return stream % buckets


def _bucket_columns(stage: StatefulStage, ordinal: int) -> tuple[str, ...]:
    if isinstance(stage, LastRowsPerKey):
        return stage.by
    assert not isinstance(stage, NumberRows), "one bucket numbers a stream"
    spec, classes = stage.body.inputs[ordinal], stage.body.bucket_classes
    names = tuple(name for name, key_class in zip(spec.keys, spec.classes, strict=True) if key_class in classes)
    if names or not is_distributed(stage):
        return names
    # the rows that a view has of one group go to one bucket, whatever their instants
    return spec.identity if isinstance(spec.source, ViewOf) else (CELL, *spec.identity)


def _by_bucket(
    stage: StatefulStage, ordinal: int, shuffle_keys: ShuffleKeys, entries: pa.RecordBatch, facts: dict[str, Any]
) -> Iterator[tuple[int, bytes]]:
    """Shuffle key and blob for every bucket. Entries of a replicated input go to every bucket, others to one."""
    others = facts | NOTHING_KEYLESS
    if is_replicated(stage, ordinal):
        blobs = [encode(entries, facts_of_blob) for facts_of_blob in (facts, others)[: len(shuffle_keys)]]
        yield from ((shuffle_key, blobs[min(number, 1)]) for number, shuffle_key in enumerate(shuffle_keys))
        return
    parts = entries_by_bucket(stage, ordinal, entries, len(shuffle_keys))
    for number, (shuffle_key, part) in enumerate(zip(shuffle_keys, parts, strict=True)):
        yield shuffle_key, encode(part, others if number else facts)


def _arrivals(
    pipeline: Pipeline,
    stage: FoldAtArrivals,
    spec: InputSpec,
    stream: int,
    shuffle_keys: ShuffleKeys,
    rows: TimedRows,
    number: int,
    clock_us: int | None,
) -> Iterator[Addressed]:
    """For every bucket its own rows as entries, and the arrivals of all rows."""
    chosen, first = np.flatnonzero(rows.chosen), rows.is_first
    token = int.from_bytes(os.urandom(7), "little")
    batch = rows.batch.take(pa.array(chosen))
    shedding, timing = pipeline.shedding, pipeline.timing
    entries = _entries(shedding, spec, stream, batch, rows.cells[chosen], single=True)
    sample = sample_statistics(spec, number, rows.rows, rows.ts, entries)
    entries = entries.append_column(BATCH, pa.array(np.full(len(chosen), token)))
    entries = entries.append_column(ROW, pa.array((np.cumsum(first) - 1)[chosen]))
    arrived = int(np.count_nonzero(first))
    columns = _order_columns(spec, rows) | {
        BATCH: pa.array(np.full(arrived, token)),
        ROW: pa.array(np.arange(arrived)),
        KEEP: pa.array(rows.kept[first]),
    }
    nothing = np.empty(0, np.int64)
    header = Header(
        rows.rows,
        rows.largest_us,
        nothing,
        nothing,
        nothing,
        rows.timeless,
        rows.ahead,
        rows.first_ahead_us,
        counts_entries=False,
        sample=sample,
        load=None if shedding is None else load_of(shedding, stage, spec, clock_us, entries),
        clock_us=clock_us if timing.reads_clock else None,
    )
    arrivals = encode(pa.RecordBatch.from_pydict(columns), edge_facts(ArrivalsFrom(stream)) | header.facts())
    ordinal, facts = stage.body.inputs.index(spec), edge_facts(EntriesFrom(stream))
    number_of_stage = pipeline.stages.index(stage)
    for shuffle_key, blob in _by_bucket(stage, ordinal, shuffle_keys, entries, facts):
        yield number_of_stage, shuffle_key, blob
        yield number_of_stage, shuffle_key, arrivals


def _order_columns(spec: InputSpec, rows: TimedRows) -> dict[str, pa.Array]:
    """The columns that order the rows of a stream: the time, and the values that order rows of one time."""
    first = pa.array(rows.is_first)
    columns = {name: rows.batch.column(name).filter(first) for name in spec.order}
    return {CELL: pa.array(rows.ts).filter(first), **columns}


def _row_names(rows: TimedRows) -> Integers:
    """A unique number for each row of the stream; all matches of a row have the same one."""
    return int.from_bytes(os.urandom(5), "little", signed=True) * 2**24 + np.cumsum(rows.is_first)


def _with_keys(spec: InputSpec, rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of a view without those that have a NULL key: NULL equals nothing, not even the NULL of another view."""
    for name in spec.keys:
        there = present(rows.column(name))
        rows = rows if there is None else rows.filter(pa.array(there))
    return rows
