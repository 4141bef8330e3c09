"""The planner: a draft of one stage that joins everything, and passes that make a plan of it."""

from collections.abc import Callable

from joinfold.logical.query import LogicalQuery
from joinfold.physical.choice import usual_choice
from joinfold.planner.chaining import needs_chain
from joinfold.planner.context import Context
from joinfold.planner.cost.weights import Weights, usual_weights
from joinfold.planner.drafting.draft import draft
from joinfold.planner.forcing import Plan
from joinfold.planner.passes.choose import choose
from joinfold.planner.passes.follow_data import follow_data
from joinfold.planner.passes.keep_last_rows import keep_last_rows
from joinfold.planner.passes.number_rows import number_rows
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.stream_statistics import Statistics

Pass = Callable[[PlannedQuery, Context], PlannedQuery]

PASSES: tuple[Pass, ...] = (number_rows, keep_last_rows, choose, follow_data)


def plan_query(
    query: LogicalQuery | PlannedQuery,
    forced: Plan | None = None,
    statistics: Statistics | None = None,
    weights: Weights | None = None,
    roots: frozenset[str | None] | None = None,
) -> PlannedQuery:
    """The plan of a query, or of its draft, with what is forced besides OPTION.

    With ``statistics`` it is chosen by cost, with the weights of this machine unless others are given, among plans with
    one of the ``roots``, if these are given. Raises `QueryError` for what cannot be, or no engine runs yet.
    """
    plan = query if isinstance(query, PlannedQuery) else draft(query)
    wanted = Plan.wanted(plan.query.options, forced)
    context = Context(wanted, statistics, weights or usual_weights(), roots)
    for change in PASSES:
        plan = change(plan, context)
    return plan


def has_rival(drafted: PlannedQuery) -> bool:
    """Whether more than one plan is worth a look: not where sets by key answer in one stage."""
    nothing = Context(Plan(), None, usual_weights())
    stage = keep_last_rows(drafted, nothing).answering
    return needs_chain(stage) or usual_choice(stage).windows != "sets"
