"""Makes the frame of an input for PACK: event time, whether a row passes the filters, the columns of the plan.

A row that a filter removes must not fail. So columns are computed only for the rows that pass, and are NULL in the
others. Only the columns that order rows of the same time are computed for all rows.

    rows      •  •  •  •        filter ──▶  •  •   ──▶  evaluate ──▶ scatter      x  -  y  -
    keep      T  F  T  F

If relations are attached, columns are computed for the matches in the same way.
"""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from joinfold.arrow import arrow_type
from joinfold.columnar import Key, evaluate, is_true
from joinfold.columnar.vector import Flags
from joinfold.errors import EvaluationError
from joinfold.inprocess.relations import AliasedRows, matched
from joinfold.inprocess.rows import Arrival, Rows, column_of, marked_ahead, times_of
from joinfold.logical.expressions import Column, walk
from joinfold.physical.column_names import FIRST, KEEP, MATCHES, TIME
from joinfold.physical.plan import Frame, FrameColumn
from joinfold.types import DataType

Columns: TypeAlias = Mapping[Key, pa.Array]


def frame_batch(
    frame: Frame,
    rows: Rows,
    sides: tuple[AliasedRows, ...] = (),
    arrival: Arrival = 1,
    last_us: int | None = None,
) -> pa.RecordBatch:
    """The frame of these rows; raises `UsageError` if they do not have the columns of the stream.

    ``sides`` are the rows of the attached relations. ``arrival`` is the time of rows of a stream without a time column.
    Rows with a time after ``last_us`` are marked as ahead.
    """
    alias, source = frame.input.alias, frame.input.source
    columns = {(alias, name): column_of(source, rows, name) for name in sorted(_columns_read(frame))}
    count = rows.num_rows
    times = times_of(source, rows, arrival)
    found = {TIME: times if last_us is None else marked_ahead(times, last_us)}
    kept: Flags | None = None
    if frame.keep is not None:
        kept = is_true(frame.keep, columns, count)
        found[KEEP] = pa.array(kept)
    for column in frame.columns:
        if column.role == "order":
            found[column.name] = _value(column, columns, count)
    passing = AliasedRows(frozenset({alias}), columns, count)
    if kept is not None:
        passing = passing.take(np.flatnonzero(kept))
    if frame.attached:
        return _with_matches(frame, found, passing, np.ones(count, np.bool_) if kept is None else kept, sides)
    for column in frame.columns:
        if column.role != "order":
            values = _value(column, passing.columns, passing.rows)
            found[column.name] = values if kept is None else _scattered(values, kept)
    return pa.RecordBatch.from_pydict(_in_order(frame, found))


def _with_matches(
    frame: Frame, found: dict[str, pa.Array], passing: AliasedRows, kept: Flags, sides: tuple[AliasedRows, ...]
) -> pa.RecordBatch:
    """The frame with a row for every match, and one for every row of the stream without a match."""
    origin, matches = matched(frame, passing, sides)
    origin = np.flatnonzero(kept)[origin]
    alone = np.setdiff1d(np.arange(len(kept)), origin)
    rows = np.concatenate([origin, alone])
    order = np.argsort(rows, kind="stable")
    rows, is_match = rows[order], order < len(origin)
    spread = {name: column.take(pa.array(rows)) for name, column in found.items()}
    spread[FIRST] = pa.array(np.diff(rows, prepend=-1) != 0)
    spread[MATCHES] = pa.array(is_match)
    for column in frame.columns:
        if column.role != "order":
            spread[column.name] = _scattered(_value(column, matches.columns, matches.rows), is_match)
    return pa.RecordBatch.from_pydict(_in_order(frame, spread))


def _columns_read(frame: Frame) -> set[str]:
    """The columns of the stream that its frame reads."""
    expressions = [column.expression for column in frame.columns] + ([] if frame.keep is None else [frame.keep])
    expressions += [*frame.matching, *(key.left for attachment in frame.attached for key in attachment.keys)]
    nodes = (node for expression in expressions for node in walk(expression) if isinstance(node, Column))
    return {node.name for node in nodes if node.input == frame.input.alias}


def _in_order(frame: Frame, found: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """The columns in the order of the plan, after those that every frame has."""
    planned = {column.name: found.pop(column.name) for column in frame.columns}
    return found | planned


def _value(column: FrameColumn, columns: Columns, rows: int) -> pa.Array:
    if column.role != "argument":
        return evaluate(column.expression, columns, rows)
    return _fitted(evaluate(column.expression, columns, rows, wide=True), column.expression.type)


def _fitted(values: pa.Array, type_: DataType) -> pa.Array:
    """Values that were computed in a wide type, in the type of the column."""
    if values.type == arrow_type(type_):
        return values
    try:
        return values.cast(arrow_type(type_))
    except pa.ArrowInvalid as error:
        raise EvaluationError(f"the argument of an aggregate has a value that does not fit {type_}") from error


def _scattered(values: pa.Array, kept: Flags) -> pa.Array:
    """A column for all rows: the values at the rows that are kept, and NULL at the others."""
    if len(values) == len(kept):
        return values
    return values.take(pa.array(np.cumsum(kept) - 1, mask=~kept))
