"""A plan as Spark runs it, in this process: one can choose how rows are divided, what fails, and what is forgotten.

    rows ──▶ PACK, in tasks ──▶ StageProcessor, per bucket and stage ──▶ MERGE ──▶ answers
                                  │ state: committed with the micro-batch
                                  └ warm memory: of two workers, in a folder that both see

PACK, the stages, their state and MERGE are those that run on Spark. Only what Spark does around them is imitated: it
gives the blobs of a bucket to its stage, it commits the writes of a micro-batch together or not at all, and it runs a
task or a micro-batch that failed again, with the same rows.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import pandas as pd
import pyarrow as pa

from joinfold.errors import EvaluationError
from joinfold.inprocess import frames
from joinfold.inprocess.relations import AliasedRows, attached_sides
from joinfold.inprocess.selecting import answer_table
from joinfold.operators.packing import routing
from joinfold.operators.stages.bucket import Bucket
from joinfold.operators.stages.live_bucket import LiveBucket
from joinfold.operators.state.bucket_state import BucketState
from joinfold.operators.state.rescaling import BucketMap, Rescaling
from joinfold.operators.state.state_id import StateId
from joinfold.physical.stage import Concatenate
from joinfold.planner.planned_query import PlannedQuery
from joinfold.runtime import streaming
from joinfold.runtime.engine import finished_schema
from joinfold.runtime.shuffle_keys import spread_shuffle_keys
from joinfold.runtime.stages import RunId, StageRun, finish_batches
from joinfold.runtime.streaming import StageProcessor
from joinfold.runtime.warm import WarmBuckets
from joinfold.runtime.workers import StatefulTask
from tests.operators.runs import Answers, Row, tables_of, tuples
from tests.simulation.scenario import Attempt, Loss, MicroBatch
from tests.strategies import assert_same_answers

WORKERS = 2
METRICS = ("watermark", "late", "ahead", "idle")
REPEATED = 1e-12
"""How exactly another attempt gives the same sums, which may be added in another order."""


class Blob(NamedTuple):
    """A blob between stages: the stage that reads it, the shuffle key of the bucket, and the number of the piece."""

    stage: int
    key: int
    piece: int
    blob: bytes


Blobs = list[Blob]
Kept = dict[Any, Any]
Place = tuple[int, int]
"""A stage, and the shuffle key of a bucket."""
Rows = Mapping[str, Sequence[Row]]


class CrashError(Exception):
    """The process of a task dies."""


@dataclass(slots=True)
class Fuse:
    """Lets so many writes pass, then crashes; None: never."""

    writes: int | None = None
    passed: int = 0

    def burn(self) -> None:
        if self.writes is not None and self.passed == self.writes:
            raise CrashError
        self.passed += 1


class Map:
    """The state of a bucket during an attempt: what is committed, under what the attempt has written."""

    def __init__(self, committed: Kept, *fuses: Fuse) -> None:
        self.kept = dict(committed)
        self.fuses = fuses

    def getValue(self, key: Any) -> Any:  # noqa: N802
        return self.kept.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self._burn()
        self.kept[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        self._burn()
        del self.kept[key]

    def _burn(self) -> None:
        for fuse in self.fuses:
            fuse.burn()


@dataclass(slots=True)
class Outcome:
    """What an attempt leaves if it comes to its end.

    ``metrics`` and ``samples`` are of the buckets that got something: what each reports, and under SHED the sample of
    each answer. ``shedders`` decide the rates of SHED in each bucket. ``writes`` counts the writes to the state.
    """

    answers: Answers = field(default_factory=list)
    written: dict[Place, Kept] = field(default_factory=dict)
    metrics: dict[Place, dict[str, Any]] = field(default_factory=dict)
    samples: list[dict[int, Any]] = field(default_factory=list)
    shedders: list[Any] = field(default_factory=list)
    writes: int = 0

    def look_into(self, bucket: Bucket, is_last: bool) -> None:
        """Notes what SHED has decided in a bucket."""
        if bucket.shedder is None:
            return
        self.shedders.append(bucket.shedder)
        if is_last and isinstance(bucket, LiveBucket) and bucket.sampler is not None:
            self.samples.append(dict(bucket.samples))


class Cluster:
    """A running query with the state of its buckets, and workers that keep them warm."""

    def __init__(self, plans: Sequence[PlannedQuery], buckets: int, folder: Path) -> None:
        self.plans = plans
        self.plan = plans[0]
        self.folder = folder
        self.keys = spread_shuffle_keys(buckets if self.plan.pipeline.is_distributed else 1)
        self.state: dict[Place, Kept] = {}
        self.checkpoint = "simulated"
        self.runs = 0
        self.batches = 0
        self.tables: dict[str, pa.Table] = {}
        self._forget()

    def run(self, batch: MicroBatch, rows: Rows) -> Outcome:
        """Runs a micro-batch and commits it. All attempts that come to an end must answer alike."""
        *failing, last = batch.attempts
        seen = []
        for attempt in failing:
            with suppress(CrashError):
                seen.append(self.attempt(batch, rows, attempt, Fuse(attempt.after_writes)).answers)
        outcome = self.attempt(batch, rows, last, Fuse())
        for other in seen:
            assert_same_answers(other, outcome.answers, REPEATED)
        self.state |= outcome.written
        if batch.runs_again:
            self._refuse_to_run_again(batch, rows)
        self.batches += 1
        if batch.rescaled is not None and self.plan.pipeline.is_distributed:
            self.rescale(batch.rescaled)
        return outcome

    def _refuse_to_run_again(self, batch: MicroBatch, rows: Rows) -> None:
        """Fails unless a micro-batch is refused that the state already has."""
        reason = refusal(lambda: self.attempt(batch, rows, Attempt(), Fuse()))
        assert reason and f"cannot start micro-batch {self.batches}: " in reason, "a committed micro-batch runs again"

    def counted(self, name: str) -> dict[str, int]:
        """A number that the state has for each input, of all buckets together."""
        buckets = [self._opened(place) for place in self.state]
        return {
            frame.input.alias: sum(getattr(bucket.position.streams[stream], name) for bucket in buckets)
            for stream, frame in enumerate(self.plan.frames)
        }

    def known(self, name: str) -> dict[str, int]:
        """A number that the state has for each input, and that all buckets must know."""
        buckets = [self._opened(place) for place in self.state]
        found = {}
        for stream, frame in enumerate(self.plan.frames):
            (found[frame.input.alias],) = {getattr(bucket.position.streams[stream], name) for bucket in buckets}
        return found

    def _opened(self, place: Place) -> Bucket:
        stage, key = place
        wanted = StateId(self.checkpoint, stage, self.keys.index(key), self.batches)
        state = BucketState(Map(self.state[place]), self.plan.pipeline, wanted, len(self.keys))
        return state.open(self.plan.choices[stage])

    def rescale(self, buckets: int) -> None:
        """Stops the query and goes on from a copy of its checkpoint with another number of buckets."""
        stages = range(len(self.plan.stages))
        old = [[BucketMap(self.state[stage, key]) for key in self.keys] for stage in stages]
        names = (self.checkpoint, f"rescaled to {buckets} after {self.batches}")
        rescaling = Rescaling(self.plan.pipeline, self.plan.choices, self.batches - 1, *names)
        new = rescaling.rescaled(old, buckets)
        self.keys, self.checkpoint = spread_shuffle_keys(buckets), names[1]
        self.state = {(stage, key): new[stage][at] for stage in stages for at, key in enumerate(self.keys)}
        self.runs += 1

    # --- what happens to workers ------------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Replaces the worker processes."""
        self.workers = [WarmBuckets(lambda: self.folder) for _ in range(WORKERS)]

    def _lose(self, loss: Loss) -> None:
        if loss.memory:
            self._forget()
        for path in self.folder.iterdir() if loss.files else ():
            content = bytearray(path.read_bytes())
            at = loss.at * len(content) // 1000
            match loss.files:
                case "gone":
                    path.unlink()
                case "cut":
                    path.write_bytes(content[:at])
                case "flipped" if content:
                    content[at] ^= 1 << loss.at % 8
                    path.write_bytes(content)

    def _restart(self, number: int) -> None:
        """Starts the query again from its state, with one of its plans."""
        self.plan = self.plans[number % len(self.plans)]
        self.runs += 1

    # --- one attempt ------------------------------------------------------------------------------------------------

    def attempt(self, batch: MicroBatch, rows: Rows, attempt: Attempt, fuse: Fuse) -> Outcome:
        """An attempt at a micro-batch; raises `CrashError` where it dies."""
        if attempt.plan is not None:
            self._restart(attempt.plan)
        self._lose(attempt.loss)
        draw, plan, outcome = Random(f"{self.batches} {attempt.seed}"), self.plan, Outcome()  # no token twice
        last = plan.pipeline.last
        crosses = not isinstance(last, Concatenate) and last.crosses_buckets
        merges = spread_shuffle_keys(len(self.keys) if plan.query.groups else 1) if crosses else self.keys[:1]
        blobs = self._packed(batch, rows, draw)
        tasks = len(plan.choices) * len(self.keys)
        deaths = {death.task % tasks: death.after_writes for death in attempt.deaths}
        for number, choice in enumerate(plan.choices):
            following = plan.following if number == len(plan.choices) - 1 else None
            run = RunId(self.checkpoint, f"run-{self.runs}")
            stage = StageRun(plan.pipeline, number, choice, self.keys, merges, following, run)
            outgoing: Blobs = []
            for partition in draw.sample(range(len(self.keys)), len(self.keys)):
                own = [blob for blob in blobs if blob.key == self.keys[partition]]
                draw.shuffle(own)
                task = Task(stage, partition, self.batches, own, self.state.get((number, self.keys[partition]), {}))
                if (writes := deaths.get(number * len(self.keys) + partition)) is not None:
                    try:
                        task.run(draw.choice(self.workers), draw, Outcome(), fuse, Fuse(writes))
                    except CrashError:
                        if fuse.passed == fuse.writes:  # it was the attempt that died
                            raise
                outgoing += task.run(draw.choice(self.workers), draw, outcome, fuse)
            blobs = outgoing
        fuse.burn()  # all is written, but not committed
        outcome.answers, outcome.writes = self._merged(blobs, draw), fuse.passed - 1
        return outcome

    def _packed(self, batch: MicroBatch, rows: Rows, draw: Random) -> Blobs:
        tables, plan = tables_of(self.plan, rows), self.plan
        self.tables |= {name: own for name, own in tables.items() if name not in self.tables}
        blobs: Blobs = []
        # SHED counts the entries of each task, so a replay sheds alike only if Spark divides the rows alike
        divide = draw if plan.pipeline.shedding is None else Random(self.batches)
        with patch.object(routing, "os", SimpleNamespace(urandom=draw.randbytes)):
            for stream, frame in enumerate(plan.frames):
                ahead_us = frame.input.source.ahead_us if plan.timing.has_ahead[stream] else None
                last_us = None if ahead_us is None else batch.clock_us + ahead_us
                for number, part in enumerate(_divided(tables.get(frame.input.source.name), divide)):
                    own = frames.frame_batch(frame, part, self._sides(stream), batch.clock_us, last_us)
                    packed = routing.pack(plan.pipeline, stream, self.keys, own, number=number, clock_us=batch.clock_us)
                    blobs += [Blob(stage, key, 0, blob) for stage, key, blob in packed]
        return blobs

    def _sides(self, stream: int) -> tuple[AliasedRows, ...]:
        return attached_sides(self.plan.frames[stream], self.tables)

    def _merged(self, blobs: Blobs, draw: Random) -> Answers:
        """The answers that MERGE makes of the blobs, each partition by itself."""
        last, schema, answers = self.plan.pipeline.last, finished_schema(self.plan), Answers()
        for key in sorted({blob.key for blob in blobs}):
            own = [blob for blob in blobs if blob.key == key]
            draw.shuffle(own)
            for batch in finish_batches(last, schema, "UTC", [pa.RecordBatch.from_pandas(_frame(own))]):
                answers += tuples(answer_table(self.plan, batch))
        return answers


@dataclass(frozen=True, slots=True)
class Task:
    """The task of one bucket in one micro-batch: its blobs, and its state before."""

    stage: StageRun
    partition: int
    batch: int
    blobs: Blobs
    committed: Kept

    def run(self, worker: WarmBuckets, draw: Random, outcome: Outcome, *fuses: Fuse) -> Blobs:
        """What the bucket emits, as a worker runs it."""
        key, store = self.stage.buckets[self.partition], Map(self.committed, *fuses)
        place = (self.stage.number, key)
        processor = StageProcessor(self.stage)
        client = SimpleNamespace(set_implicit_key=lambda key: None)
        processor.handle = SimpleNamespace(_statefulProcessorApiClient=client)  # type: ignore[assignment]
        processor.kept, processor.called = store, set()  # type: ignore[assignment]
        processor.task = StatefulTask(self.batch, self.partition, len(self.stage.buckets))
        emitted: Blobs = []
        with patch.object(streaming, "_warm", worker):
            if self.blobs:
                parts = [_frame(part) for part in _halves(self.blobs, draw)]
                for rows in processor.handleInputRows((key,), iter(parts), None):
                    for row in rows.to_dict("records"):
                        if row["stage"] >= 0:
                            emitted.append(Blob(row["stage"], row["bucket"], row["piece"], row["blob"]))
                        else:
                            outcome.metrics[place] = {name: row[name] for name in METRICS}
                _, warm = worker.here[f"{processor.run}-{key}"]
                outcome.look_into(warm.bucket, self.stage.number == len(self.stage.pipeline.stages) - 1)
            processor.close()
        outcome.written[place] = store.kept
        return emitted


def refusal(call: Callable[[], object]) -> str | None:
    """The message of the error with which the engine refuses something; None if it does not."""
    try:
        call()
    except EvaluationError as error:
        return error.message
    return None


def _frame(blobs: Blobs) -> pd.DataFrame:
    return pd.DataFrame(blobs, columns=["stage", "bucket", "piece", "blob"])


def _divided(table: pa.Table | None, draw: Random) -> Iterator[pa.Table]:
    """The rows of a stream in some parts, one for each task that has rows."""
    if table is None or not table.num_rows:
        return
    bounds = sorted({0, table.num_rows, *(draw.randrange(table.num_rows + 1) for _ in range(draw.randrange(3)))})
    for start, end in itertools.pairwise(bounds):
        yield table.slice(start, end - start)


def _halves(blobs: Blobs, draw: Random) -> list[Blobs]:
    """The blobs of a bucket in the one or two frames in which Spark hands them over."""
    cut = draw.randrange(len(blobs) + 1)
    return [part for part in (blobs[:cut], blobs[cut:]) if part]
