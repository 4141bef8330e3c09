"""Chains of folds over streams that are named by letters, in process."""

from collections.abc import Iterable

from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import Source
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query


def chain_of(text: str, schema: str, names: Iterable[str] = "abcd", delay_us: int = 0) -> PlannedQuery:
    """The plan of a query over streams with the same columns; it takes several folds."""
    columns = read_schema(f"ts TIMESTAMP, {schema}")
    plan = plan_query(bind(parse(text), {name: Source(name, columns, True, "ts", delay_us) for name in names}))
    assert len(plan.stages) > 1
    return plan
