"""Is the plan with the lowest estimate also the fastest? Trials in process, and a verdict on each.

The trials cover the ranges that Kang and Tran vary: rates that differ by a factor of up to 100, window sizes, keys,
groups, widths of bands. Each trial runs under the chosen plan and every other plan that is not hopeless: its estimate
is below ``HOPELESS`` times the lowest one, and below ``MOST_SECONDS`` per slide.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from joinfold.calibration.queries import (
    ABOVE,
    CONDITION,
    EXTREME,
    FLOATING,
    SETS,
    THREE,
    TWO_GROUPS,
    VALUE,
    band,
    plans,
)
from joinfold.calibration.trial import Streams, Trial, measure
from joinfold.planner.cost.estimates import Estimate
from joinfold.planner.cost.weights import Weights

NEAR = 1.2  # a plan is near the fastest if it takes at most this many times as long
HOPELESS = 30.0  # times the lowest estimate
MOST_SECONDS = 3.0  # estimated, per slide
ROUNDS = 3  # plans take turns and the fastest run of each counts, because other load only makes runs slower


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """The estimated and measured cost of a plan on a trial: CPU seconds per second of stream, and bytes of memory."""

    trial: str
    plan: str
    estimated_cpu: float
    measured_cpu: float
    estimated_bytes: float
    measured_bytes: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """The chosen and the fastest plan of a trial. The chosen plan takes ``times`` times as long as the fastest."""

    trial: str
    chosen: str
    fastest: str
    times: float
    plans: int
    planning_seconds: float

    @property
    def is_near(self) -> bool:
        """Whether the chosen plan is near the fastest."""
        return self.times <= NEAR


def trials() -> Iterator[Trial]:
    """Joins by keys over Tran's ranges; joins with bands and asymmetric rates over Kang's ranges."""
    for rates, keys, groups, size in (
        ((300, 300), 10, 150, 16),
        ((300, 300), 10, 3, 16),
        ((300, 300), 10, 5_000, 16),
        ((300, 300), 2, 150, 16),
        ((300, 300), 1_000, 150, 16),
        ((900, 500), 10, 150, 10),
        ((100, 500), 10, 150, 10),
        ((3_000, 3_000), 2_000, 20, 10),
        ((8_000, 80), 500, 20, 10),
        ((80, 8_000), 500, 20, 10),
    ):
        yield _trial("key", SETS, rates, keys, groups, size)
    for rates, keys, groups in (
        ((300, 300), 10, 2),
        ((300, 300), 100, 2_000),
        ((2_000, 2_000), 3_000, 10),
        ((2_000, 2_000), 300, 4),
        ((5_000, 50), 300, 10),
        ((50, 5_000), 300, 10),
        ((4_000, 4_000), 20_000, 100),
    ):
        yield _trial("condition", CONDITION, rates, keys, groups, 10)
    for rates, reach in (
        ((500, 500), 5),
        ((500, 500), 3_000),
        ((3_000, 3_000), 5),
        ((3_000, 3_000), 500),
        ((5_000, 50), 500),
        ((50, 5_000), 500),
        ((2_000, 20), 20_000),
    ):
        yield _trial(f"band {reach}", band(reach), rates, 1, 1, 10)
    for rates, groups, reach in (
        ((500, 500), 5, 500),
        ((500, 500), 1_000, 500),
        ((1_000, 1_000), 100, 20),
        ((1_000, 1_000), 3, 5_000),
        ((4_000, 100), 50, 1_000),
    ):
        yield _trial(f"band {reach}", band(reach, "g"), rates, 1, groups, 10)
    for rates, keys in (((400, 400), 20), ((3_000, 3_000), 1_000), ((4_000, 40), 100), ((40, 4_000), 100)):
        yield _trial("above", ABOVE, rates, keys, 1, 10)
    for rates, keys in (((300, 300), 50), ((2_000, 2_000), 4_000), ((3_000, 30), 100)):
        yield _trial("value", VALUE, rates, keys, 1, 10)
    for text, name in ((EXTREME, "extreme"), (FLOATING, "floating"), (TWO_GROUPS, "two groups")):
        for rates, keys, groups in (((500, 500), 40, 10), ((4_000, 4_000), 4_000, 40)):
            yield _trial(name, text, rates, keys, groups, 10)
    for three, keys, groups in (((200, 200, 200), 60, 20), ((600, 60, 60), 60, 5), ((300, 300, 300), 1_000, 3)):
        yield _trial("three", THREE, three, keys, groups, 10)


def _trial(name: str, text: str, rates: tuple[float, ...], keys: int, groups: int, size: int) -> Trial:
    title = f"{name}: {' and '.join(f'{rate:,}' for rate in rates)} rows/s, {keys:,} keys, {groups:,} groups"
    return Trial(title, text, Streams(rates, keys, groups, size=size), 5)


def judged(trial: Trial, weights: Weights) -> tuple[list[PlannedRun], Verdict]:
    """Runs a trial under all plans that are not hopeless. Returns the runs, the chosen plan first, and the verdict."""
    query = trial.query()
    query.statistics  # noqa: B018 - sampling is not part of the planning time
    began = time.perf_counter()
    plan = query.plan
    seconds = time.perf_counter() - began
    assert plan.decision is not None
    chosen = plan.decision.chosen.title
    candidates = {chosen: replace(plan, following=None)}
    known = {plan.choices}
    for name, other in plans(trial):
        if other.choices not in known:
            known.add(other.choices)
            candidates[name] = other
    costs = {name: trial.expected(other, weights) for name, other in candidates.items()}
    least = min(cost.cpu for cost in costs.values())
    hopeful = {
        name: other for name, other in candidates.items() if name == chosen or _is_hopeful(trial, costs[name], least)
    }
    rounds = [{name: measure(trial, name, other) for name, other in hopeful.items()} for _ in range(ROUNDS)]
    runs = []
    for name in hopeful:
        best, cost = min((done[name] for done in rounds), key=lambda measured: measured.cpu), costs[name]
        runs.append(PlannedRun(trial.name, name, cost.cpu, best.cpu, cost.memory_bytes, best.bytes_held))
    fastest = min(runs, key=lambda run: run.measured_cpu)
    times = runs[0].measured_cpu / fastest.measured_cpu
    return runs, Verdict(trial.name, runs[0].plan, fastest.plan, times, len(runs), seconds)


def _is_hopeful(trial: Trial, cost: Estimate, least: float) -> bool:
    return cost.cpu < HOPELESS * least and cost.cpu * trial.streams.slide < MOST_SECONDS
