"""Adds a stage that keeps the last rows of each key. The join reads the view of this stage instead of the stream.

    a [PARTITION BY floor ROWS 3]      a ──▶ LastRowsPerKey by floor ──▶ view ──▶ join by location

The rows of a view come from several buckets, so its entries also carry a number that differs between buckets
(`ORIGIN`). Later rows decide when they leave.
"""

from dataclasses import replace

from joinfold.logical.expressions import Column
from joinfold.physical.choice import NO_CHOICE, usual_choice
from joinfold.physical.column_names import ORIGIN, column_name
from joinfold.physical.source import ViewOf
from joinfold.physical.stage import LastRowsPerKey, StatefulStage
from joinfold.planner.context import Context
from joinfold.planner.planned_query import PlannedQuery, with_stages
from joinfold.window import PartitionedRows


def keep_last_rows(plan: PlannedQuery, context: Context) -> PlannedQuery:
    """The plan with such a stage for each stream with a PARTITION BY window."""
    before: list[StatefulStage] = list(plan.stages[:-1])
    stage = plan.answering
    inputs = list(stage.body.inputs)
    for ordinal, (input_, window) in enumerate(zip(plan.query.streams, plan.timing.windows, strict=True)):
        if isinstance(window, PartitionedRows):
            columns = (Column(input_.alias, name, input_.source.schema.type_of(name)) for name in window.by)
            by = tuple(column_name(column, "order") for column in columns)
            view = ViewOf(len(before))
            before.append(LastRowsPerKey(inputs[ordinal], by, window.size))
            carried = (*inputs[ordinal].carried, ORIGIN)
            inputs[ordinal] = replace(inputs[ordinal], source=view, carried=carried, order=(), open_ended=True)
    if len(before) == len(plan.stages) - 1:
        return plan
    stage = replace(stage, body=replace(stage.body, inputs=tuple(inputs)))
    return with_stages(plan, (*before, stage), (*(NO_CHOICE for _ in before), usual_choice(stage)))
