"""A running query: what it has read, answered and kept, and, when it is silent, why."""

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from joinfold.logical.query import Input
from joinfold.planner.plan import PhysicalPlan
from joinfold.timetext import timestamp_text

METRICS = "joinfold"
METRIC_COLUMNS = (
    "watermark long, instants long, entries long, cells long, state_bytes long, late array<long>, seen array<long>"
)


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """One stream of a query."""

    alias: str
    rows: int
    rows_per_second: float
    largest: str | None
    late_rows: int


@dataclass(frozen=True, slots=True)
class Progress:
    """A query after a micro-batch."""

    batch: int
    streams: tuple[StreamProgress, ...]
    watermark: str | None
    instants: int
    live_cells: int
    state_bytes: int
    waiting_for: str | None


def observed(noted: DataFrame, streams: int) -> DataFrame:
    """FOLD's answers with its metrics watched: one row of each bucket carries them."""
    watched: list[Column] = [
        f.max("watermark").alias("watermark"),
        f.max("instants").alias("instants"),
        f.sum("entries").alias("entries"),
        f.sum("cells").alias("cells"),
        f.sum("state_bytes").alias("state_bytes"),
    ]
    for place in range(streams):
        watched.append(f.sum(f.col("late")[place]).alias(f"late_{place}"))
        watched.append(f.max(f.col("seen")[place]).alias(f"seen_{place}"))
    return noted.observe(METRICS, *watched).where("blob IS NOT NULL").select("label", "blob")


class Handle:
    """A started query: stop it, wait for it, ask how it is doing."""

    def __init__(self, query: StreamingQuery, plan: PhysicalPlan) -> None:
        self.query = query
        self.plan = plan

    def stop(self) -> None:
        """Stops after the current micro-batch; a later start goes on from there."""
        self.query.stop()

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Waits until the query ends; False if it has not within the time."""
        if timeout_seconds is None:
            self.query.awaitTermination()
            return True
        return bool(self.query.awaitTermination(int(timeout_seconds)))

    def progress(self) -> Progress | None:
        """The last micro-batch; None before the first."""
        last = self.query.lastProgress
        return None if last is None else progress_of(dict(last), self.plan)


def progress_of(last: dict[str, Any], plan: PhysicalPlan) -> Progress:
    """What Spark reports of a micro-batch, in joinfold's words."""
    row = last.get("observedMetrics", {}).get(METRICS)
    metrics = row.asDict() if row is not None else {}
    inputs = plan.query.streams
    streams = []
    for place, input_ in enumerate(inputs):
        source = last["sources"][place] if place < len(last["sources"]) else {}
        streams.append(
            StreamProgress(
                input_.alias,
                int(source.get("numInputRows", 0)),
                float(source.get("processedRowsPerSecond", 0.0) or 0.0),
                _time(metrics.get(f"seen_{place}")),
                int(metrics.get(f"late_{place}") or 0),
            )
        )
    watermark = metrics.get("watermark")
    return Progress(
        int(last["batchId"]),
        tuple(streams),
        _time(watermark),
        int(metrics.get("instants") or 0),
        int(metrics.get("cells") or 0),
        int(metrics.get("state_bytes") or 0),
        _waiting_for(inputs, metrics),
    )


def _waiting_for(inputs: tuple[Input, ...], metrics: dict[str, Any]) -> str | None:
    """The stream that holds the watermark back."""
    silent = [input_.alias for place, input_ in enumerate(inputs) if metrics.get(f"seen_{place}") is None]
    if silent:
        return f"'{silent[0]}' has had no row yet"
    reached = [(metrics[f"seen_{place}"] - input_.source.delay_us, input_.alias) for place, input_ in enumerate(inputs)]
    behind, alias = min(reached)
    return f"'{alias}' has come no further than {_time(behind)}, its delay taken off"


def _time(us: int | None) -> str | None:
    return None if us is None else timestamp_text(us)
