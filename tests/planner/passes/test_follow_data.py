"""A running query follows the data where there is anything to choose and nothing is forced."""

from joinfold.planner.adapting import Following
from joinfold.planner.drafting.draft import draft
from joinfold.planner.forcing import Plan
from joinfold.planner.passes.follow_data import follow_data
from tests.planner.known import (
    CONDITION,
    SETS,
    context,
    query_of,
    unknown,
)


def test_a_choice_follows_the_data_unless_it_is_forced() -> None:
    plan = draft(query_of(CONDITION))
    assert follow_data(plan, context(statistics=unknown(2))).following is not None
    for wanted in (Plan(adapt="off"), Plan("tc")):
        assert follow_data(plan, context(wanted, unknown(2))) is plan
    assert follow_data(plan, context()) is plan
    fused = draft(query_of(SETS))
    assert follow_data(fused, context(statistics=unknown(2))) is fused


def test_the_buckets_follow_by_the_prices_that_the_plan_was_chosen_by() -> None:
    known = context(statistics=unknown(2))
    after = follow_data(draft(query_of(CONDITION)), known)
    assert after.following == Following(known.weights, ("a", "b"))
