"""KEEP UP with real buckets, on a simulated machine: its micro-batches take as long as their work.

Rows are read and joined. A row that is joined costs more the more rows the windows have, and so does a row that enters
the windows later, because its key is sampled from now on. At an arrival rate of 1, everything takes one interval.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import joinfold as jf
from joinfold.inprocess import InProcess
from joinfold.logical.shedding import KeepUp
from joinfold.operators.stages.live_bucket import LiveBucket
from joinfold.planner.planned_query import PlannedQuery

TEXT = """
    SELECT COUNT(*) AS n FROM a [30 SECOND SLIDE 1 SECOND], b [30 SECOND SLIDE 1 SECOND]
    WHERE a.k = b.k SHED TO KEEP UP SAMPLE BY KEY
"""
SECOND_US = 1_000_000
INTERVAL, WINDOW = 5, 30
ROWS = 20  # of each stream per second, at an arrival rate of 1
KEYS = 5_000
READING = 0.24  # of the cost, at an arrival rate of 1


@dataclass(frozen=True)
class Ran:
    """A micro-batch: when it started, in seconds, how long it took, in intervals, and what it kept."""

    start: float
    duration: float
    kept: float


def plan() -> PlannedQuery:
    session = jf.Session()
    for name in "ab":
        session.stream(name, "ts TIMESTAMP, k BIGINT")
    planned, interval_us = session.sql(TEXT).plan, INTERVAL * SECOND_US
    shedding = planned.pipeline.shedding
    assert shedding is not None
    shedding = replace(shedding, budgets=(KeepUp(interval_us),), trigger_us=interval_us)
    return replace(planned, pipeline=replace(planned.pipeline, shedding=shedding))


def simulate(arrivals: Callable[[int], float], until: float, seed: int) -> list[Ran]:
    """Runs micro-batches at the multiples of the interval, or at once after one that took longer."""
    machine, draw, noise = InProcess(plan()), np.random.default_rng(seed), Random(seed)
    (bucket,) = machine.buckets
    assert isinstance(bucket, LiveBucket)
    full, ran, now, read, kept = 2 * ROWS * INTERVAL, list[Ran](), float(INTERVAL), 0, 1.0
    while now < until:
        seconds = np.repeat(np.arange(read, int(now)), [int(ROWS * arrivals(own)) for own in range(read, int(now))])
        read = int(now)
        machine.feed({name: _rows(seconds, draw) for name in "ab"}, clock_us=int((now + 1000) * SECOND_US))
        machine.answer()
        live = 2 * sum(int(ROWS * arrivals(own)) for own in range(max(read - WINDOW, 0), read))
        before, kept = kept, bucket.kept or 0.0
        moved = abs(kept - before) if before < 2 * kept else kept
        joined = (kept * 2 * len(seconds) + moved * live) * live / (2 * ROWS * WINDOW)
        cost = 0.1 + (READING / 2 * 2 * len(seconds) + (1 - READING) * joined) / full
        duration = cost * noise.uniform(0.93, 1.07)
        ran.append(Ran(now, duration, kept))
        now = max(now + duration * INTERVAL, (int(now / INTERVAL + 1e-9) + 1) * INTERVAL)
    return ran


def _rows(seconds: np.ndarray, draw: np.random.Generator) -> pa.Table:
    times = seconds * SECOND_US + draw.integers(0, SECOND_US, len(seconds))
    return pa.table({"ts": pa.array(times).cast(pa.timestamp("us", tz="UTC")), "k": draw.integers(0, KEYS, len(times))})


@pytest.mark.parametrize("seed", [1, 2])
def test_twice_what_can_be_done_settles_below_the_interval(seed: int) -> None:
    ran = simulate(lambda second: 2.0, 600, seed)
    settled = [batch for batch in ran if batch.start > 120]
    assert len(settled) > 90 and max(batch.duration for batch in settled) < 1
    assert np.mean([batch.duration for batch in settled[-40:]]) > 0.45  # and not more is shed than needed


def test_after_a_step_it_settles_again() -> None:
    ran = simulate(lambda second: 0.5 if second < 100 else 2.0, 400, 1)
    assert {batch.kept for batch in ran if batch.start < 100} == {1.0}
    assert max(batch.duration for batch in ran if batch.start > 220) < 1


def test_after_a_burst_everything_is_kept_again() -> None:
    ran = simulate(lambda second: 3.0 if 100 <= second < 150 else 0.5, 400, 1)
    assert max(batch.duration for batch in ran if batch.start > 220) < 1
    assert {batch.kept for batch in ran if batch.start > 350} == {1.0}
