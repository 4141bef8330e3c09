"""Loads and their runs, without Spark: the capacity, what is counted, and the bars."""

import pytest

from joinfold_bench.engines.watching import WatchedBatch, unfinished
from joinfold_bench.shedding.keeping_up import LOADS, KeepUpRun, KeepUpSettings, Load, Phase, capacity_from


def batch(number: int, seconds: float, behind: float | None = None, kept: float | None = None) -> WatchedBatch:
    """A micro-batch that starts at ten times its number."""
    started = 10.0 * number
    return WatchedBatch(number, 100, started, started + seconds, seconds if behind is None else behind, kept)


def run(*batches: WatchedBatch, sheds: bool = True, changed: float = 0.0, settled: float = 15.0) -> KeepUpRun:
    return KeepUpRun("load", sheds, 1_000, 5, settled, changed, batches)


@pytest.mark.parametrize(
    ("known", "capacity"),
    [
        ([(1_000, 0.5)], 2_000),
        ([(1_000, 0.25), (2_000, 0.5)], 4_000),  # as many times as long
        ([(1_000, 0.25), (2_000, 1.0)], 2_000),
        ([(1_000, 0.125), (2_000, 0.5)], 2_828),  # the duration grows with the square
        ([(1_000, 0.5), (2_000, 0.5)], 4_000),  # noise: it cannot stay the same
        ([(1_000, 0.01), (2_000, 4.0)], 1_000),  # nor grow faster than the number of pairs
    ],
)
def test_capacity(known: list[tuple[int, float]], capacity: int) -> None:
    assert capacity_from(known) == pytest.approx(capacity, abs=1)


def test_only_settled_micro_batches_count() -> None:
    own = run(batch(0, 30.0), batch(1, 9.0), batch(2, 4.0, kept=0.4), batch(3, 5.0, kept=0.3))
    assert [counted.number for counted in own.counted] == [2, 3]
    assert (own.over, own.most_behind, own.usual_seconds, own.recovery) == (0.0, 1.0, 4.5, None)
    assert (own.least_kept, own.last_kept, own.is_met) == (0.3, 0.3, True)


def test_a_run_that_falls_behind_is_seen() -> None:
    own = run(batch(2, 6.0), batch(3, 4.0, 8.0), sheds=False)
    assert (own.over, own.most_behind, own.is_met) == (0.5, 1.6, None)
    assert run(batch(2, 6.0)).is_met is False
    assert run(batch(2, 4.0, 5.1)).is_met is False


def test_a_load_that_rises_has_no_bar_but_a_recovery() -> None:
    own = run(batch(2, 4.0), batch(3, 9.0), batch(4, 6.0), batch(5, 4.0), changed=28.0)
    assert own.is_met is None and own.recovery == 46.0 - 28.0


def test_a_micro_batch_that_runs_on_counts_when_it_takes_too_long() -> None:
    last = batch(1, 6.0)
    for stopped, expected in ((18.0, [1]), (90.0, [2])):
        own = run(last, unfinished(last, stopped))
        assert [counted.number for counted in own.counted] == expected
    assert own.most_behind == (90.0 - 16.0 + 6.0) / 5
    assert run().counted == [] and run().usual_seconds is None


@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.name)
def test_loads_end_at_the_end(load: Load) -> None:
    ends = [phase.until for phase in load.phases]
    assert ends == sorted(ends) and ends[-1] == 1.0 and 0 < load.length <= 1
    assert load.most > 1 and (load.change == 0.0) == (len(load.phases) == 1)


def test_a_tenth_of_the_time_is_for_settling() -> None:
    assert KeepUpSettings(seconds=600).settled == 60.0
    assert "[30 SECOND SLIDE 1 SECOND]" in KeepUpSettings().text
    assert Load("l", (Phase(0.5, 1.0), Phase(1.0, 3.0))).change == 0.5
