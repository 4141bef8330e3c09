"""The planner: drafts one stage that joins all inputs, and runs passes that turn the draft into a plan."""

from collections.abc import Callable

from joinfold.logical.query import LogicalQuery
from joinfold.logical.shedding import Sampler
from joinfold.physical.choice import usual_choice
from joinfold.planner.chaining import needs_chain
from joinfold.planner.context import Context
from joinfold.planner.cost.weights import Weights, usual_weights
from joinfold.planner.drafting.draft import draft
from joinfold.planner.forcing import Plan
from joinfold.planner.passes.choose import choose
from joinfold.planner.passes.choose_sampler import choose_sampler
from joinfold.planner.passes.follow_data import follow_data
from joinfold.planner.passes.keep_last_rows import keep_last_rows
from joinfold.planner.passes.number_rows import number_rows
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.stream_statistics import Statistics

Pass = Callable[[PlannedQuery, Context], PlannedQuery]

PASSES: tuple[Pass, ...] = (choose_sampler, number_rows, keep_last_rows, choose, follow_data)


def plan_query(
    query: LogicalQuery | PlannedQuery,
    forced: Plan | None = None,
    statistics: Statistics | None = None,
    weights: Weights | None = None,
    roots: frozenset[str | None] | None = None,
    sampler: Sampler | None = None,
) -> PlannedQuery:
    """The plan of a query or of its draft. ``forced`` overrides OPTION.

    With ``statistics`` the plan is chosen by cost. ``weights`` are the prices of operations, by default those of this
    machine. If ``roots`` is given, only plans with one of these roots are considered; if ``sampler`` is, SHED samples
    by it. Raises `QueryError` for a forced plan that cannot run, and for a query that no engine runs yet.
    """
    plan = query if isinstance(query, PlannedQuery) else draft(query)
    wanted = Plan.wanted(plan.query.options, forced)
    context = Context(wanted, statistics, weights or usual_weights(), roots, sampler)
    for change in PASSES:
        plan = change(plan, context)
    return plan


def has_rival(drafted: PlannedQuery) -> bool:
    """Whether several plans must be compared: not if aggregation sets by key answer the query in one stage."""
    nothing = Context(Plan(), None, usual_weights())
    stage = keep_last_rows(drafted, nothing).answering
    return needs_chain(stage) or usual_choice(stage).windows != "sets"
