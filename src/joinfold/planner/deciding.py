"""The decision for a plan: what it is chosen among, what each would cost, and why it is the one.

What is forced is taken, and where nothing is known of the streams the usual plan is: estimates are shown, not followed.
Else the cheapest is taken. Of a join over different keys that is a chain of folds, whatever its root, unless one fold
of all inputs is cheaper by far: what it costs depends on the number of combinations, which estimates know least of, and
a checkpoint stays with the one or the other.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

from joinfold.logical.query import LogicalQuery
from joinfold.operators.choice import NO_CHOICE, FoldChoice
from joinfold.operators.layout import FoldLayout
from joinfold.planner.chaining import chain, needs_chain, reading_views, stages_before
from joinfold.planner.cost.windows import flows_of, instants_per_second
from joinfold.planner.costs_warnings import decision_warnings
from joinfold.planner.estimates import Alternative, Decision
from joinfold.planner.estimating import Setting, estimate
from joinfold.planner.forcing import Plan, choose
from joinfold.planner.search import choice_title, fold_choices
from joinfold.types import BIGINT

BY_FAR = 2.0
ALIKE = 0.95


@dataclass(frozen=True, slots=True)
class Question:
    """A query on its way to a decision: one fold of all its inputs, which of them are views, and what is forced.

    ``roots`` are those that it may have, None among them for one fold; all, unless state is there already.
    """

    query: LogicalQuery
    layout: FoldLayout
    partitions: Mapping[int, tuple[str, ...]]
    plan: Plan
    merges: Callable[[FoldLayout], bool]
    roots: frozenset[str | None] | None = None

    @property
    def aliases(self) -> list[str]:
        """The inputs by name."""
        return [input_.alias for input_ in self.query.streams]


def decide(question: Question, setting: Setting) -> Decision:
    """The decision for a plan."""
    usual = _alternative(
        question, setting, *choose(question.query, question.layout, question.partitions, question.plan)
    )
    others = [
        other
        for other in _alternatives(question, setting)
        if (other.choices, other.root) != (usual.choices, usual.root)
    ]
    ranked = sorted((usual, *others), key=lambda other: other.estimate.cpu)
    if question.roots is not None and not question.plan.forces:
        ranked = [other for other in ranked if other.root in question.roots] or ranked
    taken = usual if usual in ranked else ranked[0]
    if question.plan.forces:
        chosen, reason = taken, f"the plan asks for it; {_beside(taken, ranked)}"
    elif not setting.statistics.is_known:
        chosen, reason = taken, "nothing is known of the streams, so this is the usual plan and its costs are guesses"
    else:
        chosen, reason = _cheapest(taken, ranked)
    has_seconds = all(input_.source.clock != BIGINT for input_ in question.query.streams)
    cores = os.cpu_count() or 1 if has_seconds else inf  # a clock of its own cannot be kept up with or not
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    warnings = decision_warnings(chosen.estimate, cores, memory) if setting.statistics.is_known else ()
    return Decision(tuple(ranked), chosen, reason, setting.statistics, warnings)


def _cheapest(usual: Alternative, ranked: list[Alternative]) -> tuple[Alternative, str]:
    """The cheapest plan and why, unless it is hardly cheaper than the usual one, or one fold in place of a chain."""
    cheapest, chains = ranked[0], [other for other in ranked if other.root is not None]
    if chains and cheapest.root is None and BY_FAR * cheapest.estimate.cpu > chains[0].estimate.cpu:
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


def _alternatives(question: Question, setting: Setting) -> list[Alternative]:
    """All plans that are looked at."""
    before = stages_before(question.layout, question.partitions)
    layout = reading_views(question.layout, before)
    nothing = (NO_CHOICE,) * len(before)
    found = []
    if needs_chain(layout):
        for root, alias in enumerate(question.aliases):
            folds = chain(layout, root, len(before))
            usual = (*nothing, *map(FoldChoice.usual, folds))
            found.append(_alternative(question, setting, (*before, *folds), usual, alias))
    folds = (*before, layout)
    flows = flows_of(folds, setting.statistics)
    instants = instants_per_second(layout.timeline, setting.statistics)
    for _, choice in fold_choices(setting, layout, flows[-1], instants):
        found.append(_alternative(question, setting, folds, (*nothing, choice), None))
    return found


def _alternative(
    question: Question,
    setting: Setting,
    folds: tuple[FoldLayout, ...],
    choices: tuple[FoldChoice, ...],
    root: str | None,
) -> Alternative:
    title = f"a chain of folds to {root}" if root is not None else ""
    title = title or choice_title(folds[-1], choices[-1], question.aliases)
    cost = estimate(setting, folds, choices, question.merges(folds[-1]))
    return Alternative(title, folds, choices, root, cost)
