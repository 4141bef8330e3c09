"""A running query may change its choice, since state is the same whatever it is.

It does so where plans were compared by cost, nothing was forced, and there is anything to choose (`planner.adapting`).
"""

from dataclasses import replace

from joinfold.physical.choice import can_follow
from joinfold.planner.adapting import Following
from joinfold.planner.context import Context
from joinfold.planner.planned_query import PlannedQuery


def follow_data(plan: PlannedQuery, context: Context) -> PlannedQuery:
    """Lets buckets follow the data."""
    is_bound = context.wanted.forces or context.wanted.adapt == "off"
    if context.statistics is None or is_bound or not can_follow(plan.answering):
        return plan
    return replace(plan, following=Following(context.weights, plan.timing.names))
