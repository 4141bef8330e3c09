"""Runs a streaming DataFrame to the end of its files, or until a cap, and records the time of every micro-batch."""

import tempfile
import time
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from joinfold.runtime.progress import METRICS

POLL_SECONDS = 0.05
PATIENCE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Batch:
    """A finished micro-batch. ``finished_seconds`` is counted from the start of the query."""

    number: int
    rows: int
    seconds: float
    finished_seconds: float
    parts_ms: dict[str, int]


@dataclass(frozen=True, slots=True)
class StreamRun:
    """A run of a streaming query.

    ``capped``: whether the cap stopped it. ``answers``: None if they were not kept.
    ``state_bytes``: the memory of the state stores, as Spark reports it; the maximum over the micro-batches.
    ``entry_bytes``: the size of joinfold's entries in the state stores, as joinfold reports it; also the maximum.
    ``plan_changes``: the changes of plan that joinfold made to follow the data.
    """

    batches: tuple[Batch, ...]
    seconds: float
    capped: bool
    state_bytes: int
    answers: pa.Table | None
    entry_bytes: int = 0
    plan_changes: tuple[str, ...] = ()


def run_stream(frame: DataFrame, *, cap_seconds: float, keep_answers: bool) -> StreamRun:
    """Runs over all existing files with a new checkpoint. Answers are kept in memory, or discarded."""
    name = f"measured_{uuid.uuid4().hex}"
    with tempfile.TemporaryDirectory(prefix="joinfold-bench-", ignore_cleanup_errors=True) as checkpoint:
        writer = frame.writeStream.outputMode("append").option("checkpointLocation", checkpoint)
        writer = writer.queryName(name).format("memory" if keep_answers else "noop")
        started, began = time.time(), time.perf_counter()
        query = writer.trigger(availableNow=True).start()
        try:
            capped = not _finished_within(query, began + cap_seconds)
            seconds = time.perf_counter() - began
        finally:
            stop_stream(query, frame.sparkSession)
        failure = query.exception()
        if failure is not None and not capped:
            raise failure
        progress = [step for step in query.recentProgress if isinstance(step, StreamingQueryProgress)]
        answers = None
        if keep_answers:
            answers = frame.sparkSession.table(name).toArrow()
            frame.sparkSession.catalog.dropTempView(name)
    batches = tuple(_batch(step, started) for step in progress)
    state_bytes = max((_state_bytes(step) for step in progress), default=0)
    entry_bytes = max((sum(reported(step, "state_bytes")) for step in progress), default=0)
    changes = tuple(change for step in progress for change in reported(step, "change"))
    return StreamRun(batches, seconds, capped, state_bytes, answers, entry_bytes, changes)


def _finished_within(query: StreamingQuery, deadline: float) -> bool:
    while query.isActive:
        if time.perf_counter() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def stop_stream(query: StreamingQuery, spark: SparkSession) -> None:
    """Stops a query that may be busy, and waits until its last task has ended, at most ``PATIENCE_SECONDS``.

    An interrupted task runs on until it notices, and would disturb the next run. Logging is off meanwhile, because
    interrupted tasks log errors.
    """
    context = spark.sparkContext
    context.setLogLevel("OFF")
    try:
        query.stop()
        tracker = context._jsc.sc().statusTracker()
        deadline = time.perf_counter() + PATIENCE_SECONDS
        while time.perf_counter() < deadline and any(one.numRunningTasks() for one in tracker.getExecutorInfos()):
            time.sleep(POLL_SECONDS)
    finally:
        context.setLogLevel("ERROR")


def _batch(step: StreamingQueryProgress, started: float) -> Batch:
    seconds = step.durationMs["triggerExecution"] / 1000
    finished = datetime.fromisoformat(step.timestamp).timestamp() + seconds - started
    return Batch(step.batchId, step.numInputRows, seconds, finished, dict(step.durationMs))


def _state_bytes(step: StreamingQueryProgress) -> int:
    """The memory of all state stores, as Spark reports it."""
    return sum(operator.memoryUsedBytes for operator in step.stateOperators)


def reported(step: StreamingQueryProgress, name: str) -> list[Any]:
    """The values of one metric that joinfold's folds report."""
    values = [row.asDict().get(name) for run, row in step.observedMetrics.items() if run.startswith(METRICS)]
    return [value for value in values if value is not None]
