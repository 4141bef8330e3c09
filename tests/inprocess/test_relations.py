"""Relations beside streams, in this process, against both definitions."""

import math
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold import Session
from joinfold.dialect import bind, parse, read_schema
from joinfold.errors import EvaluationError, UsageError
from joinfold.inprocess import InProcess, run_in_process
from joinfold.inprocess import relations as joining
from joinfold.inprocess.frames import frame_batch
from joinfold.logical.query import Source
from joinfold.operators.codec import encode
from joinfold.physical.column_names import FIRST, KEEP, MATCHES, TIME
from joinfold.physical.stored import Stored
from joinfold.planner.drafting.draft import draft
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.reference import duck, naive
from joinfold.reference.rows import from_arrow
from joinfold.reference.streaming import stream
from joinfold.workloads import generate
from tests import refusals
from tests.operators.runs import answer, check_batches, feed, restored, tables_of, tuples
from tests.operators.test_machine import RUNS, scattered
from tests.operators.test_plans import plans
from tests.strategies import Case, assert_same_answers, cases

WITH_RELATIONS = cases(modes=RUNS, inputs=(2, 4), most_rows=6, tables=(1, 2))
EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "queries"


def planned(case: Case, forced: Plan | None = None) -> PlannedQuery | None:
    """The plan, as it is forced where that can be; None for what no engine runs yet."""
    return refusals.planned(case.bind(), case.text, *([] if forced is None else [forced]))


@given(case=WITH_RELATIONS, buckets=st.integers(1, 3))
def test_bounded_rows_are_answered_as_defined(case: Case, buckets: int) -> None:
    plan = planned(case)
    if plan is not None:
        machine = InProcess(plan, buckets)
        feed(machine, case.data)
        found = answer(machine, to_the_end=True)
        assert_same_answers(naive.answers(plan.query, case.data), found)


@given(case=WITH_RELATIONS)
def test_both_definitions_agree(case: Case) -> None:
    plan = planned(case)
    if plan is not None:
        machine = InProcess(plan)
        feed(machine, case.data)
        assert_same_answers(duck.answers(plan.query, case.data), answer(machine, to_the_end=True))


@given(case=WITH_RELATIONS, buckets=st.integers(1, 3), data=st.data())
def test_micro_batches_are_answered_as_defined_and_late_rows_counted_once(
    case: Case, buckets: int, data: st.DataObject
) -> None:
    streams = [input_.alias for input_ in case.bind().streams]
    plan = planned(case, data.draw(plans(streams)))
    if plan is not None:
        check_batches(InProcess(plan, buckets, by_row=data.draw(st.booleans())), scattered(case, data))


@given(case=WITH_RELATIONS, data=st.data())
def test_a_bucket_made_anew_from_its_entries_goes_on_as_before(case: Case, data: st.DataObject) -> None:
    plan = planned(case)
    if plan is None:
        return
    machine, batches = InProcess(plan, 2), scattered(case, data)
    kept: list[list[tuple[Stored, bytes]]] = [[] for _ in machine.buckets]
    found: list[tuple[Any, ...]] = []
    for batch in batches:
        for number, accepted in enumerate(feed(machine, batch)):
            kept[number] += [(stored, encode(entries)) for stored, entries in accepted]
        found += answer(machine)
        machine.buckets = [restored(bucket, entries) for bucket, entries in zip(machine.buckets, kept, strict=True)]
    assert_same_answers(stream(plan.query, batches).answers, found)


@given(case=WITH_RELATIONS)
def test_pairs_are_looked_at_in_pieces(case: Case) -> None:
    plan = planned(case)
    if plan is not None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(joining, "PAIRS_AT_ONCE", 2)
            found = run_in_process(plan, tables_of(plan, case.data)).answers
        assert_same_answers(naive.answers(plan.query, case.data), tuples(found))


# --- relations that are linked with each other and with streams, in all ways ---------------------------------------

LINKS = ("{l}.x = {r}.x", "{l}.x = {r}.y", "{l}.y = {r}.x AND {l}.x = {r}.x", "{l}.y < {r}.x", "{l}.x + {r}.y < 3")
ROW = st.fixed_dictionaries({"x": st.sampled_from([0, 1, 0, 1, None]), "y": st.integers(0, 1)})
EVENT = st.builds(lambda row, ts: row | {"ts": ts}, ROW, st.integers(0, 3))
SELECTS = (
    ("COUNT(*) AS n, SUM(p.x) AS s, MAX(q.y) AS m", ""),
    ("q.y, COUNT(*) AS n", " GROUP BY q.y CHANGES"),
    ("a.x AS o0, p.y AS o1, q.x AS o2", ""),
)
Linked = tuple[str, dict[tuple[str, str], float], dict[str, list[dict[str, Any]]]]


@st.composite
def linked(draw: st.DrawFn) -> Linked:
    """A query over two streams and two or three relations, expected matches, and rows."""
    relations = "pqr"[: draw(st.integers(2, 3))]
    order = draw(st.permutations(["a", "b", *relations]))
    where = [
        draw(st.sampled_from(LINKS)).format(l=order[draw(st.integers(0, number))], r=other)
        for number, other in enumerate(order[1:])
    ]
    pairs = [(one, other) for number, one in enumerate(order) for other in order[number + 1 :]]
    for one, other in draw(st.lists(st.sampled_from(pairs), max_size=4, unique=True)):
        where.append(draw(st.sampled_from(LINKS)).format(l=one, r=other))
    select, tail = draw(st.sampled_from(SELECTS))
    windows = {"a": "a [4 MICROSECOND SLIDE 2 MICROSECOND]", "b": "b [TUMBLE 3 MICROSECOND]"}
    inputs = ", ".join(windows.get(name, name) for name in order)
    matches = st.dictionaries(st.tuples(st.sampled_from(relations), st.sampled_from("ab")), st.floats(0, 9))
    rows = {name: draw(st.lists(EVENT if name in windows else ROW, min_size=2, max_size=6)) for name in order}
    return f"SELECT {select} FROM {inputs} WHERE {' AND '.join(where)}{tail}", draw(matches), rows


@given(case=linked(), buckets=st.integers(1, 2))
def test_linked_relations_are_answered_as_in_both_definitions(case: Linked, buckets: int) -> None:
    check_linked(*case, buckets)


@pytest.mark.parametrize("matches", [{}, {("p", "a"): 9.0, ("q", "b"): 9.0}, {("p", "b"): 9.0, ("q", "a"): 9.0}])
@pytest.mark.parametrize(
    "where",
    [
        "a.x = p.x AND a.y = q.x AND p.y = q.y AND a.x = b.x",
        "a.x = p.x AND b.y = q.x AND p.y = q.y",
        "a.x = p.x AND b.x = p.y AND p.y = q.y AND q.x < b.y + 1",
        "a.x = p.x AND b.x = p.x AND a.y = q.x AND b.y = q.y AND p.y < q.x + q.y",
        "a.x = b.x AND p.y = q.y AND a.x + p.x < 2",
    ],
)
def test_conditions_between_relations_hold_in_one_home_and_in_two(
    where: str, matches: dict[tuple[str, str], float]
) -> None:
    text = (
        "SELECT COUNT(*) AS n, SUM(p.x + q.y) AS s FROM a [4 MICROSECOND SLIDE 2 MICROSECOND], "
        f"b [TUMBLE 3 MICROSECOND], p, q WHERE {where}"
    )
    every = [{"x": x, "y": y} for x in (0, 1, None) for y in (0, 1)]
    timed = [row | {"ts": ts} for ts, row in enumerate(every)]
    check_linked(text, matches, {"a": timed, "b": timed, "p": every, "q": every}, 2)


def check_linked(
    text: str, matches: dict[tuple[str, str], float], rows: dict[str, list[dict[str, Any]]], buckets: int
) -> None:
    columns = read_schema("x INT, y INT")
    timed = read_schema("ts TIMESTAMP, x INT, y INT")
    catalog = {name: Source(name, timed, True, "ts") if name in "ab" else Source(name, columns, False) for name in rows}
    plan = plan_query(draft(bind(parse(text), catalog), matches=matches))
    machine = InProcess(plan, buckets)
    feed(machine, rows)
    found = answer(machine, to_the_end=True)
    assert_same_answers(naive.answers(plan.query, rows), found)
    assert_same_answers(duck.answers(plan.query, rows), found)


# --- one stream and the relations p and q ---------------------------------------------------------------------

CATALOG = {
    "s": Source("s", read_schema("ts TIMESTAMP, k INT, v INT"), True, "ts"),
    "p": Source("p", read_schema("k INT, x INT, name STRING"), False),
    "q": Source("q", read_schema("x INT, y INT"), False),
}
PEOPLE = [
    {"k": 1, "x": 10, "name": "one"},
    {"k": 1, "x": 11, "name": "uno"},
    {"k": 1, "x": 11, "name": "uno"},
    {"k": 2, "x": None, "name": "two"},
    {"k": None, "x": 12, "name": "nobody"},
]
PLACES = [{"x": 10, "y": 5}, {"x": 11, "y": 6}, {"x": 11, "y": None}, {"x": None, "y": 7}]
READINGS = [{"ts": ts, "k": k, "v": ts} for ts, k in enumerate([1, 2, 3, None, 1])]
DATA: dict[str, list[dict[str, Any]]] = {"s": READINGS, "p": PEOPLE, "q": PLACES}


def machine_for(text: str, buckets: int = 2) -> InProcess:
    return InProcess(plan_query(bind(parse(text), CATALOG)), buckets)


def answered(text: str, data: dict[str, list[dict[str, Any]]] = DATA) -> list[tuple[Any, ...]]:
    """The answers, which are those of the definition."""
    machine = machine_for(text)
    feed(machine, data)
    found = answer(machine, to_the_end=True)
    assert_same_answers(naive.answers(machine.plan.query, data), found)
    return found


def test_a_frame_has_every_match_and_every_row_once() -> None:
    machine = machine_for("SELECT SUM(p.x) AS x FROM s [TUMBLE 1 MICROSECOND], p WHERE s.k = p.k AND s.v < 4")
    tables = tables_of(machine.plan, DATA)
    (frame,) = machine.plan.frames
    batch = frame_batch(frame, tables["s"], joining.attached_sides(frame, tables))
    (summed,) = frame.columns
    columns = [batch.column(name).to_pylist() for name in (KEEP, FIRST, MATCHES, summed.name)]
    assert list(zip(batch.column(TIME).cast("int64").to_pylist(), *columns, strict=True)) == [
        (0, True, True, True, 10),
        (0, True, False, True, 11),
        (0, True, False, True, 11),
        (1, True, True, True, None),
        (2, True, True, False, None),
        (3, True, True, False, None),
        (4, False, True, False, None),
    ]


def test_rows_match_often_once_or_not_at_all() -> None:
    text = "SELECT COUNT(*) AS n, COUNT(p.x) AS xs, SUM(s.v * p.x) AS sum FROM s [UNBOUNDED], p WHERE s.k = p.k"
    assert answered(f"{text} EMIT EVERY 5 MICROSECOND") == [(5, 7, 6, 4 * (10 + 11 + 11))]


def test_a_row_without_a_match_is_an_instant_and_an_arrival_all_the_same() -> None:
    slides = answered("SELECT COUNT(*) AS n FROM s [TUMBLE 1 MICROSECOND], p WHERE s.k = p.k")
    assert slides == [(1, 3), (2, 1), (3, 0), (4, 0), (5, 3), (6, 0)]
    arrivals = answered("SELECT COUNT(*) AS n FROM s [1 MICROSECOND], p WHERE s.k = p.k EMIT ON ARRIVAL")
    assert arrivals == [(0, 1, 3), (1, 1, 4), (2, 1, 1), (3, 1, 0), (4, 1, 3)]


def test_matches_of_one_arrival_may_be_in_several_buckets() -> None:
    text = (
        "SELECT COUNT(*) AS n, SUM(r.v) AS v FROM s [9 MICROSECOND], p, s r [9 MICROSECOND] "
        "WHERE s.k = p.k AND p.x = r.v + 7 EMIT ON ARRIVAL"
    )
    assert answered(text)[-1] == (4, 2, 6, 2 * (3 + 4 + 4))


def test_relations_can_be_joined_with_each_other_and_one_of_them_twice() -> None:
    linked = "FROM s [UNBOUNDED], q, p WHERE s.k = p.k AND p.x = q.x"
    text = f"SELECT p.name, q.y, COUNT(*) AS n {linked} GROUP BY p.name, q.y EMIT EVERY 5 MICROSECOND"
    assert sorted(answered(text), key=str) == [
        (5, "one", 5, 2),
        (5, "uno", 6, 4),
        (5, "uno", None, 4),
    ]
    twice = "SELECT COUNT(*) AS n FROM p a, s [UNBOUNDED], p b WHERE a.k = s.k AND b.k = s.k AND a.x < b.x"
    assert answered(f"{twice} EMIT EVERY 5 MICROSECOND") == [(5, 4)]
    apart = twice.replace("a.x < b.x", "a.x + s.v < b.x + s.v")  # the two are compared when both are there
    assert answered(f"{apart} EMIT EVERY 5 MICROSECOND") == [(5, 4)]


def test_a_relation_without_an_equality_is_looked_at_as_a_whole() -> None:
    text = "SELECT COUNT(*) AS n FROM s [UNBOUNDED], q WHERE s.v >= q.y OR q.x = 10 EMIT EVERY 5 MICROSECOND"
    assert answered(text) == [(5, 5)]


@pytest.mark.parametrize("empty", ["p", "s"])
def test_nothing_joins_an_empty_relation(empty: str) -> None:
    text = "SELECT COUNT(*) AS n, MAX(p.x) AS x FROM s [TUMBLE 5 MICROSECOND], p WHERE s.k = p.k"
    expected = [(5, 0, None), (10, 0, None)] if empty == "p" else []
    assert answered(text, {**DATA, empty: []}) == expected


def test_plain_joins_show_columns_of_relations() -> None:
    assert sorted(answered("SELECT p.name, s.v FROM s [1 MICROSECOND], p WHERE s.k = p.k AND s.v > 0")) == [
        (2, "two", 1),
        (5, "one", 4),
        (5, "uno", 4),
        (5, "uno", 4),
    ]


def test_what_does_not_match_is_not_computed() -> None:
    """'nobody' is no number, but it is not in any match; neither is the text of a row that a condition removes."""
    people = [{"k": 1, "x": 1, "name": "7"}, {"k": 9, "x": 1, "name": "nobody"}, {"k": 1, "x": 0, "name": "zero"}]
    text = "SELECT SUM(CAST(p.name AS INT)) AS n FROM s [TUMBLE 5 MICROSECOND], p WHERE s.k = p.k AND s.v < p.x"
    assert answered(text, {**DATA, "p": people}) == [(5, 7), (10, None)]
    with pytest.raises(EvaluationError, match="nobody"):
        answered(text, {**DATA, "p": people, "s": [{"ts": 0, "k": 9, "v": 0}]})


@pytest.mark.parametrize("emit", ["EMIT ON SLIDE", "EMIT ON TRIGGER"])
def test_a_late_row_is_counted_once_however_often_it_matches(emit: str) -> None:
    machine = machine_for(f"SELECT COUNT(*) AS n FROM s [TUMBLE 2 MICROSECOND], p WHERE s.k = p.k AND s.v > 0 {emit}")
    late = [{"ts": 0, "k": k, "v": v} for k, v in ((1, 1), (2, 1), (7, 1), (None, 1), (1, 0))]
    check_batches(
        machine, [{"s": [{"ts": 9, "k": 1, "v": 1}], "p": PEOPLE}, {"s": [*late, {"ts": None, "k": 1, "v": 1}]}]
    )
    assert machine.late == {"s": 5}
    assert [bucket.rows_read for bucket in machine.buckets] == [[6]] * len(machine.buckets)


def test_a_relation_comes_before_the_rows_that_need_it_and_once() -> None:
    text = "SELECT COUNT(*) AS n FROM s [UNBOUNDED], p WHERE s.k = p.k"
    with pytest.raises(UsageError, match="relation 'p' has not been given yet"):
        feed(machine_for(text), {"s": READINGS})
    machine = machine_for(text)
    feed(machine, {"p": PEOPLE})
    feed(machine, {"s": READINGS, "p": []})
    assert machine.measures.rows == len(READINGS)
    with pytest.raises(UsageError, match="relation 'p' was given twice"):
        feed(machine, {"p": PEOPLE})
    with pytest.raises(UsageError, match="there is no data for relation 'p'"):
        run_in_process(machine.plan, tables_of(machine.plan, {"s": READINGS}))


@pytest.mark.parametrize("rows_per_step", [None, 1])
def test_runs_take_relations_with_the_data(rows_per_step: int | None) -> None:
    plan = machine_for("SELECT COUNT(*) AS n FROM s [TUMBLE 1 MICROSECOND], p WHERE s.k = p.k").plan
    run = run_in_process(plan, tables_of(plan, DATA), rows_per_step)
    assert tuples(run.answers) == naive.answers(plan.query, DATA) and run.measures.rows == len(READINGS)


def test_equal_keys_are_equal_as_numbers_are() -> None:
    catalog = {
        "s": Source("s", read_schema("ts TIMESTAMP, d DOUBLE"), True, "ts"),
        "p": Source("p", read_schema("f FLOAT"), False),
    }
    plan = plan_query(bind(parse("SELECT COUNT(*) AS n FROM s [TUMBLE 9 MICROSECOND], p WHERE s.d = p.f"), catalog))
    data = {
        "s": [{"ts": 0, "d": d} for d in (0.0, math.nan, None, 1.5)],
        "p": [{"f": f} for f in (-0.0, math.nan, None)],
    }
    machine = InProcess(plan)
    feed(machine, data)
    assert answer(machine, to_the_end=True)[0] == (9, 2)


def test_the_example_with_a_table(tmp_path: Path) -> None:
    generate("auctions", rows=1000, directory=tmp_path / "house", events_per_second=1)
    tables = {name: parquet.read_table(tmp_path / "house" / name) for name in ("auction", "bid", "person")}
    session = Session()
    session.table("person", tables["person"])
    for name in ("auction", "bid"):
        session.stream(name, tables[name], time="ts")
    query = session.sql((EXAMPLES / "auctions_by_state.sql").read_text())
    found = tuples(query.run_in_process().answers)
    assert len(found) > 50
    assert_same_answers(duck.answers(query.logical, {name: from_arrow(table) for name, table in tables.items()}), found)
