"""Streams that are silent for long do not hold the watermark back, against the definition."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import joinfold as jf
from joinfold.errors import EvaluationError, UsageError
from joinfold.inprocess import InProcess, run_in_process
from joinfold.operators.calendars.position import Position
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.reference import naive
from joinfold.reference.streaming import stream
from tests import refusals
from tests.operators.runs import Answers, Data, answer, plan_of, restored, rows, tables_of, tuples
from tests.strategies import MODES, Case, assert_same_answers, cases

JOINED = "SELECT COUNT(*) AS n FROM a [TUMBLE 4 MICROSECOND], b [TUMBLE 4 MICROSECOND] WHERE a.v = b.v"


def idling(plan: PlannedQuery, **idle_us: int) -> PlannedQuery:
    """The plan with streams that become idle."""
    inputs = [replace(own, source=replace(own.source, idle_us=idle_us.get(own.alias))) for own in plan.query.inputs]
    return plan_query(replace(plan.query, inputs=tuple(inputs)))


def run(plan: PlannedQuery, batches: Sequence[Data], clocks: Sequence[int]) -> tuple[InProcess, Answers]:
    """A run whose positions are stored after every micro-batch."""
    machine, found = InProcess(plan, 2), []
    for batch, clock_us in zip(batches, clocks, strict=True):
        machine.feed(tables_of(plan, batch), clock_us=clock_us)
        found += answer(machine)
        for bucket in machine.buckets:
            names = plan.timing.names
            bucket.stand_at(Position.from_facts(bucket.position.facts(names), names))
    return machine, found


@given(
    case=cases(modes=tuple(MODES), inputs=(1, 3)),
    idle=st.lists(st.none() | st.integers(1, 12), min_size=3, max_size=3),
    ahead=st.lists(st.none() | st.none() | st.integers(0, 20), min_size=3, max_size=3),
    clocks=st.lists(st.integers(0, 30), min_size=5, max_size=5),
    data=st.data(),
)
def test_idle_streams_are_not_waited_for_as_defined(
    case: Case, idle: list[int | None], ahead: list[int | None], clocks: list[int], data: st.DataObject
) -> None:
    """Also where clocks go back, where a stream never has a row, and beside rows that lie ahead."""
    catalog = dict(case.catalog)
    for name, idle_us, ahead_us in zip(case.catalog, idle, ahead, strict=False):
        if catalog[name].is_stream:
            catalog[name] = replace(catalog[name], idle_us=idle_us, ahead_us=ahead_us)
    case = Case(case.text, catalog, case.data)
    plan = refusals.planned(case.bind(), case.text)
    if plan is None:
        return
    batches: list[Data] = [{name: [] for name in case.data} for _ in clocks]
    for name, values in case.data.items():
        for row in values:
            batches[data.draw(st.integers(0, 4)) if catalog[name].is_stream else 0][name].append(row)
    try:
        expected = stream(plan.query, batches, clocks=clocks)
    except EvaluationError:
        with pytest.raises(EvaluationError, match="all lie in the future"):
            run(plan, batches, clocks)
        return
    machine, found = run(plan, batches, clocks)
    assert_same_answers(expected.answers, found)
    assert (machine.late, machine.ahead) == (expected.late, expected.ahead)


def test_a_stream_that_wakes_up_brings_late_rows_and_the_watermark_stands() -> None:
    r"""
    clock    0     5     10    11    12
    a        1           9           13
    b        2                 3
    W        1     1     9     9     9 (b is awake again, and behind)
    """
    plan = idling(plan_of(JOINED, "v INT"), b=10)
    batches: list[Data] = [
        {"a": rows([7], start=1), "b": rows([7], start=2)},
        {"a": rows([7], start=1)},
        {"a": rows([7], start=9)},
        {"b": rows([7], start=3)},
        {"a": rows([7], start=13)},
    ]
    clocks = [0, 5, 10, 11, 12]
    machine = InProcess(plan)
    reached, idle = [], []
    for batch, clock_us in zip(batches, clocks, strict=True):
        machine.feed(tables_of(plan, batch), clock_us=clock_us)
        machine.answer()
        reached.append(machine.buckets[0].watermark)
        idle.append(machine.buckets[0].position.idle(plan.timing.idles_us))
    assert reached == [1, 1, 9, 9, 9]
    assert [own[1] for own in idle] == [False, False, True, False, False]
    assert machine.late == {"a": 0, "b": 1}
    assert run(plan, batches, clocks)[1] == [(4, 2), (8, 0)]


def test_a_stream_without_any_row_is_silent_from_the_first_micro_batch_on() -> None:
    plan = idling(plan_of(JOINED, "v INT"), b=10)
    batches = [{"a": rows([1], start=start)} for start in (0, 5, 9)]
    assert run(plan, batches[:2], [100, 109])[1] == []
    assert run(plan, batches, [100, 109, 110])[1] == [(4, 0), (8, 0)]


def test_if_all_are_idle_the_watermark_stands() -> None:
    plan = idling(plan_of(JOINED, "v INT"), a=3, b=3)
    nothing = {"a": [{"ts": None, "v": 1}]}  # a micro-batch with a row, but no time
    machine, _ = run(plan, [{"a": rows([1], start=5), "b": rows([1], start=6)}, nothing], [0, 9])
    assert machine.buckets[0].position.idle(plan.timing.idles_us) == [True, True]
    assert machine.buckets[0].watermark == 5


def test_a_bucket_that_is_made_anew_knows_who_is_idle() -> None:
    plan = idling(plan_of("SELECT COUNT(*) AS n FROM a [ROWS 2], b [UNBOUNDED] WHERE a.v = b.v", "v INT"), b=5)
    machine, kept = InProcess(plan), None
    for number, batch in enumerate([{"a": rows([1, 1]), "b": rows([1])}, {"a": rows([1], start=4)}]):
        kept = machine.feed(tables_of(plan, batch), clock_us=9 * number)
        machine.answer()
    assert kept is not None
    for bucket in machine.buckets:
        assert restored(bucket, []).watermark == bucket.watermark == 4


def test_a_bounded_run_has_no_idle_streams() -> None:
    plan = idling(plan_of(JOINED, "v INT"), a=1, b=1)
    data = {"a": rows([1, 2, 3]), "b": rows([3, 2, 1], start=9)}
    found = run_in_process(plan, tables_of(plan, data), rows_per_step=1).answers
    assert_same_answers(naive.answers(plan.query, data), tuples(found))


def test_how_long_a_stream_may_be_silent() -> None:
    for idle, expected in ((None, None), ("off", None), ("5 minutes", 300_000_000)):
        session = jf.Session()
        session.stream("s", "ts BIGINT", time="ts", unit="ticks", idle=idle)
        assert session.inputs["s"].source.idle_us == expected
    with pytest.raises(UsageError, match="cannot be idle after '0 seconds'"):
        jf.Session().stream("s", "ts BIGINT", time="ts", unit="ticks", idle="0 seconds")
