"""Buckets of one stage that are fed by PACK, without the stages behind them."""

from collections.abc import Sequence

from joinfold.inprocess.frames import frame_batch
from joinfold.operators.packing.routing import pack
from joinfold.operators.stages.bucket import Bucket
from joinfold.operators.stages.open_bucket import open_bucket
from joinfold.planner.planned_query import PlannedQuery
from tests.operators.runs import Data, tables_of


def buckets_of(plan: PlannedQuery, stage: int = 0, buckets: int = 1) -> list[Bucket]:
    """The buckets of a stage before their first row."""
    return [open_bucket(plan.stages[stage], plan.timing, number, plan.choices[stage]) for number in range(buckets)]


def blobs_of(plan: PlannedQuery, data: Data, stage: int = 0, buckets: int = 1) -> list[list[bytes]]:
    """What PACK sends of a micro-batch to each bucket of a stage."""
    tables, found = tables_of(plan, data), list[list[bytes]]([] for _ in range(buckets))
    for stream, frame in enumerate(plan.frames):
        table = tables.get(frame.input.source.name)
        if table is None or not table.num_rows:
            continue
        for to, label, blob in pack(plan.pipeline, stream, tuple(range(buckets)), frame_batch(frame, table)):
            if to == stage:
                found[label].append(blob)
    return found


def absorb(plan: PlannedQuery, buckets: Sequence[Bucket], data: Data, stage: int = 0) -> None:
    """A micro-batch for all buckets of a stage."""
    for bucket, blobs in zip(buckets, blobs_of(plan, data, stage, len(buckets)), strict=True):
        bucket.absorb(blobs)
