"""Projects the sources with Spark and packs them: from DataFrames to blobs.

A source is read once, even if several inputs of the query read it: a self-join has one projection with the columns of
all its inputs, and PACK takes the part of each input. Only an input with attached relations reads its source by itself,
because it has a row for each match.

In a stream without a time column, rows have the time of their micro-batch. Spark keeps it in the checkpoint, so a
micro-batch that is repeated has the same time. Bounded rows are numbered in the order of their partitions.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from joinfold.operators.packing.routing import pack
from joinfold.physical.column_names import CLOCK, FIRST, KEEP, MATCHES, TIME
from joinfold.physical.plan import Frame, PhysicalPlan, Pipeline
from joinfold.physical.timing import AtArrivals
from joinfold.runtime.blobs import BLOBS, blob_batch
from joinfold.runtime.expressions import SOURCE, of_source, spark_text, time_text
from joinfold.runtime.relations import joined
from joinfold.runtime.workers import prepare_worker

Batches = Iterator[pa.RecordBatch]
_CLOCK_TEXT = "UNIX_MICROS(CURRENT_TIMESTAMP())"  # Spark keeps the time of a micro-batch: a replay reads the same


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a projection that belongs to one stream: pairs of a column of the frame and the projected column."""

    stream: int
    columns: tuple[tuple[str, str], ...]

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of the stream in a batch of the projection."""
        return pa.RecordBatch.from_arrays(
            [batch.column(projected) for _, projected in self.columns], names=[own for own, _ in self.columns]
        )


@dataclass(frozen=True, slots=True)
class Projection:
    """What Spark computes from a source, each expression once, and the part of each stream."""

    texts: tuple[str, ...]
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, frames: Iterable[tuple[int, Frame]], is_streaming: bool = False) -> "Projection":
        """The projection for the frames of one source, each with the number of its stream."""
        texts: dict[str, str] = {}
        parts = []
        for stream, frame in frames:
            computed = frame_texts(frame, is_streaming)
            own = {name: texts.setdefault(text, f"p{len(texts)}") for name, text in computed.items()}
            parts.append(Part(stream, tuple(own.items())))
        return cls(tuple(f"{text} AS {name}" for text, name in texts.items()), tuple(parts))


def packed(plan: PhysicalPlan, sources: dict[str, DataFrame], shuffle_keys: tuple[int, ...]) -> DataFrame:
    """All inputs as blobs with shuffle keys, in one DataFrame."""
    by_source: dict[str, list[tuple[int, Frame]]] = {}
    projections: list[tuple[DataFrame, tuple[Part, ...]]] = []
    for stream, frame in enumerate(plan.frames):
        if frame.attached:
            matches = joined(frame, sources)
            names = [TIME, KEEP, FIRST, MATCHES, *(column.name for column in frame.columns)]
            projections.append((matches, (Part(stream, tuple(zip(names, matches.columns, strict=True))),)))
        else:
            by_source.setdefault(frame.input.source.name, []).append((stream, frame))
    for name, frames in by_source.items():
        projection = Projection.of(frames, sources[name].isStreaming)
        projections.append((sources[name].alias(SOURCE).selectExpr(*projection.texts), projection.parts))
    if plan.pipeline.reads_clock:
        projections = [(rows.withColumn(CLOCK, f.expr(_CLOCK_TEXT)), parts) for rows, parts in projections]
    blobs = [rows.mapInArrow(pack_stage(plan.pipeline, parts, shuffle_keys), BLOBS) for rows, parts in projections]
    return reduce(DataFrame.union, blobs)


def frame_texts(frame: Frame, is_streaming: bool = False) -> dict[str, str]:
    """The columns of a frame as Spark SQL: event time, whether the row passes the filters, and those of the plan."""
    texts = {TIME: time_text(frame.input.source, is_streaming)}
    keep = None if frame.keep is None else spark_text(of_source(frame.keep))
    if keep is not None:
        texts[KEEP] = keep
    for column in frame.columns:
        text = spark_text(of_source(column.expression))
        if keep is not None and column.role != "order":  # a row that a filter removes must not fail
            text = f"CASE WHEN {keep} THEN {text} END"
        texts[column.name] = text
    return texts


def pack_stage(
    pipeline: Pipeline, parts: tuple[Part, ...], shuffle_keys: tuple[int, ...]
) -> Callable[[Iterable[pa.RecordBatch]], Batches]:
    """PACK as a function for `mapInArrow`."""
    return partial(_pack_batches, pipeline, parts, shuffle_keys)


def _pack_batches(
    pipeline: Pipeline, parts: tuple[Part, ...], shuffle_keys: tuple[int, ...], batches: Iterable[pa.RecordBatch]
) -> Batches:
    prepare_worker()
    first = next((projected for own, projected in parts[0].columns if own == FIRST), None)
    if first is not None and isinstance(pipeline.timing.rule, AtArrivals):
        batches = whole_rows(batches, first)
    for number, batch in enumerate(batch for batch in batches if batch.num_rows):
        clock_us = batch.column(CLOCK)[0].as_py() if CLOCK in batch.schema.names else None
        for part in parts:
            packed_batch = pack(pipeline, part.stream, shuffle_keys, part.of(batch), number=number, clock_us=clock_us)
            yield blob_batch(packed_batch)


def whole_rows(batches: Iterable[pa.RecordBatch], first: str) -> Batches:
    """The same rows in batches that keep all matches of a row of the stream together.

    Matches of a row come one after another. The column named ``first`` is true for the first of them.
    """
    held: list[pa.RecordBatch] = []
    for batch in batches:
        begins = pc.indices_nonzero(batch.column(first))
        last_begin = begins[-1].as_py() if len(begins) else batch.num_rows
        if len(begins) and held:
            yield pa.concat_batches([*held, batch.slice(0, last_begin)])
            held = []
        elif len(begins):
            yield batch.slice(0, last_begin)
        held.append(batch.slice(last_begin) if len(begins) else batch)
    if held:
        yield pa.concat_batches(held)
