"""Drafts: one stage of all inputs, whose columns are called what they mean."""

import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import joinfold as jf
from joinfold.errors import QueryError
from joinfold.physical.column_names import ORIGIN
from joinfold.physical.payload import InputSpec, ViewSum
from joinfold.physical.source import ConstantRow, StreamRows
from joinfold.physical.stage import (
    Concatenate,
    FoldAtArrivals,
    FoldAtInstants,
    JoinAsFound,
    JoinAtMoves,
    Merge,
    inputs_of,
)
from joinfold.physical.timing import AsFound, AtArrivals, AtCandidates, AtTriggers, ByWindowId
from joinfold.planner.drafting import draft as drafting
from joinfold.planner.drafting.draft import draft
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.window import Grid
from tests.planner.known import JOINED, WINDOW, chain_of, plans_in_seconds, query_of, unknown

ROWS, RANGE = "[ROWS 100 SLIDE 10]", "[10 SECOND]"


def names_of(plan: PlannedQuery) -> list[list[str]]:
    """The columns of each frame."""
    return [[column.name for column in frame.columns] for frame in plan.frames]


# --- names --------------------------------------------------------------------------------------------------------


def test_a_key_that_is_a_group_and_is_shown_elsewhere_is_one_column() -> None:
    plan = draft(query_of(f"SELECT a.k, COUNT(*) AS n {JOINED} AND a.k < b.v GROUP BY a.k"))
    assert names_of(plan) == [["a.k", "(as BIGINT a.k)"], ["b.k", "b.v"]]
    first = plan.body.inputs[0]
    assert (first.keys, first.groups, first.carried) == (("a.k",), ("a.k",), ("(as BIGINT a.k)",))


def test_an_argument_is_a_column_of_its_own_whatever_it_is_for() -> None:
    """MAX, SUM and COUNT of one column share it; a group by it does not, since groups are told apart as values."""
    plan = draft(query_of(f"SELECT a.v, SUM(a.v) AS s, MAX(a.v) AS m {JOINED} GROUP BY a.v"))
    assert names_of(plan)[0] == ["a.k", "a.v", "argument a.v"]
    arrivals = draft(query_of(f"SELECT COUNT(*) AS n FROM a {RANGE} WHERE a.v > 1 EMIT ON ARRIVAL"))
    assert names_of(arrivals) == [["order a.v"]] and arrivals.body.inputs[0].order == ("order a.v",)


def test_names_do_not_depend_on_the_order_in_which_the_planner_comes_by() -> None:
    select = ("SUM(a.v * c.d) AS s", "MAX(a.d) FILTER (WHERE b.v > 1) AS m", "MAX(a.d) AS n", "AVG(b.x) AS q")
    found = []
    for own in (select, select[::-1]):
        plan = plan_query(query_of(chain_of(3, ", ".join(own), " GROUP BY b.g, a.g")), jf.Plan(root="c"))
        found.append([_stored(spec) for stage in plan.stages for spec in inputs_of(stage)])
    assert found[0] == found[1]


def _stored(spec: InputSpec) -> tuple[str, ...]:
    reals = (name for pair in spec.real_names for name in pair)
    return (spec.name, *sorted((*spec.identity, *spec.integer_names, *reals, *spec.extreme_names)))


def test_a_column_of_a_view_is_named_after_what_it_multiplies() -> None:
    select = "SUM(a.v * b.v) AS s, MAX(a.d) FILTER (WHERE b.v > 1) AS m, MAX(a.d) AS n"
    plan = plan_query(query_of(chain_of(3, select)), jf.Plan(root="c"))
    view = plan.body.inputs[1]
    assert (view.name, view.carried, view.open_ended) == ("view of a, b", (ORIGIN,), True)
    assert view.integer_names == ("count", "count argument a.v^0 × count argument b.v^0")
    assert view.reals[1] == ViewSum(("sum argument a.v limb 0", "sum argument b.v limb 1"), exact=True)
    assert view.extreme_names == ("max argument a.d where argument (> b.v 1:INT)", "max argument a.d")


def test_values_of_combinations_are_named_as_they_are_written() -> None:
    plan = draft(query_of(f"SELECT MAX(a.d - b.d) FILTER (WHERE a.v > 1) AS m {JOINED} GROUP BY a.x + b.x"))
    names = [name for name, _ in plan.body.combining.values]
    assert names == ["(+ a.x b.x)", "argument (case (> a.v 1:INT) (- a.d b.d) None:VOID)"]
    assert plan.body.pair.groups == ("(+ a.x b.x)",)
    assert set(plan.body.inputs[0].carried) == {"a.x", "a.d", "(> a.v 1:INT)"}


def test_a_relations_column_has_the_name_of_the_relation() -> None:
    session = jf.Session()
    session.stream("s", "ts TIMESTAMP, k INT", time="ts")
    session.table("r", "k INT, name STRING")
    query = session.sql("SELECT r.name, COUNT(*) AS n FROM s [TUMBLE 1 MINUTE], r WHERE s.k = r.k GROUP BY r.name")
    assert names_of(query.plan) == [["r.name"]]


@given(plan=plans_in_seconds((1, 5)))
def test_names_are_unique_and_those_of_groups_lead_to_the_totals(plan: PlannedQuery) -> None:
    every = [name for own in names_of(plan) for name in own]
    assert len(set(every)) == len(every)
    last = plan.pipeline.last
    if isinstance(last, Merge):
        assert set(last.groups) == set(last.totals.groups) == set(plan.body.groups)
        assert len(last.groups) == len(plan.query.groups)


# --- stages -------------------------------------------------------------------------------------------------------

PLAIN = "SELECT a.v, b.v AS w FROM a {}, b {} WHERE a.k = b.k"
COUNTED = "SELECT COUNT(*) AS n FROM a {}, b {} WHERE a.k = b.k"


@pytest.mark.parametrize(
    ("text", "kind", "rule"),
    [
        (PLAIN.format(RANGE, WINDOW), JoinAsFound, AsFound()),
        (PLAIN.format("[UNBOUNDED]", WINDOW), JoinAsFound, AsFound()),
        (PLAIN.format(ROWS, WINDOW), JoinAtMoves, AsFound()),
        (PLAIN.format("[PARTITION BY g ROWS 3]", WINDOW), JoinAtMoves, AsFound()),
        (PLAIN.format(WINDOW, WINDOW) + " SYNC ON WINDOW ID MOD 3", JoinAtMoves, ByWindowId(3)),
        (COUNTED.format(WINDOW, WINDOW) + " SYNC ON WINDOW ID", FoldAtInstants, ByWindowId(None)),
        (COUNTED.format(RANGE, RANGE) + " EMIT ON ARRIVAL", FoldAtArrivals, AtArrivals()),
        (COUNTED.format(RANGE, RANGE) + " EMIT ON TRIGGER", FoldAtInstants, AtTriggers()),
        (
            COUNTED.format(RANGE, ROWS) + " EMIT EVERY 4 SECONDS",
            FoldAtInstants,
            AtCandidates((Grid(0, 4_000_000),)),
        ),
        (COUNTED.format(WINDOW, ROWS), FoldAtInstants, AtCandidates((Grid(0, 1_000_000),), by_rows=True)),
    ],
)
def test_the_stage_and_the_rule_follow_from_the_query(text: str, kind: type, rule: object) -> None:
    plan = draft(query_of(text))
    assert type(plan.answering) is kind and plan.timing.rule == rule
    placed = isinstance(rule, ByWindowId | AtArrivals)
    assert bool(plan.pipeline.last.placed) == placed
    assert isinstance(plan.pipeline.last, Concatenate) == plan.query.is_plain_join


def test_a_single_stream_is_joined_with_a_constant_row() -> None:
    first, second = draft(query_of(f"SELECT COUNT(*) AS n FROM a {ROWS}")).body.inputs
    assert (first.name, first.source, first.open_ended) == ("a", StreamRows(0), True)
    assert (second.name, second.source, second.open_ended) == ("", ConstantRow(), False)


@given(plan=plans_in_seconds((1, 4)))
def test_planning_goes_on_from_a_draft(plan: PlannedQuery) -> None:
    statistics = unknown(len(plan.frames))
    assert plan_query(draft(plan.query), None, statistics) == plan_query(plan.query, None, statistics)


@given(plan=plans_in_seconds((1, 4)), data=st.data())
def test_a_plan_travels(plan: PlannedQuery, data: st.DataObject) -> None:
    assert pickle.loads(pickle.dumps(plan)) == plan


def test_a_query_is_drafted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drafted = []
    monkeypatch.setattr(
        "joinfold.query.draft", lambda query, **known: drafted.append(query) or drafting.draft(query, **known)
    )
    session = jf.Session()
    session.stream("a", "ts TIMESTAMP, k INT", time="ts")
    query = session.sql("SELECT k, COUNT(*) AS n FROM a [TUMBLE 1 MINUTE] GROUP BY k")
    assert query.plan.decision is not None and query.plan.decision.statistics == query.statistics
    assert len(drafted) == 1


def test_what_no_engine_runs_is_refused() -> None:
    with pytest.raises(QueryError, match="no engine runs PARTITION BY windows with EMIT ON ARRIVAL yet"):
        draft(query_of("SELECT COUNT(*) AS n FROM a [PARTITION BY g ROWS 3] EMIT ON ARRIVAL"))


def test_the_planner_knows_no_operator() -> None:
    program = (
        "import sys, types; package = types.ModuleType('joinfold'); package.__path__ = [sys.argv[1]]\n"
        "sys.modules['joinfold'] = package; import joinfold.planner.planning, joinfold.explain.costs_page\n"
        "assert not [name for name in sys.modules if name.startswith(('joinfold.operators', 'pyspark'))]"
    )
    subprocess.run([sys.executable, "-c", program, jf.__path__[0]], check=True)
