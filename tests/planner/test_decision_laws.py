"""Laws of what plans cost: numbers for any query, the usual plan where nothing is known, and more for more."""

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import QueryError
from joinfold.planner.cost.estimates import Estimate
from joinfold.planner.cost.weights import shipped_weights
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from tests import refusals
from tests.planner.known import (
    NAMES,
    WINDOW,
    chain_of,
    common_key,
    decision_of,
    drawn_statistics,
    plans_in_seconds,
    query_of,
    unknown,
)


def numbers_of(estimate: Estimate) -> list[float]:
    return [
        number
        for stage in estimate.stages
        for number in (stage.cpu, stage.state_bytes, stage.memory_bytes, stage.shuffle_bytes)
    ]


def check_numbers(plan: PlannedQuery) -> None:
    decision = decision_of(plan)
    assert decision.chosen in decision.alternatives
    costs = [other.estimate.cpu for other in decision.alternatives]
    assert costs == sorted(costs)
    for other in decision.alternatives:
        numbers = numbers_of(other.estimate)
        assert all(isfinite(number) and number >= 0 for number in numbers), other.title


def check_usual(usual: PlannedQuery) -> None:
    """Where nothing is known the plan is the usual one, whatever it is estimated to cost."""
    plan = plan_query(usual.query, None, unknown(len(usual.frames)))
    assert (plan.pipeline, plan.choices, plan.root) == (usual.pipeline, usual.choices, usual.root)
    check_numbers(plan)


@given(usual=plans_in_seconds((1, 5)))
def test_any_query_has_its_usual_plan_where_nothing_is_known(usual: PlannedQuery) -> None:
    check_usual(usual)


@given(usual=plans_in_seconds((1, 5)), data=st.data())
def test_any_query_has_a_plan_whatever_is_known(usual: PlannedQuery, data: st.DataObject) -> None:
    statistics = drawn_statistics(data, usual)
    check_numbers(plan_query(usual.query, None, statistics, shipped_weights()))


WINDOWS = (
    WINDOW,
    "[TUMBLE 5 SECOND]",
    "[10 SECOND]",
    "[UNBOUNDED]",
    "[ROWS 100 SLIDE 10]",
    "[RANGE 10 SECOND SLIDE 5 ROWS]",
    "[PARTITION BY g ROWS 3]",
)
CLAUSES = ("EMIT EVERY 2 SECONDS", "EMIT ON TRIGGER", "EMIT ON ARRIVAL", "SYNC ON WINDOW ID", "EMIT ON TRIGGER CHANGES")


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("clause", ["", *CLAUSES])
def test_every_kind_of_window_under_every_clause(window: str, clause: str) -> None:
    """Those that the dialect or the engine refuses are left out; what is planned is planned as usual."""
    for inputs in ("a W", "a W, b W", f"a W, b {WINDOW}"):
        for condition in ("a.k = b.k", "a.x < b.x", "a.k = b.k AND a.v <> b.v"):
            where = f" WHERE {condition}" if "b" in inputs else ""
            for select, tail in (("COUNT(*) AS n, MAX(a.v) AS top", ""), ("a.g, SUM(a.d) AS s", " GROUP BY a.g")):
                text = f"SELECT {select} FROM {inputs.replace('W', window)}{where}{tail} {clause}"
                try:
                    query = query_of(text)
                except QueryError as error:
                    refusals.check_refusal(error, refusals.Asked(text))
                    continue
                usual = refusals.planned(query, text)
                if usual is not None:
                    check_usual(usual)


@pytest.mark.parametrize("inputs", range(3, 9))
def test_up_to_eight_streams(inputs: int) -> None:
    cycle = f"{chain_of(inputs)} AND a.x = {NAMES[inputs - 1]}.x"
    texts = (
        chain_of(inputs),
        chain_of(inputs, "b.g, MAX(a.v) AS top", " GROUP BY b.g"),
        chain_of(inputs, window="[UNBOUNDED]") + " EMIT EVERY 1 SECOND",
        common_key(inputs),
        common_key(inputs, "SUM(a.d * b.v) AS s") + " AND a.v <> b.v",
        cycle,
    )
    for text in texts:
        check_usual(plan_query(query_of(text)))
