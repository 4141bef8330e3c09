"""Lets a running query change its choice. Its state is the same under every choice.

It does so if plans were compared by cost, nothing was forced, ``adapt`` is not off, and the answering stage has choices
(`planner.adapting`).
"""

from dataclasses import replace

from joinfold.physical.choice import can_follow
from joinfold.planner.adapting import Following
from joinfold.planner.context import Context
from joinfold.planner.planned_query import PlannedQuery


def follow_data(plan: PlannedQuery, context: Context) -> PlannedQuery:
    """The plan with `Following` set, if its buckets may change their choice."""
    is_fixed = context.wanted.forces or context.wanted.adapt == "off"
    if context.statistics is None or is_fixed or not can_follow(plan.answering):
        return plan
    return replace(plan, following=Following(context.weights, plan.timing.names))
