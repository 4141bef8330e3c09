"""Windows of other kinds: a ROWS window with a time window on Spark, and windows joined by their ids in process.

A ROWS window costs one more stage than a time window: the stage that numbers rows. Sharing pairs of sub-windows saves
the work that overlapping result windows would repeat.
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
"""As many rows as a stream of R1 has in 60 s, the size of the time window, and in 1 s, its slide."""


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """How much is run.

    ``r1`` and ``by_rows`` are the data and the query on Spark. In process, compared pairs are counted in the windows of
    ``compared``, and time is measured in those of ``timed``.
    """

    repeats: int = 3
    r1: Dataset = LONG_R1
    by_rows: ByRows = BY_ROWS
    compared: ShareCase = COMPARED
    timed: tuple[ShareCase, ...] = TIMED


@dataclass(slots=True)
class WindowResults(MixedResults):
    """Streaming engines, and result windows in process."""

    shares: list[ShareRun] = field(default_factory=list)

    def tables(self) -> list[Table]:
        """The tables to print, in order."""
        return self.tables_with(share_table(self.shares))

    def figures(self) -> dict[str, Any]:
        """The engines, and the result windows."""
        return MixedResults.figures(self) | {"shares": [plan_json(run) for run in self.shares]}


def share_table(shares: Sequence[ShareRun]) -> Table:
    """The cost of a result window for each way to share."""
    title, visited = "Plain join by window ids, in process: per result window", "members visited"
    table = new_table(title, "share", "index", "rows", "matches", visited, "ms", numeric=(visited, "ms"))
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
    """Measures both kinds of windows. ``say`` gets a line for each step."""
    results = WindowResults()
    with watched(results, say, session.spark), bench_folder() as folder:
        compare_sharing(settings, results, say)
        against_the_limit(settings, Steps(folder, partial(settings.by_rows.run, session), say), results)
    return results


def against_the_limit(settings: WindowSettings, steps: Steps, results: WindowResults) -> None:
    """Compares joinfold with the limit on R1, and checks its answers at some instants with DuckDB."""
    limit, ours = measurements = [Measurement(engine, settings.r1, SLIDE_US) for engine in (LIMIT, JOINFOLD)]
    steps.run_in_turn(measurements, settings.repeats, UNCAPPED_SECONDS)
    results.measurements += measurements
    results.comparisons.append(Comparison.of(ours, limit, ROWS_LIMIT_BAR))
    instants = some_instants(ours.answers[0], DUCK_INSTANTS)
    theirs = settings.by_rows.recompute(steps.written(settings.r1), settings.r1, instants, UNCAPPED_SECONDS)
    results.checks.append(compare(ours, theirs, at_theirs=True))


def compare_sharing(settings: WindowSettings, results: WindowResults, say: Say) -> None:
    """Compares sharing pairs with sharing nothing: pairs of rows that lists compare, and time with each index."""
    pairs, nothing = _alternate(settings.compared, LIST, 1, results, say)
    name = f"window ids, {settings.compared.rows:,} rows"
    compared = ratio_of([run.compared for run in nothing], [run.compared for run in pairs])
    what = "pairs of rows compared: sharing nothing ÷ sharing pairs"
    results.plan_comparisons.append(PlanComparison(name, what, compared, COMPARED_BAR))
    took = ratio_of([run.seconds.middle for run in nothing], [run.seconds.middle for run in pairs])
    what = "time with lists: sharing nothing ÷ sharing pairs"
    results.plan_comparisons.append(PlanComparison(name, what, took, SHARED_TIME_BAR))
    for case in settings.timed:
        pairs, nothing = _alternate(case, None, settings.repeats, results, say)
        took = ratio_of([run.seconds.middle for run in nothing], [run.seconds.middle for run in pairs])
        name, what = f"window ids, {case.rows:,} rows", "time: sharing nothing ÷ sharing pairs"
        results.plan_comparisons.append(PlanComparison(name, what, took, SHARED_TIME_BAR))


def _alternate(
    case: ShareCase, index: str | None, repeats: int, results: WindowResults, say: Say
) -> list[list[ShareRun]]:
    """The runs of each way to share. They run in turn, so that other load affects both."""
    runs: dict[str, list[ShareRun]] = {share: [] for share in SHARED}
    for _ in range(repeats):
        for share, done in runs.items():
            done.append(case.run(share, index, say))
    first, *others = [run for done in runs.values() for run in done]
    for run in others:
        if not run.answers.equals(first.answers):
            shares = f"sharing {first.share} and sharing {run.share}"
            results.differences.append(f"windows of {run.rows:,} rows, {run.index} index, {shares}")
    for done in runs.values():
        seconds = tuple(second for run in done for second in run.slide_seconds)
        results.shares.append(replace(done[-1], slide_seconds=seconds))
    return list(runs.values())


def _run(options: Options, say: Say) -> WindowResults:
    return run_windows(WindowSettings(options.repeats or 3), Session(), say)


WINDOWS = Suite(
    "windows",
    "a ROWS window with a time window on Spark, and windows joined by id in process",
    {"repeats": "how often each runs, in turn; default 3"},
    _run,
    "results-windows.json",
)
