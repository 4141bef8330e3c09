"""Tables that several suites print, and how every table of a suite looks."""

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
    """How fast each engine was."""
    table = new_table("Rates", "engine", "data", "slide", "rows/s", "from … to", "start-up s", "read from")
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
    """How many times as fast as each other engine joinfold is."""
    table = new_table("joinfold against", "against", "data", "slide", "ratio", "from … to", "bar", "")
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
    """Which answers were compared."""
    table = new_table("Answers", "engine", "with", "data", "slide", "instants", "rows", "")
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


def new_table(title: str, *columns: str, numeric: Collection[str] = ()) -> Table:
    """A table without rows; numbers are to the right: those that every suite has, and those that it names."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        is_number = column in NUMERIC or column in numeric
        table.add_column(column, justify="right" if is_number else "left", no_wrap=True)
    return table


def times_text(ratio: float) -> str:
    """A ratio as a person writes it."""
    return f"{ratio:,.0f} ×" if ratio >= 10 else f"{ratio:.2f} ×"


def range_text(spread: Spread) -> str:
    """From where to where ratios went, if there were several."""
    return "" if spread.low == spread.high else f"{times_text(spread.low)} … {times_text(spread.high)}"
