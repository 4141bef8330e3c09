"""Rows whose time lies too far beyond their micro-batch affect nothing, against the definition."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import joinfold as jf
from joinfold.errors import EvaluationError, UsageError
from joinfold.inprocess import InProcess, run_in_process
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.reference import naive
from joinfold.reference.streaming import stream
from tests import refusals
from tests.operators.runs import Answers, Data, answer, plan_of, rows, tables_of, tuples
from tests.operators.test_machine import scattered
from tests.strategies import MODES, Case, assert_same_answers, cases

TEXT = "SELECT COUNT(*) AS n FROM a [TUMBLE 4 MICROSECOND]"
DAY_US = 86_400_000_000


def bounded_by(plan: PlannedQuery, **ahead_us: int | None) -> PlannedQuery:
    """The plan with other bounds of its streams."""
    inputs = [
        replace(own, source=replace(own.source, ahead_us=ahead_us.get(own.source.name, own.source.ahead_us)))
        for own in plan.query.inputs
    ]
    return plan_query(replace(plan.query, inputs=tuple(inputs)))


def run(plan: PlannedQuery, batches: Sequence[Data], clocks: Sequence[int]) -> tuple[InProcess, Answers]:
    machine, found = InProcess(plan, 2), []
    for batch, clock_us in zip(batches, clocks, strict=True):
        machine.feed(tables_of(plan, batch), clock_us=clock_us)
        found += answer(machine)
    return machine, found


@given(
    case=cases(modes=tuple(MODES), inputs=(1, 3)),
    ahead=st.lists(st.none() | st.integers(0, 12), min_size=3, max_size=3),
    clocks=st.lists(st.integers(0, 30), min_size=3, max_size=3),
    data=st.data(),
)
def test_rows_ahead_are_left_out_and_counted_as_defined(
    case: Case, ahead: list[int | None], clocks: list[int], data: st.DataObject
) -> None:
    sources = zip(case.catalog.items(), [*ahead, None, None], strict=False)
    catalog = {name: replace(own, ahead_us=us if own.is_stream else None) for (name, own), us in sources}
    case = Case(case.text, catalog, case.data)
    plan = refusals.planned(case.bind(), case.text)
    if plan is None:
        return
    batches = scattered(case, data)
    try:
        expected = stream(plan.query, batches, clocks=clocks)
    except EvaluationError:
        with pytest.raises(EvaluationError, match="all lie in the future"):
            run(plan, batches, clocks)
        return
    machine, found = run(plan, batches, clocks)
    assert_same_answers(expected.answers, found)
    assert (machine.late, machine.ahead) == (expected.late, expected.ahead)


def test_a_row_of_the_year_9999_moves_no_clock() -> None:
    plan = bounded_by(plan_of(TEXT, "v INT"), a=DAY_US)
    last_us = 253_402_300_799_000_000
    batches = [{"a": [*rows([1, 2]), {"ts": last_us, "v": 3}]}, {"a": rows([4], start=9)}]
    machine, found = run(plan, batches, [10, 20])
    assert (found, machine.late, machine.ahead) == ([(4, 2), (8, 0)], {"a": 0}, {"a": 1})


def test_the_bound_itself_is_not_ahead() -> None:
    plan = bounded_by(plan_of(TEXT, "v INT"), a=5)
    machine, _ = run(plan, [{"a": rows([1, 2, 3], start=14)}], [10])
    assert machine.ahead == {"a": 1}
    assert machine.buckets[0].position.latest == 15


def test_a_stream_that_begins_ahead_is_refused_with_its_earliest_time() -> None:
    plan = bounded_by(plan_of(TEXT, "v INT"), a=DAY_US)
    moment_us = int(datetime(2025, 6, 1, tzinfo=UTC).timestamp()) * 1_000_000
    nanoseconds = {"a": [{"ts": 1000 * moment_us, "v": 1}, {"ts": 1000 * moment_us + 7, "v": 1}]}
    with pytest.raises(EvaluationError, match=f"the first rows of 'a' all lie in the future.*{1000 * moment_us} µs"):
        run(plan, [nanoseconds], [moment_us])
    run(plan, [{"a": rows([1])}, nanoseconds], [moment_us] * 2)  # they are not the first


def test_a_bounded_run_has_no_rows_ahead() -> None:
    plan = bounded_by(plan_of(TEXT, "v INT"), a=0)
    data = {"a": rows([1, 2], start=2**61)}
    for rows_per_step in (None, 1):
        found = run_in_process(plan, tables_of(plan, data), rows_per_step).answers
        assert_same_answers(naive.answers(plan.query, data), tuples(found))


@pytest.mark.parametrize(
    ("schema", "options", "expected"),
    [
        ("ts TIMESTAMP", {"time": "ts"}, DAY_US),
        ("ts TIMESTAMP_NTZ", {"time": "ts", "ahead": "2 hours"}, DAY_US // 12),
        ("ts TIMESTAMP", {"time": "ts", "ahead": "Off"}, None),
        ("ts BIGINT", {"time": "ts", "unit": "seconds"}, DAY_US),
        ("ts BIGINT", {"time": "ts", "unit": "ticks"}, None),
        ("ts BIGINT", {"time": "ts", "unit": "ticks", "ahead": "off"}, None),
        ("ts TIMESTAMP", {"time": jf.ARRIVAL, "ahead": "1 hour"}, None),
    ],
)
def test_the_bound_of_a_stream(schema: str, options: dict[str, Any], expected: int | None) -> None:
    session = jf.Session()
    session.stream("s", schema, **options)
    (input_,) = session.sql("SELECT COUNT(*) AS n FROM s [TUMBLE 1 MINUTE]").logical.inputs
    assert input_.source.ahead_us == expected


def test_an_integer_clock_has_no_bound() -> None:
    with pytest.raises(UsageError, match="cannot have ahead='1 day': its time column 'ts' is an integer"):
        jf.Session().stream("s", "ts BIGINT", time="ts", unit="ticks", ahead="1 day")
