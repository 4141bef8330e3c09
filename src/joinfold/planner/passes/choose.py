"""Chooses the stages that join and the choice for each: the forced plan, the usual plan, or the cheapest one.

A join over different keys may be one stage or a chain of stages (`planner.chaining`). Each stage has its choices
(`planner.search`).
"""

from dataclasses import replace

from joinfold.planner.context import Context
from joinfold.planner.deciding import decide
from joinfold.planner.forcing import as_asked
from joinfold.planner.planned_query import PlannedQuery


def choose(plan: PlannedQuery, context: Context) -> PlannedQuery:
    """The forced or usual plan without statistics; with statistics, the plan that `decide` takes."""
    requested = as_asked(plan, context.wanted)
    if context.statistics is None:
        return requested
    decision = decide(plan, requested, context)
    chosen = decision.chosen.plan
    return replace(plan, pipeline=chosen.pipeline, choices=chosen.choices, root=chosen.root, decision=decision)
