"""What was measured of methods and structures: as tables for a person and as JSON for a machine."""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from rich.table import Table

from joinfold.timetext import duration_text
from joinfold_bench.plans.courses import PlanRun
from joinfold_bench.plans.sharing import ShareRun
from joinfold_bench.reporting.report import as_json, new_table, range_text, times_text
from joinfold_bench.suites.methods import MethodResults, MixedResults, PlanComparison


def methods_json(results: MethodResults) -> dict[str, Any]:
    """Everything but the answers themselves."""
    return {
        "environment": results.environment,
        "seconds": results.seconds,
        "plans": [plan_json(run) for run in results.plans],
        "comparisons": [asdict(item) | {"met": item.is_met} for item in results.comparisons],
        "structures": [asdict(run) for run in results.structures],
        "differences": results.differences,
    }


def plan_json(run: PlanRun | ShareRun) -> dict[str, Any]:
    """What was measured of a plan, without its answers."""
    return {item.name: getattr(run, item.name) for item in fields(run) if item.name != "answers"}


def write_methods(results: MethodResults, directory: Path) -> Path:
    """Writes ``results-methods.json`` into a folder."""
    return write_json(methods_json(results), directory / "results-methods.json")


def write_json(results: dict[str, Any], path: Path) -> Path:
    """Writes results as a person can read them, too."""
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return path


def mixed_json(results: MixedResults) -> dict[str, Any]:
    """What engines did, and how plans compare; everything but the answers themselves."""
    return as_json(results) | {
        "plan_comparisons": [asdict(item) | {"met": item.is_met} for item in results.plan_comparisons],
        "differences": results.differences,
    }


def method_tables(results: MethodResults) -> list[Table]:
    """What is worth printing, in order."""
    title = "Plans, in process and row by row"
    return [plan_table(title, results.plans), bar_table(results.comparisons), structure_table(results)]


def plan_table(title: str, plans: Sequence[PlanRun]) -> Table:
    """What each plan holds, and how long a row takes."""
    table = new_table(title, "join", "plan", "rows", "slide", "matches", "µs/row", "held MB")
    for run in plans:
        table.add_row(
            run.query,
            run.plan,
            f"{run.rows:,}",
            duration_text(run.slide_us).lower(),
            f"{run.pairs:,}",
            f"{1e6 * run.seconds.middle:,.1f}",
            f"{run.bytes_held / 1e6:,.1f}",
        )
    return table


def bar_table(comparisons: Sequence[PlanComparison]) -> Table:
    """How many times as much one plan takes as another."""
    table = new_table("Plans against each other", "join", "what", "ratio", "from … to", "bar", "")
    for item in comparisons:
        met = "met" if item.is_met else "missed"
        table.add_row(
            item.query, item.what, times_text(item.ratio.middle), range_text(item.ratio), times_text(item.bar), met
        )
    return table


def structure_table(results: MethodResults) -> Table:
    """What each structure does in a second."""
    title = "Structures by themselves: ten rows to a key, or a band of 1 %"
    table = new_table(title, "join", "rows", "structure", "probes/s", "insert + expire/s", "bytes/row")
    for run in results.structures:
        table.add_row(
            run.join,
            f"{run.rows:,}",
            run.structure,
            f"{run.probes_per_second:,.0f}",
            f"{run.slides_per_second:,.0f}",
            f"{run.bytes_per_row:,.0f}",
        )
    return table
