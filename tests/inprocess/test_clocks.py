"""Time that is no timestamp: the arrival of rows, and integers that count as a stream likes, against the definition."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joinfold.arrow import arrow_schema
from joinfold.dialect import bind, parse, read_schema
from joinfold.errors import QueryError
from joinfold.inprocess import InProcess, run_in_process
from joinfold.logical.query import Input, OnTrigger, Source
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.reference import naive
from joinfold.reference.streaming import stream
from joinfold.types import BIGINT, TIMESTAMP
from tests import refusals
from tests.operators.runs import Answers, Data, answer, plan_of, rows, tables_of, tuples
from tests.operators.test_machine import scattered
from tests.strategies import MODES, Case, assert_same_answers, cases

ARRIVAL = "of arrival"
TIMES = (ARRIVAL, ARRIVAL, "TIMESTAMP")
INTEGERS = ("BIGINT", "INT", "SMALLINT")


def retimed(case: Case, clocks: Sequence[str]) -> Case:
    """The case with another clock for each stream."""
    catalog = dict(case.catalog)
    for (name, source), clock in zip(case.catalog.items(), clocks, strict=False):
        if clock == ARRIVAL and source.is_stream:
            catalog[name] = replace(source, time=None)
        elif source.is_stream:
            time = read_schema(f"ts {clock}").fields
            catalog[name] = replace(source, schema=replace(source.schema, fields=time + source.schema.fields[1:]))
    return Case(case.text, catalog, case.data)


@st.composite
def timed_otherwise(draw: st.DrawFn, clocks: tuple[str, ...], modes: tuple[str, ...] = tuple(MODES)) -> Case:
    """A case whose streams have these clocks, in any order, and that an engine runs."""
    case = draw(cases(modes=modes, inputs=(1, 3)))
    case = retimed(case, draw(st.lists(st.sampled_from(clocks), min_size=3, max_size=3)))
    try:
        query = case.bind()
    except QueryError as error:
        refusals.check_refusal(error, refusals.Asked(case.text))
        assume(False)
    assume(refusals.planned(query, case.text) is not None)
    return case


by_arrival = timed_otherwise(TIMES)
by_integers = timed_otherwise(INTEGERS)
by_any_clock = timed_otherwise((*TIMES, *INTEGERS), ("window id", "mod"))


def check_bounded(case: Case, rows_per_step: int | None) -> PlannedQuery:
    plan = plan_query(case.bind())
    found = run_in_process(plan, tables_of(plan, case.data), rows_per_step).answers
    assert found.schema == arrow_schema(plan.query.schema)
    if rows_per_step is None or not isinstance(plan.query.emit, OnTrigger) or plan.query.is_plain_join:
        assert_same_answers(naive.answers(plan.query, case.data), tuples(found))
    return plan


def check_arrivals(plan: PlannedQuery, batches: Sequence[Data], arrivals: Sequence[int] | None) -> Answers:
    machine, found = InProcess(plan, 2), []
    for number, batch in enumerate(batches):
        machine.feed(tables_of(plan, batch), None if arrivals is None else arrivals[number])
        found += answer(machine)
    expected = stream(plan.query, batches, arrivals=arrivals)
    assert_same_answers(expected.answers, found)
    assert machine.late == expected.late
    return found


steps = st.sampled_from([None, 1, 3])


@given(case=by_arrival, rows_per_step=steps)
def test_bounded_rows_that_have_no_time_are_counted(case: Case, rows_per_step: int | None) -> None:
    check_bounded(case, rows_per_step)


@given(case=by_arrival, arrivals=st.none() | st.lists(st.integers(-5, 30), min_size=3, max_size=3), data=st.data())
def test_rows_that_have_no_time_take_that_of_their_micro_batch(
    case: Case, arrivals: list[int] | None, data: st.DataObject
) -> None:
    """Also where a clock goes back: rows are late then."""
    check_arrivals(plan_query(case.bind()), scattered(case, data), arrivals)


@given(case=by_integers, rows_per_step=steps, data=st.data())
def test_integers_are_a_clock(case: Case, rows_per_step: int | None, data: st.DataObject) -> None:
    plan = check_bounded(case, rows_per_step)
    leading = {field.type for field in plan.query.leading}
    assert leading == {BIGINT}
    check_arrivals(plan, scattered(case, data), None)


@given(case=by_any_clock, rows_per_step=steps, data=st.data())
def test_window_ids_join_streams_of_any_clocks(case: Case, rows_per_step: int | None, data: st.DataObject) -> None:
    plan = check_bounded(case, rows_per_step)
    check_arrivals(plan, scattered(case, data), None)


def test_a_micro_batch_arrives_at_its_number_unless_it_is_told_another() -> None:
    plan = plan_of("SELECT COUNT(*) AS n FROM a [TUMBLE 2 MICROSECOND]", "v INT")
    plan = plan_query(replace(plan.query, inputs=tuple(_without_time(plan))))
    batches = [{"a": rows([1, 2])}, {"a": rows([3])}, {"a": rows([4])}, {"a": rows([5])}]
    assert check_arrivals(plan, batches, None) == [(2, 2), (4, 2)]
    assert check_arrivals(plan, batches, [10, 11, 12, 20]) == [(12, 3), (14, 1), (16, 0)]


def _without_time(plan: PlannedQuery) -> list[Input]:
    return [replace(input_, source=replace(input_.source, time=None)) for input_ in plan.query.inputs]


def test_every_stream_has_the_edges_of_its_windows_in_its_own_clock() -> None:
    schema = {"a": "seq INT, k INT", "b": "at TIMESTAMP, k INT", "c": "k INT"}
    times = {"a": "seq", "b": "at", "c": None}
    catalog = {name: Source(name, read_schema(schema[name]), True, times[name]) for name in schema}
    window = "[TUMBLE 2 MICROSECOND]"
    text = f"SELECT COUNT(*) AS n FROM a {window}, b {window}, c {window} WHERE a.k = b.k AND b.k = c.k"
    with pytest.raises(QueryError, match="the times of 'a' and 'b' cannot be compared"):
        bind(parse(text), catalog)
    plan = plan_query(bind(parse(text + " SYNC ON WINDOW ID"), catalog))
    edges = [field.type for field in plan.query.leading]
    assert edges == [BIGINT, BIGINT, BIGINT, TIMESTAMP, TIMESTAMP, TIMESTAMP, TIMESTAMP]
    one = {"k": 1}
    data = {"a": [{"seq": 7, **one}], "b": [{"at": 101, **one}, {"at": 100, **one}], "c": [one] * 3}
    assert tuples(run_in_process(plan, tables_of(plan, data)).answers) == [(0, 6, 8, 100, 102, 0, 2, 2)]


@pytest.mark.parametrize("edge", [2**62, -(2**62)])
def test_plain_joins_at_the_ends_of_the_range_of_time(edge: int) -> None:
    schema = read_schema("ts BIGINT, k INT")
    catalog = {name: Source(name, schema, True, "ts") for name in ("a", "b")}
    plan = plan_query(bind(parse("SELECT a.k, b.k AS j FROM a [9 DAY], b [UNBOUNDED] WHERE a.k = b.k"), catalog))
    data = {"a": [{"ts": edge, "k": 1}], "b": [{"ts": edge - (edge > 0), "k": 1}]}
    found = tuples(run_in_process(plan, tables_of(plan, data)).answers)
    assert_same_answers(naive.answers(plan.query, data), found)
    assert len(found) == 1
