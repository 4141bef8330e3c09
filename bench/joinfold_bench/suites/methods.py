"""Methods and structures side by side, without Spark: memory, time per row, and the bars that they meet.

Memory is compared between PC, which keeps all pairs, and TC and IC, which keep sums. Time is compared between two ways
to answer a band join: from sums over ranges, and by finding every match in a tree. All plans must answer alike.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.table import Table

from joinfold.planner.forcing import Plan
from joinfold_bench.engines.rates import Spread
from joinfold_bench.environment import Say, watched
from joinfold_bench.plans.comparing import PlanComparison
from joinfold_bench.plans.courses import STREAMS, PlanRun, Streams, band, equality, run_course
from joinfold_bench.plans.structures import BAND_SHARE, JOINS, StructureRun, measure_structures
from joinfold_bench.reporting.results import Results, plan_json
from joinfold_bench.reporting.tables import bar_table, new_table, plan_table
from joinfold_bench.suites.suite import Options, Suite

MEMORY_BAR, CHARGES_BAR, BAND_BAR = 20.0, 1.0, 50.0


@dataclass(frozen=True, slots=True)
class MethodSettings:
    """Rows in a full window, slides in a window, and how many slides are measured.

    Sums over ranges take a fiftieth of the time. So more of their slides are measured, enough to include work that they
    rarely do.
    """

    memory_rows: int = 10_000
    memory_slides: int = 100
    keys: int = 10
    groups: int = 100
    band_rows: int = 100_000
    band_slides: int = 10
    structure_rows: tuple[int, ...] = (1_000, 10_000, 100_000)
    measured: int = 3
    sums_measured: int = 20


@dataclass(slots=True)
class MethodResults(Results):
    """The memory and time of plans, how plans compare, and the structures alone."""

    plans: list[PlanRun] = field(default_factory=list)
    comparisons: list[PlanComparison] = field(default_factory=list)
    structures: list[StructureRun] = field(default_factory=list)

    def tables(self) -> list[Table]:
        """The tables to print, in order."""
        title = "Plans, in process and row by row"
        return [plan_table(title, self.plans), bar_table(self.comparisons), structure_table(self.structures)]

    def figures(self) -> dict[str, Any]:
        """All plans and structures."""
        return {
            "plans": [plan_json(run) for run in self.plans],
            "comparisons": [asdict(item) | {"met": item.is_met} for item in self.comparisons],
            "structures": [asdict(run) for run in self.structures],
            "differences": self.differences,
        }


def structure_table(structures: Sequence[StructureRun]) -> Table:
    """Operations per second, and bytes per row, of each structure."""
    title = "Structures alone: ten rows per key, or a band of 1 %"
    measured = ("probes/s", "insert + expire/s", "bytes/row")
    table = new_table(title, "join", "rows", "structure", *measured, numeric=measured)
    for run in structures:
        table.add_row(
            run.join,
            f"{run.rows:,}",
            run.structure,
            f"{run.probes_per_second:,.0f}",
            f"{run.slides_per_second:,.0f}",
            f"{run.bytes_per_row:,.0f}",
        )
    return table


def run_methods(settings: MethodSettings, say: Say = lambda line: None) -> MethodResults:
    """Measures methods, plans of a band join, and structures. ``say`` gets a line for each step."""
    results = MethodResults()
    with watched(results, say):
        compare_methods(settings, results, say)
        compare_band_plans(settings, results, say)
        compare_structures(settings, results, say)
    return results


def compare_methods(settings: MethodSettings, results: MethodResults, say: Say) -> None:
    """Compares the memory of PC, TC and IC over hashed windows of single rows."""
    streams = equality(settings.memory_rows, settings.memory_slides, settings.measured, settings.keys, settings.groups)
    plans = {name.upper(): Plan(name, (), dict.fromkeys(STREAMS, "hash")) for name in ("pc", "tc", "ic")}
    runs = [run_plan(streams, name, plan, settings.measured, results, say) for name, plan in plans.items()]
    held = {run.plan: float(run.bytes_held) for run in runs}
    results.comparisons += [
        PlanComparison(streams.name, f"memory: {more} ÷ {less}", Spread.of([held[more] / held[less]]), bar)
        for more, less, bar in (("PC", "TC", MEMORY_BAR), ("PC", "IC", MEMORY_BAR), ("TC", "IC", CHARGES_BAR))
    ]


def compare_band_plans(settings: MethodSettings, results: MethodResults, say: Say) -> None:
    """Compares the time of sums over ranges with that of trees, in which every match is found."""
    most = max(settings.measured, settings.sums_measured)
    streams = band(settings.band_rows, settings.band_slides, most, BAND_SHARE)
    summed = Plan(index=dict.fromkeys(STREAMS, "sums"))
    fast = run_plan(streams, "sums", summed, settings.sums_measured, results, say).seconds
    for name in ("btree", "ttree"):
        plan = Plan("ic", (), dict.fromkeys(STREAMS, name))
        slow = run_plan(streams, f"IC, {name}", plan, settings.measured, results, say).seconds
        ratio = Spread(slow.middle / fast.middle, slow.low / fast.high, slow.high / fast.low)
        what = f"time per row: IC with {name} ÷ sums"
        results.comparisons.append(PlanComparison(streams.name, what, ratio, BAND_BAR))


def compare_structures(settings: MethodSettings, results: MethodResults, say: Say) -> None:
    """Measures list, hash and trees alone."""
    for join in JOINS:
        for rows in settings.structure_rows:
            runs, are_equal = measure_structures(join, rows, settings.measured)
            results.structures += runs
            if not are_equal:
                results.differences.append(f"{join}, matches of the structures in windows of {rows:,} rows")
            rates = ", ".join(f"{run.structure} {run.probes_per_second:,.0f}" for run in runs)
            say(f"{join}, probes/s in windows of {rows:,} rows: {rates}")


def run_plan(streams: Streams, name: str, plan: Plan, measured: int, results: MethodResults, say: Say) -> PlanRun:
    """Runs one plan, and compares its answers with those of the first plan of the same query."""
    run = run_course(streams, name, plan, measured, say)
    first = next((other for other in results.plans if other.query == run.query), run)
    if not run.agrees(first):
        results.differences.append(f"{run.query}, {run.plan} and {first.plan}")
    results.plans.append(run)
    return run


def _run(options: Options, say: Say) -> MethodResults:
    return run_methods(MethodSettings(measured=options.repeats or 3), say)


METHODS = Suite(
    "methods",
    "joinfold's methods and structures beside each other, in process and without Spark",
    {"repeats": "how many slides are measured; default 3"},
    _run,
    "results-methods.json",
)
