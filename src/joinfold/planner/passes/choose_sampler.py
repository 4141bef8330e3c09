"""Chooses what SHED samples if the query does not say it: keys, or rows where that is expected to be more exact.

A checkpoint keeps its sampler. If nothing is known about the streams, keys are sampled.
"""

import os
from dataclasses import replace

from joinfold.logical.sampling import allows_row_sampling
from joinfold.logical.shedding import Estimating
from joinfold.planner.context import Context
from joinfold.planner.cost.estimating import Setting, estimate
from joinfold.planner.drafting.draft import draft
from joinfold.planner.forecasting import forecast, refuse_whole
from joinfold.planner.planned_query import PlannedQuery


def choose_sampler(plan: PlannedQuery, context: Context) -> PlannedQuery:
    """The draft with the better sampler, and a forecast of what SHED will do."""
    shed, statistics = plan.query.shed, context.statistics
    if shed is None or not isinstance(shed.how, Estimating):
        return plan
    drafts = {"key": plan}
    if shed.how.sampler is None and allows_row_sampling(plan.query):
        drafts["row"] = draft(plan.query, "row", plan.matches, plan.homes)
    if statistics is None:
        return drafts.get(context.sampler or "key", plan)
    cores = os.cpu_count() or 1
    cost = estimate(Setting.of(plan, statistics, context.weights, cores), plan)
    expected = forecast([own.pipeline for own in drafts.values()], statistics, cost, cores)
    if statistics.is_known:
        refuse_whole(plan.pipeline, statistics)
    best = expected.samplers[0].sampler if statistics.is_known else "key"
    return replace(drafts.get(context.sampler or best, plan), forecast=expected)
