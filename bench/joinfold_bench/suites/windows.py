"""Windows that are not alike: rows beside time on Spark, and windows that are joined by their numbers in process.

What a window that counts rows costs more than one of time is a stage that numbers rows. What sharing pairs of
sub-windows saves is what result windows that overlap would do again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from rich.table import Table

from joinfold.planner.forcing import SHARED
from joinfold.session import Session
from joinfold_bench.data import LONG_R1, Dataset
from joinfold_bench.engines.answers import compare
from joinfold_bench.engines.by_rows import SLIDE_US, ByRows, some_instants
from joinfold_bench.engines.measurements import Comparison, Measurement, ratio_of
from joinfold_bench.engines.steps import UNCAPPED_SECONDS, Steps, bench_folder
from joinfold_bench.engines.streaming import JOINFOLD, LIMIT
from joinfold_bench.environment import Say, watched
from joinfold_bench.plans.comparing import PlanComparison
from joinfold_bench.plans.sharing import ShareCase, ShareRun
from joinfold_bench.reporting.results import MixedResults, plan_json
from joinfold_bench.reporting.tables import new_table
from joinfold_bench.suites.suite import Options, Suite

ROWS_LIMIT_BAR, COMPARED_BAR, SHARED_TIME_BAR = 0.3, 2.0, 1.5
DUCK_INSTANTS = 10
LIST = "list"

COMPARED = ShareCase(10_000, 3)
TIMED = (ShareCase(10_000, 20), ShareCase(100_000, 10), ShareCase(500_000, 5))
BY_ROWS = ByRows(600_000, 10_000)
"""As many rows as R1 has of a stream in a window of 60 s, and in a slide of 1 s."""


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """How much is run: the query on R1; windows whose compared rows are counted, and windows that are timed."""

    repeats: int = 3
    r1: Dataset = LONG_R1
    by_rows: ByRows = BY_ROWS
    compared: ShareCase = COMPARED
    timed: tuple[ShareCase, ...] = TIMED


@dataclass(slots=True)
class WindowResults(MixedResults):
    """What streaming engines did, and what result windows took in process."""

    shares: list[ShareRun] = field(default_factory=list)

    def tables(self) -> list[Table]:
        """What is worth printing, in order."""
        return self.tables_with(share_table(self.shares))

    def figures(self) -> dict[str, Any]:
        """The engines, and the result windows."""
        return MixedResults.figures(self) | {"shares": [plan_json(run) for run in self.shares]}


def share_table(shares: Sequence[ShareRun]) -> Table:
    """What a result window takes."""
    title = "Plain join by window ids, in process: a result window"
    table = new_table(title, "share", "index", "rows", "matches", "looked at", "ms", numeric=("looked at", "ms"))
    for run in shares:
        table.add_row(
            run.share,
            run.index,
            f"{run.rows:,}",
            f"{run.matches:,}",
            f"{run.compared:,.0f}",
            f"{1e3 * run.seconds.middle:,.1f}",
        )
    return table


def run_windows(settings: WindowSettings, session: Session, say: Say = lambda line: None) -> WindowResults:
    """Measures windows that are not alike; ``say`` gets a line for each step."""
    results = WindowResults()
    with watched(results, say, session.spark), bench_folder() as folder:
        compare_sharing(settings, results, say)
        against_the_limit(settings, Steps(folder, partial(settings.by_rows.run, session), say), results)
    return results


def against_the_limit(settings: WindowSettings, steps: Steps, results: WindowResults) -> None:
    """Rows beside time, on R1; the answers beside DuckDB's at some instants."""
    limit, ours = measurements = [Measurement(engine, settings.r1, SLIDE_US) for engine in (LIMIT, JOINFOLD)]
    steps.run_in_turn(measurements, settings.repeats, UNCAPPED_SECONDS)
    results.measurements += measurements
    results.comparisons.append(Comparison.of(ours, limit, ROWS_LIMIT_BAR))
    instants = some_instants(ours.answers[0], DUCK_INSTANTS)
    theirs = settings.by_rows.recompute(steps.written(settings.r1), settings.r1, instants, UNCAPPED_SECONDS)
    results.checks.append(compare(ours, theirs, at_theirs=True))


def compare_sharing(settings: WindowSettings, results: WindowResults, say: Say) -> None:
    """Shared pairs beside nothing shared: the rows that lists compare, and the time with lists and as usual."""
    pairs, nothing = _alternate(settings.compared, LIST, 1, results, say)
    name = f"window ids, {settings.compared.rows:,} rows"
    compared = ratio_of([run.compared for run in nothing], [run.compared for run in pairs])
    what = "pairs of rows compared, sharing nothing to sharing pairs"
    results.plan_comparisons.append(PlanComparison(name, what, compared, COMPARED_BAR))
    took = ratio_of([run.seconds.middle for run in nothing], [run.seconds.middle for run in pairs])
    results.plan_comparisons.append(PlanComparison(name, "time with lists, the same", took, SHARED_TIME_BAR))
    for case in settings.timed:
        pairs, nothing = _alternate(case, None, settings.repeats, results, say)
        took = ratio_of([run.seconds.middle for run in nothing], [run.seconds.middle for run in pairs])
        name, what = f"window ids, {case.rows:,} rows", "time, sharing nothing to sharing pairs"
        results.plan_comparisons.append(PlanComparison(name, what, took, SHARED_TIME_BAR))


def _alternate(
    case: ShareCase, index: str | None, repeats: int, results: WindowResults, say: Say
) -> list[list[ShareRun]]:
    """The runs of each way to share, in turn, so that other load meets both."""
    runs: dict[str, list[ShareRun]] = {share: [] for share in SHARED}
    for _ in range(repeats):
        for share, done in runs.items():
            done.append(case.run(share, index, say))
    first, *others = [run for done in runs.values() for run in done]
    for run in others:
        if not run.answers.equals(first.answers):
            results.differences.append(f"{run.rows:,} rows, {run.index} index, sharing {first.share} and {run.share}")
    for done in runs.values():
        seconds = tuple(second for run in done for second in run.slide_seconds)
        results.shares.append(replace(done[-1], slide_seconds=seconds))
    return list(runs.values())


def _run(options: Options, say: Say) -> WindowResults:
    return run_windows(WindowSettings(options.repeats or 3), Session(), say)


WINDOWS = Suite(
    "windows",
    "windows that are not alike: rows beside time on Spark, window ids in process",
    {"repeats": "runs of each, in turn; 3 unless given"},
    _run,
    "results-windows.json",
)
