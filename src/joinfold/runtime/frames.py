"""From DataFrames to packed frames: what Spark computes of each input, and PACK as a stage of Spark."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame

from joinfold.names import identifier_text
from joinfold.operators.arrivals import pack_arrivals
from joinfold.operators.layout import FoldLayout
from joinfold.operators.pack import pack
from joinfold.planner.plan import Frame, PhysicalPlan
from joinfold.runtime.expressions import spark_text

PACKED = "bucket int, blob binary"
_PACKED_ARROW = pa.schema([("bucket", pa.int32()), ("blob", pa.binary())])
Batches = Iterator[pa.RecordBatch]


def packed(plan: PhysicalPlan, sources: dict[str, DataFrame], labels: tuple[int, ...]) -> DataFrame:
    """All inputs as blobs by bucket, in one DataFrame."""
    parts = [
        projected(frame, sources[frame.input.source.name]).mapInArrow(pack_stage(plan.layout, place, labels), PACKED)
        for place, frame in enumerate(plan.frames)
    ]
    together = parts[0]
    for part in parts[1:]:
        together = together.union(part)
    return together


def projected(frame: Frame, source: DataFrame) -> DataFrame:
    """The event time, whether the row passes the filters, and the columns that the plan wants."""
    alias = identifier_text(frame.input.alias)
    assert frame.input.source.time is not None
    columns = [f"{alias}.{identifier_text(frame.input.source.time)} AS ts"]
    keep = None if frame.keep is None else spark_text(frame.keep)
    if keep is not None:
        columns.append(f"{keep} AS keep")
    for name, expression in frame.columns:
        text = spark_text(expression)
        if keep is not None and not name.startswith("o"):  # what a filter removes must not fail to compute
            text = f"CASE WHEN {keep} THEN {text} END"
        columns.append(f"{text} AS {name}")
    return source.alias(frame.input.alias).selectExpr(*columns)


def pack_stage(
    layout: FoldLayout, place: int, labels: tuple[int, ...]
) -> Callable[[Iterable[pa.RecordBatch]], Batches]:
    """PACK for `mapInArrow`."""
    return partial(_pack_batches, layout, place, labels)


def _pack_batches(
    layout: FoldLayout, place: int, labels: tuple[int, ...], batches: Iterable[pa.RecordBatch]
) -> Batches:
    for batch in batches:
        if batch.num_rows:
            packing = pack_arrivals if layout.on_arrival else pack
            buckets, blobs = zip(*packing(layout, place, labels, batch), strict=True)
            yield pa.RecordBatch.from_arrays([pa.array(buckets, pa.int32()), pa.array(blobs)], schema=_PACKED_ARROW)
