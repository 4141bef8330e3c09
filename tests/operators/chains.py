"""Chains of folds over streams that are named by letters, in process."""

from collections.abc import Iterable

from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import Source
from joinfold.planner.folding import plan_fold
from joinfold.planner.plan import PhysicalPlan


def chain_of(text: str, schema: str, names: Iterable[str] = "abcd", delay_us: int = 0) -> PhysicalPlan:
    """The plan of a query over streams with the same columns; it takes several folds."""
    columns = read_schema(f"ts TIMESTAMP, {schema}")
    plan = plan_fold(bind(parse(text), {name: Source(name, columns, True, "ts", delay_us) for name in names}))
    assert len(plan.folds) > 1
    return plan
