"""A query over streams `a` and `b`, in process and by the definition, with rows as the definition has them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from joinfold.dialect import bind, parse, read_schema
from joinfold.inprocess import InProcess
from joinfold.inprocess.frames import frame_batch
from joinfold.logical.query import Source
from joinfold.operators.codec import decode, encode
from joinfold.operators.packing.routing import pack
from joinfold.operators.stages.bucket import Accepted, Bucket
from joinfold.operators.stages.open_bucket import open_bucket
from joinfold.physical.stored import Stored
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.reference import naive
from joinfold.reference.rows import from_arrow, to_arrow
from joinfold.reference.streaming import stream
from tests.strategies import assert_same_answers

Row = dict[str, Any]
Data = dict[str, list[Row]]
Answers = list[tuple[Any, ...]]


def plan_of(text: str, schema: str, delay_us: int = 0) -> PlannedQuery:
    columns = read_schema(f"ts TIMESTAMP, {schema}")
    return plan_query(bind(parse(text), {name: Source(name, columns, True, "ts", delay_us) for name in ("a", "b")}))


def in_pieces(plan: PlannedQuery, instants: int) -> PlannedQuery:
    """The plan with answers in pieces of at most so many instants."""
    timing = replace(plan.timing, instants_per_piece=instants)
    return replace(plan, pipeline=replace(plan.pipeline, timing=timing))


def rows(values: Iterable[Any], column: str = "v", start: int = 0, **same: Any) -> list[Row]:
    """One row for each value, a microsecond apart."""
    return [{"ts": start + place, **same, column: value} for place, value in enumerate(values)]


def tables_of(plan: PlannedQuery, data: Mapping[str, Sequence[Row]]) -> dict[str, pa.Table]:
    """The rows of the plan's streams and relations, each in the types that it has."""
    sources = {input_.source.name: input_.source for input_ in plan.query.inputs}
    return {name: to_arrow(data[name], source.schema) for name, source in sources.items() if name in data}


def packed_entries(plan: PlannedQuery, stream: int, values: Sequence[Row]) -> pa.RecordBatch:
    """The entries of a stream's rows as they are stored, of a query that is one fold in one bucket."""
    frame = plan.frames[stream]
    name = frame.input.source.name
    ((_, _, blob),) = pack(plan.pipeline, stream, (0,), frame_batch(frame, tables_of(plan, {name: values})[name]))
    return decode(blob)[0]


def tuples(table: pa.Table) -> Answers:
    return [tuple(row.values()) for row in from_arrow(table)]


def feed(machine: InProcess, data: Mapping[str, Sequence[Row]]) -> list[Accepted]:
    return machine.feed(tables_of(machine.plan, data))


def answer(machine: InProcess, to_the_end: bool = False) -> Answers:
    return tuples(machine.answer(to_the_end))


def answered(text: str, schema: str, data: Data, buckets: int = 3) -> Answers:
    """What is answered when everything is there at once."""
    machine = InProcess(plan_of(text, schema), buckets)
    feed(machine, data)
    return answer(machine, to_the_end=True)


def check(text: str, schema: str, data: Data, buckets: int = 3, tolerance: float = 1e-9) -> Answers:
    """The answers, which are those of the definition."""
    found = answered(text, schema, data, buckets)
    assert_same_answers(naive.answers(plan_of(text, schema).query, data), found, tolerance)
    return found


def check_stream(text: str, schema: str, batches: Sequence[Data], buckets: int = 2, delay_us: int = 0) -> Answers:
    """The answers of a streaming run, which are those of the definition, as is what was late."""
    plan = plan_of(text, schema, delay_us)
    return check_batches(InProcess(plan, buckets), batches)


def answers_when_made_anew(plan: PlannedQuery, batches: Sequence[Data]) -> Answers:
    """The answers of a streaming run whose buckets are made from their stored entries after every micro-batch."""
    machine, found = InProcess(plan, 2), []
    kept: list[list[tuple[Stored, bytes]]] = [[] for _ in machine.buckets]
    for batch in batches:
        for number, accepted in enumerate(feed(machine, batch)):
            kept[number] += [(stored, encode(entries)) for stored, entries in accepted]
        found += answer(machine)
        machine.buckets = [restored(bucket, entries) for bucket, entries in zip(machine.buckets, kept, strict=True)]
    return found


def restored(bucket: Bucket, entries: list[tuple[Stored, bytes]]) -> Bucket:
    """A bucket from its stored entries and its position."""
    again = open_bucket(bucket.stage, bucket.timing, bucket.number, bucket.choice)
    for stored, blob in entries:
        again.add(stored, decode(blob)[0])
    again.resume(bucket.position)
    return again


def check_batches(machine: InProcess, batches: Sequence[Data]) -> Answers:
    """The same for a plan that is there."""
    found: Answers = []
    for batch in batches:
        feed(machine, batch)
        found += answer(machine)
    expected = stream(machine.plan.query, batches)
    assert_same_answers(expected.answers, found)
    assert machine.late == expected.late
    return found
