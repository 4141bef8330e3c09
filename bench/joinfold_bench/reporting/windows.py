"""What was measured of windows that are not alike: as tables for a person and as JSON for a machine."""

from pathlib import Path
from typing import Any

from rich.table import Table

from joinfold_bench.reporting.methods import bar_table, mixed_json, plan_json, write_json
from joinfold_bench.reporting.report import check_table, comparison_table, new_table, rate_table
from joinfold_bench.suites.windows import WindowResults


def windows_json(results: WindowResults) -> dict[str, Any]:
    """Everything but the answers themselves."""
    return mixed_json(results) | {"shares": [plan_json(run) for run in results.shares]}


def write_windows(results: WindowResults, directory: Path) -> Path:
    """Writes ``results-windows.json`` into a folder."""
    return write_json(windows_json(results), directory / "results-windows.json")


def window_tables(results: WindowResults) -> list[Table]:
    """What is worth printing, in order."""
    return [
        rate_table(results),
        comparison_table(results),
        check_table(results),
        share_table(results),
        bar_table(results.plan_comparisons),
    ]


def share_table(results: WindowResults) -> Table:
    """What a result window takes."""
    title = "Plain join by window ids, in process: a result window"
    table = new_table(title, "share", "index", "rows", "matches", "looked at", "ms")
    for run in results.shares:
        table.add_row(
            run.share,
            run.index,
            f"{run.rows:,}",
            f"{run.matches:,}",
            f"{run.compared:,.0f}",
            f"{1e3 * run.seconds.middle:,.1f}",
        )
    return table
