"""On Spark: is the plan that a query gets by itself as fast as the best that can be forced? Does it follow the data?

Queries that need unlike plans run over streams of R1's size, of which rate, keys and groups are declared: once as they
are planned, and once under every plan that is forced. One that takes much longer than the planned one is stopped.

Nothing is told of the stream that shifts (`shifting`): the query has to find out. Its state is compared with what is
estimated of the rows that it ends with.
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
PATIENCE, SHIFTING_PATIENCE = 1.5, 2.5  # times what the planned run takes: who takes longer is slower

PLANNED_BAR, ADAPTIVE_BAR, WORST_BAR = 1.25, 1.1, 2.0


@dataclass(frozen=True, slots=True)
class SparkRun:
    """A plan of a query on Spark: rows for a second, or fewer where it was stopped; bytes of state."""

    query: str
    plan: str
    rows_per_second: float
    capped: bool
    estimated_bytes: float
    measured_bytes: int
    changes: tuple[str, ...] = ()


@dataclass(slots=True)
class SparkResults:
    """The runs of all queries, each planned one first, those of the stream that shifts, and who answered otherwise."""

    runs: list[SparkRun] = field(default_factory=list)
    shifting: list[SparkRun] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def times(self, query: str) -> float:
        """How many times as long the planned run takes as the fastest one."""
        own = [run for run in self.runs if run.query == query]
        return max(run.rows_per_second for run in own) / own[0].rows_per_second

    @property
    def adaptive_times(self) -> tuple[float, float]:
        """How many times as long as the fastest fixed plan the run takes that follows, and the slowest as that run."""
        own, *fixed = (run.rows_per_second for run in self.shifting)
        return max(fixed) / own, own / min(fixed)


def run_on_spark(
    session: Session, results: SparkResults, say: Say, data: Dataset = LONG_R1, shift: Shift | None = None
) -> None:
    """All queries over R1, and the one over the stream that shifts."""
    shift = shift or Shift()
    with tempfile.TemporaryDirectory(prefix="joinfold-planner-") as name:
        folder = Path(name)
        say(f"writing {data}")
        data.write(folder / "r1")
        for told, text in QUERIES.items():
            queries = _plans(lambda: _declared(session, folder / "r1", data), text, PLANNED)
            results.runs += _run(told, queries, PATIENCE, results, say)
        say("writing a stream that shifts")
        shift.write(folder / "shifting")
        queries = _plans(lambda: _untold(session, folder / "shifting"), SHIFTING, ADAPTIVE)
        estimated = _state_bytes(_declared_phase(shift.phases[-1]).sql(SHIFTING))
        for run in _run("shifting", queries, SHIFTING_PATIENCE, results, say):
            results.shifting.append(replace(run, estimated_bytes=estimated))


def _declared(session: Session, folder: Path, data: Dataset) -> Session:
    """R1, with what is known of it."""
    own, keys = Session(session.spark), {"key": data.keys, "g": data.groups, "v": VALUES}
    for stream in STREAMS:
        frame = file_stream(session.spark, str(folder / stream), data.files_per_batch)
        own.stream(stream, frame, time="ts", rate=data.rows_per_second, keys=keys)
    return own


def _untold(session: Session, folder: Path) -> Session:
    """The stream that shifts, of which nothing is known."""
    own = Session(session.spark)
    for stream in STREAMS:
        own.stream(stream, file_stream(session.spark, str(folder / stream), 1, SHIFTING_COLUMNS), time="ts")
    return own


def _declared_phase(phase: Phase) -> Session:
    """The streams of one phase, without rows, with what is known of them."""
    own, keys = Session(), {"key": phase.keys, "g": phase.groups, "x": POSITIONS, "v": VALUES}
    for stream in STREAMS:
        own.stream(stream, SHIFTING_COLUMNS, time="ts", rate=phase.rows_per_second, keys=keys)
    return own


def _state_bytes(query: Query) -> float:
    decision = query.plan.decision
    return 0.0 if decision is None else decision.chosen.estimate.state_bytes


def _plans(registered: Callable[[], Session], text: str, first: str) -> Iterator[tuple[str, Query]]:
    """A query as it is planned, then under every other plan that can do it; what follows the data is no fixed plan."""
    planned = registered().sql(text)
    yield first, planned
    for told in FORCED:
        with suppress(QueryError):
            query = registered().sql(text, Plan.parse(told))
            if query.plan.choices != planned.plan.choices or planned.plan.following is not None:
                yield told, query


def _run(
    name: str, queries: Iterable[tuple[str, Query]], patience: float, results: SparkResults, say: Say
) -> list[SparkRun]:
    """Runs plans over all files; the first one as long as it takes, the others no longer than some times that."""
    found: list[SparkRun] = []
    done: list[StreamRun] = []
    for told, query in queries:
        cap = max(LEAST_CAP_SECONDS, patience * done[0].seconds) if done else CAP_SECONDS
        ran = run_stream(query.to_df(), cap_seconds=cap, keep_answers=True)
        rate = _rows_per_second(ran)
        found.append(SparkRun(name, told, rate, ran.capped, _state_bytes(query), ran.entry_bytes, ran.plan_changes))
        done.append(ran)
        say(f"{name}, {told}: {rate:,.0f} rows/s{', stopped' if ran.capped else ''}")
    _compare(name, found, done, results)
    return found


def _rows_per_second(run: StreamRun) -> float:
    """Rows of all finished micro-batches after the first over the time they took, or over the cap."""
    steady = [batch for batch in run.batches if batch.number and batch.rows]
    seconds = sum(batch.seconds for batch in steady)
    if run.capped:
        seconds = max(seconds, run.seconds)
    return max(sum(batch.rows for batch in steady), 1) / max(seconds, 1e-9)


def _compare(name: str, runs: Sequence[SparkRun], done: Sequence[StreamRun], results: SparkResults) -> None:
    """Whether all have answered as the first, as far as they came."""
    first = done[0].answers
    for run, other in zip(runs[1:], done[1:], strict=True):
        assert first is not None and other.answers is not None
        if other.answers.num_rows:
            ours, theirs = (_in_order(table) for table in common(first, other.answers))
            if not ours.equals(theirs):
                results.differences.append(f"{name}, {run.plan} and {runs[0].plan}")


def _in_order(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()
