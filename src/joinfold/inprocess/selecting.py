"""HAVING and SELECT over the output of MERGE. Under CHANGES, over the old and the new aggregates, and the difference.

    rows of MERGE     was ──HAVING, SELECT──▶ old ─┐  only old: delete     only new: insert
                      now ──HAVING, SELECT──▶ new ─┘  both: update, if a value has changed

SELECT is computed only for rows that satisfy HAVING, so other rows cannot make it fail. A value has changed if it is
another one. If it is computed from rounded aggregates, one of them must have changed by more than rounding. Under SHED,
an estimate is followed by its bounds, which MERGE has computed; where nothing was shed, they are the value itself.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from joinfold.arrow import arrow_schema
from joinfold.columnar import Key, evaluate, is_true
from joinfold.columnar.vector import Flags
from joinfold.logical.expressions import Expression
from joinfold.operators.merging.changes import CLOSE
from joinfold.physical.column_names import ANSWER, NOW, WAS, aggregate_column, bound_columns, kept_column, same_column
from joinfold.physical.plan import PhysicalPlan

RowNumbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Selected:
    """The numbers of the rows of MERGE's output that satisfy HAVING, and the SELECT list of each, with its bounds."""

    rows: RowNumbers
    values: list[pa.Array]

    def take(self, numbers: RowNumbers) -> "Selected":
        """Some of these rows, in their order."""
        if len(numbers) == len(self.rows):
            return self
        return Selected(self.rows[numbers], [column.take(pa.array(numbers)) for column in self.values])


def answer_table(plan: PhysicalPlan, finished: pa.RecordBatch) -> pa.Table:
    """The answers in order of instants, with the query's schema."""
    if plan.query.changes:
        changes, chosen = _changed(plan, finished)
    else:
        changes, chosen = [], _selected(plan, finished, np.arange(finished.num_rows))
    when = [finished.column(name).take(pa.array(chosen.rows)) for name in _when(plan)]
    order = np.lexsort([column.to_numpy() for column in reversed(when)])
    schema = arrow_schema(plan.query.schema)
    columns = zip([*when, *changes, *chosen.values], schema, strict=True)
    arrays = [column.take(pa.array(order)).cast(field.type) for column, field in columns]
    return pa.Table.from_arrays(arrays, schema=schema)


def _when(plan: PhysicalPlan) -> list[str]:
    return [field.name for field in plan.query.leading]


def _selected(plan: PhysicalPlan, finished: pa.RecordBatch, rows: RowNumbers, before: bool = False) -> Selected:
    """HAVING and SELECT on some rows; ``before``: with the aggregates of the instant before."""
    having = plan.query.having
    if having is not None:
        rows = rows[is_true(plan.over_answer(having, before), _Chosen(finished, rows), len(rows))]
    columns = _Chosen(finished, rows)
    values: list[pa.Array] = []
    for number, output in enumerate(plan.query.outputs):
        value = evaluate(plan.over_answer(output.expression, before), columns, len(rows))
        values.append(value)
        if number in plan.query.estimated:
            values += _bounds(plan, number, value, columns, before)
    if plan.query.is_estimate:
        values.append(columns[ANSWER, kept_column(before)])
    return Selected(rows, values)


def _bounds(
    plan: PhysicalPlan, number: int, value: pa.Array, columns: dict[Key, pa.Array], before: bool
) -> list[pa.Array]:
    """The bounds of an output: the value itself where nothing was shed of its group, else those that MERGE has."""
    if plan.has_complete_groups:
        return [value, value]
    is_whole = pc.equal(columns[ANSWER, kept_column(before)], 1.0)
    return [pc.if_else(is_whole, value, columns[ANSWER, name]) for name in bound_columns(number, before)]


class _Chosen(dict[Key, pa.Array]):
    """The columns of some rows of MERGE's output; each is taken when it is first read."""

    def __init__(self, finished: pa.RecordBatch, rows: RowNumbers) -> None:
        super().__init__()
        self.finished = finished
        self.rows = pa.array(rows) if len(rows) < finished.num_rows else None

    def __missing__(self, key: Key) -> pa.Array:
        column = self.finished.column(key[1])
        self[key] = column if self.rows is None else column.take(self.rows)
        return self[key]


def _changed(plan: PhysicalPlan, finished: pa.RecordBatch) -> tuple[list[pa.Array], Selected]:
    """The kind of each change, and the changed rows. A deleted row has its old values."""
    old = _selected(plan, finished, _true_rows(finished.column(WAS)), before=True)
    new = _selected(plan, finished, _true_rows(finished.column(NOW)))
    in_old, in_new = (np.flatnonzero(_among(mine.rows, theirs.rows)) for mine, theirs in ((old, new), (new, old)))
    was, now = old.take(in_old).values, new.take(in_new).values
    differs = np.zeros(len(in_new), np.bool_)
    for place, output in zip(plan.query.selected, plan.query.outputs, strict=True):
        if not plan.query.is_rounded(output.expression):
            differs |= ~equal(was[place], now[place])
            continue
        moved = _moved(plan, finished, output.expression)[new.rows[in_new]]
        is_floating = output.expression.type.is_floating
        differs |= moved & ~(close_to if is_floating else equal)(was[place], now[place])
    parts = {
        "delete": old.take(np.flatnonzero(~_among(old.rows, new.rows))),
        "insert": new.take(np.flatnonzero(~_among(new.rows, old.rows))),
        "update": new.take(in_new[differs]),
    }
    kinds = pa.concat_arrays([pa.repeat(kind, len(part.rows)) for kind, part in parts.items()])
    rows = np.concatenate([part.rows for part in parts.values()])
    columns = zip(*(part.values for part in parts.values()), strict=True)
    return [kinds], Selected(rows, [pa.concat_arrays(column) for column in columns])


def _among(rows: RowNumbers, others: RowNumbers) -> Flags:
    """Which of the rows are among others; both ascend."""
    there = np.zeros(1 + max(rows.max(initial=0), others.max(initial=0)), np.bool_)
    there[others] = True
    return np.asarray(there[rows], np.bool_)


def _moved(plan: PhysicalPlan, finished: pa.RecordBatch, expression: Expression) -> Flags:
    """Where an aggregate that the expression reads has changed by more than rounding, bool[rows of MERGE's output]."""
    moved = np.zeros(finished.num_rows, np.bool_)
    for number in plan.query.aggregates_in(expression):
        if plan.query.aggregates[number].is_rounded:
            moved |= ~_flags(finished.column(same_column(number)))
        else:
            old, new = (finished.column(aggregate_column(number, before)) for before in (True, False))
            moved |= ~equal(old, new)
    return moved


def equal(old: pa.Array, new: pa.Array) -> Flags:
    """Whether values are the same, bool[rows]; NULL equals NULL, and NaN equals NaN."""
    was, now = (column.is_valid().to_numpy(zero_copy_only=False) for column in (old, new))
    equal: Flags = ~(was | now)
    if (was & now).any():  # Arrow cannot compare columns of type null
        equal |= _flags(pc.equal(old, new))
        if pa.types.is_floating(old.type):
            equal |= _flags(pc.and_(pc.is_nan(old), pc.is_nan(new)))
    return equal


def close_to(old: pa.Array, new: pa.Array) -> Flags:
    """Whether floating values are the same apart from rounding, bool[rows]."""
    left, right = (np.asarray(column.fill_null(0).to_numpy(), np.float64) for column in (old, new))
    with np.errstate(all="ignore"):
        near = np.abs(left - right) <= CLOSE * np.maximum(np.abs(left), np.abs(right))
    both = _flags(old.is_valid()) & _flags(new.is_valid())
    return equal(old, new) | (both & np.isfinite(left) & np.isfinite(right) & near)


def _true_rows(column: pa.Array) -> RowNumbers:
    return np.flatnonzero(_flags(column))


def _flags(column: pa.Array) -> Flags:
    return np.asarray(column.fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
