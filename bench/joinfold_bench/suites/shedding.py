"""SHED: are intervals right, is less held, does a query keep up?

Coverage and holding run in process. Keeping up runs on Spark, with ``--full``, and takes as long as its loads.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.table import Table

from joinfold.session import Session
from joinfold_bench.environment import Say, watched
from joinfold_bench.reporting.lines import Band, Level, Line, Panel, lines_svg, points_of
from joinfold_bench.reporting.results import Results
from joinfold_bench.reporting.tables import new_table
from joinfold_bench.shedding.cases import AGGREGATES, KINDS, Estimated
from joinfold_bench.shedding.coverage import (
    COVERED_BAR,
    SAMPLERS,
    Coverage,
    Kind,
    coverage_by_change,
    coverage_by_kept,
    coverage_by_kind,
    run_cases,
)
from joinfold_bench.shedding.holding import HELD_BAR, QUARTER, Held, HoldingRun, HoldingSettings, run_holding
from joinfold_bench.shedding.keeping_up import KeepUpRun, KeepUpSettings, run_keeping_up
from joinfold_bench.suites.suite import Options, Suite

CASES, FULL_CASES = 15 * KINDS, 150 * KINDS
EXPECTED = 0.95


@dataclass(frozen=True, slots=True)
class SheddingSettings:
    """How many cases there are, the streams of holding, and the loads of keeping up; None: these do not run."""

    cases: int = CASES
    holding: HoldingSettings = field(default_factory=HoldingSettings)
    keeping_up: KeepUpSettings | None = None


@dataclass(slots=True)
class SheddingResults(Results):
    """All estimates of the cases, the runs with budgets in memory, and the runs under a load."""

    cases: int = 0
    estimates: list[Estimated] = field(default_factory=list)
    full: Held = field(default_factory=lambda: Held(0, 0, 0, 0))
    holding: list[HoldingRun] = field(default_factory=list)
    keeping_up: list[KeepUpRun] = field(default_factory=list)

    def tables(self) -> list[Table]:
        """The tables to print, in order."""
        coverage = _coverage_table([*coverage_by_kind(self.estimates), *coverage_by_change(self.estimates)])
        tables = [coverage, _holding_table(self.holding), _error_table(self.holding)]
        return [*tables, _keep_up_table(self.keeping_up)] if self.keeping_up else tables

    def figures(self) -> dict[str, Any]:
        """The coverage of every kind of case, and all runs."""
        both = (*coverage_by_kind(self.estimates), *coverage_by_change(self.estimates))
        return {
            "cases": self.cases,
            "coverage": [asdict(kind) | _coverage_json(coverage) for kind, coverage in both],
            "held_without_shed": asdict(self.full),
            "holding": [asdict(run) for run in self.holding],
            "keeping_up": [asdict(run) | {"met": run.is_met} for run in self.keeping_up],
            "differences": self.differences,
        }

    def files(self) -> dict[str, str]:
        """The charts."""
        charts = {"coverage.svg": coverage_svg(self.estimates)}
        if self.holding:
            charts["holding.svg"] = holding_svg(min(self.holding, key=lambda run: abs(run.budget.share - QUARTER)))
        for load in dict.fromkeys(run.load for run in self.keeping_up):
            charts[f"keeping-up-{load}.svg"] = keeping_up_svg([run for run in self.keeping_up if run.load == load])
        return charts


def run_shedding(
    settings: SheddingSettings, say: Say = lambda line: None, session: Session | None = None
) -> SheddingResults:
    """Runs all cases, R1 with budgets in memory and, if a session is given, the loads on Spark."""
    results = SheddingResults(cases=settings.cases)
    with watched(results, say, None if session is None else session.spark):
        results.estimates = run_cases(range(settings.cases), results.differences, say)
        results.full, results.holding = run_holding(settings.holding, say)
        if session is not None and settings.keeping_up is not None:
            results.keeping_up = run_keeping_up(session, settings.keeping_up, say)
    return results


def _coverage_json(coverage: Coverage) -> dict[str, Any]:
    return asdict(coverage) | {"is_covered": coverage.is_covered, "is_unbiased": coverage.is_unbiased}


def _coverage_table(rows: Sequence[tuple[Kind, Coverage]]) -> Table:
    columns = ("cases", "estimates", "bounded", "covered", "width", "error", "in std errors")
    low, high = COVERED_BAR
    table = new_table(
        f"Intervals of 95 %: {low:g} to {high:g} of them should hold the exact value; mean errors should be 0",
        *("cases with", "aggregate", *columns, ""),
        numeric=columns,
    )
    for kind, own in rows:
        table.add_row(
            str(kind),
            own.aggregate,
            f"{own.cases:,}",
            f"{own.estimates:,}",
            f"{own.bounded:.0%}",
            "" if own.covered is None else f"{own.covered.value:.3f} ± {own.covered.error:.3f}",
            "" if own.width is None else f"{own.width:.1%}",
            "" if own.error is None else f"{own.error.value:+.2%}",
            "" if own.error is None else f"{own.error.in_errors:+.1f}",
            _verdict(own),
        )
    return table


def _verdict(coverage: Coverage) -> str:
    bars = {"covered": coverage.is_covered, "error": coverage.is_unbiased}
    missed = [name for name, met in bars.items() if met is False]
    if missed:
        return f"missed: {', '.join(missed)}"
    return "met" if coverage.is_covered else "too few"


def _holding_table(runs: Sequence[HoldingRun]) -> Table:
    columns = ("of all", "entries", "state MB", "state ÷ full", "windows MB", "windows ÷ full", "kept")
    table = new_table(
        f"R1, SHED TO HOLD: a quarter should have at most {HELD_BAR:g} of the full run",
        *("budget", *columns, ""),
        numeric=columns,
    )
    for run in runs:
        table.add_row(
            run.text.removeprefix("SHED TO "),
            f"{run.budget.share:g}",
            f"{run.held.entries:,}",
            f"{run.held.state_bytes / 1e6:,.2f}",
            f"{run.state_part:.2f}",
            f"{run.held.window_bytes / 1e6:,.2f}",
            f"{run.window_part:.2f}",
            f"{run.kept:.3f}",
            {True: "met", False: "missed", None: ""}[run.is_met],
        )
    return table


def _error_table(runs: Sequence[HoldingRun]) -> Table:
    columns = ("mean error", "mean half width", "groups", "with bounds", "covered")
    table = new_table("R1, errors beside intervals at the last instant", "budget", "", *columns, numeric=columns)
    for run in runs:
        for error in run.errors:
            table.add_row(
                run.text.removeprefix("SHED TO "),
                error.aggregate,
                f"{error.error:.2%}",
                "" if error.half_width is None else f"{error.half_width:.2%}",
                f"{error.groups}",
                f"{error.bounded}",
                f"{error.covered}",
            )
    return table


def _keep_up_table(runs: Sequence[KeepUpRun]) -> Table:
    columns = ("rows/s", "batches", "median s", "over interval", "most behind", "over until", "least kept", "kept last")
    table = new_table(
        "On Spark, under loads: a constant one should stay within an interval",
        *("load", "", *columns, ""),
        numeric=columns,
    )
    for run in runs:
        table.add_row(
            run.load,
            "SHED TO KEEP UP" if run.sheds else "without SHED",
            f"{run.rows_per_second:,}",
            f"{len(run.counted)}",
            "" if run.usual_seconds is None else f"{run.usual_seconds:.1f}",
            f"{run.over:.0%}",
            f"{run.most_behind:.1f} intervals",
            "" if run.recovery is None else f"{run.recovery:.0f} s",
            "" if run.least_kept is None else f"{run.least_kept:.2f}",
            "" if run.last_kept is None else f"{run.last_kept:.2f}",
            {True: "met", False: "missed", None: ""}[run.is_met],
        )
    return table


def coverage_svg(estimates: Sequence[Estimated]) -> str:
    """How often intervals hold the exact value, over the probability with which combinations were kept."""
    panels = []
    for sampler in SAMPLERS:
        lines = []
        for aggregate in AGGREGATES:
            found = coverage_by_kept(estimates, sampler, aggregate)
            points = points_of((kept for kept, _ in found), (mean.value for _, mean in found))
            lines.append(Line(aggregate, points, tuple(2 * mean.error for _, mean in found), with_dots=True))
        levels = (Level("95 %", EXPECTED), *(Level("", bar) for bar in COVERED_BAR))
        panels.append(Panel(f"SAMPLE BY {sampler.upper()}: share of intervals", tuple(lines), levels, y_range=(0.9, 1)))
    title = "How often an interval of 95 % holds the exact value (bars: two standard errors)"
    return lines_svg(title, "kept: the probability that a combination is in the sample", panels)


def holding_svg(run: HoldingRun) -> str:
    """The count of one group over time: exact, estimated, and between its bounds."""
    bounded = [(at.second, at.low, at.high) for at in run.counts if at.low is not None and at.high is not None]
    band = Band(
        "the interval of 95 %",
        tuple((second, float(low)) for second, low, _ in bounded),
        tuple((second, float(high)) for second, _, high in bounded),
    )
    estimate = Line("the estimate", points_of((at.second for at in run.counts), (float(at.value) for at in run.counts)))
    exact = Line("exact", points_of((at.second for at in run.counts), (float(at.exact) for at in run.counts)))
    panel = Panel("COUNT(*) of one group", (band, estimate, exact))
    return lines_svg(f"R1, {run.text}: {run.budget.share:g} of all entries", "seconds", [panel])


def keeping_up_svg(runs: Sequence[KeepUpRun]) -> str:
    """Duration, backlog and what was kept of the runs of one load, over time."""
    names = {True: "SHED TO KEEP UP", False: "without SHED"}
    seconds, behind = (
        tuple(
            Line(names[run.sheds], tuple((batch.ended, getattr(batch, measure)) for batch in run.timed)) for run in runs
        )
        for measure in ("seconds", "behind")
    )
    kept = tuple(
        Line(names[True], tuple((batch.ended, batch.kept) for batch in run.timed if batch.kept is not None))
        for run in runs
        if run.sheds
    )
    interval = (Level("the interval", runs[0].interval),)
    panels = [
        Panel("duration of a micro-batch, in seconds (log scale)", seconds, interval, is_log=True),
        Panel("behind the streams at its end, in seconds (log scale)", behind, interval, is_log=True),
        Panel("kept", kept, y_range=(0.0, 1.0)),
    ]
    return lines_svg(f"A load that is too much: {runs[0].load}", "seconds", panels)


def _run(options: Options, say: Say) -> SheddingResults:
    if not options.full:
        return run_shedding(SheddingSettings(), say)
    keeping_up = KeepUpSettings() if options.seconds is None else KeepUpSettings(float(options.seconds))
    return run_shedding(SheddingSettings(FULL_CASES, keeping_up=keeping_up), say, Session())


SHEDDING = Suite(
    "shedding",
    "SHED: the intervals of estimates, what is held, and with --full whether a query keeps up on Spark",
    {
        "full": "ten times as many cases, and loads on Spark that are too much",
        "seconds": "how long the constant load lasts, with --full; the others take half of it; default 600",
    },
    _run,
    "results-shedding.json",
)
