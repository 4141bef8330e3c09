"""A planned query: the physical plan, the decision for it, and how a running query may change it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from joinfold.logical.expressions import Expression
from joinfold.logical.query import LogicalQuery
from joinfold.notebook import fragment, heading, paragraphs
from joinfold.physical.choice import FoldChoice
from joinfold.physical.plan import PhysicalPlan
from joinfold.physical.stage import Body, Concatenate, JoiningStage, LastStage, Merge, StatefulStage, Totals
from joinfold.planner.adapting import Following
from joinfold.planner.cost.estimates import Decision
from joinfold.planner.forecasting import Forecast

STAGES_SHOWN = "query.explain() shows its stages, their costs and the other plans."
Keys = Sequence[tuple[Expression, ...]]


@dataclass(frozen=True, slots=True)
class PlannedQuery(PhysicalPlan):
    """A physical plan with the decision for it.

    ``decision`` is None if nothing was estimated, ``following`` if a running query keeps its plan, ``forecast`` unless
    SHED samples.
    """

    decision: Decision | None = None
    following: Following | None = None
    forecast: Forecast | None = None

    def _repr_html_(self) -> str:
        """The decision as HTML, for a notebook. `Query.explain` shows the stages."""
        if self.decision is None:
            return fragment(heading("The only plan"), paragraphs([STAGES_SHOWN]))
        return fragment(heading(self.decision.chosen.title), paragraphs([self.decision.reason, STAGES_SHOWN]))


def with_stages(
    plan: PlannedQuery,
    stages: Sequence[StatefulStage],
    choices: Sequence[FoldChoice],
    root: str | None = None,
) -> PlannedQuery:
    """The plan with other stages. MERGE then reads the totals of the new answering stage."""
    *_, answering = stages
    assert isinstance(answering, JoiningStage)
    last = _last(plan, answering.body)
    pipeline = replace(plan.pipeline, stages=tuple(stages), last=last)
    return replace(plan, pipeline=pipeline, choices=tuple(choices), root=root)


def crosses_buckets(query: LogicalQuery, keys: Keys, body: Body) -> bool:
    """Whether a group can be in several buckets. It cannot if GROUP BY has every key that rows are distributed by."""
    grouped, classes = set(query.groups), body.bucket_classes
    return not classes or not all(grouped & set(keys[number]) for number in classes)


def _last(plan: PlannedQuery, body: Body) -> LastStage:
    last = plan.pipeline.last
    if isinstance(last, Concatenate):
        return last
    crosses = crosses_buckets(plan.query, plan.keys, body)
    merge: Merge = replace(last, totals=Totals.of(body), crosses_buckets=crosses)
    return merge
