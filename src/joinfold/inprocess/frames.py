"""From an input's rows to the frame that PACK takes: event time, whether a row passes the filters, the plan's columns.

What a filter removes must not fail to compute. So columns are computed for the rows that pass and put back in place,
with NULL for the others. Only the columns that order rows of one time (``o…``) are there for all rows.

    rows      •  •  •  •        filter ──▶  •  •   ──▶  evaluate ──▶ scatter      x  -  y  -
    keep      T  F  T  F
"""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from joinfold.arrow import arrow_type
from joinfold.columnar import Key, evaluate, is_true
from joinfold.columnar.vector import Flags
from joinfold.errors import EvaluationError, UsageError
from joinfold.logical.expressions import Column, Expression, walk
from joinfold.logical.query import Source
from joinfold.planner.plan import Frame
from joinfold.types import DataType

Rows: TypeAlias = pa.Table | pa.RecordBatch
Columns: TypeAlias = Mapping[Key, pa.Array]

_ORDER = "o"
_AGGREGATED = ("x", "e", "c")  # numbers, extremes and conditions: what aggregates read


def frame_batch(frame: Frame, rows: Rows) -> pa.RecordBatch:
    """The frame of these rows; raises `UsageError` where they are not rows of the frame's stream."""
    alias, source = frame.input.alias, frame.input.source
    assert source.time is not None
    expressions = [expression for _, expression in frame.columns] + ([] if frame.keep is None else [frame.keep])
    read = {node.name for expression in expressions for node in walk(expression) if isinstance(node, Column)}
    columns = {(alias, name): column_of(source, rows, name) for name in sorted(read)}
    count = rows.num_rows
    found = {"ts": column_of(source, rows, source.time)}
    kept: Flags | None = None
    if frame.keep is not None:
        kept = is_true(frame.keep, columns, count)
        found["keep"] = pa.array(kept)
    passing = columns if kept is None else {key: column.filter(pa.array(kept)) for key, column in columns.items()}
    for name, expression in frame.columns:
        if kept is None or name.startswith(_ORDER):
            found[name] = _value(name, expression, columns, count)
        else:
            found[name] = _scattered(_value(name, expression, passing, int(np.count_nonzero(kept))), kept)
    return pa.RecordBatch.from_pydict(found)


def column_of(source: Source, rows: Rows, name: str) -> pa.Array:
    """A column of a stream's rows, in one piece and in the type that the stream has it in."""
    if name not in rows.schema.names:
        has = ", ".join(rows.schema.names)
        raise UsageError(f"rows of stream '{source.name}' come without its column '{name}'", f"they have: {has}.")
    column, type_ = rows.column(name), source.schema.type_of(name)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if type_.is_nested or column.type == arrow_type(type_):
        return column
    try:
        return column.cast(arrow_type(type_))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        what = f"column '{name}' of stream '{source.name}' comes as {column.type}, which is not always {type_}"
        raise UsageError(what, "cast it first.") from error


def _value(name: str, expression: Expression, columns: Columns, rows: int) -> pa.Array:
    if not name.startswith(_AGGREGATED):
        return evaluate(expression, columns, rows)
    return _fitted(evaluate(expression, columns, rows, wide=True), expression.type)


def _fitted(values: pa.Array, type_: DataType) -> pa.Array:
    """What was computed wide, in the type that entries are made from."""
    if values.type == arrow_type(type_):
        return values
    try:
        return values.cast(arrow_type(type_))
    except pa.ArrowInvalid as error:
        raise EvaluationError(f"a value on its way into an aggregate does not fit {type_}") from error


def _scattered(values: pa.Array, kept: Flags) -> pa.Array:
    """Values of the rows that are kept, each in its place, and NULL in the others."""
    if len(values) == len(kept):
        return values
    return values.take(pa.array(np.cumsum(kept) - 1, mask=~kept))
