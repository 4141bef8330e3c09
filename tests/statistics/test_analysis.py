"""Measured beside estimated: what is measured is what happened, and measuring changes nothing."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import joinfold as jf
from joinfold.errors import UsageError
from joinfold.inprocess import InProcess, run_in_process
from joinfold.inprocess.bounded import steps
from joinfold.logical.query import OnTrigger
from joinfold.operators.codec import encode
from joinfold.physical.stored import Stored
from joinfold.planner.cost.estimates import Estimate, StageEstimate
from joinfold.planner.planned_query import PlannedQuery
from joinfold.reference import naive
from joinfold.statistics import analysis
from joinfold.statistics.analysis import Analysis, Comparison, StoredEntries, analyze
from joinfold.timetext import timestamp_us
from tests.operators.runs import restored, tables_of, tuples
from tests.operators.test_machine import planned
from tests.planner.known import unknown
from tests.strategies import Case, assert_same_answers, cases

NOON = timestamp_us("2025-06-01 12:00")
EXPECTED = Estimate(
    (
        StageEstimate("PACK", 0, 0.25),
        StageEstimate("PACK", 1, 0.5),
        StageEstimate("shuffle", 0, 7.0),
        StageEstimate("FOLD", 0, 2.0, state_bytes=1e6, memory_bytes=3e6),
        StageEstimate("MERGE", 0, 9.0),
    )
)


def stream_of(rows: int, every_us: int = 1_000, keys: int = 5) -> pa.Table:
    """Rows with keys in turn, one after the other."""
    times = pa.array(NOON + np.arange(rows) * every_us, pa.timestamp("us", tz="UTC"))
    numbers = np.arange(rows)
    return pa.table(
        {"ts": times, "k": pa.array(numbers % keys), "v": pa.array(numbers % 7), "w": pa.array(numbers % 2)}
    )


def session_of(rows: int = 4_000) -> jf.Session:
    session = jf.Session()
    for name in ("a", "b", "c"):
        session.stream(name, stream_of(rows), time="ts")
    session.table("r", pa.table({"k": [0, 1, 2], "x": [1, 2, 3]}))
    return session


def analyzed(text: str, session: jf.Session | None = None, progress: Any = None) -> Analysis:
    session = session or session_of()
    plan = session.sql(text).plan
    data = {input_.source.name: session.inputs[input_.source.name].rows() for input_ in plan.query.inputs}
    return analyze(plan, data, EXPECTED, unknown(len(plan.frames)), progress)


def measured(analysis: Analysis) -> dict[str, float]:
    return {own.what: own.measured for own in (*analysis.costs, *analysis.streams)}


JOINED = (
    "SELECT COUNT(*) AS n FROM a [1 SECOND SLIDE 100 MILLISECOND], b [1 SECOND SLIDE 100 MILLISECOND] WHERE a.k = b.k"
)


def test_what_is_measured() -> None:
    fed: list[int] = []
    found = analyzed(JOINED + " AND a.w = 0", progress=fed.append)
    plan = session_of().sql(JOINED + " AND a.w = 0").plan
    assert (found.rows, sum(fed), found.notes) == (8_000, 8_000, ())
    assert found.stream_seconds == pytest.approx(3.999)
    run = run_in_process(plan, {name: stream_of(4_000) for name in ("a", "b")}, 8_000 // 10)  # 4 s, in 10 steps
    facts = measured(found)
    assert facts["memory"] == run.measures.most_bytes_held > 0
    assert 0 < facts["CPU of PACK"] < 1 and 0 < facts["CPU of FOLD"] < 1
    assert facts["a: rows per second, assumed"] == pytest.approx(1_000, rel=0.01)
    assert (facts["a: rows that pass"], facts["b: rows that pass"], facts["a: keys in a window"]) == (0.5, 1.0, 5)


def test_what_was_estimated_stands_beside() -> None:
    estimated = {own.what: own.estimated for own in analyzed(JOINED).costs}
    assert estimated == {"CPU of PACK": 0.75, "CPU of FOLD": 2.0, "memory": 3e6, "state": 1e6}


def test_texts_and_numbers() -> None:
    costs = (Comparison("CPU of FOLD", "seconds", 0.5, 0.25), Comparison("memory", "bytes", 0.0, 1e6))
    streams = (Comparison("a: rows that pass", "share", 0.4, 0.0), Comparison("a: keys in a window", "rows", 1e3, 50))
    shown = Analysis(1234, 60.0, costs, streams, ("only some rows were read",))
    assert str(shown) == (
        "Note: only some rows were read\n\n"
        "Costs per second of stream: 1,234 rows of 60 s of stream, in one process without Spark\n"
        "               estimated  measured   ratio\n"
        "  CPU of FOLD     0.50 s    0.25 s  0.50 ×\n"
        "  memory         0 bytes    1.0 MB       –\n\n"
        "Streams\n"
        "                       estimated  measured    ratio\n"
        "  a: rows that pass         40 %       0 %        –\n"
        "  a: keys in a window      1,000        50  0.050 ×"
    )
    numbers = json.loads(json.dumps(shown.to_dict()))
    assert numbers["costs"][0] == {
        "what": "CPU of FOLD", "unit": "seconds", "estimated": 0.5, "measured": 0.25, "ratio": 0.5
    }  # fmt: skip
    assert numbers["costs"][1]["ratio"] is None and (numbers["rows"], numbers["stream_seconds"]) == (1234, 60.0)


KINDS = {
    "extremes": "SELECT a.k, MAX(b.v) AS m FROM a [1 SECOND], b [1 SECOND] WHERE a.k = b.k GROUP BY a.k "
    "EMIT EVERY 1 SECOND",
    "chain": "SELECT COUNT(*) AS n FROM a [TUMBLE 1 SECOND], b [TUMBLE 1 SECOND], c [TUMBLE 1 SECOND] "
    "WHERE a.k = b.k AND b.v = c.v",
    "rows": "SELECT COUNT(*) AS n FROM a [ROWS 500 SLIDE 100], b [TUMBLE 1 SECOND] WHERE a.k = b.k",
    "last rows": "SELECT COUNT(*) AS n FROM a [PARTITION BY v ROWS 3], b [TUMBLE 1 SECOND] WHERE a.k = b.k",
    "landmark": "SELECT COUNT(*) AS n FROM a [UNBOUNDED], b [TUMBLE 1 SECOND] WHERE a.k = b.k",
    "arrival": "SELECT COUNT(*) AS n FROM a [20 MILLISECOND], b [20 MILLISECOND] WHERE a.k = b.k EMIT ON ARRIVAL",
    "plain": "SELECT a.v, b.w FROM a [10 MILLISECOND SLIDE 5 MILLISECOND], b [10 MILLISECOND SLIDE 5 MILLISECOND] "
    "WHERE a.k = b.k",
    "relation": "SELECT r.x, COUNT(*) AS n FROM a [TUMBLE 1 SECOND], r WHERE a.k = r.k GROUP BY r.x",
    "itself": "SELECT COUNT(*) AS n FROM a x [TUMBLE 1 SECOND], a y [TUMBLE 1 SECOND] WHERE x.k = y.k AND x.v < y.v",
    "window ids": "SELECT COUNT(*) AS n FROM a [ROWS 500 SLIDE 100], b [TUMBLE 1 SECOND] WHERE a.k = b.k "
    "SYNC ON WINDOW ID",
    "trigger": "SELECT COUNT(*) AS n FROM a [1 SECOND], b [1 SECOND] WHERE a.k = b.k EMIT ON TRIGGER",
    "one input": "SELECT COUNT(*) AS n FROM a [TUMBLE 1 SECOND]",
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_query_is_weighed(kind: str) -> None:
    facts = measured(analyzed(KINDS[kind]))
    assert min(facts["memory"], facts["state"], facts["CPU of FOLD"], facts["CPU of PACK"]) > 0


@pytest.mark.parametrize("kind", ["one input", "landmark", "plain", "arrival"])
def test_the_state_does_not_grow_with_time(kind: str) -> None:
    short, long = (measured(analyzed(KINDS[kind], session_of(rows)))["state"] for rows in (2_000, 8_000))
    assert short / 2 < long < 2 * short


@given(case=cases(modes=("default", "slide", "every", "full", "arrival"), inputs=(1, 2)), size=st.integers(1, 9))
def test_weighing_changes_no_answer_and_drops_nothing_that_is_needed(case: Case, size: int) -> None:
    """Buckets are made anew from what was weighed, after every step."""
    plan = planned(case)
    if plan is None:
        return
    if isinstance(plan.query.emit, OnTrigger):  # its instants follow from how rows are cut, by definition
        return
    tables = tables_of(plan, case.data)
    assert_same_answers(naive.answers(plan.query, case.data), weighed(plan, tables, size))


def weighed(plan: PlannedQuery, tables: dict[str, pa.Table], size: int) -> list[tuple[Any, ...]]:
    sources = {frame.input.source.name: frame.input.source for frame in plan.frames}
    machine, stored, found = InProcess(plan), StoredEntries(), []
    machine.feed({name: rows for name, rows in tables.items() if name not in sources})
    for step, arrival in steps(sources, tables, size):
        stored.add(machine.feed(step, arrival))
        found += tuples(machine.answer())
        stored.weigh(machine.buckets)
        kept: list[list[tuple[Stored, bytes]]] = [[] for _ in machine.buckets]
        for (number, kind), batches in stored.batches.items():
            kept[number] += [(kind, encode(batch)) for batch in batches]
        machine.buckets = [restored(bucket, entries) for bucket, entries in zip(machine.buckets, kept, strict=True)]
    return found + tuples(machine.answer(to_the_end=True))


def test_streams_are_cut_at_one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "MOST_ROWS", 1_000)
    session = jf.Session()
    session.stream("a", stream_of(2_000, every_us=1_000), time="ts")
    session.stream("b", stream_of(5_000, every_us=10_000), time="ts")
    found = analyzed(JOINED, session)
    assert found.rows == 1_000 + 100
    assert found.notes == (
        "only rows before row 1,001 of stream 'a' were read",
        "the rows span 1.0 s and a window holds 1.0 s, so it was not full for much of the time",
    )


@pytest.mark.parametrize(
    ("window", "count"),
    [
        ("1 HOUR SLIDE 10 SECOND", 100),  # a step for an instant
        ("1 HOUR SLIDE 500 MILLISECOND", 1_000),  # a step for a second
        ("1 HOUR SLIDE 1 HOUR", 10),  # enough to see what is held
    ],
)
def test_steps_are_micro_batches(window: str, count: int) -> None:
    session, fed = jf.Session(), []
    for name in ("a", "b"):
        session.stream(name, stream_of(2_000, every_us=500_000), time="ts")
    analyzed(f"SELECT COUNT(*) AS n FROM a [{window}], b [{window}] WHERE a.k = b.k", session, fed.append)
    assert (len(fed), sum(fed)) == (count, 4_000)


def test_rows_without_a_span() -> None:
    session = jf.Session()
    for name in ("a", "b"):
        session.stream(name, stream_of(1), time="ts")
    with pytest.raises(UsageError, match="all rows have the same event time"):
        analyzed(JOINED, session)
    with pytest.raises(UsageError, match="there is no data for stream 'b'"):
        analyze(session.sql(JOINED).plan, {"a": stream_of(5)}, EXPECTED, unknown(2))
