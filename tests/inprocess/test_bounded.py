"""Bounded tables to the end: however many rows are fed at a time, the answers are the same."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold import Plan, Session, UsageError
from joinfold.inprocess import InProcess, run_in_process
from joinfold.logical.query import OnTrigger
from joinfold.reference import naive
from tests.operators.runs import plan_of, tables_of, tuples
from tests.operators.test_machine import planned
from tests.strategies import Case, assert_same_answers, cases

WINDOW = "[4 MICROSECOND SLIDE 1 MICROSECOND]"
JOINED = f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k"


@given(
    case=cases(modes=("default", "slide", "every", "full", "arrival"), inputs=(1, 2)),
    size=st.integers(1, 9),
    by_row=st.booleans(),
)
def test_answers_do_not_depend_on_how_many_rows_are_fed_at_a_time(case: Case, size: int, by_row: bool) -> None:
    plan = planned(case)
    if plan is None:
        return
    if isinstance(plan.query.emit, OnTrigger):  # its instants follow from how rows are cut, by definition
        return
    tables = tables_of(plan, case.data)
    whole, parts = run_in_process(plan.query, tables), run_in_process(plan, tables, size, by_row)
    assert whole.answers.schema == parts.answers.schema
    assert_same_answers(naive.answers(plan.query, case.data), tuples(whole.answers))
    assert_same_answers(tuples(whole.answers), tuples(parts.answers))
    assert whole.measures.rows == parts.measures.rows


def times(table: pa.Table) -> list[int | None]:
    return table.column("ts").cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]


def fed(monkeypatch: pytest.MonkeyPatch, data: dict[str, list[int | None]], size: int) -> list[dict[str, list[Any]]]:
    """The event times of each step, by stream."""
    steps, feed = [], InProcess.feed

    def noting(self: InProcess, step: Mapping[str, pa.Table], arrival: Any) -> Any:
        steps.append({name: times(rows) for name, rows in step.items()})
        return feed(self, step, arrival)

    monkeypatch.setattr(InProcess, "feed", noting)
    plan = plan_of(JOINED, "k INT")
    rows = {name: [{"ts": ts, "k": 1} for ts in own] for name, own in data.items()}
    tables = tables_of(plan, rows)
    tables["b"] = pa.concat_tables([tables["b"].slice(0, 1), tables["b"].slice(1)])  # in several pieces
    run_in_process(plan, tables, size)
    return steps


def test_steps_are_in_order_of_event_time_across_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fed(monkeypatch, {"a": [8, 1, 3, 4, None], "b": [7, 2, 6, 3]}, 3) == [
        {"a": [1, 3], "b": [2]},
        {"a": [4], "b": [3, 6]},
        {"a": [8, None], "b": [7]},
    ]


def test_a_row_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = fed(monkeypatch, {"a": [2, 1], "b": [2, 0]}, 1)
    assert steps == [{"a": [], "b": [0]}, {"a": [1], "b": []}, {"a": [2], "b": []}, {"a": [], "b": [2]}]


def test_no_rows_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fed(monkeypatch, {"a": [], "b": []}, 2) == []


# --- queries ------------------------------------------------------------------------------------------------------


def readings(*rows: tuple[int, int]) -> pa.Table:
    ts, k = zip(*rows, strict=True)
    return pa.table({"ts": pa.array(ts, pa.timestamp("us", tz="UTC")), "k": pa.array(k, pa.int32())})


class DataFrame:
    """What a session takes for a DataFrame of Spark, without a JVM."""

    __module__ = "pyspark.sql.dataframe"

    @property
    def isStreaming(self) -> bool:  # noqa: N802
        return False

    @property
    def schema(self) -> Any:
        from pyspark.sql.types import IntegerType, StructType, TimestampType

        return StructType().add("ts", TimestampType()).add("k", IntegerType())


def session_of(**streams: Any) -> Session:
    session = Session()
    for name, source in streams.items():
        session.stream(name, source, time="ts")
    return session


def test_a_query_runs_over_the_tables_of_its_session_or_over_others() -> None:
    left = readings((0, 1), (1, 2))
    query = session_of(a=left, b=readings((0, 1)).to_batches()[0]).sql(JOINED)
    assert [row[1] for row in tuples(query.run_in_process().answers)] == [1, 1, 1, 1, 0, 0]
    other = query.run_in_process({"a": left, "b": left}, rows_per_step=1)
    assert [row[1] for row in tuples(other.answers)] == [1, 2, 2, 2, 1, 0]
    assert other.measures.rows == 4


def test_a_query_runs_by_row() -> None:
    same = readings((0, 1), (0, 1), (0, 1))
    query = session_of(a=same, b=same).sql(JOINED, plan=Plan(method="tc", early=(), index={"a": "list", "b": "list"}))
    together, apart = query.run_in_process(), query.run_in_process(by_row=True)
    assert together.answers == apart.answers
    assert (together.measures.touched < 9 <= apart.measures.touched) and tuples(apart.answers)[0] == (1, 9)


@pytest.mark.parametrize(
    ("source", "data", "message"),
    [
        (
            DataFrame(),
            None,
            "'b' is registered as a Spark DataFrame, but running in process needs an Arrow table\n"
            "Hint: register a pyarrow Table, or pass one: run_in_process(data={'b': …}).",
        ),
        (
            "ts TIMESTAMP, k INT",
            None,
            "'b' is registered as a schema without rows, but running in process needs an Arrow table\n"
            "Hint: register a pyarrow Table, or pass one: run_in_process(data={'b': …}).",
        ),
        (
            readings((0, 1)),
            {"a": readings((0, 1))},
            "there is no data for stream 'b'\nHint: there is data for: a.",
        ),
        (readings((0, 1)), {}, "there is no data for stream 'a'\nHint: no data was given at all."),
        (
            readings((0, 1)),
            {"a": readings((0, 1)), "b": DataFrame()},
            "the data of stream 'b' is a DataFrame\nHint: give a pyarrow Table or RecordBatch.",
        ),
    ],
)
def test_only_arrow_tables_run_in_process(source: Any, data: Any, message: str) -> None:
    query = session_of(a=readings((0, 1)), b=source).sql(JOINED)
    with pytest.raises(UsageError) as caught:
        query.run_in_process(data)
    assert str(caught.value) == message


def test_a_step_has_a_row() -> None:
    query = session_of(a=readings((0, 1)), b=readings((0, 1))).sql(JOINED)
    with pytest.raises(UsageError, match="rows_per_step cannot be 0"):
        query.run_in_process(rows_per_step=0)
