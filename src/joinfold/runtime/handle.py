"""A running query: what it has read, answered and stored, and, if it does not answer, why and since when.

Each bucket of FOLD sends one row with its numbers beside its answers. Spark observes these rows and reports them with
the progress of every micro-batch. If no rows came, Spark reports progress without numbers.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from joinfold.amounts import bytes_text
from joinfold.errors import JoinfoldError
from joinfold.physical.stage import is_plain
from joinfold.planner.planned_query import PlannedQuery
from joinfold.runtime.failures import LATE_WORKER, clear_error, clear_errors
from joinfold.timetext import time_shown

_log = logging.getLogger(__name__)

METRICS = "joinfold "  # followed by the name of the run and of the fold, since one Spark query may run several queries
REMEMBERED = 1000
RESTARTS = 2
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


class Handle:
    """A started query: stop it, wait for it, or read its progress.

    ``begin`` starts the query on Spark, from its checkpoint. ``tidy`` is called when it has ended. If it failed because
    a worker did not start in time, as on a busy machine, it is started again, up to `RESTARTS` times.
    """

    def __init__(
        self, begin: Callable[[], StreamingQuery], plan: PlannedQuery, checkpoint: str, tidy: Callable[[], None]
    ) -> None:
        self.query = begin()
        self.plan = plan
        self.checkpoint = checkpoint
        self._begin = begin
        self._tidy = tidy
        self._restarts = 0
        self._history: deque[Progress] = deque(maxlen=REMEMBERED)
        self._last: dict[str, Any] | None = None
        self._silent_since: datetime | None = None
        self._growth = Growth()

    @property
    def is_active(self) -> bool:
        """Whether the query is running."""
        with clear_errors(self.checkpoint):
            active = bool(self.query.isActive) or self._is_started_again(self.query.exception())
        if not active:
            self._tidy()
        return active

    def stop(self) -> None:
        """Stops the query at once. A later start repeats the micro-batch that was not finished."""
        try:
            with clear_errors(self.checkpoint):
                self.query.stop()
        finally:
            self._tidy()

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Waits until the query ends; False if it has not ended within the timeout. Raises the error it failed with."""
        until = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        try:
            with clear_errors(self.checkpoint):
                while not self._waited(until):
                    if until is not None and time.monotonic() >= until:
                        return False
        except JoinfoldError:
            self._tidy()
            raise
        self._tidy()
        return True

    def failure(self) -> JoinfoldError | None:
        """The error that the query failed with, None if it has not failed."""
        try:
            with clear_errors(self.checkpoint):
                error = self.query.exception()
                if error is None or self._is_started_again(error):
                    return None
        except JoinfoldError as lost:
            return lost
        self._tidy()
        return clear_error(error, self.checkpoint)

    def _waited(self, until: float | None) -> bool:
        """Whether the query has ended by a time; False also if it was started again."""
        try:
            if until is None:
                self.query.awaitTermination()
                return True
            return bool(self.query.awaitTermination(max(until - time.monotonic(), 0.001)))  # type: ignore[arg-type]
        except StreamingQueryException as error:
            if self._is_started_again(error):
                return False
            raise

    def _is_started_again(self, error: StreamingQueryException | None) -> bool:
        if error is None or LATE_WORKER not in str(error) or self._restarts == RESTARTS:
            return False
        self._restarts += 1
        _log.warning("a Python worker did not start in time: restart %d of %d", self._restarts, RESTARTS)
        self.query = self._begin()
        return True

    def progress(self) -> Progress | None:
        """The latest progress of the query; None before the end of its first micro-batch."""
        self._look()
        if not self._history or self._last is None:
            return None
        latest = self._history[-1]
        if _metrics(self._last):
            return latest
        idle = tuple(replace(stream, rows=0, rows_per_second=0.0) for stream in latest.streams)
        return replace(latest, streams=idle, instants=0)

    def history(self) -> tuple[Progress, ...]:
        """The progress after each micro-batch that had rows, oldest first, at most the last 1000.

        Spark keeps few reports. Those that it drops between two calls of `progress` or `history` are missing.
        """
        self._look()
        return tuple(self._history)

    def _look(self) -> None:
        """Takes in what Spark has reported since the last call. Fetches all recent reports only if some were missed."""
        with clear_errors(self.checkpoint):
            last = self.query.lastProgress
        if last is None or (self._last is not None and _stamp(last) == _stamp(self._last)):
            return
        follows = self._last is not None and last["batchId"] - self._last["batchId"] <= 1
        with clear_errors(self.checkpoint):
            steps = [last] if follows else self.query.recentProgress
        for step in steps:
            if self._last is None or _stamp(step) > _stamp(self._last):
                self._take(dict(step))

    def _take(self, step: dict[str, Any]) -> None:
        began = datetime.fromisoformat(step["timestamp"])
        seconds = step["durationMs"].get("triggerExecution", 0) / 1000
        metrics = _metrics(step)
        if metrics.get("instants"):
            self._silent_since = began + timedelta(seconds=seconds)
        self._silent_since = self._silent_since or began
        if metrics.get("change"):
            _log.info("micro-batch %d: %s", step["batchId"], metrics["change"])
        if metrics:
            progress = _progress(step["batchId"], metrics, seconds, self.plan, self._silent_since)
            warning = self._growth.warning(progress, _holding(self.plan, metrics))
            if warning is not None:
                _log.warning("micro-batch %d: %s", step["batchId"], warning)
            self._history.append(replace(progress, warning=warning))
        self._last = step


def _stamp(step: Mapping[str, Any]) -> tuple[int, str]:
    return step["batchId"], step["timestamp"]


def _metrics(step: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of all folds together; empty if no rows came."""
    observed_rows = {name: row for name, row in step.get("observedMetrics", {}).items() if name.startswith(METRICS)}
    if not observed_rows:
        return {}
    run = next(iter(observed_rows)).rpartition("-")[0]
    folds = [row.asDict() for name, row in observed_rows.items() if name.rpartition("-")[0] == run]
    if any(metrics.get("instants") is None for metrics in folds):
        return {}
    together = {}
    for name in folds[0]:
        numbers = [metrics[name] for metrics in folds if metrics[name] is not None]
        together[name] = None if not numbers else sum(numbers) if name.startswith(_ADDED) else max(numbers)
    return together


def _progress(
    batch: int, metrics: dict[str, Any], seconds: float, plan: PlannedQuery, silent_since: datetime
) -> Progress:
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
            *(metrics[f"{name}_{stream}"] for name in FIGURES),
        )
        for stream, input_ in enumerate(inputs)
    )
    return Progress(
        batch,
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
    )


def _holding(plan: PlannedQuery, metrics: dict[str, Any]) -> int | None:
    """The stream that holds the watermark back: one that has had no rows, or else the slowest; None if all are idle."""
    awake = [stream for stream in range(len(plan.query.streams)) if not metrics[f"idle_{stream}"]]

    def reached(stream: int) -> tuple[bool, int]:
        seen = metrics[f"seen_{stream}"]
        return seen is not None, 0 if seen is None else seen - plan.timing.delays_us[stream]

    return min(awake, key=reached, default=None)


def _waiting_for(plan: PlannedQuery, metrics: dict[str, Any]) -> str:
    """Which stream holds the watermark back, in words. A plain join does not wait for the watermark."""
    stream = _holding(plan, metrics)
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
