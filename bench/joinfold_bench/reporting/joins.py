"""What was measured of joins of many streams: as tables for a person and as JSON for a machine."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from joinfold_bench.reporting.methods import bar_table, mixed_json, plan_json, plan_table, write_json
from joinfold_bench.reporting.report import check_table, comparison_table, new_table, rate_table
from joinfold_bench.suites.joins import JoinResults


def joins_json(results: JoinResults) -> dict[str, Any]:
    """Everything but the answers themselves."""
    states, plans = [asdict(size) for size in results.states], [plan_json(run) for run in results.plans]
    return mixed_json(results) | {"states": states, "plans": plans}


def write_joins(results: JoinResults, directory: Path) -> Path:
    """Writes ``results-joins.json`` into a folder."""
    return write_json(joins_json(results), directory / "results-joins.json")


def join_tables(results: JoinResults) -> list[Table]:
    """What is worth printing, in order."""
    return [
        rate_table(results),
        comparison_table(results),
        check_table(results),
        state_table(results),
        plan_table("One key in one fold, PACK and FOLD in process and row by row", results.plans),
        bar_table(results.plan_comparisons),
    ]


def state_table(results: JoinResults) -> Table:
    """What joinfold keeps of how many events."""
    table = new_table("State of joinfold, at the end", "data", "events", "entries", "state MB", "bytes/event")
    for size in results.states:
        events = size.dataset.events
        table.add_row(
            size.dataset.name,
            f"{events:,}",
            f"{size.entries:,}",
            f"{size.state_bytes / 1e6:,.1f}",
            f"{size.state_bytes / events:,.2f}",
        )
    return table
