"""Joins of three streams: over two keys as a chain of folds, and over one key in one fold.

The chain runs on Spark and is compared with the limit and with Spark's own joins. The one fold runs in process and is
compared with a fold of two streams. Neither builds the join. So the state holds only the rows of the windows, and a
third stream costs no more than its rows.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any

import pyarrow.compute as pc
from rich.table import Table

from joinfold.session import Session
from joinfold.workloads.arrival import START_US
from joinfold_bench.data import J0, J1, AuctionData
from joinfold_bench.engines.answers import compare, last_instant
from joinfold_bench.engines.auctions import SLIDE_US, SPARK_JOINS, StateSize, recompute, run_auctions, state_size
from joinfold_bench.engines.measurements import Comparison, Measurement, ratio_of
from joinfold_bench.engines.steps import UNCAPPED_SECONDS, Steps, bench_folder
from joinfold_bench.engines.streaming import JOINFOLD, LIMIT
from joinfold_bench.environment import Say, watched
from joinfold_bench.plans.comparing import PlanComparison
from joinfold_bench.plans.courses import SIZE_US, PlanRun, Streams, common_key, run_course
from joinfold_bench.reporting.results import MixedResults, plan_json
from joinfold_bench.reporting.tables import new_table, plan_table
from joinfold_bench.suites.suite import Options, Suite

CHAIN_LIMIT_BAR, SPARK_JOINS_BAR, THIRD_STREAM_BAR = 0.25, 50.0, 1 / 2
DUCK_INSTANTS = 10


@dataclass(frozen=True, slots=True)
class JoinSettings:
    """How much is run. Spark's own joins run on ``small`` only.

    The last four fields are of the join over one key: rows in a full window, slides in a window, keys, and measured
    slides. Every key has five rows in a window, so three streams have 125 combinations per key, a million in all.
    """

    repeats: int = 3
    cap_seconds: float = 300.0
    large: AuctionData = J1
    small: AuctionData = J0
    rows: int = 40_000
    slides: int = 10
    keys: int = 8_000
    measured: int = 50


@dataclass(slots=True)
class JoinResults(MixedResults):
    """Streaming engines, the size of joinfold's state, and plans in process."""

    states: list[StateSize] = field(default_factory=list)
    plans: list[PlanRun] = field(default_factory=list)

    def tables(self) -> list[Table]:
        """The tables to print, in order."""
        title = "One key in one fold: PACK and FOLD, in process and row by row"
        return self.tables_with(state_table(self.states), plan_table(title, self.plans))

    def figures(self) -> dict[str, Any]:
        """The engines, the state, and the plans."""
        states, plans = [asdict(size) for size in self.states], [plan_json(run) for run in self.plans]
        return MixedResults.figures(self) | {"states": states, "plans": plans}


def state_table(states: Sequence[StateSize]) -> Table:
    """The size of joinfold's state for each number of events."""
    columns = ("events", "entries", "state MB", "bytes/event")
    table = new_table("State of joinfold at the end", "data", *columns, numeric=columns)
    for size in states:
        events = size.dataset.events
        table.add_row(
            size.dataset.name,
            f"{events:,}",
            f"{size.entries:,}",
            f"{size.state_bytes / 1e6:,.1f}",
            f"{size.state_bytes / events:,.2f}",
        )
    return table


def run_joins(settings: JoinSettings, session: Session, say: Say = lambda line: None) -> JoinResults:
    """Measures joins of three streams. ``say`` gets a line for each step."""
    results = JoinResults()
    with watched(results, say, session.spark), bench_folder() as folder:
        compare_common_key(settings, results, say)
        joins = _Joins(settings, session, Steps(folder, partial(run_auctions, session), say), results)
        large = joins.against_the_limit()
        joins.states()
        joins.against_spark(large)
    return results


@dataclass(slots=True)
class _Joins:
    settings: JoinSettings
    session: Session
    steps: Steps
    results: JoinResults

    def against_the_limit(self) -> Measurement:
        """Compares joinfold with the limit on the large data, and checks its answers with DuckDB."""
        limit, ours = self._measured(self.settings.large, self.settings.repeats, LIMIT, JOINFOLD)
        self.results.comparisons.append(Comparison.of(ours, limit, CHAIN_LIMIT_BAR))
        self._check_with_duck(ours)
        return ours

    def states(self) -> None:
        """Measures the state for all events, and for half as many in the same time."""
        all_ = self.settings.large
        half = replace(all_, events=all_.events // 2, events_per_second=all_.events_per_second / 2)
        half = replace(half, name=f"half of {all_.name}", events_per_file=all_.events_per_file // 2)
        for data in (half, all_):
            size = state_size(self.session, self.steps.written(data), data)
            self.results.states.append(size)
            self.steps.say(f"state of {data}: {size.state_bytes / 1e6:,.1f} MB in {size.entries:,} entries")

    def against_spark(self, large: Measurement) -> None:
        """Compares joinfold with Spark's own joins on the small data, which these can finish.

        Also compares joinfold's rate on the large data with their rate on the small data.
        """
        small = self.settings.small
        (ours,) = self._measured(small, self.settings.repeats, JOINFOLD)
        self._check_with_duck(ours)
        (theirs,) = self._measured(small, 1, SPARK_JOINS, cap_seconds=self.settings.cap_seconds)
        on_both = f"{theirs.engine} on {small.name} (joinfold: {large.dataset.name})"
        self.results.comparisons += [
            Comparison.of(ours, theirs, SPARK_JOINS_BAR),
            Comparison.of(large, theirs, None, on_both),
        ]
        self.results.checks.append(compare(ours, theirs))

    def _measured(
        self, data: AuctionData, repeats: int, *engines: str, cap_seconds: float = UNCAPPED_SECONDS
    ) -> list[Measurement]:
        measurements = [Measurement(engine, data, SLIDE_US) for engine in engines]
        self.steps.run_in_turn(measurements, repeats, cap_seconds)
        self.results.measurements += measurements
        return measurements

    def _check_with_duck(self, ours: Measurement) -> None:
        """Compares answers with DuckDB's at instants from beginning to end, so with windows that fill and full ones."""
        assert isinstance(ours.dataset, AuctionData)
        instants = range(START_US + SLIDE_US, last_instant(ours.answers[0]) + 1, SLIDE_US)
        chosen = instants[:: -max(1, len(instants) // DUCK_INSTANTS)][::-1]
        folder = self.steps.written(ours.dataset)
        theirs = recompute(folder, ours.dataset, chosen, UNCAPPED_SECONDS)
        self.results.checks.append(compare(ours, theirs, at_theirs=True))


def compare_common_key(settings: JoinSettings, results: JoinResults, say: Say) -> None:
    """Compares three streams of one key with two of them. They run in turn, so that other load affects both."""
    runs: dict[str, list[PlanRun]] = {"two streams": [], "three streams": []}
    for _ in range(settings.repeats):
        for (name, done), aliases in zip(runs.items(), (("a", "b"), ("a", "b", "c")), strict=True):
            streams = common_key(settings.rows, settings.slides, settings.measured, settings.keys, aliases)
            run = run_course(streams, name, None, settings.measured, say, with_pack=True)
            if not is_right(streams, settings.keys, run):
                results.differences.append(f"{run.query}, {name} and the expected answer")
            done.append(run)
    for done in runs.values():
        slides = tuple(seconds for run in done for seconds in run.row_seconds)
        results.plans.append(replace(done[-1], row_seconds=slides))
    two, three = ([run.seconds.middle for run in done] for done in runs.values())
    what = "time per row: two streams ÷ three streams"
    results.plan_comparisons.append(PlanComparison("common key", what, ratio_of(two, three), THIRD_STREAM_BAR))


def is_right(streams: Streams, keys: int, run: PlanRun) -> bool:
    """Whether the last answer is right. It is easily computed, because every key has the same number of rows."""
    last = run.answers.slice(run.answers.num_rows - 1).to_pylist()[0]
    summed = list(streams.data.values())[-1]
    start = last["instant"] - timedelta(microseconds=SIZE_US)
    inside = summed.filter((pc.field("ts") >= start) & (pc.field("ts") < last["instant"]))
    partners = (streams.rows // keys) ** (len(streams.data) - 1)
    expected = (inside.num_rows * partners, pc.sum(inside.column("v")).as_py() * partners)
    return inside.num_rows == streams.rows and (last["n"], last["s"]) == expected


def _run(options: Options, say: Say) -> JoinResults:
    return run_joins(JoinSettings(options.repeats or 3, options.cap or 300.0), Session(), say)


JOINS = Suite(
    "joins",
    "joins of three streams: over two keys on Spark, over one key in process",
    {
        "repeats": "how often joinfold and the limit run, in turn; default 3",
        "cap": "seconds after which Spark's own joins are stopped; default 300",
    },
    _run,
    "results-joins.json",
)
