"""The decision for a plan: the alternatives, what each would cost, which one is taken, and why.

A forced plan is taken whatever it costs. If nothing is known about the streams, the usual plan is taken: estimates are
shown, but not followed. Otherwise the cheapest plan is taken.

A join over different keys becomes the cheapest chain of folds, unless one fold of all inputs is cheaper by the factor
`BY_FAR`. The cost of one fold depends on the number of combinations, which is the least certain estimate, and a
checkpoint cannot change from one fold to a chain or back.
"""

import os
from dataclasses import replace
from math import inf

from joinfold.planner.chaining import in_chain, needs_chain
from joinfold.planner.context import Context
from joinfold.planner.cost.estimates import Alternative, Decision
from joinfold.planner.cost.estimating import Setting, estimate
from joinfold.planner.cost.windows import flows_of, instants_per_second
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.search import choice_title, fold_choices
from joinfold.planner.warnings import decision_warnings
from joinfold.types import BIGINT

BY_FAR = 2.0
ALIKE = 0.95


def decide(plan: PlannedQuery, requested: PlannedQuery, context: Context) -> Decision:
    """The decision among one stage of all inputs and chains; ``requested`` is the forced plan, else the usual one."""
    assert context.statistics is not None
    setting = Setting.of(plan, context.statistics, context.weights, os.cpu_count() or 1)
    usual = _alternative(setting, requested)
    others = [
        other
        for other in _alternatives(plan, setting)
        if (other.plan.choices, other.plan.root) != (requested.choices, requested.root)
    ]
    ranked = sorted((usual, *others), key=lambda other: other.estimate.cpu)
    if context.roots is not None and not context.wanted.forces:
        ranked = [other for other in ranked if other.plan.root in context.roots] or ranked
    taken = usual if usual in ranked else ranked[0]
    if context.wanted.forces:
        chosen, reason = taken, f"the plan is forced; {_beside(taken, ranked)}"
    elif not setting.statistics.is_known:
        reason = "nothing is known about the streams, so this is the usual plan and its costs are guesses"
        chosen = taken
    else:
        chosen, reason = _cheapest(taken, ranked)
    has_seconds = all(input_.source.clock != BIGINT for input_ in plan.query.streams)
    cores = os.cpu_count() or 1 if has_seconds else inf  # on an integer clock a second has no meaning
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    warnings = decision_warnings(chosen.estimate, cores, memory) if setting.statistics.is_known else ()
    return Decision(tuple(ranked), chosen, reason, setting.statistics, warnings)


def _cheapest(usual: Alternative, ranked: list[Alternative]) -> tuple[Alternative, str]:
    """The plan to take and why: the cheapest, with two exceptions.

    The usual plan, if the cheapest is hardly cheaper. A chain, if the cheapest is one fold that is not cheaper by far.
    """
    cheapest, chains = ranked[0], [other for other in ranked if other.plan.root is not None]
    if chains and cheapest.plan.root is None and BY_FAR * cheapest.estimate.cpu > chains[0].estimate.cpu:
        cheapest = chains[0]
    if usual is not cheapest and ALIKE * usual.estimate.cpu <= cheapest.estimate.cpu:
        return usual, "it is the usual plan, and no other is estimated to be more than 5% cheaper"
    if cheapest is ranked[0]:
        return cheapest, f"it is estimated to be the cheapest; {_beside(cheapest, ranked)}"
    return cheapest, f"its cost does not depend on the number of combinations; {_beside(cheapest, ranked)}"


def _beside(chosen: Alternative, ranked: list[Alternative]) -> str:
    """Compares a plan with the cheapest of the others, in words."""
    others = [other for other in ranked if other is not chosen]
    if not others:
        return "there is no other plan"
    best, cpu = others[0], chosen.estimate.cpu
    ratio = best.estimate.cpu / cpu if cpu else 1.0
    if ratio < ALIKE:
        return f"'{best.title}' would take {ratio:.0%} of its CPU"
    if ratio < 1 / ALIKE:
        return f"'{best.title}' would take about as much CPU"
    return f"the next best, '{best.title}', would take {ratio:.2g} times its CPU"


def _alternatives(plan: PlannedQuery, setting: Setting) -> list[Alternative]:
    """All plans that are compared."""
    found = []
    if needs_chain(plan.answering):
        found += [_alternative(setting, in_chain(plan, root)) for root in range(plan.timing.streams)]
    *_, flows = flows_of(plan.pipeline, setting.statistics)
    instants = instants_per_second(plan.timing, setting.statistics)
    for _, choice in fold_choices(setting, plan.answering, flows, instants):
        found.append(_alternative(setting, replace(plan, choices=(*plan.choices[:-1], choice))))
    return found


def _alternative(setting: Setting, plan: PlannedQuery) -> Alternative:
    title = f"a chain of folds to {plan.root}" if plan.root is not None else ""
    title = title or choice_title(plan.answering, plan.choice, plan.timing.names)
    return Alternative(title, plan, estimate(setting, plan))
