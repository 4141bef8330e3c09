"""The decision for a plan: what it is chosen among, what each would cost, and why it is the one.

What is forced is taken, and where nothing is known of the streams the usual plan is: estimates are shown, not followed.
Else the cheapest is taken. Of a join over different keys that is a chain of folds, whatever its root, unless one fold
of all inputs is cheaper by far: what it costs depends on the number of combinations, which estimates know least of, and
a checkpoint stays with the one or the other.
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


def decide(plan: PlannedQuery, asked: PlannedQuery, context: Context) -> Decision:
    """The decision among plans with one stage of all inputs, or with chains; ``asked`` is as forced, or as usual."""
    assert context.statistics is not None
    setting = Setting.of(plan, context.statistics, context.weights, os.cpu_count() or 1)
    usual = _alternative(setting, asked)
    others = [
        other
        for other in _alternatives(plan, setting)
        if (other.plan.choices, other.plan.root) != (asked.choices, asked.root)
    ]
    ranked = sorted((usual, *others), key=lambda other: other.estimate.cpu)
    if context.roots is not None and not context.wanted.forces:
        ranked = [other for other in ranked if other.plan.root in context.roots] or ranked
    taken = usual if usual in ranked else ranked[0]
    if context.wanted.forces:
        chosen, reason = taken, f"the plan asks for it; {_beside(taken, ranked)}"
    elif not setting.statistics.is_known:
        chosen, reason = taken, "nothing is known of the streams, so this is the usual plan and its costs are guesses"
    else:
        chosen, reason = _cheapest(taken, ranked)
    has_seconds = all(input_.source.clock != BIGINT for input_ in plan.query.streams)
    cores = os.cpu_count() or 1 if has_seconds else inf  # a clock of its own cannot be kept up with or not
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    warnings = decision_warnings(chosen.estimate, cores, memory) if setting.statistics.is_known else ()
    return Decision(tuple(ranked), chosen, reason, setting.statistics, warnings)


def _cheapest(usual: Alternative, ranked: list[Alternative]) -> tuple[Alternative, str]:
    """The cheapest plan and why, unless it is hardly cheaper than the usual one, or one fold in place of a chain."""
    cheapest, chains = ranked[0], [other for other in ranked if other.plan.root is not None]
    if chains and cheapest.plan.root is None and BY_FAR * cheapest.estimate.cpu > chains[0].estimate.cpu:
        cheapest = chains[0]
    if usual is not cheapest and ALIKE * usual.estimate.cpu <= cheapest.estimate.cpu:
        return usual, "it is the usual plan, and none is estimated to be cheaper by more than a twentieth"
    if cheapest is ranked[0]:
        return cheapest, f"it is estimated to be the cheapest; {_beside(cheapest, ranked)}"
    return cheapest, f"what it costs does not depend on the number of combinations; {_beside(cheapest, ranked)}"


def _beside(chosen: Alternative, ranked: list[Alternative]) -> str:
    """How a plan stands beside the best of the others."""
    others = [other for other in ranked if other is not chosen]
    if not others:
        return "there is no other"
    best, mine = others[0], chosen.estimate.cpu
    ratio = best.estimate.cpu / mine if mine else 1.0
    if ratio < ALIKE:
        return f"'{best.title}' would take {ratio:.0%} of its CPU"
    if ratio < 1 / ALIKE:
        return f"'{best.title}' would take about as much"
    return f"the next best, '{best.title}', would take {ratio:.2g} times its CPU"


def _alternatives(plan: PlannedQuery, setting: Setting) -> list[Alternative]:
    """All plans that are looked at."""
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
