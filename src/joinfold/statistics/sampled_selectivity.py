"""Estimates the selectivity of inequalities, bands and residual conditions among combinations with equal keys.

Sampled rows of two inputs are paired if their keys are equal, or all with all if they share no key. The conditions over
these two inputs are evaluated for every pair. The sample grows until there are enough pairs. Conditions over different
pairs of inputs are assumed to be independent.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.columnar import Key, is_true
from joinfold.errors import JoinfoldError
from joinfold.inprocess.relations import equal_rows
from joinfold.logical.expressions import Call, Column, Expression
from joinfold.operators.values import identity_codes
from joinfold.physical.column_names import pair_column
from joinfold.physical.combining import RangeJoin
from joinfold.physical.plan import PhysicalPlan
from joinfold.physical.stage import Body

FIRST_ROWS = 300
GROWTH = 2
ENOUGH_PAIRS = 20_000

Integers = NDArray[np.int64]


def sampled_selectivity(draft: PhysicalPlan, passing: Mapping[int, pa.RecordBatch], assumed: float) -> float:
    """The share of combinations with equal keys that satisfy all other conditions.

    ``passing`` has the sampled rows of each stream that pass its filters. Conditions over inputs without a sample, or
    over more than two inputs, count as ``assumed``.
    """
    selectivity = 1.0
    for ordinals, expressions in _conditions(draft).items():
        share = None
        if len(ordinals) == 2 and all(ordinal in passing and passing[ordinal].num_rows for ordinal in ordinals):
            share = _share(draft, ordinals[0], ordinals[1], passing, expressions)
        selectivity *= assumed if share is None else share
    return selectivity


def _conditions(draft: PhysicalPlan) -> dict[tuple[int, ...], list[Expression]]:
    """Ranges and conditions, by the inputs that they read."""
    found: dict[tuple[int, ...], list[Expression]] = {}
    combining = draft.body.combining
    for join in combining.ranges:
        ordinals = tuple(sorted((join.value_input, join.bound_input)))
        found.setdefault(ordinals, []).extend(_comparisons(draft, join))
    for condition in combining.conditions:
        found.setdefault(condition.ordinals, []).append(condition.expression)
    return found


def _comparisons(draft: PhysicalPlan, join: RangeJoin) -> list[Expression]:
    def column(ordinal: int, name: str) -> Column:
        return Column(pair_column(ordinal), name, draft.frames[ordinal].expressions[name].type)

    value = column(join.value_input, join.value)
    bounds = [(">", join.low), ("<", join.high)]
    return [
        Call(operator + "=" * bound.inclusive, (value, column(join.bound_input, bound.column)))
        for operator, bound in bounds
        if bound is not None
    ]


def _share(
    draft: PhysicalPlan, left: int, right: int, passing: Mapping[int, pa.RecordBatch], expressions: list[Expression]
) -> float | None:
    """The share of pairs for which all expressions are true; None if no pair has equal keys, or if one fails."""
    wanted = FIRST_ROWS
    while True:
        rows = {ordinal: _thinned(passing[ordinal], wanted) for ordinal in (left, right)}
        lefts, rights = _pairs(draft.body, left, right, rows)
        if len(lefts) >= ENOUGH_PAIRS or wanted >= max(passing[ordinal].num_rows for ordinal in (left, right)):
            break
        wanted *= GROWTH
    if not len(lefts):
        return None
    columns: dict[Key, pa.Array] = {}
    for ordinal, numbers in ((left, lefts), (right, rights)):
        paired = rows[ordinal].take(pa.array(numbers))
        columns |= {(pair_column(ordinal), name): paired.column(name) for name in paired.schema.names}
    try:
        flags = [is_true(expression, columns, len(lefts), draft.timing.zone) for expression in expressions]
    except JoinfoldError:
        return None
    met = int(np.count_nonzero(np.logical_and.reduce(flags)))
    return max(met, 0.5) / len(lefts)


def _thinned(rows: pa.RecordBatch, wanted: int) -> pa.RecordBatch:
    """At most ``wanted`` rows, evenly spaced."""
    if rows.num_rows <= wanted:
        return rows
    return rows.take(pa.array(np.linspace(0, rows.num_rows - 1, wanted).astype(np.int64)))


def _pairs(body: Body, left: int, right: int, rows: Mapping[int, pa.RecordBatch]) -> tuple[Integers, Integers]:
    """The pairs of rows with equal keys; all pairs if the inputs share no key."""
    one, other = body.inputs[left], body.inputs[right]
    codes = []
    for number, name in zip(one.classes, one.keys, strict=True):
        if number in other.classes:
            other_name = other.keys[other.classes.index(number)]
            codes += identity_codes(pa.concat_arrays([rows[left].column(name), rows[right].column(other_name)]))
    counts = rows[left].num_rows, rows[right].num_rows
    if not codes:
        return np.repeat(np.arange(counts[0]), counts[1]), np.tile(np.arange(counts[1]), counts[0])
    return equal_rows(codes, np.ones(sum(counts), np.bool_), counts[0])
