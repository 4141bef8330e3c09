"""Join methods and structures side by side, without Spark: what they hold, how long a row takes, which bars they meet.

Memory is what PC keeps of all pairs, beside TC and IC, which keep sums. A band join is answered from sums over ranges,
or by finding every match in a tree. Whatever the plan, the answers must be the same.
"""

from dataclasses import dataclass, field
from typing import Any

from joinfold.planner.forcing import Plan
from joinfold_bench.engines.rates import Spread
from joinfold_bench.engines.results import Results
from joinfold_bench.environment import Say, watched
from joinfold_bench.plans.courses import STREAMS, PlanRun, Streams, band, equality, run_course
from joinfold_bench.plans.structures import BAND_SHARE, JOINS, StructureRun, measure_structures

MEMORY_BAR, CHARGES_BAR, BAND_BAR = 20.0, 1.0, 50.0


@dataclass(frozen=True, slots=True)
class MethodSettings:
    """Rows in each full window, in how many slides they come, and how many slides are measured.

    Sums over ranges take a fiftieth of the time, so more of their slides are, and what they do seldom is among it.
    """

    memory_rows: int = 10_000
    memory_slides: int = 100
    keys: int = 10
    groups: int = 100
    band_rows: int = 100_000
    band_slides: int = 10
    structure_rows: tuple[int, ...] = (1_000, 10_000, 100_000)
    measured: int = 3
    sums_measured: int = 20


@dataclass(frozen=True, slots=True)
class PlanComparison:
    """How many times as much one plan takes as another, and how many times it should at least."""

    query: str
    what: str
    ratio: Spread
    bar: float

    @property
    def is_met(self) -> bool:
        """Whether the ratio reaches the bar."""
        return self.ratio.middle >= self.bar


@dataclass(slots=True)
class MethodResults:
    """All that was found out, in the order in which it was; ``differences`` says whose answers were not equal."""

    plans: list[PlanRun] = field(default_factory=list)
    comparisons: list[PlanComparison] = field(default_factory=list)
    structures: list[StructureRun] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(slots=True)
class MixedResults(Results):
    """What streaming engines did, and plans in process beside each other; ``differences`` are from what is right."""

    plan_comparisons: list[PlanComparison] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> list[str]:
        """All answers that were not equal to others, in words."""
        checks = [check for check in self.checks if check.verdict == "different"]
        return [*(f"{check.dataset}, {check.left} and {check.right}" for check in checks), *self.differences]


def run_methods(settings: MethodSettings, say: Say = lambda line: None) -> MethodResults:
    """Measures methods, plans of a band join, and structures; ``say`` gets a line for each step."""
    results = MethodResults()
    with watched(results, say):
        compare_methods(settings, results, say)
        compare_band_plans(settings, results, say)
        compare_structures(settings, results, say)
    return results


def compare_methods(settings: MethodSettings, results: MethodResults, say: Say) -> None:
    """PC, TC and IC over hashed windows of single rows."""
    streams = equality(settings.memory_rows, settings.memory_slides, settings.measured, settings.keys, settings.groups)
    plans = {name.upper(): Plan(name, (), dict.fromkeys(STREAMS, "hash")) for name in ("pc", "tc", "ic")}
    runs = [run_plan(streams, name, plan, settings.measured, results, say) for name, plan in plans.items()]
    held = {run.plan: float(run.bytes_held) for run in runs}
    results.comparisons += [
        PlanComparison(streams.name, f"memory of {more} to {less}", Spread.of([held[more] / held[less]]), bar)
        for more, less, bar in (("PC", "TC", MEMORY_BAR), ("PC", "IC", MEMORY_BAR), ("TC", "IC", CHARGES_BAR))
    ]


def compare_band_plans(settings: MethodSettings, results: MethodResults, say: Say) -> None:
    """Sums over ranges, and trees in which every match is found."""
    most = max(settings.measured, settings.sums_measured)
    streams = band(settings.band_rows, settings.band_slides, most, BAND_SHARE)
    summed = Plan(index=dict.fromkeys(STREAMS, "sums"))
    fast = run_plan(streams, "sums", summed, settings.sums_measured, results, say).seconds
    for name in ("btree", "ttree"):
        plan = Plan("ic", (), dict.fromkeys(STREAMS, name))
        slow = run_plan(streams, f"IC, {name}", plan, settings.measured, results, say).seconds
        ratio = Spread(slow.middle / fast.middle, slow.low / fast.high, slow.high / fast.low)
        results.comparisons.append(PlanComparison(streams.name, f"time of IC, {name} to sums", ratio, BAND_BAR))


def compare_structures(settings: MethodSettings, results: MethodResults, say: Say) -> None:
    """List, hash and trees by themselves."""
    for join in JOINS:
        for rows in settings.structure_rows:
            runs, are_equal = measure_structures(join, rows, settings.measured)
            results.structures += runs
            if not are_equal:
                results.differences.append(f"{join}, structures of {rows:,} rows")
            told = ", ".join(f"{run.structure} {run.probes_per_second:,.0f}" for run in runs)
            say(f"{join}, structures of {rows:,} rows: probes/s: {told}")


def run_plan(streams: Streams, name: str, plan: Plan, measured: int, results: MethodResults, say: Say) -> PlanRun:
    """One plan, and whether its answers are those of the plans before it."""
    run = run_course(streams, name, plan, measured, say)
    first = next((other for other in results.plans if other.query == run.query), run)
    if not run.agrees(first):
        results.differences.append(f"{run.query}, {run.plan} and {first.plan}")
    results.plans.append(run)
    return run
