"""Tables that several suites print, and the style of all tables."""

from collections.abc import Collection, Sequence

from rich.table import Table

from joinfold.timetext import duration_text
from joinfold_bench.engines.answers import Check
from joinfold_bench.engines.measurements import Comparison, Measurement
from joinfold_bench.engines.rates import Spread
from joinfold_bench.plans.comparing import PlanComparison
from joinfold_bench.plans.courses import PlanRun

NUMERIC = frozenset(["rows/s", "ratio", "bar", "instants", "rows", "matches", "µs/row", "held MB"])


def rate_table(measurements: Sequence[Measurement]) -> Table:
    """The rate of each engine."""
    table = new_table("Rates", "engine", "data", "slide", "rows/s", "from … to", "start-up s", "based on")
    for measurement in measurements:
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


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """The rate of joinfold divided by the rate of each other engine."""
    table = new_table("joinfold against other engines", "against", "data", "slide", "ratio", "from … to", "bar", "")
    for item in comparisons:
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


def check_table(checks: Sequence[Check]) -> Table:
    """The answers that were compared, and the verdicts."""
    table = new_table("Answers compared", "engine", "with", "data", "slide", "instants", "rows", "")
    for check in checks:
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


def plan_table(title: str, plans: Sequence[PlanRun]) -> Table:
    """The time per row and the memory of each plan."""
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
    """The ratios of what two plans take, beside their bars."""
    table = new_table("Plans compared", "join", "what", "ratio", "from … to", "bar", "")
    for item in comparisons:
        met = "met" if item.is_met else "missed"
        table.add_row(
            item.query, item.what, times_text(item.ratio.middle), range_text(item.ratio), times_text(item.bar), met
        )
    return table


def new_table(title: str, *columns: str, numeric: Collection[str] = ()) -> Table:
    """An empty table. The columns in ``NUMERIC`` and in ``numeric`` are aligned to the right."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        is_number = column in NUMERIC or column in numeric
        table.add_column(column, justify="right" if is_number else "left", no_wrap=True)
    return table


def times_text(ratio: float) -> str:
    """A ratio as text, such as "0.50 ×" or "1,234 ×"."""
    return f"{ratio:,.0f} ×" if ratio >= 10 else f"{ratio:.2f} ×"


def range_text(spread: Spread) -> str:
    """The smallest and the largest ratio as text; empty if they are equal."""
    return "" if spread.low == spread.high else f"{times_text(spread.low)} … {times_text(spread.high)}"
