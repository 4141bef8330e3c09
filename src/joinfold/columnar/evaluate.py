"""The value of an expression for all rows of a batch at once, by Spark's rules: three-valued logic, ANSI arithmetic.

The expression tree is evaluated once: every node computes one vector from the vectors of its arguments. CASE, COALESCE,
AND and OR do not need every argument for every row. They evaluate each argument only on the rows that need it, so a
branch that a row does not take cannot fail on that row. The parts are then merged by row.
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
    """The rows on which an expression is evaluated: all rows of the columns, or only the chosen ones."""

    columns: Mapping[Key, pa.Array]
    rows: int
    zone: tzinfo
    wide: bool
    chosen: Rows | None = None
    read: dict[Key, Vector] = field(default_factory=dict)  # the columns read so far, shared by all selections

    def column(self, node: Column) -> Vector:
        """A column at the chosen rows."""
        key = (node.input, node.name)
        if key not in self.read:
            self.read[key] = from_arrow(self.columns[key], node.type)
        return self.read[key] if self.chosen is None else self.read[key].take(self.chosen)

    def select(self, rows: Rows) -> "EvaluatedRows":
        """Only these of the rows, by their positions in ascending order."""
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
    """The value of the expression for each row of the columns, as an array of the Arrow type of its type.

    Calendar functions read a TIMESTAMP in the zone. Raises `EvaluationError` if a value that is needed cannot be
    represented. ``wide`` is for arguments of aggregates: arithmetic of integers and decimals does not overflow. An
    integer result is then int64, or if that does not hold all values, decimal128(38, 0) or decimal256(76, 0). A decimal
    result has its own type, or decimal128(38, s) or decimal256(76, s). A result with more digits is an error;
    intermediate values have no limit.
    """
    return to_arrow(_value(expression, _all_rows(columns, rows, zone, wide)), expression.type, rows, wide)


def is_true(condition: Expression, columns: Mapping[Key, pa.Array], rows: int, zone: tzinfo | str = UTC) -> Flags:
    """Whether the condition is true for each row, bool[rows]; NULL is not true."""
    return _holds(_value(condition, _all_rows(columns, rows, zone, wide=False)))


def _all_rows(columns: Mapping[Key, pa.Array], rows: int, zone: tzinfo | str, wide: bool) -> EvaluatedRows:
    return EvaluatedRows(columns, rows, ZoneInfo(zone) if isinstance(zone, str) else zone, wide)


def _value(expression: Expression, batch: EvaluatedRows) -> Vector:
    if batch.rows == 0:
        return nothing(expression.type, 0)
    match expression:
        case Column():
            return batch.column(expression)
        case Literal(value=value, type=type_):
            return constant(value, type_, batch.rows)
        case Cast(argument=argument, type=type_):
            return cast(_value(argument, batch), argument.type, type_, batch.rows, batch.zone)
        case Case():
            return _case(expression, batch)
        case Call(function=name) if name in LAZY:
            return LAZY[name](expression, batch)
        case Call():
            return _call(expression, batch)
        case GroupValue() | AggregateValue() | Aggregate():
            raise AssertionError("groups and aggregates have a value per group, not per row")


def _call(call: Call, batch: EvaluatedRows) -> Vector:
    signature = call.signature
    arguments = tuple(
        convert(_value(argument, batch), argument.type, operand, batch.rows)
        for argument, operand in zip(call.arguments, signature.operands, strict=True)
    )
    operation = Operation(
        call.function, arguments, signature.operands, signature.result, batch.rows, batch.zone, batch.wide
    )
    return COMPUTE[call.function](operation)


def _holds(vector: Vector) -> Flags:
    flags: Flags = vector.values if vector.present is None else vector.values & vector.present
    return flags


def _case(case: Case, batch: EvaluatedRows) -> Vector:
    """CASE: evaluates each branch on the rows that no earlier branch has taken."""
    parts, remaining = [], np.arange(batch.rows)
    for when, then in case.branches:
        taken = _holds(_value(when, batch.select(remaining)))
        parts.append((then, remaining[taken]))
        remaining = remaining[~taken]
    parts.append((case.otherwise, remaining))
    vectors = [
        (rows, convert(_value(branch, batch.select(rows)), branch.type, case.type, len(rows))) for branch, rows in parts
    ]
    return merge(vectors, case.type, batch.rows)


def _coalesce(call: Call, batch: EvaluatedRows) -> Vector:
    """COALESCE: evaluates each argument on the rows where all earlier ones are NULL."""
    parts, remaining = [], np.arange(batch.rows)
    for argument in call.arguments:
        part = convert(_value(argument, batch.select(remaining)), argument.type, call.type, len(remaining))
        if part.present is None:
            parts.append((remaining, part))
            break
        parts.append((remaining[part.present], part.take(np.flatnonzero(part.present))))
        remaining = remaining[~part.present]
    else:
        parts.append((remaining, nothing(call.type, len(remaining))))
    return merge(parts, call.type, batch.rows)


def _connective(decisive: bool) -> Callable[[Call, EvaluatedRows], Vector]:
    """AND, which one False decides, or OR, which one True decides: evaluates each argument on the undecided rows.

    A row that no argument decides is NULL if one of the arguments is.
    """

    def compute(call: Call, batch: EvaluatedRows) -> Vector:
        decided, unknown = np.zeros(batch.rows, np.bool_), np.zeros(batch.rows, np.bool_)
        remaining = np.arange(batch.rows)
        for argument in call.arguments:
            part = convert(_value(argument, batch.select(remaining)), argument.type, call.type, len(remaining))
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
