"""Plans in this process: any query, any choice, any number of buckets, against the definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.arrow import arrow_schema
from joinfold.errors import UsageError
from joinfold.inprocess import InProcess
from joinfold.logical.query import OnArrival
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.reference import naive
from tests import refusals
from tests.operators.runs import answer, check_batches, check_stream, feed, plan_of, rows, tables_of, tuples
from tests.operators.test_machine import RUNS, scattered
from tests.operators.test_plans import ANY_JOIN, PLAIN, plans
from tests.strategies import Case, assert_same_answers, cases

WINDOW = "[4 MICROSECOND SLIDE 1 MICROSECOND]"
JOINED = f"SELECT COUNT(*) AS n, SUM(a.v) AS s FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k"
PAIRS = f"SELECT a.v, b.v AS w FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k"
SCHEMA = "k INT, v BIGINT"
LISTS = Plan(index={"a": "list", "b": "list"})

anything = cases(modes=RUNS, inputs=(1, 2))
methods = st.sampled_from([None, "pc", "ic", "tc"])
early = st.sampled_from([None, (), ("a",), ("a", "b")])
indexes = st.sampled_from(["list", "hash", "btree", "ttree"])


def planned(case: Case, *choices: Plan) -> PlannedQuery | None:
    """By the first choice that the query can have; None for what no engine runs yet."""
    return refusals.planned(case.bind(), case.text, *choices)


@given(case=anything, buckets=st.integers(1, 3))
def test_bounded_rows_are_answered_in_order_and_in_the_types_of_the_query(case: Case, buckets: int) -> None:
    plan = planned(case)
    if plan is None:
        return
    machine = InProcess(plan, buckets)
    feed(machine, case.data)
    answers = machine.answer(to_the_end=True)
    assert answers.schema == arrow_schema(plan.query.schema)
    found = tuples(answers)
    when = [row[: 1 + isinstance(plan.query.emit, OnArrival)] for row in found]
    assert when == sorted(when)
    assert_same_answers(naive.answers(plan.query, case.data), found)
    assert machine.measures.rows == sum(len(case.data[name]) for name in {i.source.name for i in plan.query.streams})


@given(case=cases(modes=RUNS, inputs=(2, 2)), method=methods, early=early, left=indexes, right=indexes, data=st.data())
def test_whatever_is_chosen_micro_batches_are_answered_as_defined(
    case: Case, method: str | None, early: tuple[str, ...] | None, left: str, right: str, data: st.DataObject
) -> None:
    index = {"a": left, "b": right}
    trees = {alias: "btree" if name == "hash" else name for alias, name in index.items()}
    plan = planned(case, Plan(method, early, index), Plan(method, early, trees), Plan("tc", early, trees))
    if plan is None:
        return
    check_batches(InProcess(plan, 2, by_row=data.draw(st.booleans())), scattered(case, data))


@given(case=st.one_of(ANY_JOIN, PLAIN), buckets=st.integers(1, 3), data=st.data())
def test_single_rows_are_answered_as_defined_by_whatever_plan(case: Case, buckets: int, data: st.DataObject) -> None:
    forced = data.draw(plans([input_.alias for input_ in case.bind().inputs]))
    plan = planned(case, forced)
    if plan is None:
        return
    machine = InProcess(plan, buckets, by_row=True)
    feed(machine, case.data)
    assert_same_answers(naive.answers(plan.query, case.data), answer(machine, to_the_end=True))
    check_batches(InProcess(plan, buckets, by_row=True), scattered(case, data))


def test_nothing_is_answered_before_every_stream_has_come_far_enough() -> None:
    machine = InProcess(plan_of(JOINED, SCHEMA))
    assert machine.answer() == arrow_schema(machine.plan.query.schema).empty_table()
    feed(machine, {"a": rows([1, 2, 3], k=1)})
    assert machine.answer().num_rows == 0
    feed(machine, {"b": rows([1, 2], k=1)})
    assert answer(machine) == [(1, 1, 1)]


def test_rows_of_streams_that_are_not_read_are_left_alone() -> None:
    machine = InProcess(plan_of(f"SELECT COUNT(*) AS n FROM a {WINDOW}", SCHEMA))
    machine.feed(tables_of(plan_of(JOINED, SCHEMA), {"a": rows([1], k=1), "b": rows([1, 2], k=1)}))
    assert machine.measures.rows == 1 and machine.late == {"a": 0}


def test_there_are_no_more_buckets_than_there_is_use_for() -> None:
    assert len(InProcess(plan_of(f"SELECT COUNT(*) AS n FROM a {WINDOW}", SCHEMA), 3).buckets) == 1
    assert len(InProcess(plan_of(JOINED, SCHEMA), 3).buckets) == 3


@pytest.mark.parametrize(("by_row", "entries"), [(False, 2), (True, 6)])
def test_an_entry_has_the_rows_of_a_cell_and_key_or_one_row(by_row: bool, entries: int) -> None:
    machine = InProcess(plan_of(JOINED, SCHEMA), by_row=by_row)
    same = [{"ts": 0, "k": 1, "v": value} for value in (1, 2, 3)]
    (stored,) = feed(machine, {"a": same, "b": same})
    assert sum(batch.num_rows for _, batch in stored) == entries
    assert answer(machine, to_the_end=True)[0] == (1, 9, 18)


def test_a_query_needs_a_bucket() -> None:
    with pytest.raises(UsageError, match="cannot run on 0 buckets"):
        InProcess(plan_of(JOINED, SCHEMA), 0)


# --- measures -----------------------------------------------------------------------------------------------------


def touched(text: str, plan: Plan | None = None) -> list[int]:
    """How many members were touched after each of 20 micro-batches."""
    machine, found = InProcess(plan_query(plan_of(text, SCHEMA).query, plan)), []
    for start in range(0, 60, 3):
        feed(machine, {name: rows([start, start + 1, start + 2], k=start % 2, start=start) for name in ("a", "b")})
        machine.answer()
        found.append(machine.measures.touched)
    return found


@pytest.mark.parametrize("text", [JOINED, PAIRS], ids=["aggregates", "plain"])
def test_touched_members_are_not_forgotten_when_a_bucket_is_made_anew(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordinary = touched(text, LISTS)
    monkeypatch.setattr("joinfold.operators.windows.live.Live.is_outgrown", lambda live, *held: True)
    monkeypatch.setattr("joinfold.operators.stages.join_as_found.MANY", 0)
    anew = touched(text, LISTS)
    assert ordinary[0] > 0 and ordinary == sorted(ordinary)
    assert all(more >= before for more, before in zip(anew, ordinary, strict=True)) and anew == sorted(anew)


def test_a_plan_without_structures_touches_nothing() -> None:
    assert set(touched(JOINED)) == {0}


def test_a_hash_touches_fewer_members_than_a_list() -> None:
    found = {}
    for index in ("hash", "list"):
        plan = Plan(method="tc", early=(), index={"a": index, "b": index})
        machine = InProcess(plan_query(plan_of(JOINED, SCHEMA).query, plan))
        feed(machine, {name: [{"ts": 0, "k": k, "v": 1} for k in range(50)] for name in ("a", "b")})
        assert answer(machine, to_the_end=True)[0] == (1, 50, 50)
        found[index] = machine.measures.touched
    assert found["hash"] < found["list"] and found["list"] >= 50 * 50


@pytest.mark.parametrize("text", [JOINED, PAIRS, JOINED + " EMIT EVERY 2 MICROSECONDS"])
def test_bytes_are_those_of_all_buckets_now_and_at_most(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Buckets that are made anew all the time hold less when their rows have left."""
    monkeypatch.setattr("joinfold.operators.windows.live.Live.is_outgrown", lambda live, *held: True)
    monkeypatch.setattr("joinfold.operators.stages.join_as_found.MANY", 0)
    machine, held = InProcess(plan_of(text, SCHEMA), 3), []
    for start, count in ((0, 500), (2, 3), (600, 3), (700, 3)):
        feed(machine, {name: [{"ts": start, "k": k, "v": k} for k in range(count)] for name in ("a", "b")})
        machine.answer()
        held.append(sum(bucket.bytes_held for bucket in machine.buckets))
        assert machine.measures.bytes_held == held[-1] > 0
    assert machine.measures.most_bytes_held == max(held) > held[-1]


def test_seconds_are_counted_where_they_are_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that ticks each time it is read: PACK is timed for each input, FOLD for rows, a piece, an end."""
    ticks = iter(range(100))
    monkeypatch.setattr("joinfold.inprocess.driver.process_time", lambda: float(next(ticks)))
    machine = InProcess(plan_of(JOINED, SCHEMA))
    feed(machine, {"a": rows([1], k=1), "b": rows([1], k=1)})
    machine.answer()
    assert (machine.measures.pack_seconds, machine.measures.fold_seconds) == (2.0, 3.0)


def test_answers_at_every_arrival() -> None:
    batches = [{name: rows([start, None, 2], k=1, start=start) for name in ("a", "b")} for start in (0, 2, 4)]
    found = check_stream(JOINED.replace(" SLIDE 1 MICROSECOND", "") + " EMIT ON ARRIVAL CHANGES", SCHEMA, batches)
    assert {row[2] for row in found} >= {"insert", "update"}
    when = [row[:2] for row in found]
    assert when == sorted(when) and max(arrival for _, arrival in when) > 1
