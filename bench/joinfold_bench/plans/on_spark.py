"""On Spark: is the planner's plan as fast as the best plan that can be forced? Does it follow the data?

Queries that need different plans run over streams of R1's size. Rate, keys and groups of these are declared. Each query
runs once as planned, and once under every forced plan. A forced plan that takes much longer than the planned one is
stopped.

Nothing is declared about the shifting stream (`shifting`); the query has to adapt. The measured state is compared with
the estimate for the last phase of the stream.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from joinfold.errors import QueryError
from joinfold.planner.forcing import Plan
from joinfold.query import Query
from joinfold.session import Session
from joinfold_bench.data import LONG_R1, STREAMS, Dataset
from joinfold_bench.engines.answers import common
from joinfold_bench.engines.baselines import file_stream
from joinfold_bench.engines.measure import StreamRun, run_stream
from joinfold_bench.environment import Say
from joinfold_bench.plans.shifting import ADAPTIVE, FORCED, POSITIONS, SHIFTING, SHIFTING_COLUMNS, VALUES, Phase, Shift

WINDOW = "[30 SECOND SLIDE 5 SECOND]"
BY_KEY = f"FROM a {WINDOW}, b {WINDOW} WHERE a.key = b.key"
QUERIES = {
    "sums by key": f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s {BY_KEY} GROUP BY a.g",
    "an extreme": f"SELECT a.g, COUNT(*) AS n, MAX(b.v) AS top {BY_KEY} GROUP BY a.g",
    "groups of both": f"SELECT a.g, b.g AS h, COUNT(*) AS n {BY_KEY} GROUP BY a.g, b.g",
    "a condition": f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s {BY_KEY} AND a.g <> b.g GROUP BY a.g",
    "an inequality": f"SELECT COUNT(*) AS n, SUM(b.v) AS s {BY_KEY} AND a.v < b.v",
    "a band": f"SELECT COUNT(*) AS n, SUM(b.v) AS s FROM a {WINDOW}, b {WINDOW} WHERE a.v BETWEEN b.v - 1 AND b.v + 1",
    "a value of both": f"SELECT COUNT(*) AS n, SUM(ABS(a.v - b.v)) AS s {BY_KEY}",
}
PLANNED = "as planned"
CAP_SECONDS = 120.0
LEAST_CAP_SECONDS = 20.0
PATIENCE, SHIFTING_PATIENCE = 1.5, 2.5  # a forced plan is stopped after this many times the planned run's time

PLANNED_BAR, ADAPTIVE_BAR, WORST_BAR = 1.25, 1.1, 2.0


@dataclass(frozen=True, slots=True)
class SparkRun:
    """A plan of a query on Spark, with its rate and the bytes of its state."""

    query: str
    plan: str
    rows_per_second: float
    capped: bool
    estimated_bytes: float
    measured_bytes: int
    changes: tuple[str, ...] = ()


@dataclass(slots=True)
class SparkResults:
    """The runs on Spark. Of each query, the planned run comes first; of the shifting stream, the adaptive run.

    ``differences`` names the plans whose answers differ from those of the first run.
    """

    runs: list[SparkRun] = field(default_factory=list)
    shifting: list[SparkRun] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def times(self, query: str) -> float:
        """How many times as long as the fastest run the planned run takes."""
        rates = [run.rows_per_second for run in self.runs if run.query == query]
        return max(rates) / rates[0]

    @property
    def adaptive_times(self) -> tuple[float, float]:
        """How many times as fast as the adaptive run the fastest fixed plan is, and the adaptive run as the slowest."""
        adaptive, *fixed = (run.rows_per_second for run in self.shifting)
        return max(fixed) / adaptive, adaptive / min(fixed)


def run_on_spark(
    session: Session, results: SparkResults, say: Say, data: Dataset = LONG_R1, shift: Shift | None = None
) -> None:
    """Runs all queries over R1, and one over the shifting stream."""
    shift = shift or Shift()
    with tempfile.TemporaryDirectory(prefix="joinfold-planner-") as name:
        folder = Path(name)
        say(f"writing {data}")
        data.write(folder / "r1")
        for query, text in QUERIES.items():
            queries = _plans(lambda: _declared(session, folder / "r1", data), text, PLANNED)
            results.runs += _run(query, queries, PATIENCE, results, say)
        say("writing the shifting stream")
        shift.write(folder / "shifting")
        queries = _plans(lambda: _undeclared(session, folder / "shifting"), SHIFTING, ADAPTIVE)
        estimated = _state_bytes(_declared_phase(shift.phases[-1]).sql(SHIFTING))
        for run in _run("shifting", queries, SHIFTING_PATIENCE, results, say):
            results.shifting.append(replace(run, estimated_bytes=estimated))


def _declared(session: Session, folder: Path, data: Dataset) -> Session:
    """A session with R1, and its statistics declared."""
    declared, keys = Session(session.spark), {"key": data.keys, "g": data.groups, "v": VALUES}
    for stream in STREAMS:
        frame = file_stream(session.spark, str(folder / stream), data.files_per_batch)
        declared.stream(stream, frame, time="ts", rate=data.rows_per_second, keys=keys)
    return declared


def _undeclared(session: Session, folder: Path) -> Session:
    """A session with the shifting stream, and nothing declared about it."""
    undeclared = Session(session.spark)
    for stream in STREAMS:
        undeclared.stream(stream, file_stream(session.spark, str(folder / stream), 1, SHIFTING_COLUMNS), time="ts")
    return undeclared


def _declared_phase(phase: Phase) -> Session:
    """A session with the streams of one phase: no rows, only declared statistics."""
    declared, keys = Session(), {"key": phase.keys, "g": phase.groups, "x": POSITIONS, "v": VALUES}
    for stream in STREAMS:
        declared.stream(stream, SHIFTING_COLUMNS, time="ts", rate=phase.rows_per_second, keys=keys)
    return declared


def _state_bytes(query: Query) -> float:
    decision = query.plan.decision
    return 0.0 if decision is None else decision.chosen.estimate.state_bytes


def _plans(registered: Callable[[], Session], text: str, first: str) -> Iterator[tuple[str, Query]]:
    """The query as planned, then under every forced plan that can run it and differs from the planned one.

    A planned query that follows the data has no fixed plan, so every forced plan differs from it.
    """
    planned = registered().sql(text)
    yield first, planned
    for forced in FORCED:
        with suppress(QueryError):
            query = registered().sql(text, Plan.parse(forced))
            if query.plan.choices != planned.plan.choices or planned.plan.following is not None:
                yield forced, query


def _run(
    name: str, queries: Iterable[tuple[str, Query]], patience: float, results: SparkResults, say: Say
) -> list[SparkRun]:
    """Runs plans over all files.

    The first plan is stopped after ``CAP_SECONDS``. Every other plan is stopped after ``patience`` times the seconds of
    the first, but not before ``LEAST_CAP_SECONDS``.
    """
    runs: list[SparkRun] = []
    done: list[StreamRun] = []
    for plan, query in queries:
        cap = max(LEAST_CAP_SECONDS, patience * done[0].seconds) if done else CAP_SECONDS
        ran = run_stream(query.to_df(), cap_seconds=cap, keep_answers=True)
        rate = _rows_per_second(ran)
        runs.append(SparkRun(name, plan, rate, ran.capped, _state_bytes(query), ran.entry_bytes, ran.plan_changes))
        done.append(ran)
        say(f"{name}, {plan}: {rate:,.0f} rows/s{', stopped' if ran.capped else ''}")
    _compare(name, runs, done, results)
    return runs


def _rows_per_second(run: StreamRun) -> float:
    """Rows of all finished micro-batches after the first, divided by their time, or by the whole time if stopped."""
    steady = [batch for batch in run.batches if batch.number and batch.rows]
    seconds = sum(batch.seconds for batch in steady)
    if run.capped:
        seconds = max(seconds, run.seconds)
    return max(sum(batch.rows for batch in steady), 1) / max(seconds, 1e-9)


def _compare(name: str, runs: Sequence[SparkRun], done: Sequence[StreamRun], results: SparkResults) -> None:
    """Compares the answers of every run with those of the first, on the instants that both have reached."""
    first = done[0].answers
    for run, other in zip(runs[1:], done[1:], strict=True):
        assert first is not None and other.answers is not None
        if other.answers.num_rows:
            ours, theirs = (_in_order(table) for table in common(first, other.answers))
            if not ours.equals(theirs):
                results.differences.append(f"{name}, {run.plan} and {runs[0].plan}")


def _in_order(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()
