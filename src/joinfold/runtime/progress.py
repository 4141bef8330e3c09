"""The progress of a query: what it has read, answered and stored, and, if it does not answer, why and since when.

Each bucket of FOLD sends one row with its numbers beside its answers. Spark observes these rows and reports them with
the progress of every micro-batch. If no rows came, Spark reports progress without numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as f

from joinfold.amounts import NOTHING, bytes_text, number_text, seconds_text
from joinfold.explain.tables import Table
from joinfold.notebook import facts, fragment, warning
from joinfold.physical.stage import is_plain
from joinfold.planner.planned_query import PlannedQuery
from joinfold.timetext import time_shown
from joinfold.types import BIGINT

METRICS = "joinfold "  # followed by the name of the run and of the fold, since one Spark query may run several queries
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LITTLE_BYTES = 2**20  # a smaller state may grow without a warning
_ADDED = (
    "entries",
    "cells",
    "state_bytes",
    "late_",
    "shed_",
)  # summed over folds; the other numbers are the same in all folds
METRIC_COLUMNS = (
    "watermark long, instants long, entries long, cells long, state_bytes long, late array<long>, seen array<long>, "
    "shed array<long>, ahead array<long>, idle array<boolean>, read array<long>, figures array<double>, plan string, "
    "change string, kept double, missing_groups long, at_floor boolean"
)
FIGURES = ("rate", "passes", "keys", "groups", "skew", "disorder")  # what FOLD measures of each stream


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """One stream of a query: the rows of the micro-batch, and its largest event time, late and shed rows so far.

    ``rows_so_far`` counts the rows of all micro-batches since this start of the query, as far as the handle was asked:
    Spark keeps 100 reports, and the rows of reports that it dropped before that are missing.
    ``ahead_rows`` counts the rows so far whose event time lay too far ahead of their micro-batch. ``is_idle``: it has
    been silent for so long that it does not hold the watermark back. The other numbers are measured over about a
    window, and None before that: rows per second of the stream's own time, the share that passes its filters, the
    different keys and groups, the skew of keys, and the share of rows that come after a row of a later time. See
    `StreamStatistics`.
    """

    alias: str
    rows: int
    rows_per_second: float
    largest: str | None
    late_rows: int
    shed_rows: int = 0
    ahead_rows: int = 0
    is_idle: bool = False
    rate: float | None = None
    passes: float | None = None
    keys: float | None = None
    groups: float | None = None
    skew: float | None = None
    disorder: float | None = None
    rows_so_far: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """A query after a micro-batch in which it answered ``instants`` instants.

    ``waiting_for`` says which stream holds the watermark back. ``silent_since`` is the time of the last answer, or of
    the start of the query if there was none. ``plan`` is the plan of the first bucket, in a few words. ``plan_change``
    says how a bucket changed its plan in this micro-batch, and why. Under SHED, ``kept`` is the probability with which
    a combination of the last answer was kept, and ``missing_groups`` estimates how many groups the last answer lacks,
    if groups are kept or shed as a whole. ``at_floor``: the query cannot keep up, whatever it sheds, since reading the
    streams takes too long. ``warning`` says by how much the state has grown because a silent stream holds the watermark
    back, in the micro-batches in which it has doubled.

    ``batch_seconds`` is how long the micro-batch took, from its trigger to its commit. ``latency_seconds`` is how far
    the answers lie behind the clock: the time by the driver's clock at which the micro-batch was committed, minus the
    watermark, since what happened before the watermark has been answered then. A plain join does not wait for the
    watermark; there it is the largest event time of its streams that is subtracted. It is None before the first
    watermark and for integer clocks. Streams that are replayed have the latency of their age.
    """

    batch: int
    streams: tuple[StreamProgress, ...]
    watermark: str | None
    instants: int
    live_cells: int
    live_entries: int
    state_bytes: int
    waiting_for: str
    silent_since: datetime
    plan: str = ""
    plan_change: str | None = None
    kept: float | None = None
    missing_groups: int | None = None
    at_floor: bool = False
    warning: str | None = None
    batch_seconds: float = 0.0
    latency_seconds: float | None = None

    def _repr_html_(self) -> str:
        """The progress as HTML, for a notebook."""
        known = {
            "micro-batch": f"{self.batch}, in {seconds_text(self.batch_seconds)}",
            "watermark": self.watermark or "not yet",
            "latency": None if self.latency_seconds is None else lag_text(self.latency_seconds),
            "answered in it": f"{self.instants:,} instants",
            "state": f"{bytes_text(self.state_bytes)} in {self.live_cells:,} cells and {self.live_entries:,} entries",
            "kept": self.kept,
            "plan": self.plan or None,
            "waits": self.waiting_for,
        }
        alarms = (warning(text) for text in (self.warning, self.plan_change) if text is not None)
        return fragment(facts(known), *alarms, streams_table(self).to_html())


def streams_table(progress: Progress) -> Table:
    """The streams of a query: what came, how fast, and what was left out."""
    rows = tuple(
        (
            stream.alias,
            f"{stream.rows_so_far:,}",
            f"{stream.rows_per_second:,.0f}",
            stream.largest or NOTHING,
            f"{stream.late_rows:,}",
            f"{stream.shed_rows:,}",
            f"{stream.ahead_rows:,}",
            NOTHING if stream.keys is None else number_text(round(stream.keys)),
        )
        for stream in progress.streams
    )
    return Table("Streams", ("stream", "rows", "rows/s", "largest time", "late", "shed", "ahead", "keys"), rows)


def lag_text(seconds: float) -> str:
    """How far something lies behind, in the largest unit that fits: 1.5 s, 12 min, 3 h, 321 days."""
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if abs(seconds) >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.1f} s"


def observed(outgoing: DataFrame, streams: int, run: str) -> DataFrame:
    """The blobs of FOLD, with its metrics observed. One row of each bucket carries them, and is removed here."""
    watched: list[Column] = [
        f.max("watermark").alias("watermark"),
        f.max("instants").alias("instants"),
        f.sum("entries").alias("entries"),
        f.max("cells").alias("cells"),
        f.sum("state_bytes").alias("state_bytes"),
        f.max("plan").alias("plan"),
        f.max("change").alias("change"),
        f.min("kept").alias("kept"),
        f.sum("missing_groups").alias("missing_groups"),
        f.max("at_floor").alias("at_floor"),
    ]
    for stream in range(streams):
        watched.append(f.sum(f.col("late")[stream]).alias(f"late_{stream}"))
        watched.append(f.sum(f.col("shed")[stream]).alias(f"shed_{stream}"))
        watched.append(f.max(f.col("ahead")[stream]).alias(f"ahead_{stream}"))
        watched.append(f.max(f.col("idle")[stream]).alias(f"idle_{stream}"))
        watched.append(f.max(f.col("seen")[stream]).alias(f"seen_{stream}"))
        watched.append(f.sum(f.col("read")[stream]).alias(f"read_{stream}"))
        for number, name in enumerate(FIGURES):
            watched.append(f.max(f.col("figures")[stream * len(FIGURES) + number]).alias(f"{name}_{stream}"))
    return (
        outgoing.observe(METRICS + run, *watched).where("blob IS NOT NULL").select("stage", "bucket", "piece", "blob")
    )


class Growth:
    """Notices a silent stream that makes the state grow: what the others bring waits for it."""

    def __init__(self) -> None:
        self._since: Progress | None = None
        self._told_bytes = 0

    def warning(self, progress: Progress, holding: int | None) -> str | None:
        """A warning when the state has doubled since a stream fell silent, and then whenever it doubles again.

        ``holding`` is the stream that holds the watermark back.
        """
        since = self._since
        is_silent = holding is not None and not progress.streams[holding].rows
        if not is_silent or since is None or since.watermark != progress.watermark:
            self._since, self._told_bytes = progress, max(progress.state_bytes, LITTLE_BYTES)
            return None
        if progress.state_bytes < 2 * self._told_bytes:
            return None
        assert holding is not None
        self._told_bytes = progress.state_bytes
        alias = progress.streams[holding].alias
        return (
            f"the state has grown from {bytes_text(since.state_bytes)} to {bytes_text(progress.state_bytes)} in "
            f"{progress.batch - since.batch} micro-batches, since '{alias}' is silent and all others wait for it; "
            "register it with idle='5 minutes', and they go on without it after that time"
        )


def metrics_of(step: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of all folds together; empty if no rows came."""
    observed_rows = {name: row for name, row in step.get("observedMetrics", {}).items() if name.startswith(METRICS)}
    if not observed_rows:
        return {}
    run = next(iter(observed_rows)).rpartition("-")[0]
    folds = [_facts(row) for name, row in observed_rows.items() if name.rpartition("-")[0] == run]
    if any(metrics.get("instants") is None for metrics in folds):
        return {}
    together = {}
    for name in folds[0]:
        numbers = [metrics[name] for metrics in folds if metrics[name] is not None]
        together[name] = None if not numbers else sum(numbers) if name.startswith(_ADDED) else max(numbers)
    return together


def _facts(row: Row) -> dict[str, Any]:
    """The numbers of an observed row by name. Spark Connect hands over its values and its schema instead."""
    known: dict[str, Any] = row.asDict()
    if known.keys() == {"values", "schema"}:
        return dict(zip((field["name"] for field in known["schema"]["fields"]), known["values"], strict=True))
    return known


def progress_of(
    step: Mapping[str, Any],
    metrics: Mapping[str, Any],
    plan: PlannedQuery,
    silent_since: datetime,
    rows_before: Mapping[str, int],
) -> Progress:
    """The progress of one report of Spark. ``rows_before`` counts the rows of each stream before it."""
    seconds = batch_seconds(step)
    inputs = plan.query.streams
    streams = tuple(
        StreamProgress(
            input_.alias,
            metrics[f"read_{stream}"],
            metrics[f"read_{stream}"] / seconds if seconds else 0.0,
            _time(metrics[f"seen_{stream}"]),
            metrics[f"late_{stream}"],
            metrics[f"shed_{stream}"],
            metrics[f"ahead_{stream}"],
            metrics[f"idle_{stream}"],
            **{name: metrics[f"{name}_{stream}"] for name in FIGURES},
            rows_so_far=rows_before.get(input_.alias, 0) + metrics[f"read_{stream}"],
        )
        for stream, input_ in enumerate(inputs)
    )
    return Progress(
        step["batchId"],
        streams,
        _time(metrics["watermark"]),
        metrics["instants"],
        metrics["cells"],
        metrics["entries"],
        metrics["state_bytes"],
        _waiting_for(plan, metrics),
        silent_since,
        metrics["plan"] or ("" if plan.decision is None else plan.decision.chosen.title),
        metrics["change"],
        metrics["kept"],
        metrics["missing_groups"],
        bool(metrics["at_floor"]),
        batch_seconds=seconds,
        latency_seconds=_latency_seconds(plan, metrics, ended(step)),
    )


def batch_seconds(step: Mapping[str, Any]) -> float:
    """How long a micro-batch took."""
    return float(step["durationMs"].get("triggerExecution", 0) / 1000)


def ended(step: Mapping[str, Any]) -> datetime:
    """When a micro-batch was committed, by the clock of the driver."""
    return datetime.fromisoformat(step["timestamp"]) + timedelta(seconds=batch_seconds(step))


def _latency_seconds(plan: PlannedQuery, metrics: Mapping[str, Any], end: datetime) -> float | None:
    seen = [metrics[f"seen_{stream}"] for stream in range(len(plan.query.streams))]
    known_us = [us for us in seen if us is not None] if is_plain(plan.answering) else [metrics["watermark"]]
    us = max((us for us in known_us if us is not None), default=None)
    if us is None or any(input_.source.clock == BIGINT for input_ in plan.query.streams):
        return None
    return (end - EPOCH).total_seconds() - int(us) / 1_000_000


def holding(plan: PlannedQuery, metrics: Mapping[str, Any]) -> int | None:
    """The stream that holds the watermark back: one that has had no rows, or else the slowest; None if all are idle."""
    awake = [stream for stream in range(len(plan.query.streams)) if not metrics[f"idle_{stream}"]]

    def reached(stream: int) -> tuple[bool, int]:
        seen = metrics[f"seen_{stream}"]
        return seen is not None, 0 if seen is None else seen - plan.timing.delays_us[stream]

    return min(awake, key=reached, default=None)


def _waiting_for(plan: PlannedQuery, metrics: Mapping[str, Any]) -> str:
    """Which stream holds the watermark back, in words. A plain join does not wait for the watermark."""
    stream = holding(plan, metrics)
    if stream is None:
        return "all streams are idle"
    alias, seen, delay_us = plan.timing.names[stream], metrics[f"seen_{stream}"], plan.timing.delays_us[stream]
    if seen is None:
        return f"'{alias}' has had no rows yet"
    if is_plain(plan.answering):
        return "none of the rows since then match"
    return f"'{alias}' has only reached {_time(seen - delay_us)}" + (", with its delay subtracted" if delay_us else "")


def _time(us: int | None) -> str | None:
    return None if us is None else time_shown(us)
