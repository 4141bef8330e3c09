"""From DataFrames to packed frames: what Spark computes of each source, and PACK as a stage of Spark.

A source is read once, however many inputs of the query it is: a self-join has one projection with the columns of all
its inputs, and PACK takes each input's part of a batch.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import DataFrame

from joinfold.logical.expressions import Column, Expression, rewrite
from joinfold.names import identifier_text
from joinfold.operators.arrivals import pack_arrivals
from joinfold.operators.layout import FoldLayout
from joinfold.operators.pack import pack
from joinfold.planner.plan import Frame, PhysicalPlan
from joinfold.runtime.expressions import spark_text

PACKED = "bucket int, blob binary"
_PACKED_ARROW = pa.schema([("bucket", pa.int32()), ("blob", pa.binary())])
SOURCE = "source"
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Part:
    """An input's part of a projection: for each of its own columns the projected one."""

    place: int
    columns: tuple[tuple[str, str], ...]

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The part of a batch that is the input's."""
        return pa.RecordBatch.from_arrays(
            [batch.column(projected) for _, projected in self.columns], names=[own for own, _ in self.columns]
        )


@dataclass(frozen=True, slots=True)
class Projection:
    """What Spark computes of a source, each expression once, and the inputs that take their columns from it."""

    texts: tuple[str, ...]
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, frames: Iterable[tuple[int, Frame]]) -> "Projection":
        """The projection for some inputs, by place, of one source."""
        texts: dict[str, str] = {}
        parts = []
        for place, frame in frames:
            own = {name: texts.setdefault(text, f"p{len(texts)}") for name, text in frame_texts(frame).items()}
            parts.append(Part(place, tuple(own.items())))
        return cls(tuple(f"{text} AS {name}" for text, name in texts.items()), tuple(parts))


def packed(plan: PhysicalPlan, sources: dict[str, DataFrame], labels: tuple[int, ...]) -> DataFrame:
    """All inputs as blobs by bucket, in one DataFrame."""
    by_source: dict[str, list[tuple[int, Frame]]] = {}
    for place, frame in enumerate(plan.frames):
        by_source.setdefault(frame.input.source.name, []).append((place, frame))
    blobs = []
    for name, frames in by_source.items():
        projection = Projection.of(frames)
        projected = sources[name].alias(SOURCE).selectExpr(*projection.texts)
        blobs.append(projected.mapInArrow(pack_stage(plan.layout, projection.parts, labels), PACKED))
    return reduce(DataFrame.union, blobs)


def frame_texts(frame: Frame) -> dict[str, str]:
    """The event time, whether the row passes the filters, and the columns that the plan wants, as Spark SQL."""
    assert frame.input.source.time is not None
    texts = {"ts": f"{SOURCE}.{identifier_text(frame.input.source.time)}"}
    keep = None if frame.keep is None else spark_text(_of_source(frame.keep))
    if keep is not None:
        texts["keep"] = keep
    for name, expression in frame.columns:
        text = spark_text(_of_source(expression))
        if keep is not None and not name.startswith("o"):  # what a filter removes must not fail to compute
            text = f"CASE WHEN {keep} THEN {text} END"
        texts[name] = text
    return texts


def _of_source(expression: Expression) -> Expression:
    """The expression over the columns of the source, whichever alias it has in the query."""
    return rewrite(expression, lambda node: Column(SOURCE, node.name, node.type) if isinstance(node, Column) else None)


def pack_stage(
    layout: FoldLayout, parts: tuple[Part, ...], labels: tuple[int, ...]
) -> Callable[[Iterable[pa.RecordBatch]], Batches]:
    """PACK for `mapInArrow`."""
    return partial(_pack_batches, layout, parts, labels)


def _pack_batches(
    layout: FoldLayout, parts: tuple[Part, ...], labels: tuple[int, ...], batches: Iterable[pa.RecordBatch]
) -> Batches:
    packing = pack_arrivals if layout.on_arrival else pack
    for batch in batches:
        for part in parts if batch.num_rows else ():
            buckets, blobs = zip(*packing(layout, part.place, labels, part.of(batch)), strict=True)
            yield pa.RecordBatch.from_arrays([pa.array(buckets, pa.int32()), pa.array(blobs)], schema=_PACKED_ARROW)
