"""The lines about a running query."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from joinfold.live.report import Tally, figures_line, silence_line, size_text, status_line, summary_line
from joinfold.runtime.progress import Progress, StreamProgress

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)
A = StreamProgress("a", 1000, 500.0, "2025-01-01 00:00:20", 1)
B = StreamProgress("b", 3000, 1500.0, "2025-01-01 00:00:09", 0)
STEP = Progress(
    4,
    (A, B),
    "2025-01-01 00:00:09",
    1,
    12,
    40,
    2048,
    "'b' has only reached 2025",
    NOON,
    batch_seconds=2.0,
    latency_seconds=3.21,
)


def test_micro_batches_are_counted_once() -> None:
    tally = Tally()
    after = replace(STEP, batch=5, instants=3)
    assert tally.add([STEP]) == [STEP]
    assert tally.add([STEP, after]) == [after]
    assert (tally.rows, tally.batches, tally.instants, tally.late_rows) == ({"a": 2000, "b": 6000}, 2, 4, 1)


def test_lines() -> None:
    tally = Tally()
    assert summary_line(tally, 3) == "no micro-batch was finished in 3.0 s"
    tally.add([STEP])
    assert status_line(STEP, tally) == (
        "a 500 rows/s, b 1,500 rows/s · watermark 2025-01-01 00:00:09 · latency 3.2 s · micro-batch 4 in 2.0 s · "
        "1 instant answered · 1 row late · 12 live cells · 2.0 kB state"
    )
    assert "latency" not in status_line(replace(STEP, latency_seconds=None), tally)
    assert summary_line(tally, 3) == (
        "4,000 rows (1,000 of a, 3,000 of b) in 1 micro-batch and 3.0 s; 1 instant answered, up to the watermark "
        "2025-01-01 00:00:09; 1 row late"
    )


def test_what_was_measured_is_one_line() -> None:
    tally = Tally()
    assert figures_line(tally) is None
    tally.add([STEP])
    assert figures_line(tally) is None
    known = replace(A, rate=1500.4, passes=0.25, keys=50.9, groups=1.004, skew=1.0, disorder=0.0)
    tally.add([replace(STEP, batch=5, streams=(known, B))])
    assert (
        figures_line(tally)
        == "measured in a: 1,500 rows/s of event time, 51 keys, 1 group, 25% of rows pass the filters"
    )


def test_silence_is_explained_after_a_while() -> None:
    assert silence_line(STEP, NOON + timedelta(seconds=1)) is None
    assert silence_line(STEP, NOON + timedelta(seconds=75)) == (
        "no answer for 75 s, since 12:00:00 UTC: 'b' has only reached 2025"
    )


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1_500, "1.5 kB"), (2_500_000_000_000, "2,500.0 GB")]
)
def test_sizes(size: int, text: str) -> None:
    assert size_text(size) == text
