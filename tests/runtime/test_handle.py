"""What a handle makes of Spark's reports."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import Row

from joinfold import Session
from joinfold.runtime.handle import FIGURES, METRICS, REMEMBERED, Handle

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)
SECOND_US = 1_000_000


class Reports:
    """A query that has reported so far; counts how often all of it was asked for."""

    def __init__(self) -> None:
        self.recentReports: list[dict[str, Any]] = []
        self.asked = 0

    @property
    def lastProgress(self) -> dict[str, Any] | None:  # noqa: N802
        return self.recentReports[-1] if self.recentReports else None

    @property
    def recentProgress(self) -> list[dict[str, Any]]:  # noqa: N802
        self.asked += 1
        return self.recentReports

    def report(self, batch: int, second: int, **metrics: int | None) -> None:
        """A micro-batch of two seconds, or without metrics one in which nothing came."""
        timestamp = (NOON + timedelta(seconds=second)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        facts = {
            "watermark": None,
            "entries": 3,
            "cells": 2,
            "state_bytes": 100,
            "plan": None,
            "change": None,
            "kept": None,
            "missing_groups": None,
            "at_floor": None,
            **metrics,
        }
        observed = {METRICS + "run": Row(**facts)} if metrics else {}
        step = {"batchId": batch, "timestamp": timestamp, "durationMs": {"triggerExecution": 2000}}
        self.recentReports.append(step | {"observedMetrics": observed})


def side(place: int, rows: int, seen: int | None, late: int = 0, figure: int | None = None) -> dict[str, int | None]:
    known = {f"{name}_{place}": figure for name in FIGURES}
    return {f"read_{place}": rows, f"seen_{place}": seen, f"late_{place}": late, f"shed_{place}": 0, **known}


@pytest.fixture
def reports() -> Reports:
    return Reports()


@pytest.fixture
def handle(reports: Reports) -> Handle:
    session = Session()
    session.stream("a", "k INT, ts TIMESTAMP", time="ts", delay="5 seconds")
    session.stream("b", "k INT, ts TIMESTAMP", time="ts")
    query = session.sql("SELECT COUNT(*) AS n FROM a [TUMBLE 1 MINUTE], b [TUMBLE 1 MINUTE] WHERE a.k = b.k")
    return Handle(reports, query.plan)  # type: ignore[arg-type]


def test_nothing_before_the_first_micro_batch(handle: Handle) -> None:
    assert handle.progress() is None
    assert handle.history() == ()


def test_a_silent_stream_is_named_and_since_when(reports: Reports, handle: Handle) -> None:
    reports.report(0, 0, instants=0, **side(0, 500, 30 * SECOND_US), **side(1, 0, None))
    progress = handle.progress()
    assert progress is not None
    assert [(s.alias, s.rows, s.rows_per_second) for s in progress.streams] == [("a", 500, 250.0), ("b", 0, 0.0)]
    assert (progress.waiting_for, progress.silent_since) == ("'b' has had no rows yet", NOON)
    seen = 100 * SECOND_US
    reports.report(1, 10, instants=1, watermark=seen, **side(0, 5, 500 * SECOND_US), **side(1, 7, seen, late=2))
    progress = handle.progress()
    assert progress is not None
    assert progress.waiting_for == "'b' has only reached 1970-01-01 00:01:40"
    assert progress.silent_since == NOON + timedelta(seconds=12)
    assert (progress.watermark, progress.streams[1].late_rows) == ("1970-01-01 00:01:40", 2)
    reports.report(2, 20, instants=0, watermark=seen, **side(0, 5, 101 * SECOND_US), **side(1, 7, 300 * SECOND_US))
    progress = handle.progress()
    assert progress is not None
    assert progress.waiting_for == "'a' has only reached 1970-01-01 00:01:36, with its delay subtracted"
    assert progress.silent_since == NOON + timedelta(seconds=12)


def test_where_nothing_comes_the_rate_is_nothing_and_the_rest_stays(reports: Reports, handle: Handle) -> None:
    reports.report(0, 0, instants=2, watermark=7, **side(0, 500, 30), **side(1, 20, 40))
    reports.report(0, 10)
    progress = handle.progress()
    assert progress is not None
    assert [(s.rows, s.rows_per_second) for s in progress.streams] == [(0, 0.0), (0, 0.0)]
    assert (progress.instants, progress.live_cells, progress.state_bytes) == (0, 2, 100)
    assert [step.instants for step in handle.history()] == [2]


def test_what_is_measured_of_a_stream_is_told(reports: Reports, handle: Handle) -> None:
    reports.report(0, 0, instants=0, **side(0, 500, 30, figure=7), **side(1, 20, 40))
    progress = handle.progress()
    assert progress is not None
    told = [(s.rate, s.passes, s.keys, s.groups, s.skew, s.disorder) for s in progress.streams]
    assert told == [(7,) * 6, (None,) * 6]


def test_the_plan_is_that_of_the_buckets_or_else_the_one_that_was_chosen(reports: Reports, handle: Handle) -> None:
    numbers: dict[str, Any] = {"instants": 1, **side(0, 5, 1), **side(1, 5, 1)}
    reports.report(0, 0, **numbers)
    reports.report(1, 1, **numbers | {"plan": "PC; early none", "change": "TC → PC: why"})
    reports.report(2, 2, **numbers | {"plan": "PC; early none"})
    assert [(step.plan, step.plan_change) for step in handle.history()] == [
        ("IC over hashed sets of all inputs", None),
        ("PC; early none", "TC → PC: why"),
        ("PC; early none", None),
    ]


def test_a_change_of_plan_is_logged(reports: Reports, handle: Handle, caplog: pytest.LogCaptureFixture) -> None:
    numbers: dict[str, Any] = {"instants": 1, **side(0, 5, 1), **side(1, 5, 1)}
    with caplog.at_level("INFO", "joinfold.runtime.handle"):
        for batch, change in enumerate((None, "TC → PC: why")):
            reports.report(batch, batch, **numbers | {"change": change})
        handle.history()
        handle.history()
    assert caplog.messages == ["micro-batch 1: TC → PC: why"]


def test_everything_is_asked_for_only_after_a_gap(reports: Reports, handle: Handle) -> None:
    for batch in range(5):
        reports.report(batch, batch, instants=1, **side(0, batch, 1), **side(1, 0, 1))
        handle.history()
    assert reports.asked == 1
    for batch in (5, 6, 7):
        reports.report(batch, batch, instants=1, **side(0, batch, 1), **side(1, 0, 1))
    assert [step.streams[0].rows for step in handle.history()] == list(range(8))
    assert reports.asked == 2


def test_memory_is_bounded(reports: Reports, handle: Handle) -> None:
    for batch in range(REMEMBERED + 5):
        reports.report(batch, batch, instants=1, **side(0, batch, 1), **side(1, 0, 1))
    assert len(handle.history()) == REMEMBERED
