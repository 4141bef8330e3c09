"""Event time follows the rate second by second; disorder is as deep and as frequent as asked, no more."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joinfold.workloads import batches, wang_bursts
from joinfold.workloads.arrival import SECOND_US, START_US, Clock, in_arrival_order
from joinfold.workloads.draws import Block
from joinfold.workloads.tables import TIMESTAMP, event_times_us, stream_schema

PROFILES = st.lists(st.integers(0, 30), min_size=1, max_size=8).filter(any).map(tuple)


def rows_of_seconds(times_us: np.ndarray) -> list[int]:
    return np.bincount((times_us - START_US) // SECOND_US).tolist()


@settings(max_examples=60, deadline=None)
@given(profile=PROFILES, rounds=st.integers(1, 5), seed=st.integers(0, 1_000))
def test_every_second_holds_exactly_its_rows(profile: tuple[int, ...], rounds: int, seed: int) -> None:
    block = Block(seed, "s", 0, 0, rounds * sum(profile))
    counts = rows_of_seconds(Clock(profile).scattered_us(block))
    expected = list(profile) * rounds
    assert counts + [0] * (len(expected) - len(counts)) == expected


@settings(max_examples=60, deadline=None)
@given(rate=st.floats(0.01, 1e7), first=st.integers(0, 10**9))
def test_time_never_runs_back(rate: float, first: int) -> None:
    times_us = Clock((rate,)).scattered_us(Block(1, "s", 0, first, 1_000))
    assert (np.diff(times_us) >= 0).all()
    assert times_us[0] - START_US == pytest.approx(first / rate * SECOND_US, abs=2 * SECOND_US / rate + 1)


def test_whole_positions_fall_on_whole_microseconds() -> None:
    times_us = Clock((10_000,), start_us=0).times_us(np.arange(50_000))
    assert (times_us == np.arange(50_000) * 100).all()


@given(profile=PROFILES, seconds=st.integers(1, 40))
def test_rows_within_counts_the_profile_cyclically(profile: tuple[int, ...], seconds: int) -> None:
    expected = sum(profile[second % len(profile)] for second in range(seconds))
    assert Clock(profile).rows_within(seconds) == expected


def test_wangs_figure_4() -> None:
    assert wang_bursts() == (28,) * 20 + (28, 7, 3, 2, 1)
    steps = list(batches("synthetic", seconds=25, seed=1, bursts=wang_bursts()))
    for stream in ("a", "b"):
        times_us = np.concatenate([event_times_us(step[stream]) for step in steps])
        assert rows_of_seconds(times_us) == list(wang_bursts())


def disordered(share: float, depth_seconds: float, **arguments: object) -> list[pa.Table]:
    """Both streams of the synthetic workload as they arrive."""
    steps = list(
        batches(
            "synthetic",
            rows=200_000,
            seed=11,
            disorder_share=share,
            disorder_depth_seconds=depth_seconds,
            **arguments,
        )
    )
    return [pa.concat_tables([step[stream] for step in steps]).combine_chunks() for stream in ("a", "b")]


@pytest.mark.parametrize("share", [0.02, 0.3])
@pytest.mark.parametrize("depth_seconds", [0.5, 4.0, 40.0])
def test_disorder_has_the_depth_and_the_share(share: float, depth_seconds: float) -> None:
    """40 s is more than a block (32 s): some delayed rows wait for a whole block."""
    for table in disordered(share, depth_seconds, rows_per_second=1_000):
        times_us = event_times_us(table)
        lateness_us = np.maximum.accumulate(times_us) - times_us
        assert lateness_us.max() <= depth_seconds * SECOND_US
        before_the_end = times_us < times_us.max() - depth_seconds * SECOND_US
        assert before_the_end.sum() > 10_000
        assert lateness_us.max() > 0.9 * depth_seconds * SECOND_US
        assert (lateness_us[before_the_end] > 0).mean() == pytest.approx(share, rel=0.1)


def test_disorder_moves_rows_and_changes_none() -> None:
    shuffled = disordered(0.3, 4.0)
    straight = disordered(0.0, 0.0)
    for late, ordered in zip(shuffled, straight, strict=True):
        assert not late.equals(ordered)
        keys = [(name, "ascending") for name in late.column_names]
        assert late.sort_by(keys).equals(ordered.sort_by(keys))


@settings(max_examples=80, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 20), min_size=1, max_size=8),
    share=st.floats(0.01, 1),
    depth_us=st.integers(1, 60),
    gap_us=st.integers(0, 5),
    seed=st.integers(0, 99),
)
def test_every_row_arrives_once_and_in_time(
    sizes: list[int], share: float, depth_us: int, gap_us: int, seed: int
) -> None:
    schema = stream_schema(ts=TIMESTAMP, number=pa.int64())
    ends = np.cumsum(sizes)
    steps = []
    for size, end in zip(sizes, ends.tolist(), strict=True):
        numbers = np.arange(end - size, end)
        columns = [pa.array(numbers * gap_us).cast(TIMESTAMP), pa.array(numbers)]
        steps.append({"s": pa.table(columns, schema=schema)})
    arrived = pa.concat_tables(
        step["s"] for step in in_arrival_order(iter(steps), seed=seed, share=share, depth_seconds=depth_us / SECOND_US)
    )
    times_us = event_times_us(arrived)
    assert sorted(arrived["number"].to_pylist()) == list(range(sum(sizes)))
    if len(times_us):
        assert (np.maximum.accumulate(times_us) - times_us).max() <= depth_us
