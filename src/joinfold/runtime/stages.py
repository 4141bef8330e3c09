"""The stages after PACK as functions for Spark: they decode, call an operator, and encode."""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joinfold.arrow import arrow_schema
from joinfold.operators.codec import decode, encode
from joinfold.operators.emitted import Emitted
from joinfold.operators.merging.merge import finished
from joinfold.operators.packing.routing import Addressed, pass_on
from joinfold.operators.stages.bucket import Bucket
from joinfold.operators.stages.open_bucket import open_bucket
from joinfold.operators.state.state_id import StateId
from joinfold.operators.values import stable_hash
from joinfold.physical.choice import FoldChoice
from joinfold.physical.plan import Pipeline
from joinfold.physical.stage import Concatenate, LastStage, StatefulStage
from joinfold.planner.adapting import Change, Following
from joinfold.planner.stream_statistics import Statistics
from joinfold.runtime.blobs import BLOBS_ARROW, blob_batch, by_piece
from joinfold.runtime.workers import prepare_worker
from joinfold.types import Schema


@dataclass(frozen=True, slots=True)
class RunId:
    """A run of a query, from its start to its end: its checkpoint, None if that has no id, and a name of its own."""

    checkpoint: str | None = None
    name: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True, slots=True)
class StageRun:
    """One stage on Spark: the pipeline, the number of the stage in it, and its choice.

    ``buckets`` has the shuffle keys of its buckets, ``merges`` those by which answers go to MERGE. ``following`` says
    how a streaming run follows the data, None if it keeps its choice.
    """

    pipeline: Pipeline
    number: int
    choice: FoldChoice
    buckets: tuple[int, ...]
    merges: tuple[int, ...]
    following: Following | None = None
    run: RunId = field(default_factory=RunId)

    @property
    def stage(self) -> StatefulStage:
        """The stage itself."""
        return self.pipeline.stages[self.number]

    def open(self, shuffle_key: int) -> Bucket:
        """A new, empty bucket."""
        number, pipeline = self.buckets.index(shuffle_key), self.pipeline
        return open_bucket(self.stage, pipeline.timing, number, self.choice, pipeline.shedding)

    def state_id(self, shuffle_key: int, batch: int) -> StateId:
        """The id of the state that a bucket has after a micro-batch."""
        return StateId(self.run.checkpoint, self.number, self.buckets.index(shuffle_key), batch)

    def follow(self, bucket: Bucket, compared: Statistics | None) -> tuple[Statistics | None, Change | None]:
        """Lets a bucket change to a cheaper choice if there is one.

        Returns the statistics of the last comparison, and the change if there was one.
        """
        if self.following is None or (measured := bucket.measured()) is None:
            return compared, None
        comparison = self.following.compare(self.stage, self.pipeline.timing, bucket.choice, measured, compared)
        if comparison.choice is not None:
            bucket.go_on_with(comparison.choice)
        return comparison.statistics, comparison.change

    def title(self, bucket: Bucket) -> str | None:
        """The choice of a bucket that follows the data, in a few words; None if it does not."""
        return None if self.following is None else self.following.title(self.stage, bucket.choice)

    def split(self, shuffle_key: int, emitted: Emitted) -> Iterator[Addressed]:
        """Sends what a bucket has emitted to the stages that read it; the last stage with state sends it to MERGE."""
        if self.number < len(self.pipeline.stages) - 1:
            yield from pass_on(self.pipeline, self.number, self.buckets.index(shuffle_key), self.buckets, emitted)
            return
        rows, last, merge = emitted.rows, self.pipeline.last, len(self.pipeline.stages)
        if rows is None:
            return
        facts: dict[str, Any] = {"numbers": [], "before": None, "placed": None}
        if last.placed or (not isinstance(last, Concatenate) and last.changes):
            facts = {"numbers": emitted.numbers, "before": emitted.before, "placed": emitted.placed}
        if emitted.is_lasting:
            facts["is_lasting"] = True
        if emitted.samples is not None:
            samples = [[at, *own] for at, own in sorted(emitted.samples.items())]
            facts |= {"numbers": emitted.numbers, "samples": samples}
        groups = [] if isinstance(last, Concatenate) else [rows.column(name) for name in last.group_columns]
        if len(self.merges) == 1 or not groups:
            yield merge, self.merges[0], encode(rows, facts)
            return
        part = stable_hash(groups) % np.uint64(len(self.merges))
        for number, own in enumerate(self.merges):
            is_own = part == number
            if is_own.any():
                yield merge, own, encode(rows.filter(pa.array(is_own)), facts)


def run_bounded(stage: StageRun, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs a stage over all blobs of a bucket, to the end. Blobs for other stages are passed on unchanged."""
    blobs = pa.Table.from_batches(batches).cast(BLOBS_ARROW)
    shuffle_key = blobs.column("bucket")[0].as_py()
    own = pc.equal(blobs.column("stage"), stage.number)
    bucket = stage.open(shuffle_key)
    bucket.absorb(blobs.filter(own).column("blob").to_pylist())
    yield from blobs.filter(pc.invert(own)).to_batches()
    for piece, emitted in enumerate(bucket.answer(to_the_end=True)):
        yield blob_batch(stage.split(shuffle_key, emitted), piece)


def _emitted(rows: pa.RecordBatch, facts: dict[str, Any]) -> Emitted:
    """The inverse of what `StageRun.split` writes."""
    samples = facts.pop("samples", None)
    return Emitted(
        rows, **facts, samples=None if samples is None else {at: (rate, expected) for at, rate, expected in samples}
    )


def finish_batches(
    last: LastStage, schema: Schema, zone: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Runs MERGE over all blobs that a partition has in a micro-batch, piece by piece."""
    prepare_worker()
    target = arrow_schema(schema)
    for blobs in by_piece(batches):
        answers = finished(last, [_emitted(*decode(blob)) for blob in blobs], zone)
        if answers is not None:
            columns = [answers.column(field.name).cast(field.type) for field in target]
            yield pa.RecordBatch.from_arrays(columns, schema=target)
