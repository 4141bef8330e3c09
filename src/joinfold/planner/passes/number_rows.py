"""Adds a first stage that numbers rows, for windows that count rows.

    [ROWS 100 SLIDE 10]     one bucket gets the order of the stream; every bucket gets the row boundaries

That bucket gets the order columns only, not the rows. EMIT ON ARRIVAL needs no such stage, because every bucket
processes all rows in order.
"""

from joinfold.physical.choice import NO_CHOICE
from joinfold.physical.stage import FoldAtArrivals, NumberRows
from joinfold.planner.context import Context
from joinfold.planner.planned_query import PlannedQuery, with_stages


def number_rows(plan: PlannedQuery, context: Context) -> PlannedQuery:
    """The plan with a first stage that numbers the rows of streams with counting windows."""
    counting = plan.timing.counting
    if not counting or isinstance(plan.answering, FoldAtArrivals):
        return plan
    return with_stages(plan, (NumberRows(counting), *plan.stages), (NO_CHOICE, *plan.choices))
