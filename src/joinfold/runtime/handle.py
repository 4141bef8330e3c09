"""A running query: what it has read, answered and kept, and, when it is silent, why and since when.

FOLD counts for itself and sends its numbers beside its answers, as one text per bucket: Spark plans every micro-batch
anew, and a metric for each number would make that slow. Spark observes the texts and hands them over with the report of
every micro-batch; when nothing comes it reports too, without numbers.
"""

import json
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from joinfold.errors import JoinfoldError
from joinfold.planner.plan import PhysicalPlan
from joinfold.runtime.failures import clear_error
from joinfold.timetext import timestamp_text

_log = logging.getLogger(__name__)

METRICS = "joinfold "  # and the name of the run and of the fold: queries over queries are watched apart
REMEMBERED = 1000
REPORT = "report"  # a column that one row of each bucket has
_OF_BUCKETS = ("entries", "state_bytes", "late_", "read_")  # each bucket has its own; of the rest they know the same
_OF_FOLDS = ("entries", "cells", "state_bytes", "late_")  # and so with folds
FIGURES = ("rate", "passes", "keys", "groups", "skew", "disorder")  # of each stream, as FOLD has measured them


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """One stream of a query: the rows of the micro-batch, its largest event time and late rows so far.

    The rest is measured over about a window, and None before that: the rows for a second of the stream's own time, the
    share that passes its filters, the different keys and groups, how uneven keys are, and the share of rows that come
    after one of a later time. See `StreamStatistics`.
    """

    alias: str
    rows: int
    rows_per_second: float
    largest: str | None
    late_rows: int
    rate: float | None = None
    passes: float | None = None
    keys: float | None = None
    groups: float | None = None
    skew: float | None = None
    disorder: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """A query after a micro-batch, in which it answered at ``instants`` instants.

    ``waiting_for`` says which stream holds the watermark back, ``silent_since`` when an instant was last answered, or
    else when the query began. ``plan`` is that of the first bucket, in a few words; ``plan_change`` is what it was
    changed from in this micro-batch, and why.
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


def observed(noted: DataFrame, run: str) -> DataFrame:
    """FOLD's answers with the reports of its buckets watched."""
    watched = noted.observe(METRICS + run, f.collect_list(REPORT).alias(REPORT))
    return watched.where("blob IS NOT NULL").select("fold", "bucket", "blob")


def told(observed_rows: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What folds tell of a micro-batch, under the names that they are watched by; nothing where no row came."""
    return {
        name: _together([json.loads(report) for report in row[REPORT]], _OF_BUCKETS)
        for name, row in observed_rows.items()
        if name.startswith(METRICS)
    }


def _together(parts: Sequence[dict[str, Any]], added: tuple[str, ...]) -> dict[str, Any]:
    """Numbers that are added, and of the others the largest; None where nobody has one."""
    together = {}
    for name in parts[0] if parts else ():
        numbers = [part[name] for part in parts if part[name] is not None]
        together[name] = None if not numbers else sum(numbers) if name.startswith(added) else max(numbers)
    return together


class Handle:
    """A started query: stop it, wait for it, ask how it is doing."""

    def __init__(self, query: StreamingQuery, plan: PhysicalPlan) -> None:
        self.query = query
        self.plan = plan
        self._history: deque[Progress] = deque(maxlen=REMEMBERED)
        self._last: dict[str, Any] | None = None
        self._silent_since: datetime | None = None

    @property
    def is_active(self) -> bool:
        """Whether the query runs."""
        return bool(self.query.isActive)

    def stop(self) -> None:
        """Stops at once; a later start begins again with the micro-batch that was not finished."""
        self.query.stop()

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Waits until the query ends; False if it has not within the time; raises what it failed with."""
        try:
            ended = self.query.awaitTermination(timeout_seconds)  # type: ignore[arg-type]
        except StreamingQueryException as error:
            raise clear_error(error) from error
        return timeout_seconds is None or bool(ended)

    def failure(self) -> JoinfoldError | None:
        """What the query failed with, if it has."""
        error = self.query.exception()
        return None if error is None else clear_error(error)

    def progress(self) -> Progress | None:
        """How the query stands; None before the end of its first micro-batch."""
        self._look()
        if not self._history or self._last is None:
            return None
        latest = self._history[-1]
        if _metrics(self._last):
            return latest
        idle = tuple(replace(stream, rows=0, rows_per_second=0.0) for stream in latest.streams)
        return replace(latest, streams=idle, instants=0)

    def history(self) -> tuple[Progress, ...]:
        """The micro-batches that had rows, oldest first; what Spark has forgotten between two looks is missing."""
        self._look()
        return tuple(self._history)

    def _look(self) -> None:
        """Takes in what Spark has reported since the last look; asks for all that it remembers only after a gap."""
        last = self.query.lastProgress
        if last is None or (self._last is not None and _stamp(last) == _stamp(self._last)):
            return
        follows = self._last is not None and last["batchId"] - self._last["batchId"] <= 1
        for step in [last] if follows else self.query.recentProgress:
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
            self._history.append(_progress(step["batchId"], metrics, seconds, self.plan, self._silent_since))
        self._last = step


def _stamp(step: Mapping[str, Any]) -> tuple[int, str]:
    return step["batchId"], step["timestamp"]


def _metrics(step: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of all folds together; none where no row came."""
    by_name = told(step.get("observedMetrics", {}))
    if not by_name:
        return {}
    run = next(iter(by_name)).rpartition("-")[0]
    folds = [metrics for name, metrics in by_name.items() if name.rpartition("-")[0] == run]
    return _together(folds, _OF_FOLDS) if all(folds) else {}


def _progress(
    batch: int, metrics: dict[str, Any], seconds: float, plan: PhysicalPlan, silent_since: datetime
) -> Progress:
    inputs = plan.query.streams
    streams = tuple(
        StreamProgress(
            input_.alias,
            metrics[f"read_{place}"],
            metrics[f"read_{place}"] / seconds if seconds else 0.0,
            _time(metrics[f"seen_{place}"]),
            metrics[f"late_{place}"],
            *(metrics[f"{name}_{place}"] for name in FIGURES),
        )
        for place, input_ in enumerate(inputs)
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
    )


def _waiting_for(plan: PhysicalPlan, metrics: dict[str, Any]) -> str:
    """The stream that holds the watermark back; a plain join does not wait for it."""
    inputs = plan.query.streams
    silent = [input_.alias for place, input_ in enumerate(inputs) if metrics[f"seen_{place}"] is None]
    if silent:
        return f"'{silent[0]}' has had no row yet"
    if plan.layout.is_plain:
        return "of the rows that have come since then, none match"
    reached = [(metrics[f"seen_{place}"] - input_.source.delay_us, input_.alias) for place, input_ in enumerate(inputs)]
    behind, alias = min(reached)
    delayed = any(input_.alias == alias and input_.source.delay_us for input_ in inputs)
    return f"'{alias}' has come no further than {_time(behind)}" + (", its delay taken off" if delayed else "")


def _time(us: int | None) -> str | None:
    return None if us is None else timestamp_text(us)
