"""Queries whose buckets are kept in a store, as on Spark, and can be made anew from it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from joinfold.inprocess.frames import frame_batch
from joinfold.inprocess.selecting import answer_table
from joinfold.operators.emitted import Emitted
from joinfold.operators.merging.merge import finished
from joinfold.operators.packing.routing import pack, pass_on
from joinfold.operators.stages.bucket import Bucket
from joinfold.operators.state.bucket_state import BucketState
from joinfold.operators.state.state_id import StateId
from joinfold.physical.stored import BoundariesOf
from joinfold.planner.planned_query import PlannedQuery
from joinfold.reference.rows import from_arrow
from tests.operators.runs import Data, tables_of
from tests.operators.state.memory import Memory

LABELS = (5, 8)


@dataclass
class Kept:
    """A bucket of a stage, with its state."""

    plan: PlannedQuery
    stage: int
    number: int
    buckets: int
    store: Memory = field(default_factory=Memory)
    bucket: Bucket = field(init=False)
    most_entries: int = 0
    most_boundaries: int = 0
    most_runs: int = 0
    most_facts: int = 0
    batch: int = 0

    def __post_init__(self) -> None:
        self.make_anew()

    @property
    def state(self) -> BucketState:
        state_id = StateId("a checkpoint", self.stage, self.number, self.batch)
        return BucketState(self.store, self.plan.pipeline, state_id, self.buckets)

    def run(self, blobs: list[bytes]) -> Emitted:
        """A micro-batch, as the runtime has it."""
        state = self.state
        chunks = state.chunks
        chunks.add(self.bucket.absorb(blobs))
        (emitted,) = self.bucket.answer()
        chunks.add(self.bucket.take_made())
        chunks.forget(self.bucket.is_done)
        if self.bucket.has_shed_more:
            chunks.thin(self.bucket)
        chunks.merge(self.bucket)
        state.save(self.bucket)
        self.batch += 1
        boundaries = sum(run.entries for run in chunks.runs if isinstance(run.stored, BoundariesOf))
        self.most_boundaries = max(self.most_boundaries, boundaries)
        self.most_entries = max(self.most_entries, sum(run.entries for run in chunks.runs) - boundaries)
        self.most_runs = max(self.most_runs, len(chunks.runs))
        assert state.facts is not None
        streams = state.facts["position"]["streams"].values()
        self.most_facts = max(self.most_facts, sum(len(own["occupied"]) for own in streams))
        return emitted

    def make_anew(self) -> None:
        """Forgets everything but the state."""
        self.bucket = self.state.open(self.plan.choices[self.stage])


class Query:
    """All stages of a query, each in as many buckets as there are labels, micro-batch by micro-batch."""

    def __init__(self, plan: PlannedQuery, labels: tuple[int, ...] = LABELS) -> None:
        self.plan = plan
        self.labels = labels
        self.stages = [
            [Kept(self.plan, stage, number, len(labels)) for number in range(len(labels))]
            for stage in range(len(self.plan.stages))
        ]
        self.answers: list[tuple[Any, ...]] = []

    @property
    def buckets(self) -> Iterator[Kept]:
        for stage in self.stages:
            yield from stage

    def go_on_as(self, plan: PlannedQuery) -> None:
        """Another plan goes on from the state, and from nothing else."""
        self.plan = plan
        for own in self.buckets:
            own.plan = plan
            own.make_anew()

    def run(self, batch: Data) -> None:
        pipeline, tables, labels = self.plan.pipeline, tables_of(self.plan, batch), self.labels
        blobs = [
            blob
            for stream, frame in enumerate(self.plan.frames)
            for blob in pack(pipeline, stream, labels, frame_batch(frame, tables[frame.input.source.name]))
        ]
        emitted: list[Emitted] = []
        for stage, buckets in enumerate(self.stages):
            emitted = [
                own.run([blob for to, label, blob in blobs if (to, label) == (stage, labels[own.number])])
                for own in buckets
            ]
            if stage < len(self.stages) - 1:
                for number, found in enumerate(emitted):
                    blobs += pass_on(pipeline, stage, number, labels, found)
        answers = finished(pipeline.last, emitted)
        if answers is not None:
            self.answers += [tuple(row.values()) for row in from_arrow(answer_table(self.plan, answers))]


def going_on(
    batches: int, rows: int = 6, keys: int = 3, each_us: int = 6, behind_us: int = 0, names: str = "ab"
) -> list[Data]:
    """As many rows of all streams in each micro-batch, some of one time; the first may be ahead of the others."""

    def own(batch: int, stream: int) -> list[dict[str, Any]]:
        start = batch * each_us + (0 if stream else behind_us)
        return [
            {
                "ts": start + ordinal * each_us // rows,
                "k": (batch + ordinal) % keys,
                "j": (batch * (stream + 2) + ordinal) % keys,
                "v": (batch * 7 + ordinal * 3) % 11,
            }
            for ordinal in range(rows)
        ]

    return [{name: own(batch, number) for number, name in enumerate(names)} for batch in range(batches)]
