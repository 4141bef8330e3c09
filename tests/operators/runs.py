"""A query over streams `a` and `b`, on the machine without Spark and by the definition."""

from collections.abc import Iterable, Sequence
from typing import Any

from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import Source
from joinfold.planner.folding import plan_fold
from joinfold.planner.plan import PhysicalPlan
from joinfold.reference import naive
from joinfold.reference.streaming import stream
from tests.machine import Machine
from tests.strategies import assert_same_answers

Row = dict[str, Any]
Data = dict[str, list[Row]]
Answers = list[tuple[Any, ...]]


def plan_of(text: str, schema: str, delay_us: int = 0) -> PhysicalPlan:
    columns = read_schema(f"ts TIMESTAMP, {schema}")
    return plan_fold(bind(parse(text), {name: Source(name, columns, True, "ts", delay_us) for name in ("a", "b")}))


def rows(values: Iterable[Any], column: str = "v", start: int = 0, **same: Any) -> list[Row]:
    """One row for each value, a microsecond apart."""
    return [{"ts": start + place, **same, column: value} for place, value in enumerate(values)]


def answered(text: str, schema: str, data: Data, buckets: int = 3) -> Answers:
    """What the machine answers when it is given everything at once."""
    machine = Machine(plan_of(text, schema), buckets)
    machine.feed(data)
    return machine.answer(to_the_end=True)


def check(text: str, schema: str, data: Data, buckets: int = 3, tolerance: float = 1e-9) -> Answers:
    """The answers, which are those of the definition."""
    found = answered(text, schema, data, buckets)
    assert_same_answers(naive.answers(plan_of(text, schema).query, data), found, tolerance)
    return found


def check_stream(text: str, schema: str, batches: Sequence[Data], buckets: int = 2, delay_us: int = 0) -> Answers:
    """The answers of a streaming run, which are those of the definition, as is what was late."""
    plan = plan_of(text, schema, delay_us)
    machine, found = Machine(plan, buckets), []
    for batch in batches:
        machine.feed(batch)
        found += machine.answer()
    expected = stream(plan.query, batches)
    assert_same_answers(expected.answers, found)
    assert machine.late == expected.late
    return found
