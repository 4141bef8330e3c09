"""What was measured of the planner: as tables for a person and as JSON for a machine."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from joinfold_bench.plans.on_spark import ADAPTIVE_BAR, PLANNED_BAR, WORST_BAR, SparkResults
from joinfold_bench.plans.shifting import ShiftRun
from joinfold_bench.reporting.methods import write_json
from joinfold_bench.reporting.report import new_table
from joinfold_bench.suites.planner import NEAR_BAR, PAPERS, WITHIN, PlannerResults


def planner_json(results: PlannerResults) -> dict[str, Any]:
    """Everything."""
    return {
        "environment": results.environment,
        "seconds": results.seconds,
        "near_share": results.near_share,
        "memory_share": results.memory_share,
        "ranked": {name: results.ranked_share(plans) for name, plans in PAPERS.items()},
        "verdicts": [asdict(verdict) | {"near": verdict.is_near} for verdict in results.verdicts],
        "runs": [asdict(run) for run in results.runs],
        "shifting": [asdict(run) for run in results.shifting],
        "on_spark": asdict(results.on_spark),
    }


def write_planner(results: PlannerResults, directory: Path) -> Path:
    """Writes ``results-planner.json`` into a folder."""
    return write_json(planner_json(results), directory / "results-planner.json")


def planner_tables(results: PlannerResults) -> list[Table]:
    """What is worth printing, in order."""
    tables = [_verdict_table(results), _share_table(results)]
    if results.shifting:
        tables.append(_shift_table(results.shifting))
    if results.on_spark.runs:
        tables += [_spark_table(results.on_spark), _spark_bars(results.on_spark)]
    return tables


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
    table = new_table("On Spark", "query", "plan", "rows/s", "× planned", "state MB", "estimated MB", "")
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
