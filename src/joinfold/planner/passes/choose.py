"""Which stages join, and what is chosen for each: what is asked for, the usual, or the cheapest that is estimated.

Where nothing is known of the streams, nothing is estimated. A join over different keys may be one stage or a chain of
them (`planner.chaining`); for each there are choices (`planner.search`).
"""

from dataclasses import replace

from joinfold.planner.context import Context
from joinfold.planner.deciding import decide
from joinfold.planner.forcing import as_asked
from joinfold.planner.planned_query import PlannedQuery


def choose(plan: PlannedQuery, context: Context) -> PlannedQuery:
    """The plan as asked for or as usual; with statistics, the one that is decided for."""
    asked = as_asked(plan, context.wanted)
    if context.statistics is None:
        return asked
    decision = decide(plan, asked, context)
    chosen = decision.chosen.plan
    return replace(plan, pipeline=chosen.pipeline, choices=chosen.choices, root=chosen.root, decision=decision)
