"""Laws of what plans cost: numbers for any query, the usual plan where nothing is known, and more for more."""

from dataclasses import replace
from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import QueryError
from joinfold.planner.cost.engine import OPERATIONS, Amounts
from joinfold.planner.cost.estimates import Estimate
from joinfold.planner.cost.estimating import Setting, stages_of
from joinfold.planner.cost.weights import Weights, shipped_weights
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.planner.stream_statistics import Statistics, StreamStatistics
from tests import refusals
from tests.planner.known import (
    CONDITION,
    JOINED,
    NAMES,
    SETS,
    WINDOW,
    chain_of,
    common_key,
    decision_of,
    drawn_statistics,
    estimated,
    faster,
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


@given(usual=plans_in_seconds(), data=st.data(), times=st.sampled_from([1.01, 2.0, 100.0]))
def test_more_rows_never_cost_less(usual: PlannedQuery, data: st.DataObject, times: float) -> None:
    """Nor do they take less memory or travel less, whichever stream they are of and whatever the plan."""
    few = drawn_statistics(data, usual)
    many = faster(few, data.draw(st.integers(0, len(usual.frames) - 1)), times)
    plan = plan_query(usual.query, None, few, shipped_weights())
    for other in decision_of(plan).alternatives:
        before, after = (estimated(other.plan, known) for known in (few, many))
        assert after.cpu >= before.cpu * (1 - 1e-9), other.title
        assert after.memory_bytes >= before.memory_bytes * (1 - 1e-9), other.title
        assert after.shuffle_bytes >= before.shuffle_bytes * (1 - 1e-9), other.title


TEXTS = (
    SETS,
    SETS.replace("COUNT(*)", "MAX(b.v)"),
    CONDITION,
    f"SELECT COUNT(*) AS n {JOINED} AND a.x < b.x",
    f"SELECT a.v, b.v AS w {JOINED}",
    f"SELECT a.g, COUNT(*) AS n FROM a {WINDOW} GROUP BY a.g",
    chain_of(4),
)


@given(text=st.sampled_from(TEXTS), data=st.data(), times=st.sampled_from([2, 30, 1_000]))
def test_larger_windows_of_the_same_cells_never_take_less_state_or_memory(
    text: str, data: st.DataObject, times: int
) -> None:
    small, large = (plan_query(query_of(text.replace("10 SECOND", f"{10 * more} SECOND"))) for more in (1, times))
    statistics = drawn_statistics(data, small)
    chosen = plan_query(small.query, None, statistics, shipped_weights())
    for other in decision_of(chosen).alternatives:
        if other.plan.root == small.root:
            before = estimated(replace(small, choices=other.plan.choices), statistics)
            after = estimated(replace(large, choices=other.plan.choices), statistics)
            assert after.state_bytes >= before.state_bytes * (1 - 1e-9), other.title
            assert after.memory_bytes >= before.memory_bytes * (1 - 1e-9), other.title


def test_costs_are_amounts_times_prices() -> None:
    weights = Weights(dict.fromkeys(OPERATIONS, 0.5) | {"instant": 2.0})
    assert weights.cost(Amounts({"instant": 3.0, "hash probe": 4.0})) == 8.0
    assert weights.cost(Amounts()) == 0.0


def test_every_operation_that_is_counted_has_a_price_and_every_price_is_of_an_operation_that_is() -> None:
    counted: set[str] = set()
    known = StreamStatistics(100, 4, 3)
    plans = [
        Plan(method, (), dict.fromkeys("ab", index)) for method in ("ic", "tc", "pc") for index in ("list", "hash")
    ]
    plans += [Plan("ic", ("a", "b"), dict.fromkeys("ab", index)) for index in ("btree", "ttree")]
    found = [(CONDITION, plan) for plan in plans] + [
        (text, None) for text in (*TEXTS, SETS.replace("COUNT(*)", "MAX(b.v)"))
    ]
    found += [(f"SELECT SUM(a.x + b.x) AS s {JOINED}", None)]
    found += [(f"SELECT COUNT(*) AS n FROM a [ROWS 9 SLIDE 1], b {WINDOW} WHERE a.k = b.k", None)]
    found += [("SELECT COUNT(*) AS n FROM a [10 SECOND], b [10 SECOND] WHERE a.k = b.k EMIT ON ARRIVAL", None)]
    for text, forced in found:
        plan = plan_query(query_of(text), forced)
        setting = Setting.of(plan, Statistics((known,) * len(plan.frames)), shipped_weights())
        for stage in stages_of(setting, plan):
            counted |= {name for name, amount in stage.amounts.items() if amount}
    assert counted == set(OPERATIONS)
