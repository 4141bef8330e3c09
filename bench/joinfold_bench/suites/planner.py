"""Is the plan that is chosen by cost also the fastest? In process, and with ``--full`` also on Spark.

The suite also checks how the plans that the papers compare are ranked. If one plan takes more than a fifth longer than
another, its estimate should be higher.
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
WITHIN = 2.0  # the estimate of memory should be right within this factor
PAPERS = {"Wang: PC, IC, TC": ("ic hash 0", "tc hash 0", "pc hash 0"), "Kang: structures": ("ic ",)}


@dataclass(slots=True)
class PlannerResults(Results):
    """All runs in process, the verdict on each trial, and the runs on Spark, if any."""

    runs: list[PlannedRun] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    on_spark: SparkResults = field(default_factory=SparkResults)
    shifting: list[ShiftRun] = field(default_factory=list)

    @property
    def wrong(self) -> list[str]:
        """Plans whose answers differ, on Spark or on the shifting stream."""
        return [*self.differences, *self.on_spark.differences]

    @property
    def near_share(self) -> float:
        """The share of trials whose chosen plan is near the fastest."""
        return sum(verdict.is_near for verdict in self.verdicts) / len(self.verdicts)

    @property
    def memory_share(self) -> float:
        """The share of chosen plans whose memory is estimated within the factor ``WITHIN``."""
        chosen = {(verdict.trial, verdict.chosen) for verdict in self.verdicts}
        ratios = [run.estimated_bytes / run.measured_bytes for run in self.runs if (run.trial, run.plan) in chosen]
        return sum(1 / WITHIN <= ratio <= WITHIN for ratio in ratios) / len(ratios)

    def ranked_share(self, names: Sequence[str]) -> tuple[float, int]:
        """The share of pairs of plans whose estimates are in the measured order, and the number of pairs.

        It takes plans whose names begin with one of ``names``, and pairs whose times differ by more than a fifth.
        """
        right = total = 0
        for trial in dict.fromkeys(run.trial for run in self.runs):
            runs = [run for run in self.runs if run.trial == trial and run.plan.startswith(tuple(names))]
            for one, other in combinations(runs, 2):
                if max(one.measured_cpu, other.measured_cpu) > NEAR * min(one.measured_cpu, other.measured_cpu):
                    total += 1
                    right += (one.measured_cpu < other.measured_cpu) == (one.estimated_cpu < other.estimated_cpu)
        return right / max(total, 1), total

    def tables(self) -> list[Table]:
        """The tables to print, in order."""
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
    """Measures all trials, or only ``chosen``, and runs plans on Spark if a session is given.

    ``say`` gets a line for each trial and each run.
    """
    results, weights = PlannerResults(), usual_weights()
    with watched(results, say, None if on_spark is None else on_spark.spark):
        for trial in chosen or list(trials()):
            runs, verdict = judged(trial, weights)
            results.runs += runs
            results.verdicts.append(verdict)
            say(
                f"{trial.name}: {verdict.chosen} takes {verdict.times:.2f} × the time of the fastest, {verdict.fastest}"
            )
        if chosen is None:
            results.shifting += run_shift(Shift(), results.on_spark.differences, say)
        if on_spark is not None:
            run_on_spark(on_spark, results.on_spark, say)
    return results


def _verdict_table(results: PlannerResults) -> Table:
    table = new_table(
        "The chosen plan and the fastest", "trial", "chosen", "fastest", "plans", "× fastest", "ms to plan", ""
    )
    for verdict in results.verdicts:
        table.add_row(
            verdict.trial,
            verdict.chosen,
            "the same" if verdict.fastest == verdict.chosen else verdict.fastest,
            f"{verdict.plans}",
            f"{verdict.times:.2f}",
            f"{1e3 * verdict.planning_seconds:.0f}",
            "" if verdict.is_near else f"above {NEAR:g} ×",
        )
    return table


def _share_table(results: PlannerResults) -> Table:
    table = new_table("Accuracy of the estimates", "what", "share", "of", "bar")
    count = f"{len(results.verdicts)}"
    table.add_row(f"chosen plan at most {NEAR:g} × the fastest", f"{results.near_share:.0%}", count, f"{NEAR_BAR:.0%}")
    memory = f"memory of the chosen plan estimated within a factor of {WITHIN:g}"
    table.add_row(memory, f"{results.memory_share:.0%}", count, "100%")
    for name, plans in PAPERS.items():
        share, pairs = results.ranked_share(plans)
        table.add_row(f"{name}: pairs of plans estimated in the measured order", f"{share:.0%}", f"{pairs}", "")
    return table


def _shift_table(runs: list[ShiftRun]) -> Table:
    """All plans on the shifting stream; the first is the one that follows the data."""
    table = new_table("The shifting stream, in process", "plan", "FOLD s", "× following", "plan changes", "")
    for run in runs:
        times = f"{run.seconds / runs[0].seconds:.2f}"
        table.add_row(run.plan, f"{run.seconds:.1f}", times, f"{run.changes}", "" if run.is_whole else "stopped")
    return table


def _spark_table(results: SparkResults) -> Table:
    """Plans on Spark: the rate of each, its ratio to the planned one, and the size of its state."""
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
    """Compares the planned run of each query, and the run that follows the data, with the best and the worst plan."""
    table = new_table("On Spark, against the best and the worst plan", "what", "ratio", "bar", "")
    ratios = [
        (f"{query}: rate of the fastest plan ÷ the planned one", results.times(query), PLANNED_BAR, True)
        for query in dict.fromkeys(run.query for run in results.runs)
    ]
    if len(results.shifting) > 1:
        best, worst = results.adaptive_times
        ratios.append(("shifting: rate of the fastest fixed plan ÷ following the data", best, ADAPTIVE_BAR, True))
        ratios.append(("shifting: rate of following the data ÷ the slowest fixed plan", worst, WORST_BAR, False))
    for what, ratio, bar, is_most in ratios:
        met = ratio <= bar if is_most else ratio >= bar
        table.add_row(what, f"{ratio:.2f}", f"{'≤' if is_most else '≥'} {bar:g}", "met" if met else "missed")
    return table


def _run(options: Options, say: Say) -> PlannerResults:
    return run_planner(say, on_spark=Session() if options.full else None)


PLANNER = Suite(
    "planner",
    "whether the plans that are chosen by cost are the fastest, in process",
    {"full": "also runs plans on Spark"},
    _run,
    "results-planner.json",
)
