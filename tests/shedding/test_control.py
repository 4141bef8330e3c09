"""Budgets as shares: by their formulas, and on a simulated machine whose micro-batches take noisy times."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.physical.shedding import WHOLE
from joinfold.shedding import control
from joinfold.shedding.control import (
    JITTER,
    LEAST_RATE,
    LEAST_SHARE,
    RISE,
    SAFE_AIM,
    SURE,
    BackToBack,
    Cadence,
    Pace,
    Steps,
    Triggered,
    held_share,
    processed_share,
)

SECOND = 1_000_000
ROWS = 1000  # per interval, at an arrival rate of 1
CADENCES = [Triggered(SECOND), BackToBack(SECOND)]

# --- process and hold -----------------------------------------------------------------------------------------------


def test_a_share_of_the_rows_since_the_batch_before() -> None:
    assert processed_share(500, None, 7 * SECOND, 1000) == 1  # the first one
    assert processed_share(500, 5 * SECOND, 7 * SECOND, 4000) == 0.25
    assert processed_share(500, 5 * SECOND, 7 * SECOND, 1000) == 1
    assert processed_share(500, 5 * SECOND, 7 * SECOND, 0) == 1
    assert processed_share(500, 7 * SECOND, 5 * SECOND, 4000) == 1  # the clock was set back


@given(st.integers(1, 10**6), st.lists(st.tuples(st.integers(1, 10**8), st.integers(0, 10**6)), min_size=1))
def test_never_more_rows_per_second_than_the_budget(budget: int, batches: list[tuple[int, int]]) -> None:
    clock = processed = 0.0
    for gap_us, rows in batches:
        processed += rows * processed_share(budget, int(clock), int(clock) + gap_us, rows)
        clock += gap_us
    assert processed <= budget * clock / 1e6 * (1 + 1e-9)


@given(st.integers(1, 10**6), st.integers(0, 10**7), st.floats(0, 1))
def test_what_is_held_fits_the_budget(budget: int, live: int, part_certain: float) -> None:
    certain = part_certain * min(live, 0.95 * budget)
    share = held_share(budget, live, certain)
    assert 0 <= share <= 1
    assert certain + share * (live - certain) <= budget * (1 + 1e-9)
    assert (share == 1) == (live <= budget)


def test_certain_entries_that_fill_the_budget_leave_nothing() -> None:
    assert held_share(100, 1000) == pytest.approx(0.095)
    assert held_share(100, 1000, certain=55) == pytest.approx(40 / 945)
    assert held_share(100, 1000, certain=200) == 0
    assert held_share(100, 1000, certain=1000) == 0


# --- keep up --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Machine:
    """What a micro-batch costs, in intervals: by itself, and per interval's rows for reading and for folding."""

    overhead: float
    read: float
    fold: float

    def load(self, arrivals: float, share: float = 1.0) -> float:
        """The part of an interval that the rows of an interval take."""
        return self.overhead + arrivals * (self.read + share * self.fold)


@dataclass(frozen=True)
class Ran:
    """A micro-batch as it ran. Times are in intervals."""

    start: float
    rows: int
    share: float
    duration: float
    at_floor: bool


def simulate(
    machine: Machine,
    cadence: Cadence,
    arrivals: Callable[[float], float],
    until: float,
    seed: int = 0,
    in_steps: bool = False,
    latency: float = 0.0,
) -> list[Ran]:
    """Runs micro-batches as Spark does: at a trigger's multiples or at once after an overrun, or back to back.

    ``arrivals`` gives the arrival rate at a time. ``latency`` is by how much later the clock is read.
    """
    random, pace, steps = Random(seed), Pace(), Steps()
    now = seen = come = 0.0
    taken, ran = 0, list[Ran]()
    while now < until:
        while seen < now:
            step = min(0.02, now - seen)
            come, seen = come + arrivals(seen) * step * ROWS, seen + step
        rows = int(come) - taken
        if not rows:
            now += 0.02 if isinstance(cadence, BackToBack) else 1
            continue
        taken += rows
        clock = now + latency * random.random()
        pace = Pace.from_facts(json.loads(json.dumps(pace.facts())))
        pace = pace.go_on(cadence, int((clock + 1000) * cadence.interval_us), rows)
        share = pace.share
        if in_steps:
            steps = steps.toward(pace.share)
            share = steps.rate / WHOLE
            pace = pace.using(share * rows)
        duration = machine.load(rows / ROWS, share) * random.uniform(0.9, 1.1)
        ran.append(Ran(now, rows, share, duration, pace.at_floor))
        end = now + duration
        now = end if isinstance(cadence, BackToBack) else max(end, int(now + 1e-9) + 1)
    return ran


costs = st.floats(0.02, 1)
weights = st.tuples(costs, costs, costs)
cadences = st.sampled_from(CADENCES)
seeds = st.integers(0, 1000)


def machine_of(parts: tuple[float, float, float], load: float) -> Machine:
    """A machine whose load is this at an arrival rate of 1. The overhead keeps batches from being too many."""
    overhead, read, fold = parts
    scale = load / (overhead + 0.05 + read + fold)
    return Machine((overhead + 0.05) * scale, read * scale, fold * scale)


@given(weights, st.floats(0.1, 0.8), cadences, seeds, st.floats(0, JITTER))
def test_a_load_below_the_aim_is_never_shed(
    parts: tuple[float, float, float], load: float, cadence: Cadence, seed: int, latency: float
) -> None:
    ran = simulate(machine_of(parts, load), cadence, lambda time: 1.0, 150, seed, latency=latency)
    assert {batch.share for batch in ran} == {1.0}


@given(st.floats(0.03, 0.25), st.floats(0, 0.25), st.floats(1.15, 1.35), cadences, seeds, st.booleans())
def test_after_a_step_batches_settle_below_the_interval_and_recover(
    overhead: float, read: float, doubled: float, cadence: Cadence, seed: int, in_steps: bool
) -> None:
    """The load is at most 0.8 at first, and ``doubled`` with twice the arrivals. Of this, at most 0.75 is not shed."""
    machine = Machine(overhead, read, (doubled - overhead) / 2 - read)
    assert machine.load(1) <= 0.8 and machine.load(2, 0) <= 0.75
    ran = simulate(machine, cadence, lambda time: 2.0 if 20 <= time < 420 else 1.0, 520, seed, in_steps)
    assert {batch.share for batch in ran if batch.start < 20} == {1.0}
    settled = [batch for batch in ran if 120 <= batch.start < 420]
    too_long = [batch for batch in settled if batch.duration > 1 + JITTER]
    assert len(too_long) <= 0.02 * len(settled)
    assert max(batch.duration for batch in settled) < 1.6
    assert max(batch.rows for batch in settled) < 2 * 2 * ROWS  # less than an interval behind
    assert not any(batch.at_floor for batch in settled)
    least = 0.65 if isinstance(cadence, BackToBack) else 0.45
    assert mean(batch.duration for batch in settled) > least  # and it does not shed far more than needed
    assert {batch.share for batch in ran if batch.start > 500} == {1.0}


@given(weights, cadences, seeds)
def test_a_burst_is_over_soon_after_it_ends(parts: tuple[float, float, float], cadence: Cadence, seed: int) -> None:
    machine = machine_of(parts, 0.6)
    ran = simulate(machine, cadence, lambda time: 3.0 if 20 <= time < 25 else 1.0, 160, seed)
    after = [batch for batch in ran if batch.start > 120]
    assert after and {batch.share for batch in after} == {1.0}
    assert max(batch.duration for batch in after) < 1


@pytest.mark.parametrize("cadence", CADENCES)
def test_a_load_that_cannot_be_shed_is_reported(cadence: Cadence) -> None:
    """Reading alone takes longer than the interval. When the load goes, everything is kept again."""
    machine = Machine(overhead=0.1, read=0.5, fold=1)
    ran = simulate(machine, cadence, lambda time: 2.0 if 50 <= time < 100 else 0.25, 400)
    busy = [batch for batch in ran if 70 <= batch.start < 100]
    assert max(batch.share for batch in busy) < 1.2 * LEAST_SHARE and all(batch.at_floor for batch in busy)
    after = [batch for batch in ran if batch.start > 300]
    assert {batch.share for batch in after} == {1.0} and not any(batch.at_floor for batch in after)


def test_whole_intervals_without_rows_are_not_overruns() -> None:
    ran = simulate(Machine(0.1, 0.2, 0.3), Triggered(SECOND), lambda time: float(int(time) % 7 == 0), 200)
    assert len(ran) < 60 and {batch.share for batch in ran} == {1.0}


def test_a_trigger_that_is_always_late_by_the_same_is_in_time() -> None:
    pace = Pace()
    for number in range(1, 100):
        pace = pace.go_on(Triggered(SECOND), number * SECOND + 300_000, 1000)
    assert pace.share == 1


def test_batches_that_start_later_and_later_are_too_long() -> None:
    """Each is over by less than a trigger may be late, but together they are not."""
    pace = Pace()
    for number in range(1, 5):
        pace = pace.go_on(Triggered(SECOND), int(number * 1.015 * SECOND), 1000)
    assert pace.share < 1


def test_a_backlog_is_thinned_more() -> None:
    overrun = Pace().go_on(Triggered(SECOND), 0, 1000).go_on(Triggered(SECOND), int(1.7 * SECOND), 1700)
    assert overrun.share == pytest.approx(1000 * SAFE_AIM / 1.7 / 1700)
    assert overrun.steady_share == pytest.approx(SAFE_AIM / 1.7)  # a short one is not, where thinning is work
    long = Pace().go_on(Triggered(SECOND), 0, 1000).go_on(Triggered(SECOND), 3 * SECOND + 500_000, 3500)
    assert long.steady_share == long.share


def test_work_on_the_windows_counts() -> None:
    """The batch took long because much of the sample moved, so a usual one can do more."""
    started = Pace().go_on(Triggered(SECOND), 0, 1000)
    overrun = started.using(500, moved=1500).go_on(Triggered(SECOND), 1 * SECOND + 800_000, 1000)
    assert overrun.ceiling == pytest.approx(2000 * SAFE_AIM / 1.8) and overrun.leverage == 1


def test_a_clock_that_is_set_back_changes_nothing() -> None:
    before = Pace(ceiling=500.0).go_on(BackToBack(SECOND), 7 * SECOND, 1000)
    assert before.go_on(BackToBack(SECOND), 5 * SECOND, 1000).ceiling == 500
    assert before.share == 0.5


# --- steps ----------------------------------------------------------------------------------------------------------

shares = st.one_of(st.floats(0, 1.5), st.sampled_from([0.0, 1.0, 0.999, LEAST_SHARE]))


@given(st.lists(shares, max_size=40))
def test_rates_are_on_the_grid_and_afforded(given_shares: list[float]) -> None:
    steps = Steps()
    for share in given_shares:
        before, steps = steps, Steps.from_facts(json.loads(json.dumps(steps.toward(share).facts())))
        assert steps.rate in {round(WHOLE * 2 ** (-k / 8)) for k in range(81)}
        if share < 1:
            assert steps.rate <= max(share * WHOLE, LEAST_RATE)
        if steps.rate > before.rate:
            assert share >= 1 or share * WHOLE >= RISE * before.rate
        if share >= RISE * before.rate / WHOLE and share < 1:
            assert steps.rate > before.rate
        if steps.rate != before.rate and LEAST_SHARE * 1.2 < share < 1:
            assert steps.rate > 0.95 * share * WHOLE * 2 ** (-1 / 8) * 0.999


def test_everything_is_kept_again_only_when_it_is_sure() -> None:
    steps = Steps(rate=1000)
    for share in [1.0] * (SURE - 1) + [0.0153] + [1.0] * (SURE - 1):
        steps = steps.toward(share)
        assert steps.rate == 1000
    assert steps.toward(2.0).rate == WHOLE


@given(st.floats(0.01, 0.8), st.lists(st.floats(1, 1.08), min_size=1, max_size=60))
def test_noise_seldom_changes_the_rate(share: float, noise: list[float]) -> None:
    steps, rates = Steps(), list[int]()
    for factor in noise:
        steps = steps.toward(share * factor)
        rates.append(steps.rate)
    assert len(set(rates)) <= 3 and rates == sorted(rates, reverse=True)


def test_the_least_rate_is_the_least_share() -> None:
    assert Steps().toward(0.0).rate == LEAST_RATE == control.on_grid(0.0) == 64
    assert control.on_grid(1.0) == WHOLE
