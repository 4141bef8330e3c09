"""The value of an expression for one row, in plain Python by Spark's rules: three-valued logic, ANSI arithmetic.

Timestamps and intervals are integer microseconds. Calendar functions read timestamps in a time zone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import Any

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
    Value,
)
from joinfold.reference.functions import arithmetic, call_function
from joinfold.reference.values import cast, convert, order_key
from joinfold.types import DataType

Combination = Mapping[str, Mapping[str, Value]]


@dataclass(frozen=True, slots=True)
class Context:
    """What an expression is evaluated on: one row of each input, or the group and aggregate values of an answer."""

    rows: Combination = field(default_factory=dict)
    groups: Sequence[Value] = ()
    aggregates: Sequence[Value] = ()
    zone: tzinfo = UTC
    is_wide: bool = False

    def wide(self) -> "Context":
        """The same context for an argument of an aggregate, where arithmetic does not overflow."""
        return replace(self, is_wide=True)


def evaluate(expression: Expression, context: Context) -> Any:
    """The value; None is NULL."""
    match expression:
        case Column(input=alias, name=name):
            return context.rows[alias][name]
        case Literal(value=value):
            return value
        case GroupValue(index=index):
            return context.groups[index]
        case AggregateValue(index=index):
            return context.aggregates[index]
        case Cast(argument=argument, type=type_):
            return cast(evaluate(argument, context), argument.type, type_, context.zone)
        case Case(branches=branches, otherwise=otherwise, type=type_):
            taken = next((then for when, then in branches if evaluate(when, context) is True), otherwise)
            return convert(evaluate(taken, context), taken.type, type_)
        case Call():
            return _call(expression, context)
        case Aggregate():
            raise AssertionError("an aggregate has a value per group, not per row")


def is_true(condition: Expression | None, context: Context) -> bool:
    """Whether a condition is true; NULL is not, and no condition is."""
    return condition is None or evaluate(condition, context) is True


def _call(call: Call, context: Context) -> Any:
    function, signature = call.function, call.signature
    values = [
        convert(evaluate(argument, context), argument.type, operand)
        for argument, operand in zip(call.arguments, signature.operands, strict=True)
    ]
    match function:
        case "and":
            return False if False in values else None if None in values else True
        case "or":
            return True if True in values else None if None in values else False
        case "is null":
            return values[0] is None
        case "coalesce":
            return next((value for value in values if value is not None), None)
        case "nullif":
            return None if _same(call, values) else values[0]
        case "in":
            return _in(values)
        case "greatest" | "least":
            present = [value for value in values if value is not None]
            chosen = max if function == "greatest" else min
            return chosen(present, key=order_key) if present else None
    if None in values:
        return None
    match function:
        case "=" | "<>" | "<" | "<=" | ">" | ">=":
            return compare(function, values[0], values[1])
        case "not":
            return not values[0]
        case "+" | "-" | "*" | "/" | "%":
            return arithmetic(function, values[0], values[1], signature.result, context.is_wide)
        case _:
            return call_function(function, values, signature.result, _zone_of(call, context.zone), context.is_wide)


def compare(operator: str, left: Any, right: Any) -> bool:
    """``left operator right``, where NaN equals NaN and is the largest number, and −0.0 equals 0.0."""
    left, right = order_key(left), order_key(right)
    match operator:
        case "=":
            return bool(left == right)
        case "<>":
            return bool(left != right)
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
        case ">=":
            return bool(left >= right)
        case _:
            raise AssertionError(operator)


def _same(call: Call, values: list[Any]) -> bool:
    test = Call(
        "=",
        tuple(Literal(value, argument.type) for value, argument in zip(values, call.arguments, strict=True)),
    )
    return evaluate(test, Context()) is True


def _in(values: list[Any]) -> bool | None:
    subject, *members = values
    if subject is None:
        return None
    if any(member is not None and compare("=", subject, member) for member in members):
        return True
    return None if None in members else False


def _zone_of(call: Call, zone: tzinfo) -> tzinfo:
    """The time zone for a call: UTC if no argument is a TIMESTAMP, so that a TIMESTAMP_NTZ is read unchanged."""
    types: list[DataType] = [argument.type for argument in call.arguments]
    return zone if any(type_.name == "TIMESTAMP" for type_ in types) else UTC
