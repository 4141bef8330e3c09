"""Progress: what Spark's reports say of a micro-batch. `test_handle.py` has what a handle makes of several."""

from datetime import UTC, datetime
from typing import Any

import pytest

from joinfold import Session
from joinfold.runtime.progress import Progress, StreamProgress, lag_text, progress_of, streams_table
from tests.runtime.test_handle import NOON, Reports, side

SCRIPT = "<script>alert('1')</script>"
A = StreamProgress("a", 1000, 500.0, "2025-01-01 00:00:20", 1, keys=1500.4, rows_so_far=4000)
B = StreamProgress(SCRIPT, 3000, 1500.0, None, 0)
PROGRESS = Progress(
    4,
    (A, B),
    None,
    1,
    12,
    40,
    2048,
    SCRIPT,
    NOON,
    batch_seconds=2.0,
    latency_seconds=754.0,
    warning="the state has grown",
)
FOLD = "SELECT COUNT(*) AS n FROM a [TUMBLE 1 MINUTE], b [TUMBLE 1 MINUTE] WHERE a.k = b.k"
PLAIN = "SELECT a.k FROM a [1 MINUTE], b [1 MINUTE] WHERE a.k = b.k"
NOON_US = int(NOON.timestamp()) * 1_000_000


def progress(text: str, time: str, watermark: int | None, *seen: int | None, **columns: Any) -> Progress:
    session = Session()
    for name in "ab":
        session.stream(name, f"k INT, ts {time}", time="ts", **columns)
    reports = Reports()
    sides = [side(number, 10, at) for number, at in enumerate(seen)]
    reports.report(7, 10, instants=1, watermark=watermark, **sides[0], **sides[1])
    (step,) = reports.recentReports
    (metrics,) = (row.asDict() for row in step["observedMetrics"].values())
    return progress_of(step, metrics, session.sql(text).plan, NOON, {"a": 90})


def test_latency_is_how_far_the_watermark_lies_behind_the_end_of_the_micro_batch() -> None:
    told = progress(FOLD, "TIMESTAMP", NOON_US + 3_500_000, NOON_US + 9_000_000, NOON_US + 3_500_000)
    assert (told.batch, told.batch_seconds, told.latency_seconds) == (7, 2.0, 8.5)  # from 10 s to 12 s


def test_a_plain_join_does_not_wait_for_the_watermark() -> None:
    told = progress(PLAIN, "TIMESTAMP", NOON_US, NOON_US + 9_000_000, NOON_US + 3_500_000)
    assert told.latency_seconds == 3.0
    assert progress(PLAIN, "TIMESTAMP", None, None, NOON_US).latency_seconds == 12.0
    assert progress(PLAIN, "TIMESTAMP", None, None, None).latency_seconds is None


def test_without_a_watermark_or_a_clock_in_time_there_is_no_latency() -> None:
    assert progress(FOLD, "TIMESTAMP", None, NOON_US, None).latency_seconds is None
    assert progress(FOLD, "BIGINT", 5, 5, 5, unit="ticks").latency_seconds is None


def test_rows_so_far_go_on_from_those_before() -> None:
    told = progress(FOLD, "TIMESTAMP", None, NOON_US, None)
    assert [(stream.rows, stream.rows_so_far) for stream in told.streams] == [(10, 100), (10, 10)]


def test_streams_are_a_table() -> None:
    assert str(streams_table(PROGRESS)).splitlines() == [
        "Streams",
        "  stream                        rows  rows/s         largest time  late  shed  ahead   keys",
        "  a                            4,000     500  2025-01-01 00:00:20     1     0      0  1,500",
        f"  {SCRIPT}      0   1,500                    –     0     0      0      –",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (-3, "-3.0 s"), (119, "119.0 s"), (754, "13 min"), (7_200, "2 h"), (3e7, "347 days")],
)
def test_lags(seconds: float, text: str) -> None:
    assert lag_text(seconds) == text


def test_noon_is_in_utc() -> None:
    assert datetime.fromtimestamp(NOON_US / 1e6, UTC) == NOON
