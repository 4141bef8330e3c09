"""How many of the combinations with equal keys inequalities, bands and conditions let through, from samples.

Rows of two inputs are paired where their keys are equal, or all with all, and what the query says of the two is
computed for every pair. So many rows are taken that there are enough pairs. What is said of several pairs of inputs is
taken to be independent.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.columnar import Key, is_true
from joinfold.errors import JoinfoldError
from joinfold.inprocess.relations import equal_rows
from joinfold.logical.expressions import Call, Column, Expression
from joinfold.operators.layout import FoldLayout, RangeJoin
from joinfold.operators.values import identity_codes
from joinfold.planner.plan import PhysicalPlan

FIRST_ROWS = 300
GROWTH = 2
ENOUGH_PAIRS = 20_000

Integers = NDArray[np.int64]


def sampled_selectivity(plan: PhysicalPlan, passing: Mapping[int, pa.RecordBatch], assumed: float) -> float:
    """The share of combinations that is left; as assumed for what no sample tells. ``passing`` is by stream."""
    found, layout = 1.0, plan.layout
    said = _said(plan)
    for places, expressions in said.items():
        share = None
        if len(places) == 2 and all(place in passing and passing[place].num_rows for place in places):
            share = _share(layout, places[0], places[1], passing, expressions)
        found *= assumed if share is None else share
    return found


def _said(plan: PhysicalPlan) -> dict[tuple[int, ...], list[Expression]]:
    """Ranges and conditions, by the inputs that they are about."""
    found: dict[tuple[int, ...], list[Expression]] = {}
    combining = plan.layout.combining
    for join in combining.ranges:
        places = tuple(sorted((join.value_place, join.bound_place)))
        found.setdefault(places, []).extend(_comparisons(plan, join))
    for condition in combining.conditions:
        found.setdefault(condition.places, []).append(condition.expression)
    return found


def _comparisons(plan: PhysicalPlan, join: RangeJoin) -> list[Expression]:
    def column(place: int, name: str) -> Column:
        return Column(str(place), name, dict(plan.frames[place].columns)[name].type)

    value = column(join.value_place, join.value)
    bounds = [(">", join.low), ("<", join.high)]
    return [
        Call(operator + "=" * bound.inclusive, (value, column(join.bound_place, bound.column)))
        for operator, bound in bounds
        if bound is not None
    ]


def _share(
    layout: FoldLayout, left: int, right: int, passing: Mapping[int, pa.RecordBatch], expressions: list[Expression]
) -> float | None:
    """The share of pairs for which all is true; None where no pair has equal keys, or something fails to compute."""
    wanted = FIRST_ROWS
    while True:
        rows = {place: _thinned(passing[place], wanted) for place in (left, right)}
        lefts, rights = _pairs(layout, left, right, rows)
        if len(lefts) >= ENOUGH_PAIRS or wanted >= max(passing[place].num_rows for place in (left, right)):
            break
        wanted *= GROWTH
    if not len(lefts):
        return None
    columns: dict[Key, pa.Array] = {}
    for place, numbers in ((left, lefts), (right, rights)):
        paired = rows[place].take(pa.array(numbers))
        columns |= {(str(place), name): paired.column(name) for name in paired.schema.names}
    try:
        flags = [is_true(expression, columns, len(lefts), layout.combining.zone) for expression in expressions]
    except JoinfoldError:
        return None
    met = int(np.count_nonzero(np.logical_and.reduce(flags)))
    return max(met, 0.5) / len(lefts)


def _thinned(rows: pa.RecordBatch, wanted: int) -> pa.RecordBatch:
    """Some of the rows, evenly from all of them."""
    if rows.num_rows <= wanted:
        return rows
    return rows.take(pa.array(np.linspace(0, rows.num_rows - 1, wanted).astype(np.int64)))


def _pairs(layout: FoldLayout, left: int, right: int, rows: Mapping[int, pa.RecordBatch]) -> tuple[Integers, Integers]:
    """The pairs of rows whose keys are equal, or all."""
    one, other = layout.inputs[left], layout.inputs[right]
    codes = []
    for number, name in zip(one.classes, one.keys, strict=True):
        if number in other.classes:
            theirs = other.keys[other.classes.index(number)]
            codes += identity_codes(pa.concat_arrays([rows[left].column(name), rows[right].column(theirs)]))
    counts = rows[left].num_rows, rows[right].num_rows
    if not codes:
        return np.repeat(np.arange(counts[0]), counts[1]), np.tile(np.arange(counts[1]), counts[0])
    return equal_rows(codes, np.ones(sum(counts), np.bool_), counts[0])
