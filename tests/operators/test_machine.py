"""PACK, FOLD and MERGE together, without Spark, against the definition."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.planner.planned_query import PlannedQuery
from joinfold.reference import naive
from joinfold.reference.streaming import stream
from tests import refusals
from tests.operators.runs import answer, answers_when_made_anew, feed, plan_of
from tests.strategies import Case, assert_same_answers, cases

RUNS = ("default", "slide", "every", "trigger", "full", "arrival")


def keys(left: str, right: str) -> st.SearchStrategy[str]:
    """Joins by equality."""
    return st.sampled_from(
        [
            f"{left}.k = {right}.k",
            f"{left}.k = {right}.k AND {left}.j = {right}.j",
            f"{left}.v = {right}.w",
            f"UPPER({left}.j) = UPPER({right}.j)",
            f"{left}.k = {right}.k AND {left}.w = {right}.v AND {left}.w = {left}.v",
        ]
    )


runnable = cases(modes=RUNS, plain=False, inputs=(1, 2), connection=keys)


def planned(case: Case) -> PlannedQuery | None:
    """The plan; None for what no engine runs yet."""
    return refusals.planned(case.bind(), case.text)


@given(case=runnable, buckets=st.integers(1, 3))
def test_bounded_runs_answer_as_defined(case: Case, buckets: int) -> None:
    plan = planned(case)
    if plan is not None:
        machine = InProcess(plan, buckets)
        feed(machine, case.data)
        assert_same_answers(naive.answers(plan.query, case.data), answer(machine, to_the_end=True))


@given(case=runnable, buckets=st.integers(1, 3), data=st.data())
def test_streaming_runs_answer_as_defined_and_count_late_rows(case: Case, buckets: int, data: st.DataObject) -> None:
    plan = planned(case)
    if plan is None:
        return
    batches = scattered(case, data)
    expected = stream(plan.query, batches)
    machine = InProcess(plan, buckets)
    answered: list[tuple[Any, ...]] = []
    for batch in batches:
        feed(machine, batch)
        answered += answer(machine)
    assert_same_answers(expected.answers, answered)
    assert machine.late == expected.late


@given(case=runnable, data=st.data())
def test_a_bucket_made_anew_from_its_entries_goes_on_as_before(case: Case, data: st.DataObject) -> None:
    plan = planned(case)
    if plan is None:
        return
    batches = scattered(case, data)
    assert_same_answers(stream(plan.query, batches).answers, answers_when_made_anew(plan, batches))


def scattered(case: Case, data: st.DataObject) -> list[dict[str, list[dict[str, Any]]]]:
    """The rows in three micro-batches, in any order; those of relations in the first."""
    batches: list[dict[str, list[dict[str, Any]]]] = [{name: [] for name in case.data} for _ in range(3)]
    for name, rows in case.data.items():
        for row in rows:
            number = data.draw(st.integers(0, 2)) if case.catalog[name].is_stream else 0
            batches[number][name].append(row)
    return batches


@pytest.mark.parametrize("pairs", [10**3, 10**5, 10**7])
def test_state_is_linear_in_the_rows_whatever_the_pairs(pairs: int) -> None:
    """n rows on each side, all with one key: n² pairs, and one entry per cell."""
    text = (
        "SELECT COUNT(*) AS n, SUM(a.v * b.v) AS s FROM a [100 MICROSECOND SLIDE 10 MICROSECOND], "
        "b [100 MICROSECOND SLIDE 10 MICROSECOND] WHERE a.k = b.k"
    )
    rows = [{"ts": ordinal % 50, "k": 1, "v": ordinal} for ordinal in range(int(pairs**0.5))]
    machine = InProcess(plan_of(text, "k INT, v BIGINT"))
    accepted = feed(machine, {"a": rows, "b": rows})
    answered = answer(machine, to_the_end=True)
    total = sum(row["v"] for row in rows)
    assert max(answered, key=lambda row: row[1])[1:] == (len(rows) ** 2, total**2)
    assert sum(entries.num_rows for _, entries in accepted[0]) <= 2 * 5
