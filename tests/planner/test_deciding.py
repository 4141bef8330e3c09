"""What is decided: what is asked for, the usual plan where nothing is known, else the cheapest, and why."""

from dataclasses import replace

import pytest

from joinfold.physical.choice import usual_choice
from joinfold.planner.cost.weights import shipped_weights
from joinfold.planner.deciding import ALIKE, BY_FAR
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import plan_query
from joinfold.planner.stream_statistics import Statistics
from tests.planner.known import (
    BAND,
    CONDITION,
    FEW_GROUPS,
    FEW_MATCHES,
    LONG,
    SETS,
    chain_of,
    decision_of,
    planned,
    query_of,
    stream,
)


def test_one_fold_takes_the_place_of_a_chain_only_if_it_is_cheaper_by_far() -> None:
    """Windows that hold next to nothing have next to no combinations, but estimates of these are not trusted."""
    ratios = []
    for rate in (0.01, 1.0, 100.0):
        decision = decision_of(planned(chain_of(3), *(stream(rate, 1_000),) * 3))
        chains, folds = (
            min(other.estimate.cpu for other in decision.alternatives if (other.plan.root is None) == is_one)
            for is_one in (False, True)
        )
        ratios.append(chains / folds)
        assert (decision.chosen.plan.root is None) == (ratios[-1] > BY_FAR)
    assert max(ratios) > 1 > min(ratios)


def test_the_usual_plan_is_kept_where_another_is_hardly_cheaper() -> None:
    kept = 0
    for rate in (10.0, 100.0, 1_000.0):
        decision = decision_of(planned(CONDITION, stream(rate, 1_000), stream(rate, 1_000), selectivity=0.5))
        usual = usual_choice(decision.chosen.plan.answering)
        (own,) = (other for other in decision.alternatives if other.plan.choice == usual)
        least = decision.alternatives[0].estimate.cpu
        assert (decision.chosen is own) == (ALIKE * own.estimate.cpu <= least)
        kept += decision.chosen is own and least < own.estimate.cpu
        if decision.chosen is not own:
            assert decision.chosen is decision.alternatives[0]
    assert kept


@pytest.mark.parametrize(
    "forced",
    [
        Plan("pc"),
        Plan("ic", ()),
        Plan(index={"a": "list", "b": "list"}),
        Plan("tc", ("a",), {"a": "ttree(node_size=9)"}, ("b", "a")),
    ],
)
def test_a_forced_plan_is_kept_whatever_it_costs(forced: Plan) -> None:
    plan = planned(BAND, *FEW_GROUPS, selectivity=0.9, plan=forced)
    assert plan.choices == plan_query(query_of(BAND), forced).choices
    assert plan.following is None
    assert decision_of(plan).reason.startswith("the plan is forced; ")
    assert decision_of(plan).alternatives[0].estimate.cpu < decision_of(plan).chosen.estimate.cpu


def test_a_forced_root_is_kept() -> None:
    streams = [stream(rate, 1e5) for rate in (1e5, 1e3, 1e3)]
    assert planned(chain_of(3, window=LONG), *streams, plan=Plan(root="c")).root == "c"


@pytest.mark.parametrize("root", ["c", None])
def test_state_that_is_there_keeps_its_root(root: str | None) -> None:
    """Whatever would be cheaper; a plan that is forced may still ask for another, and is refused elsewhere."""
    text, streams = chain_of(3, window=LONG), tuple(stream(rate, 1e5) for rate in (1e5, 1e3, 1e3))
    query, statistics = query_of(text), Statistics(streams)
    assert plan_query(query, None, statistics, shipped_weights()).root == "a"
    kept = plan_query(query, None, statistics, shipped_weights(), roots=frozenset({root}))
    assert kept.root == root and {other.plan.root for other in decision_of(kept).alternatives} == {root}
    forced = plan_query(query, Plan(root="b"), statistics, shipped_weights(), roots=frozenset({root}))
    assert forced.root == "b"


def test_where_nothing_is_known_the_usual_plan_is_taken_although_another_seems_cheaper() -> None:
    guessed = [replace(known, origin="assumed") for known in FEW_MATCHES]
    plan = planned(BAND, *guessed, selectivity=0.002)
    assert plan.choice == usual_choice(plan.answering)
    assert decision_of(plan).reason.startswith("nothing is known about the streams")
    assert decision_of(plan).alternatives[0] is not decision_of(plan).chosen
    known = planned(BAND, guessed[0], FEW_MATCHES[1], selectivity=0.002)
    assert known.choice != plan.choice
    assert decision_of(known).reason.startswith("it is estimated to be the cheapest; ")


def test_a_plan_that_cannot_be_kept_up_with_is_warned_of() -> None:
    fast = stream(1e9, 10, 10)
    (warning,) = decision_of(planned(SETS, fast, fast)).warnings
    assert warning.startswith("the query cannot keep up with its streams")
    guessed = replace(fast, origin="assumed")
    assert decision_of(planned(SETS, guessed, guessed)).warnings == ()
