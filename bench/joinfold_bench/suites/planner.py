"""Is the plan that is chosen by cost also the fastest? In process, and on Spark if that is asked for.

The plans that the papers compare are ranked too: those of which one takes more than a fifth longer than the other
should be estimated in that order.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

from rich.table import Table

from joinfold.calibration.trial import Trial
from joinfold.planner.cost.weights import usual_weights
from joinfold.session import Session
from joinfold_bench.environment import Say, watched
from joinfold_bench.plans.judging import NEAR, PlannedRun, Verdict, judged, trials
from joinfold_bench.plans.on_spark import ADAPTIVE_BAR, PLANNED_BAR, WORST_BAR, SparkResults, run_on_spark
from joinfold_bench.plans.shifting import Shift, ShiftRun, run_shift
from joinfold_bench.reporting.results import Results
from joinfold_bench.reporting.tables import new_table
from joinfold_bench.suites.suite import Options, Suite

NEAR_BAR = 0.9  # the share of trials in which the chosen plan should be near the fastest
WITHIN = 2.0  # memory should be estimated within this factor
PAPERS = {"Wang: PC, IC, TC": ("ic hash 0", "tc hash 0", "pc hash 0"), "Kang: structures": ("ic ",)}


@dataclass(slots=True)
class PlannerResults(Results):
    """All runs in process, the verdict on each trial, and what was run on Spark, if anything was."""

    runs: list[PlannedRun] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    on_spark: SparkResults = field(default_factory=SparkResults)
    shifting: list[ShiftRun] = field(default_factory=list)

    @property
    def wrong(self) -> list[str]:
        """Plans whose answers were not equal, on Spark or on the stream that shifts."""
        return [*self.differences, *self.on_spark.differences]

    @property
    def near_share(self) -> float:
        """The share of trials whose choice is near the best."""
        return sum(verdict.is_near for verdict in self.verdicts) / len(self.verdicts)

    @property
    def memory_share(self) -> float:
        """The share of chosen plans whose memory is estimated within the factor."""
        chosen = {(verdict.trial, verdict.chosen) for verdict in self.verdicts}
        ratios = [run.estimated_bytes / run.measured_bytes for run in self.runs if (run.trial, run.plan) in chosen]
        return sum(1 / WITHIN <= ratio <= WITHIN for ratio in ratios) / len(ratios)

    def ranked_share(self, names: Sequence[str]) -> tuple[float, int]:
        """Of pairs of plans with these beginnings that differ, the share that is estimated in order, and how many."""
        right = total = 0
        for trial in dict.fromkeys(run.trial for run in self.runs):
            own = [run for run in self.runs if run.trial == trial and run.plan.startswith(tuple(names))]
            for one, other in combinations(own, 2):
                if max(one.measured_cpu, other.measured_cpu) > NEAR * min(one.measured_cpu, other.measured_cpu):
                    total += 1
                    right += (one.measured_cpu < other.measured_cpu) == (one.estimated_cpu < other.estimated_cpu)
        return right / max(total, 1), total

    def tables(self) -> list[Table]:
        """What is worth printing, in order."""
        tables = [_verdict_table(self), _share_table(self)]
        if self.shifting:
            tables.append(_shift_table(self.shifting))
        if self.on_spark.runs:
            tables += [_spark_table(self.on_spark), _spark_bars(self.on_spark)]
        return tables

    def figures(self) -> dict[str, Any]:
        """All shares, verdicts and runs."""
        return {
            "near_share": self.near_share,
            "memory_share": self.memory_share,
            "ranked": {name: self.ranked_share(plans) for name, plans in PAPERS.items()},
            "verdicts": [asdict(verdict) | {"near": verdict.is_near} for verdict in self.verdicts],
            "runs": [asdict(run) for run in self.runs],
            "shifting": [asdict(run) for run in self.shifting],
            "on_spark": asdict(self.on_spark),
        }


def run_planner(
    say: Say = lambda line: None, chosen: Sequence[Trial] | None = None, on_spark: Session | None = None
) -> PlannerResults:
    """Measures all trials, or some, and plans on Spark if there is one; ``say`` gets a line for each."""
    results, weights = PlannerResults(), usual_weights()
    with watched(results, say, None if on_spark is None else on_spark.spark):
        for trial in chosen or list(trials()):
            runs, verdict = judged(trial, weights)
            results.runs += runs
            results.verdicts.append(verdict)
            say(f"{trial.name}: {verdict.chosen}, {verdict.times:.2f} of the fastest, {verdict.fastest}")
        if chosen is None:
            results.shifting += run_shift(Shift(), results.on_spark.differences, say)
        if on_spark is not None:
            run_on_spark(on_spark, results.on_spark, say)
    return results


def _verdict_table(results: PlannerResults) -> Table:
    table = new_table(
        "What is chosen, and what is fastest", "trial", "chosen", "fastest", "plans", "× fastest", "ms to plan", ""
    )
    for verdict in results.verdicts:
        table.add_row(
            verdict.trial,
            verdict.chosen,
            "the same" if verdict.fastest == verdict.chosen else verdict.fastest,
            f"{verdict.plans}",
            f"{verdict.times:.2f}",
            f"{1e3 * verdict.planning_seconds:.0f}",
            "" if verdict.is_near else "far",
        )
    return table


def _share_table(results: PlannerResults) -> Table:
    table = new_table("How well estimates do", "what", "share", "of", "bar")
    near = len(results.verdicts)
    table.add_row("the choice within a fifth of the fastest", f"{results.near_share:.0%}", f"{near}", f"{NEAR_BAR:.0%}")
    table.add_row(f"memory of the choice within {WITHIN:g} ×", f"{results.memory_share:.0%}", f"{near}", "100%")
    for name, plans in PAPERS.items():
        share, pairs = results.ranked_share(plans)
        table.add_row(f"{name}, pairs of plans in the order measured", f"{share:.0%}", f"{pairs}", "")
    return table


def _shift_table(runs: list[ShiftRun]) -> Table:
    """Plans on the stream that shifts, beside the run that follows it."""
    table = new_table("A stream that shifts, in process", "plan", "s of FOLD", "× following", "changes", "")
    for run in runs:
        times = f"{run.seconds / runs[0].seconds:.2f}"
        table.add_row(run.plan, f"{run.seconds:.1f}", times, f"{run.changes}", "" if run.is_whole else "given up")
    return table


def _spark_table(results: SparkResults) -> Table:
    """Plans on Spark: how fast each is beside the one that was planned, and its state."""
    table = new_table(
        "On Spark", "query", "plan", "rows/s", "× planned", "state MB", "estimated MB", "", numeric=["state MB"]
    )
    for run in (*results.runs, *results.shifting):
        first = next(other for other in (*results.runs, *results.shifting) if other.query == run.query)
        table.add_row(
            run.query,
            run.plan,
            f"{run.rows_per_second:,.0f}",
            f"{run.rows_per_second / first.rows_per_second:.2f}",
            f"{run.measured_bytes / 1e6:,.1f}",
            f"{run.estimated_bytes / 1e6:,.1f}",
            "stopped" if run.capped else f"{len(run.changes)} changes" if run.changes else "",
        )
    return table


def _spark_bars(results: SparkResults) -> Table:
    """How the planned run of each query, and the one that follows the data, stand beside the others."""
    table = new_table("On Spark, against the best and the worst", "what", "ratio", "bar", "")
    found = [
        (f"{query}: the fastest plan to the planned one", results.times(query), PLANNED_BAR, True)
        for query in dict.fromkeys(run.query for run in results.runs)
    ]
    if len(results.shifting) > 1:
        best, worst = results.adaptive_times
        found.append(("shifting: the fastest fixed plan to the one that follows", best, ADAPTIVE_BAR, True))
        found.append(("shifting: the one that follows to the slowest fixed plan", worst, WORST_BAR, False))
    for what, ratio, bar, is_most in found:
        met = ratio <= bar if is_most else ratio >= bar
        table.add_row(what, f"{ratio:.2f}", f"{'≤' if is_most else '≥'} {bar:g}", "met" if met else "missed")
    return table


def _run(options: Options, say: Say) -> PlannerResults:
    return run_planner(say, on_spark=Session() if options.full else None)


PLANNER = Suite(
    "planner",
    "whether the plans that are chosen by cost are the fastest, in process",
    {"full": "plans on Spark, too"},
    _run,
    "results-planner.json",
)
