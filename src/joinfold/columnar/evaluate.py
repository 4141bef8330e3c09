"""The value of an expression for all rows of a batch at once, with Spark's rules: three-valued logic, ANSI arithmetic.

The tree is walked once, and every node makes one vector of the vectors below it. A node that does not need all rows
of an argument, as CASE, COALESCE, AND and OR do, evaluates it on a selection of rows alone: a branch that is not taken
for a row cannot fail because of that row. Its parts are put together again by row.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from joinfold.columnar.arithmetic import ARITHMETIC
from joinfold.columnar.boundary import from_arrow, to_arrow
from joinfold.columnar.calendar import CALENDAR
from joinfold.columnar.casting import cast, convert
from joinfold.columnar.comparing import COMPARISONS
from joinfold.columnar.operation import Compute, Operation
from joinfold.columnar.text import TEXT
from joinfold.columnar.vector import Flags, Rows, Vector, constant, merge, nothing
from joinfold.logical.expressions import (
    Aggregate,
    AggregateValue,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    GroupValue,
    Literal,
)

Key: TypeAlias = tuple[str, str]  # the alias of an input and the name of its column


@dataclass(frozen=True, slots=True)
class EvaluatedRows:
    """The rows that an expression is evaluated on: all those of the columns, or the chosen ones."""

    columns: Mapping[Key, pa.Array]
    rows: int
    zone: tzinfo
    wide: bool
    chosen: Rows | None = None
    read: dict[Key, Vector] = field(default_factory=dict)  # columns as vectors, shared by all selections

    def column(self, node: Column) -> Vector:
        """A column at the chosen rows."""
        key = (node.input, node.name)
        if key not in self.read:
            self.read[key] = from_arrow(self.columns[key], node.type)
        return self.read[key] if self.chosen is None else self.read[key].take(self.chosen)

    def select(self, rows: Rows) -> "EvaluatedRows":
        """The frame at these of its rows, given in ascending order."""
        if len(rows) == self.rows:
            return self
        return replace(self, rows=len(rows), chosen=rows if self.chosen is None else self.chosen[rows])


def evaluate(
    expression: Expression,
    columns: Mapping[Key, pa.Array],
    rows: int,
    zone: tzinfo | str = UTC,
    wide: bool = False,
) -> pa.Array:
    """The expression's value for each row of the columns, an array of its type's Arrow type.

    Functions of the calendar read a TIMESTAMP in the zone. Raises `EvaluationError` where a value that matters cannot
    be represented. ``wide`` is for arguments of aggregates: arithmetic of integers and decimals does not overflow.
    An integer result is then int64, or where that does not hold every value decimal128(38, 0) or decimal256(76, 0); a
    decimal result is of its own type, or decimal128(38, s) or decimal256(76, s). Only a result of more digits is an
    error; on the way there is no limit.
    """
    frame = _frame(columns, rows, zone, wide)
    return to_arrow(_value(expression, frame), expression.type, rows, wide)


def is_true(condition: Expression, columns: Mapping[Key, pa.Array], rows: int, zone: tzinfo | str = UTC) -> Flags:
    """Whether the condition holds for each row, bool[rows]; NULL does not."""
    return _holds(_value(condition, _frame(columns, rows, zone, wide=False)))


def _frame(columns: Mapping[Key, pa.Array], rows: int, zone: tzinfo | str, wide: bool) -> EvaluatedRows:
    return EvaluatedRows(columns, rows, ZoneInfo(zone) if isinstance(zone, str) else zone, wide)


def _value(expression: Expression, frame: EvaluatedRows) -> Vector:
    if frame.rows == 0:
        return nothing(expression.type, 0)
    match expression:
        case Column():
            return frame.column(expression)
        case Literal(value=value, type=type_):
            return constant(value, type_, frame.rows)
        case Cast(argument=argument, type=type_):
            return cast(_value(argument, frame), argument.type, type_, frame.rows, frame.zone)
        case Case():
            return _case(expression, frame)
        case Call(function=name) if name in LAZY:
            return LAZY[name](expression, frame)
        case Call():
            return _call(expression, frame)
        case GroupValue() | AggregateValue() | Aggregate():
            raise AssertionError("groups and aggregates have a value per group, not per row")


def _call(call: Call, frame: EvaluatedRows) -> Vector:
    signature = call.signature
    arguments = tuple(
        convert(_value(argument, frame), argument.type, operand, frame.rows)
        for argument, operand in zip(call.arguments, signature.operands, strict=True)
    )
    operation = Operation(
        call.function, arguments, signature.operands, signature.result, frame.rows, frame.zone, frame.wide
    )
    return COMPUTE[call.function](operation)


def _holds(vector: Vector) -> Flags:
    flags: Flags = vector.values if vector.present is None else vector.values & vector.present
    return flags


def _case(case: Case, frame: EvaluatedRows) -> Vector:
    """Each branch on the rows that no branch before it has taken."""
    parts, remaining = [], np.arange(frame.rows)
    for when, then in case.branches:
        taken = _holds(_value(when, frame.select(remaining)))
        parts.append((then, remaining[taken]))
        remaining = remaining[~taken]
    parts.append((case.otherwise, remaining))
    vectors = [
        (rows, convert(_value(branch, frame.select(rows)), branch.type, case.type, len(rows))) for branch, rows in parts
    ]
    return merge(vectors, case.type, frame.rows)


def _coalesce(call: Call, frame: EvaluatedRows) -> Vector:
    """Each argument on the rows where those before it are NULL."""
    parts, remaining = [], np.arange(frame.rows)
    for argument in call.arguments:
        part = convert(_value(argument, frame.select(remaining)), argument.type, call.type, len(remaining))
        if part.present is None:
            parts.append((remaining, part))
            break
        parts.append((remaining[part.present], part.take(np.flatnonzero(part.present))))
        remaining = remaining[~part.present]
    else:
        parts.append((remaining, nothing(call.type, len(remaining))))
    return merge(parts, call.type, frame.rows)


def _connective(decisive: bool) -> Callable[[Call, EvaluatedRows], Vector]:
    """AND, which one False decides, or OR, which one True does: each argument on the rows that are not decided.

    What is left undecided is NULL where an argument was.
    """

    def compute(call: Call, frame: EvaluatedRows) -> Vector:
        decided, unknown = np.zeros(frame.rows, np.bool_), np.zeros(frame.rows, np.bool_)
        remaining = np.arange(frame.rows)
        for argument in call.arguments:
            part = convert(_value(argument, frame.select(remaining)), argument.type, call.type, len(remaining))
            decides = part.values == decisive
            if part.present is not None:
                decides &= part.present
                unknown[remaining] |= ~part.present
            decided[remaining] = decides
            remaining = remaining[~decides]
        values = decided if decisive else ~decided
        return Vector(values, decided | ~unknown if unknown.any() else None)

    return compute


LAZY: dict[str, Callable[[Call, EvaluatedRows], Vector]] = {
    "and": _connective(decisive=False),
    "or": _connective(decisive=True),
    "coalesce": _coalesce,
}
COMPUTE: dict[str, Compute] = {**ARITHMETIC, **COMPARISONS, **TEXT, **CALENDAR}
