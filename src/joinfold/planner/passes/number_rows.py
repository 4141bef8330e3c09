"""Windows that count rows move where rows have certain numbers, so some stage has to number them first.

    [ROWS 100 SLIDE 10]     the order of the stream goes through one bucket; every bucket gets the boundaries

Only orders go there, not the rows. EMIT ON ARRIVAL needs no such stage: every bucket goes through all rows anyhow.
"""

from joinfold.physical.choice import NO_CHOICE
from joinfold.physical.stage import FoldAtArrivals, NumberRows
from joinfold.planner.context import Context
from joinfold.planner.planned_query import PlannedQuery, with_stages


def number_rows(plan: PlannedQuery, context: Context) -> PlannedQuery:
    """A first stage that numbers the rows of the streams that are counted."""
    counting = plan.timing.counting
    if not counting or isinstance(plan.answering, FoldAtArrivals):
        return plan
    return with_stages(plan, (NumberRows(counting), *plan.stages), (NO_CHOICE, *plan.choices))
