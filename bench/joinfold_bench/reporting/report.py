"""Results as tables for a person, as JSON for a machine, and as a chart."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from joinfold.errors import UsageError
from joinfold.timetext import duration_text
from joinfold_bench.engines.rates import Spread
from joinfold_bench.engines.results import Measurement, Results
from joinfold_bench.reporting.chart import rates_svg

NUMERIC = frozenset(
    [
        *("rows/s", "ratio", "bar", "instants", "rows", "value", "state memory MB"),
        *("matches", "µs/row", "held MB", "probes/s", "insert + expire/s", "bytes/row"),
        *("events", "entries", "state MB", "bytes/event", "looked at", "ms"),
    ]
)


def as_json(results: Results) -> dict[str, Any]:
    """Everything but the answers themselves."""
    return {
        "environment": results.environment,
        "seconds": results.seconds,
        "measurements": [_measurement(measurement) for measurement in results.measurements],
        "comparisons": [asdict(item) | {"met": item.is_met} for item in results.comparisons],
        "checks": [asdict(check) for check in results.checks],
        "sweeps": [
            {"sweep": point.sweep, "value": point.value, "measurement": _measurement(point.measurement)}
            for point in results.sweeps
        ],
    }


def _measurement(measurement: Measurement) -> dict[str, Any]:
    return {
        "engine": measurement.engine,
        "dataset": asdict(measurement.dataset),
        "slide_us": measurement.slide_us,
        "rows_per_second": asdict(measurement.rate),
        "runs": [asdict(run) for run in measurement.runs],
    }


def prepare_output(directory: Path) -> None:
    """Makes the folder of the report, before the long work begins."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write to '{directory}': {error.strerror}", "choose another --output.") from error


def write_report(results: Results, directory: Path) -> tuple[Path, Path]:
    """Writes ``results.json`` and ``rates.svg`` into a folder."""
    numbers, chart = directory / "results.json", directory / "rates.svg"
    numbers.write_text(json.dumps(as_json(results), indent=1) + "\n", encoding="utf-8")
    chart.write_text(rates_svg(results.measurements), encoding="utf-8")
    return numbers, chart


def tables(results: Results) -> list[Table]:
    """What is worth printing, in order; sweeps only where there were some."""
    printed = [rate_table(results), comparison_table(results), check_table(results)]
    return [*printed, sweep_table(results)] if results.sweeps else printed


def rate_table(results: Results) -> Table:
    """How fast each engine was."""
    table = new_table("Rates", "engine", "data", "slide", "rows/s", "from … to", "start-up s", "read from")
    for measurement in results.measurements:
        rate, startup = measurement.rate, measurement.startup
        bases = sorted({run.rate.basis for run in measurement.runs})
        table.add_row(
            measurement.engine,
            measurement.dataset.name,
            duration_text(measurement.slide_us).lower(),
            f"{rate.middle:,.0f}",
            f"{rate.low:,.0f} … {rate.high:,.0f}" if len(measurement.runs) > 1 else "",
            f"{startup.middle:.1f} (first {measurement.runs[0].startup_seconds or 0:.1f})" if startup else "",
            ", ".join(bases),
        )
    return table


def comparison_table(results: Results) -> Table:
    """How many times as fast as each other engine joinfold is."""
    table = new_table("joinfold against", "against", "data", "slide", "ratio", "from … to", "bar", "")
    for item in results.comparisons:
        table.add_row(
            item.against,
            item.dataset,
            duration_text(item.slide_us).lower(),
            times_text(item.ratio.middle),
            range_text(item.ratio),
            "" if item.bar is None else times_text(item.bar),
            {True: "met", False: "missed", None: ""}[item.is_met],
        )
    return table


def check_table(results: Results) -> Table:
    """Which answers were compared."""
    table = new_table("Answers", "engine", "with", "data", "slide", "instants", "rows", "")
    for check in results.checks:
        table.add_row(
            check.left,
            check.right,
            check.dataset,
            duration_text(check.slide_us).lower(),
            f"{check.instants:,}",
            f"{check.rows:,}",
            check.verdict if check.verdict != "different" else "DIFFERENT",
        )
    return table


def sweep_table(results: Results) -> Table:
    """joinfold over what the sweeps varied."""
    table = new_table("joinfold on R1, one property varied", "varied", "value", "rows/s", "state memory MB")
    for point in results.sweeps:
        runs = point.measurement.runs
        state_bytes = max(run.state_bytes for run in runs)
        table.add_row(point.sweep, point.value, f"{point.measurement.rate.middle:,.0f}", f"{state_bytes / 1e6:,.0f}")
    return table


def new_table(title: str, *columns: str) -> Table:
    """A table without rows; numbers are to the right."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        numeric = column in NUMERIC
        table.add_column(column, justify="right" if numeric else "left", no_wrap=True)
    return table


def times_text(ratio: float) -> str:
    """A ratio as a person writes it."""
    return f"{ratio:,.0f} ×" if ratio >= 10 else f"{ratio:.2f} ×"


def range_text(spread: Spread) -> str:
    """From where to where ratios went, if there were several."""
    return "" if spread.low == spread.high else f"{times_text(spread.low)} … {times_text(spread.high)}"
