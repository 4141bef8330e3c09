"""The passes in their order, and which queries have more than one plan."""

import pytest

from joinfold.planner.cost.engine import OPERATIONS
from joinfold.planner.cost.weights import Weights
from joinfold.planner.drafting.draft import draft
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import PASSES, has_rival, plan_query
from joinfold.planner.stream_statistics import Statistics
from tests.planner.known import (
    CONDITION,
    LAST,
    ROWS,
    SETS,
    WINDOW,
    chain_of,
    decision_of,
    query_of,
    stream,
)


def test_the_passes_read_aloud() -> None:
    assert [change.__name__ for change in PASSES] == [
        *("choose_sampler", "number_rows", "keep_last_rows", "choose", "follow_data")
    ]


@pytest.mark.parametrize(
    ("text", "rival"),
    [
        (SETS, False),
        (CONDITION, True),
        (chain_of(3), True),
        (f"SELECT MAX(a.v) AS top FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k", False),
        (f"SELECT MAX(a.v) AS top FROM a {LAST}, b {WINDOW} WHERE a.k = b.k", True),
    ],
)
def test_where_sets_answer_there_is_no_other_plan(text: str, rival: bool) -> None:
    assert has_rival(draft(query_of(text))) == rival


def test_an_option_of_the_query_and_what_is_forced_besides_go_together() -> None:
    query = query_of(f"{CONDITION} OPTION (method = tc)")
    plan = plan_query(query, Plan(early=()))
    assert (plan.choice.method, plan.choice.early) == ("tc", frozenset())


def test_a_draft_goes_through_the_same_passes_as_its_query() -> None:
    query = query_of(f"SELECT COUNT(*) AS n FROM a {ROWS}, b {LAST} WHERE a.k = b.k")
    assert plan_query(draft(query)) == plan_query(query)
    assert len(plan_query(query).stages) == 3


def test_the_weights_of_this_machine_decide_unless_others_are_given() -> None:
    free = Weights(dict.fromkeys(OPERATIONS, 0.0))
    statistics = Statistics((stream(10, 2), stream(10, 2)))
    mine, theirs = (plan_query(query_of(CONDITION), None, statistics, weights) for weights in (None, free))
    assert decision_of(mine).chosen.estimate.cpu > 0 == decision_of(theirs).chosen.estimate.cpu
