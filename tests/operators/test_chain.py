"""Joins over different keys as chains of folds, without Spark, against the definition and against one fold."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joinfold.dialect import bind, parse, read_schema
from joinfold.inprocess import InProcess
from joinfold.logical.query import LogicalQuery, Source
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.reference import naive
from joinfold.reference.streaming import stream
from tests import refusals
from tests.operators.chains import chain_of
from tests.operators.runs import answer, answers_when_made_anew, check_batches, feed
from tests.operators.test_machine import scattered
from tests.strategies import Case, assert_same_answers, cases

MODES = ("default", "slide", "every", "trigger", "full")


def keys(left: str, right: str) -> st.SearchStrategy[str]:
    """Equalities over columns that differ from link to link, so that keys seldom run through all inputs."""
    links = [("k", "k"), ("j", "j"), ("v", "w"), ("w", "v"), ("k", "k AND {l}.j = {r}.j")]
    return st.sampled_from([f"{left}.{one} = {right}.{two.format(l=left, r=right)}" for one, two in links])


def closer(case: Case) -> Case:
    """The same with rows that lie close together in time and have few values to be joined by."""

    def moved(row: dict[str, Any]) -> dict[str, Any]:
        few = {name: None if row[name] is None else row[name] % 2 for name in ("v", "w")}
        return row | few | {"ts": row["ts"] % 9, "j": row["j"] and row["j"][0]}

    return replace(case, data={name: [moved(row) for row in rows] for name, rows in case.data.items()})


def joined(inputs: tuple[int, int], rows: tuple[int, int]) -> st.SearchStrategy[Case]:
    least, most = rows
    return cases(MODES, False, inputs, most, least, connection=keys, tree=True, relations=False)


trees = st.one_of(joined((3, 3), (0, 8)), joined((3, 3), (6, 10)), joined((4, 5), (3, 4))).map(closer)


def planned(case: Case, root: int) -> PlannedQuery:
    """A plan with the root that is asked for, where it can have one."""
    query = case.bind()
    plan = refusals.planned(query, case.text)
    assume(plan is not None)
    assert plan is not None
    if plan.root is None:
        return plan
    return plan_query(query, Plan(root=query.inputs[root % len(query.inputs)].alias))


@given(case=trees, root=st.integers(0, 4), buckets=st.integers(1, 3))
def test_bounded_chains_answer_as_defined_whatever_the_root(case: Case, root: int, buckets: int) -> None:
    plan = planned(case, root)
    machine = InProcess(plan, buckets)
    feed(machine, case.data)
    assert_same_answers(naive.answers(plan.query, case.data), answer(machine, to_the_end=True))


@given(case=trees, root=st.integers(0, 4), data=st.data())
def test_streaming_chains_answer_as_defined_and_count_late_rows(case: Case, root: int, data: st.DataObject) -> None:
    plan, batches = planned(case, root), scattered(case, data)
    machine, answered = InProcess(plan, 2), []
    for batch in batches:
        feed(machine, batch)
        answered += answer(machine)
    expected = stream(plan.query, batches)
    assert_same_answers(expected.answers, answered)
    assert machine.late == expected.late


@given(case=trees, root=st.integers(0, 4), data=st.data())
def test_buckets_of_a_chain_made_anew_from_their_entries_go_on_as_before(
    case: Case, root: int, data: st.DataObject
) -> None:
    plan, batches = planned(case, root), scattered(case, data)
    assert_same_answers(stream(plan.query, batches).answers, answers_when_made_anew(plan, batches))


AGGREGATES = (
    "COUNT(*)",
    "SUM({x}.v)",
    "SUM({x}.v * {y}.v)",
    "AVG({x}.d)",
    "SUM({x}.d * {y}.d)",
    "MAX({x}.v)",
    "MIN({x}.d)",
    "MAX({x}.s)",
    "VAR_POP({x}.d)",
    "CORR({x}.d, {y}.v)",
    "COUNT(*) FILTER (WHERE {x}.v > 0)",
    "MAX({x}.v) FILTER (WHERE {y}.v > 0)",
)
KEYS = (("k1", "k1"), ("k1", "k2"), ("k2", "k2"), ("k3", "k3"), ("k2", "k1"))
WINDOWS = ("[6 MICROSECOND SLIDE 2 MICROSECOND]", "[TUMBLE 3 MICROSECOND]", "[8 MICROSECOND]", "[UNBOUNDED]")


def dense(draws: random.Random) -> tuple[LogicalQuery, list[dict[str, list[dict[str, Any]]]]]:
    """A query over a tree of keys whose rows nearly all find partners, and three micro-batches for it."""
    aliases = "abcd"[: draws.choice((3, 3, 4))]
    links = [(draws.choice(aliases[:ordinal]), alias) for ordinal, alias in enumerate(aliases) if ordinal]
    where = [f"{one}.{own} = {two}.{other}" for one, two in links for own, other in [draws.choice(KEYS)]]
    measures = [
        draws.choice(AGGREGATES).format(x=draws.choice(aliases), y=draws.choice(aliases))
        for _ in range(draws.randint(1, 3))
    ]
    groups = [f"{alias}.s" for alias in aliases if draws.random() < 0.3]
    shown = ", ".join(f"{part} AS o{number}" for number, part in enumerate([*groups, *measures]))
    windows = [WINDOWS[0], *(draws.choice(WINDOWS) for _ in aliases[1:])]
    text = f"SELECT {shown} FROM {', '.join(map(' '.join, zip(aliases, windows, strict=True)))}"
    text += f" WHERE {' AND '.join(where)}" + (f" GROUP BY {', '.join(groups)}" if groups else "")
    is_linear = "VAR" not in text and "CORR" not in text  # a deviation that is 0 but for rounding is not 0
    text += draws.choice(("", "", " CHANGES")) if is_linear else ""
    schema = read_schema("ts TIMESTAMP, k1 INT, k2 INT, k3 STRING, v BIGINT, d DOUBLE, s STRING")
    query = bind(parse(text), {alias: Source(alias, schema, True, "ts", draws.choice((0, 3))) for alias in aliases})

    def row(batch: int) -> dict[str, Any]:
        number = draws.choice((-(2**50), -1, 0, 1, 2, 3, None))
        return {
            "ts": 5 * batch + draws.randint(0, 6),
            "k1": draws.choice((1, 1, 2, None)),
            "k2": draws.choice((1, 2)),
            "k3": draws.choice(("1", "2", "1")),
            "v": number if is_linear and "* " not in text else draws.randint(-3, 3),
            "d": draws.choice((0.5, -1.25, 1e6 + 0.1, 3.0, None)) if is_linear else draws.choice((0.5, -1.25, 1024.0)),
            "s": draws.choice("xyz"),
        }

    rows = 9 if len(aliases) == 3 else 4
    return query, [
        {alias: [row(batch) for _ in range(draws.randint(0, rows))] for alias in aliases} for batch in range(3)
    ]


@given(draws=st.integers(0, 2**32).map(random.Random), buckets=st.integers(1, 3))
def test_every_root_and_one_fold_answer_alike(draws: random.Random, buckets: int) -> None:
    query, batches = dense(draws)
    plans = [plan_query(query)]
    plans += [plan_query(query, Plan(root=input_.alias)) for input_ in query.inputs if plans[0].root]
    plans.append(plan_query(query, Plan(order=tuple(input_.alias for input_ in query.inputs))))
    expected = stream(query, batches)
    for plan in plans:
        machine, answered = InProcess(plan, buckets), []
        for batch in batches:
            feed(machine, batch)
            answered += answer(machine)
        assert_same_answers(expected.answers, answered)
        assert machine.late == expected.late


@pytest.mark.parametrize("alias", ["c", "view of a, b"])
def test_an_input_may_be_called_what_a_view_is(alias: str) -> None:
    window = "[TUMBLE 1 MICROSECOND]"
    text = (
        f"SELECT a.s, COUNT(*) AS n FROM a {window}, b {window}, c `{alias}` {window} "
        f"WHERE a.k = b.k AND b.j = `{alias}`.j GROUP BY a.s OPTION (root = '{alias}')"
    )
    plan = chain_of(text, "k INT, j INT, s INT", "abc")
    batches = [{name: [{"ts": ts, "k": 1, "j": ts % 3, "s": ts // 2}] for name in "abc"} for ts in range(6)]
    assert len(check_batches(InProcess(plan, 2), batches)) == 5
