"""joinfold, Spark's own plans and DuckDB over the same files: rates, bars and equal answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from rich.table import Table

from joinfold.session import Session
from joinfold.workloads.arrival import SECOND_US, START_US
from joinfold_bench.data import LONG_R1, R0, Dataset
from joinfold_bench.engines.answers import compare, last_instant
from joinfold_bench.engines.duck import AGGREGATED_FIRST, AS_WRITTEN, DUCK, ArrowTables, DuckTables
from joinfold_bench.engines.measurements import Comparison, Measurement, Run, SweepPoint
from joinfold_bench.engines.rates import Rate
from joinfold_bench.engines.steps import UNCAPPED_SECONDS, Steps, bench_folder
from joinfold_bench.engines.streaming import JOINFOLD, LIMIT, SPARK_HAND, SPARK_JOIN, run_engine
from joinfold_bench.environment import Say, watched
from joinfold_bench.reporting.chart import rates_svg
from joinfold_bench.reporting.results import EngineResults
from joinfold_bench.reporting.tables import new_table
from joinfold_bench.suites.suite import Options, Suite

SIZE_US = 60 * SECOND_US
SLIDE_US = SECOND_US
JOIN_SLIDE_US = 10 * SECOND_US
DUCK_ARROW, DUCK_HAND = f"{DUCK} from Arrow tables", f"{DUCK}, b aggregated first"
DUCK_INSTANTS = 60

LIMIT_BAR, DUCK_BAR, SPARK_R0_BAR, SPARK_R1_BAR = 0.5, 5.0, 20.0, 100.0
SLIDES_BAR, SKEW_BAR = 0.7, 1 / 1.5


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is run.

    ``full`` adds the sweeps, and Spark's own plans on R1. ``cap_seconds`` stops a slow run of Spark's own plans, and of
    DuckDB when it is timed.
    """

    full: bool = False
    repeats: int = 3
    cap_seconds: float = 60.0
    r0: Dataset = R0
    r1: Dataset = LONG_R1


@dataclass(slots=True)
class SideBySide(EngineResults):
    """Engines over the same files, and joinfold alone while one property of R1 is varied."""

    def tables(self) -> list[Table]:
        """The tables to print, in order. The table of sweeps is left out if there were none."""
        printed = EngineResults.tables(self)
        return [*printed, sweep_table(self.sweeps)] if self.sweeps else printed

    def files(self) -> dict[str, str]:
        """A chart of the rates."""
        return {"rates.svg": rates_svg(self.measurements)}


def sweep_table(sweeps: Sequence[SweepPoint]) -> Table:
    """The rate and the state of joinfold at each value of each sweep."""
    columns = ("varied", "value", "rows/s", "state memory MB")
    table = new_table("joinfold on R1, one property varied", *columns, numeric=("value", "state memory MB"))
    for point in sweeps:
        runs = point.measurement.runs
        state_bytes = max(run.state_bytes for run in runs)
        table.add_row(point.sweep, point.value, f"{point.measurement.rate.middle:,.0f}", f"{state_bytes / 1e6:,.0f}")
    return table


def run_engines(settings: Settings, session: Session, say: Say = lambda line: None) -> SideBySide:
    """Runs everything on files in a temporary folder. ``say`` gets a line for each step."""
    results = SideBySide()
    with watched(results, say, session.spark), bench_folder() as folder:
        suite = _Suite(settings, say, Steps(folder, partial(run_engine, session, size_us=SIZE_US), say), results)
        suite.against_the_limit_and_duckdb()
        suite.against_spark(settings.r0, SPARK_R0_BAR)
        if settings.full:
            suite.sweep_all()
            suite.against_spark(settings.r1, SPARK_R1_BAR)
    return results


@dataclass(slots=True)
class _Suite:
    settings: Settings
    say: Say
    steps: Steps
    results: SideBySide

    # --- comparisons ----------------------------------------------------------------------------------------

    def against_the_limit_and_duckdb(self) -> None:
        """Compares joinfold on R1 with the limit, and with DuckDB, which keeps everything in memory."""
        data, results = self.settings.r1, self.results
        limit, ours = self._measure([(LIMIT, SLIDE_US), (JOINFOLD, SLIDE_US)], data)
        results.comparisons.append(Comparison.of(ours, limit, LIMIT_BAR))
        last_us = last_instant(ours.answers[0])
        for theirs in (
            self._recompute(DUCK_ARROW, AS_WRITTEN, data, last_us, tables=ArrowTables),
            self._recompute(DUCK, AS_WRITTEN, data, last_us),
            self._recompute(DUCK_HAND, AGGREGATED_FIRST, data, last_us),
        ):
            results.comparisons.append(Comparison.of(ours, theirs, DUCK_BAR))
            results.checks.append(compare(ours, theirs, at_theirs=True))

    def against_spark(self, data: Dataset, bar: float) -> None:
        """Compares joinfold with Spark's own plans, each at its own slide. On R0, DuckDB checks all answers as well."""
        results = self.results
        for engine, slide_us in ((SPARK_HAND, SLIDE_US), (SPARK_JOIN, JOIN_SLIDE_US)):
            (ours,) = self._measure([(JOINFOLD, slide_us)], data)
            if data is self.settings.r0:
                theirs = self._recompute(DUCK, AS_WRITTEN, data, last_instant(ours.answers[0]), slide_us, timed=False)
                results.checks.append(compare(ours, theirs))
            (theirs,) = self._measure([(engine, slide_us)], data, repeats=1, cap_seconds=self.settings.cap_seconds)
            results.comparisons.append(Comparison.of(ours, theirs, bar))
            results.checks.append(compare(ours, theirs))

    # --- sweeps ---------------------------------------------------------------------------------------------

    def sweep_all(self) -> None:
        """Runs joinfold alone and varies one property of R1 at a time. Sweeps with a bar are repeated."""
        r1 = self.settings.r1
        slides = [(str(parts), r1, SIZE_US // parts) for parts in (1, 6, 60, 600)]
        by_slide = self._sweep("size/slide", slides, self.settings.repeats)
        uniform_and_hot = [("uniform", r1, SLIDE_US), ("half", replace(r1, hot_share=0.5), SLIDE_US)]
        by_skew = self._sweep("rows of one key", uniform_and_hot, self.settings.repeats)
        self._sweep("keys", [(f"{keys:,}", replace(r1, keys=keys), SLIDE_US) for keys in (100, 10_000, 1_000_000)])
        self._sweep("groups", [(f"{groups:,}", replace(r1, groups=groups), SLIDE_US) for groups in (1, 100, 10_000)])
        sparse = [replace(r1, shared_keys=shared) for shared in (1, r1.keys // 100, r1.keys)]
        paired = [*sparse, replace(r1, keys=r1.keys_for(1e9, SIZE_US))]
        self._sweep("pairs in the windows", [(f"{data.pairs(SIZE_US):.1e}", data, SLIDE_US) for data in paired])
        of_six = Comparison.of(by_slide[3], by_slide[1], SLIDES_BAR, "joinfold at size/slide 6 (measured: 600)")
        uniform = "joinfold on uniform keys (measured: half on one key)"
        of_uniform = Comparison.of(by_skew[1], by_skew[0], SKEW_BAR, uniform)
        self.results.comparisons += [of_six, of_uniform]

    def _sweep(self, name: str, points: Sequence[tuple[str, Dataset, int]], repeats: int = 1) -> list[Measurement]:
        self.say(f"sweep over {name}: {', '.join(value for value, _, _ in points)}")
        measurements = [Measurement(JOINFOLD, data, slide_us) for _, data, slide_us in points]
        self.steps.run_in_turn(measurements, repeats, keep_answers=False)
        measured = zip(points, measurements, strict=True)
        self.results.sweeps += [SweepPoint(name, value, measurement) for (value, _, _), measurement in measured]
        return measurements

    # --- steps ----------------------------------------------------------------------------------------------

    def _measure(
        self,
        engines: Sequence[tuple[str, int]],
        data: Dataset,
        repeats: int | None = None,
        cap_seconds: float = UNCAPPED_SECONDS,
    ) -> list[Measurement]:
        measurements = [Measurement(engine, data, slide_us) for engine, slide_us in engines]
        self.steps.run_in_turn(measurements, repeats or self.settings.repeats, cap_seconds)
        self.results.measurements += measurements
        return measurements

    def _recompute(
        self,
        engine: str,
        text: str,
        data: Dataset,
        last_us: int,
        slide_us: int = SLIDE_US,
        timed: bool = True,
        tables: type[DuckTables] = DuckTables,
    ) -> Measurement:
        """DuckDB at some instants with full windows, timed; or at all instants, only for the answers."""
        first = START_US + SIZE_US if timed else START_US + slide_us
        instants = range(first, last_us + 1, slide_us)[: DUCK_INSTANTS if timed else None]
        cap_seconds = self.settings.cap_seconds if timed else UNCAPPED_SECONDS
        held = tables(self.steps.written(data))
        try:
            done = held.recompute(text, instants, SIZE_US, cap_seconds)
        finally:
            held.close()
        brought = data.rows_within(slide_us) * len(done.seconds)
        seconds = sum(done.seconds) + held.load_seconds * brought / data.rows_within(data.seconds * SECOND_US)
        run = Run(Rate(brought / seconds, "instants"), seconds, instant_seconds=done.seconds)
        measurement = Measurement(engine, data, slide_us, [run], [done.answers])
        if timed:
            self.results.measurements.append(measurement)
        self.steps.tell(measurement, run, f"{len(done.seconds)} instants")
        return measurement


def _run(options: Options, say: Say) -> SideBySide:
    cap_seconds = options.cap or (300.0 if options.full else 60.0)
    r1 = replace(LONG_R1, seconds=options.seconds or LONG_R1.seconds)
    return run_engines(Settings(options.full, options.repeats or 3, cap_seconds, r1=r1), Session(), say)


ENGINES = Suite(
    "engines",
    "joinfold, Spark's own plans and DuckDB over the same files",
    {
        "full": "also runs Spark's own plans on R1, and the sweeps",
        "repeats": "how often joinfold and the limit run, in turn; default 3",
        "cap": "seconds after which a slow engine is stopped; default 60, with --full 300",
        "seconds": "event time of R1; 100 s are one micro-batch of 2,000,000 rows; default 600",
    },
    _run,
    "results.json",
)
