"""What was measured of windows that are not alike: as tables for a person and as JSON for a machine."""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from rich.table import Table

from joinfold.benchmark.methods_report import bar_table
from joinfold.benchmark.report import as_json, check_table, comparison_table, new_table, rate_table
from joinfold.benchmark.sharing import ShareRun
from joinfold.benchmark.windows import WindowResults


def windows_json(results: WindowResults) -> dict[str, Any]:
    """Everything but the answers themselves."""
    return as_json(results) | {
        "shares": [_share_json(run) for run in results.shares],
        "plan_comparisons": [asdict(item) | {"met": item.is_met} for item in results.plan_comparisons],
        "differences": results.differences,
    }


def _share_json(run: ShareRun) -> dict[str, Any]:
    return {item.name: getattr(run, item.name) for item in fields(run) if item.name != "answers"}


def write_windows(results: WindowResults, directory: Path) -> Path:
    """Writes ``results-windows.json`` into a folder."""
    numbers = directory / "results-windows.json"
    numbers.write_text(json.dumps(windows_json(results), indent=1) + "\n", encoding="utf-8")
    return numbers


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
