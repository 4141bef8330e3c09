"""What a handle makes of Spark's reports."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import Row

from joinfold import RunError, Session
from joinfold.planner.planned_query import PlannedQuery
from joinfold.runtime.failures import LATE_WORKER
from joinfold.runtime.handle import REMEMBERED, RESTARTS, Handle
from joinfold.runtime.progress import FIGURES, METRICS

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
    return {
        f"read_{place}": rows,
        f"seen_{place}": seen,
        f"late_{place}": late,
        f"shed_{place}": 0,
        f"ahead_{place}": 0,
        f"idle_{place}": False,
        **known,
    }


@pytest.fixture
def reports() -> Reports:
    return Reports()


@pytest.fixture
def handle(reports: Reports) -> Handle:
    session = Session()
    session.stream("a", "k INT, ts TIMESTAMP", time="ts", delay="5 seconds")
    session.stream("b", "k INT, ts TIMESTAMP", time="ts")
    query = session.sql("SELECT COUNT(*) AS n FROM a [TUMBLE 1 MINUTE], b [TUMBLE 1 MINUTE] WHERE a.k = b.k")
    return Handle(lambda: reports, query.plan, "/checkpoint", lambda: None)  # type: ignore[arg-type]


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


LATE = StreamingQueryException(f"[STREAM_FAILED] Query [id = 1] terminated with exception: {LATE_WORKER}.")
FULL = StreamingQueryException("[STREAM_FAILED] Query [id = 1] terminated with exception: the disk is full")


class Ending:
    """Queries that end one after another, each with an error or None, as they are started."""

    def __init__(self, *ends: Exception | None) -> None:
        self.ends = list(ends)
        self.end: Exception | None = None
        self.tidied = 0

    def begin(self) -> Any:
        self.end = self.ends.pop(0)
        return self

    def tidy(self) -> None:
        self.tidied += 1

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802
        if self.end is not None:
            raise self.end
        return True

    @property
    def isActive(self) -> bool:  # noqa: N802
        return False

    def exception(self) -> Exception | None:
        return self.end

    def handle(self, plan: PlannedQuery) -> Handle:
        return Handle(self.begin, plan, "/checkpoint", self.tidy)


@pytest.fixture
def plan(handle: Handle) -> PlannedQuery:
    return handle.plan


@pytest.mark.parametrize("timeout", [None, 5.0])
def test_a_worker_that_did_not_start_in_time_is_tried_again(plan: PlannedQuery, timeout: float | None) -> None:
    ending = Ending(LATE, LATE, None)
    assert ending.handle(plan).wait(timeout)
    assert not ending.ends and ending.tidied == 1
    ending = Ending(*[LATE] * (RESTARTS + 2))
    with pytest.raises(RunError, match="did not start in time"):
        ending.handle(plan).wait(timeout)
    assert len(ending.ends) == 1 and ending.tidied == 1


def test_a_look_at_a_query_starts_it_again_too(plan: PlannedQuery) -> None:
    ending = Ending(LATE, LATE, None)
    handle = ending.handle(plan)
    assert handle.is_active
    assert handle.failure() is None and not ending.tidied
    assert not handle.is_active and ending.tidied


def test_another_failure_is_told_and_not_tried_again(plan: PlannedQuery) -> None:
    ending = Ending(FULL, None)
    handle = ending.handle(plan)
    with pytest.raises(RunError, match=r"^the disk is full$"):
        handle.wait()
    assert str(handle.failure()) == "the disk is full"
    assert not handle.is_active
    assert len(ending.ends) == 1 and ending.tidied == 3


class Gone:
    """A query whose Java process has ended."""

    def __getattr__(self, name: str) -> Any:
        raise ConnectionRefusedError(111, "Connection refused")


def test_every_method_tells_that_java_has_ended(plan: PlannedQuery) -> None:
    handle = Handle(Gone, plan, "/checkpoint", lambda: None)  # type: ignore[arg-type]
    uses: list[Callable[[], object]] = [
        handle.wait,
        lambda: handle.wait(1.0),
        handle.stop,
        handle.progress,
        handle.history,
        lambda: handle.is_active,
    ]
    for use in uses:
        with pytest.raises(RunError, match="the Java process of Spark has ended"):
            use()
    assert isinstance(handle.failure(), RunError)


def test_a_silent_stream_that_makes_the_state_grow_is_warned_of(reports: Reports, handle: Handle) -> None:
    def told(batch: int, state_bytes: int, rows: int, idle: bool = False) -> str | None:
        numbers: dict[str, Any] = {**side(0, 500, 90 * SECOND_US), **side(1, rows, 30 * SECOND_US), "idle_1": idle}
        reports.report(batch, batch, instants=0, watermark=30 * SECOND_US, state_bytes=state_bytes, **numbers)
        progress = handle.progress()
        assert progress is not None
        return progress.warning

    assert told(0, 2_000_000, rows=5) is None
    assert told(1, 3_000_000, rows=0) is None
    assert told(2, 4_200_000, rows=0) == (
        "the state has grown from 2.0 MB to 4.2 MB in 2 micro-batches, since 'b' is silent and all others wait for it; "
        "register it with idle='5 minutes', and they go on without it after that time"
    )
    assert told(3, 8_000_000, rows=0) is None  # not twice as much as when it was told
    assert told(4, 8_400_000, rows=0) is not None
    assert told(5, 99_000_000, rows=1) is None  # it speaks
    assert told(6, 999_000_000, rows=0, idle=True) is None  # 'a' holds the watermark back, and is not silent


def test_idle_streams_are_told_and_not_waited_for(reports: Reports, handle: Handle) -> None:
    numbers: dict[str, Any] = {**side(0, 5, 90 * SECOND_US), **side(1, 0, None)}
    reports.report(0, 0, instants=0, **numbers | {"idle_1": True})
    progress = handle.progress()
    assert progress is not None
    assert [stream.is_idle for stream in progress.streams] == [False, True]
    assert progress.waiting_for == "'a' has only reached 1970-01-01 00:01:25, with its delay subtracted"
    reports.report(1, 1, instants=0, **numbers | {"idle_0": True, "idle_1": True})
    progress = handle.progress()
    assert progress is not None and progress.waiting_for == "all streams are idle"


def test_times_beyond_the_years_1_to_9999_are_told_as_numbers(reports: Reports, handle: Handle) -> None:
    reports.report(0, 0, instants=0, watermark=-(2**62), **side(0, 5, 2**62), **side(1, 5, -(2**62)))
    progress = handle.progress()
    assert progress is not None
    assert [stream.largest for stream in progress.streams] == [f"{2**62} µs since 1970", f"{-(2**62)} µs since 1970"]
    assert progress.watermark == f"{-(2**62)} µs since 1970"
