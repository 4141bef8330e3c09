"""The arithmetic of the benchmark: which micro-batches count, what a cap does, medians and ratios."""

import pytest

from joinfold_bench.data import R1
from joinfold_bench.engines.measure import Batch, StreamRun
from joinfold_bench.engines.measurements import Comparison, Measurement, Run, ratio_of
from joinfold_bench.engines.rates import Rate, Spread, rate_of, startup_seconds, steady_batches


def batches(*rows_and_seconds: tuple[int, float]) -> tuple[Batch, ...]:
    done, made = 0.0, []
    for number, (rows, seconds) in enumerate(rows_and_seconds):
        done += seconds
        made.append(Batch(number, rows, seconds, done, {}))
    return tuple(made)


def run(*rows_and_seconds: tuple[int, float], seconds: float = 100.0, capped: bool = False) -> StreamRun:
    return StreamRun(batches(*rows_and_seconds), seconds, capped, 0, None)


def test_the_first_two_batches_are_the_start() -> None:
    done = run((100, 9.0), (100, 3.0), (100, 1.0), (200, 2.0))
    assert rate_of(done, 100) == Rate(100.0, "steady")
    assert startup_seconds(done.batches) == 12.0


def test_a_batch_without_rows_does_not_count() -> None:
    done = run((100, 9.0), (100, 3.0), (100, 2.0), (0, 7.0))
    assert [batch.number for batch in steady_batches(done.batches)] == [2]
    assert rate_of(done, 100) == Rate(50.0, "steady")


def test_the_rate_of_a_run_without_steady_batches_is_that_of_the_whole_run() -> None:
    done = run((100, 9.0), seconds=10.0)
    assert rate_of(done, 100) == Rate(10.0, "whole run")
    assert startup_seconds(done.batches) is None


@pytest.mark.parametrize(
    ("finished", "expected"),
    [
        ([], Rate(10.0, "cap")),  # a run that finished no batch is credited with one
        ([(600, 50.0)], Rate(10.0, "cap")),
        ([(600, 5.0), (600, 5.0), (600, 40.0)], Rate(30.0, "cap")),
        ([(600, 20.0), (600, 20.0), (600, 6.0)], Rate(100.0, "steady")),
    ],
)
def test_a_capped_run_gets_the_larger_of_two_rates(finished: list[tuple[int, float]], expected: Rate) -> None:
    assert rate_of(run(*finished, seconds=60.0, capped=True), 600) == expected


def test_spread() -> None:
    assert Spread.of([3.0]) == Spread(3.0, 3.0, 3.0)
    assert Spread.of([5.0, 1.0, 3.0]) == Spread(3.0, 1.0, 5.0)
    assert Spread.of([1.0, 2.0]) == Spread(1.5, 1.0, 2.0)


def test_runs_in_turn_are_compared_pair_by_pair() -> None:
    assert ratio_of([10.0, 5.0, 20.0], [20.0, 10.0, 20.0]) == Spread(0.5, 0.5, 1.0)
    assert ratio_of([10.0, 5.0, 20.0], [5.0]) == Spread(2.0, 1.0, 4.0)


@pytest.mark.parametrize(("bar", "met"), [(1.9, True), (2.0, True), (2.1, False)])
def test_a_bar_is_met_by_the_median(bar: float, met: bool) -> None:
    ours = Measurement("joinfold", R1, 1, [Run(Rate(rate, "steady"), 1.0) for rate in (1.0, 4.0, 9.0)])
    theirs = Measurement("other", R1, 1, [Run(Rate(2.0, "steady"), 1.0)])
    assert Comparison.of(ours, theirs, bar).is_met is met
