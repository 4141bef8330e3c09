"""Watches a streaming query with a trigger for some time: how long micro-batches take, and how far behind it is.

stream        ────────────────────────────▶    event time is wall-clock time
micro-batch            ├─── seconds ───┤
                     ▲                 ▲
                     └──── behind ─────┘       since the largest event time that the micro-batch has read
"""

import time
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress

from joinfold.runtime.handle import Handle
from joinfold.workloads.arrival import SECOND_US
from joinfold_bench.engines.measure import reported, stop_stream

POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class WatchedBatch:
    """A micro-batch with rows. ``started`` and ``ended`` are in seconds from the beginning.

    ``behind`` is the time from the largest event time that the micro-batch has read, of the slowest stream, to its end.
    ``kept`` is the probability with which a combination was kept, None without SHED. A micro-batch that is not finished
    had not ended when the query was stopped; it ends then.
    """

    number: int
    rows: int
    started: float
    ended: float
    behind: float
    kept: float | None
    is_finished: bool = True

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended - self.started


def watch(
    handle: Handle, spark: SparkSession, began: float, seconds: float, most: int | None = None
) -> tuple[WatchedBatch, ...]:
    """The micro-batches until ``seconds`` after ``began``, a time of the clock. Then stops the query.

    Stops it earlier if ``most`` micro-batches have ended. Raises the error that the query fails with.
    """
    found: dict[int, WatchedBatch] = {}
    try:
        while time.time() < began + seconds and handle.is_active and (most is None or len(found) < most):
            time.sleep(POLL_SECONDS)
            _look(handle, began, found)
        failure = handle.failure()
        if failure is not None:
            raise failure
        batches, is_busy, stopped = list(found.values()), handle.query.status["isTriggerActive"], time.time() - began
    finally:
        stop_stream(handle.query, spark)
    return (*batches, unfinished(batches[-1], stopped)) if is_busy and batches else tuple(batches)


def _look(handle: Handle, began: float, found: dict[int, WatchedBatch]) -> None:
    """Adds the micro-batches that Spark has reported since the last call; Spark keeps only some reports."""
    for step in handle.query.recentProgress:
        assert isinstance(step, StreamingQueryProgress)
        seen = [reported(step, f"seen_{stream}") for stream in range(len(handle.plan.query.streams))]
        if step.batchId in found or not step.numInputRows or not all(seen):
            continue
        started = datetime.fromisoformat(step.timestamp).timestamp() - began
        ended = started + step.durationMs["triggerExecution"] / 1000
        largest = min(max(own) for own in seen) / SECOND_US - began
        kept = min(reported(step, "kept"), default=None)
        found[step.batchId] = WatchedBatch(step.batchId, step.numInputRows, started, ended, ended - largest, kept)


def unfinished(last: WatchedBatch, stopped: float) -> WatchedBatch:
    """The micro-batch after the last one that has ended, at the time of the stop."""
    behind = last.behind + stopped - last.ended
    return WatchedBatch(last.number + 1, 0, last.ended, stopped, behind, last.kept, is_finished=False)
