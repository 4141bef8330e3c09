"""Answers from a sample: as MERGE and SELECT make them from hand-made totals, and as the reference defines them.

The query reads one stream, `a`. A row of the sample has a weight and a cell, that is a replicate on each axis.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from joinfold.inprocess.frames import frame_batch
from joinfold.inprocess.selecting import answer_table
from joinfold.logical.shedding import Estimating, HoldRows, Shed
from joinfold.operators.emitted import Emitted
from joinfold.operators.merging.merge import finished
from joinfold.operators.packing.rows_to_entries import aggregate
from joinfold.physical.column_names import (
    INSTANT,
    error_column,
    extreme_column,
    integer_column,
    real_columns,
    replicate_column,
)
from joinfold.physical.payload import InputSpec
from joinfold.physical.shedding import WHOLE, KeySampling, RowSampling
from joinfold.physical.stage import Merge
from joinfold.planner.drafting.estimating import estimates_of
from joinfold.planner.drafting.sampling import Sampled as Sampling
from joinfold.planner.planned_query import PlannedQuery
from joinfold.reference import naive
from joinfold.reference.contents import Timed
from joinfold.reference.shedding import Drawn, Sample, estimated_answer
from joinfold.shedding.rates import MANY
from tests.operators.runs import Answers, Row, plan_of, tables_of, tuples
from tests.strategies import assert_same_answers

WINDOW = "FROM a [TUMBLE 10 MICROSECOND]"


@dataclass(frozen=True)
class Member:
    """A row of a sample. Of keys it counts once here, and MERGE scales; of rows it counts for ``weight``."""

    row: Row
    cell: tuple[int, ...] = (-1,)
    weight: int = 1


@dataclass(frozen=True)
class Sampled:
    """A plan whose answers are estimates, from keys or from rows."""

    plan: PlannedQuery
    by_key: bool
    axes: int

    @property
    def last(self) -> Merge:
        assert isinstance(self.plan.pipeline.last, Merge)
        return self.plan.pipeline.last

    @property
    def spec(self) -> InputSpec:
        return self.plan.body.inputs[0]


def sampled_plan(
    text: str, schema: str, by_key: bool = True, axes: int = 1, complete: bool = False, confidence: float = 95.0
) -> Sampled:
    plan = plan_of(text, schema)
    query = replace(plan.query, shed=Shed((HoldRows(1),), Estimating(confidence=confidence)))
    replicates = tuple(replicate_column(axis) for axis in range(axes))
    shedding = KeySampling((), 0, (0,)) if by_key else RowSampling((), 0, (0,))
    last = plan.pipeline.last
    assert isinstance(last, Merge)
    totals = replace(last.totals, groups=(*last.totals.groups, *replicates))
    last = replace(last, totals=totals, estimates=estimates_of(query, Sampling((), replicates, shedding, complete)))
    return Sampled(replace(plan, query=query, pipeline=replace(plan.pipeline, last=last)), by_key, axes)


def totals_of(own: Sampled, instants: Mapping[int, Sequence[Member]]) -> pa.RecordBatch:
    """The totals that a fold would emit for these members: one row for each of them, which is as good as added up."""
    body, last = own.plan.body, own.last
    members = [(instant, member) for instant, some in instants.items() for member in some]
    rows = [{**member.row, "ts": 1} for _, member in members]
    columns: dict[str, Any] = {INSTANT: pa.array([instant for instant, _ in members], pa.int64())}
    frame = frame_batch(own.plan.frames[0], tables_of(own.plan, {"a": rows})["a"])
    packed = aggregate(own.spec, own.spec.identity, frame, np.zeros(len(rows), np.int64), single=True)
    weights = np.array([member.weight for _, member in members], np.int64)
    columns |= {name: packed.column(name) for name in last.group_columns}
    for axis, name in enumerate(last.estimates.replicates if last.estimates else ()):
        columns[name] = pa.array([member.cell[axis] for _, member in members], pa.int64())
    for number, product in enumerate(body.integer_products):
        columns[integer_column(number)] = pa.array(
            packed.column(own.spec.integer_names[product[0]]).to_numpy() * weights
        )
    for number, refs in enumerate(body.real_products):
        names = own.spec.real_names[refs[0].index]
        for name, part in zip(real_columns(number), names, strict=True):
            columns[name] = pa.array(packed.column(part).to_numpy() * weights)
        columns[error_column(number)] = pa.array(np.zeros(len(members)))
    for number, fold in enumerate(body.extremes):
        columns[extreme_column(number)] = packed.column(own.spec.extreme_names[fold.index])
    return pa.RecordBatch.from_pydict(columns)


def merged(own: Sampled, instants: Mapping[int, Sequence[Member]], rates: Mapping[int, int]) -> Answers:
    """The answers that MERGE and SELECT make."""
    return tuples(answer_table(own.plan, finished_of(own, instants, rates)))


def finished_of(
    own: Sampled, instants: Mapping[int, Sequence[Member]], rates: Mapping[int, int], parts: int = 2
) -> pa.RecordBatch:
    """What MERGE makes from totals in several parts. Under CHANGES, the first rate is of before."""
    totals = totals_of(own, instants)
    numbers = sorted(rates)
    before = numbers.pop(0) if own.last.changes else None
    some = [totals.filter(pa.array(np.arange(totals.num_rows) % parts == part)) for part in range(parts)]
    emitted = [
        Emitted(part, numbers, before, samples={at: (rate, MANY) for at, rate in rates.items()}) for part in some
    ]
    found = finished(own.last, emitted)
    assert found is not None
    return found


def defined(own: Sampled, instants: Mapping[int, Sequence[Member]], rates: Mapping[int, int]) -> Answers:
    """The answers by the definition."""
    snapshots = {}
    for instant, rate in rates.items():
        members = {id(member.row): member for member in instants.get(instant, ())}
        combinations = [{"a": Timed(1, number, member.row)} for number, member in enumerate(members.values(), 1)]
        sample = Sample(
            rate,
            lambda chosen, members=members, rate=rate: _drawn(own, members[id(chosen["a"].row)], rate),
            own.by_key,
            own.axes,
            own.plan.has_complete_groups,
        )
        snapshots[instant] = estimated_answer(own.plan.query, combinations, UTC, sample)
    if not own.plan.query.changes:
        return [(instant, *row) for instant in sorted(rates) for row in snapshots[instant].values()]
    return naive._emit(own.plan.query, (((instant,), snapshots[instant]) for instant in sorted(rates)))


def _drawn(own: Sampled, member: Member, rate: int) -> Drawn:
    is_scaled = own.by_key and member.cell != (-1,) and not own.plan.has_complete_groups
    return Drawn(Fraction(WHOLE, rate) if is_scaled else member.weight, member.cell)


def assert_same_estimates(own: Sampled, expected: Answers, found: Answers) -> None:
    """Fails unless estimates are equal, and their bounds as far as a double tells."""
    assert_same_answers(_with_bounds_as_doubles(own, expected), _with_bounds_as_doubles(own, found), 1e-6)


def _with_bounds_as_doubles(own: Sampled, answers: Answers) -> Answers:
    query = own.plan.query
    first = len(query.leading) + query.changes
    numeric = [number for number in query.estimated if query.outputs[number].expression.type.is_numeric]
    places = {first + query.selected[number] + place for number in numeric for place in (1, 2)}
    return [
        tuple(float(value) if place in places and value is not None else value for place, value in enumerate(row))
        for row in answers
    ]
