"""Widens integer arithmetic inside an aggregate's argument, so that only the sum itself can overflow.

    SUM(a.x * a.y)   x, y INT      CAST(a.x AS BIGINT) * a.y                                 at most 2^62
    SUM(a.v + 1)     v BIGINT      CAST(a.v AS DECIMAL(19, 0)) + CAST(1 AS DECIMAL(1, 0))    at most 2^63 + 1

The width follows from the types of the columns and from the constants: BIGINT if every result fits, else DECIMAL. A
single column and a remainder keep their types. Functions that take integers of any width (COALESCE, comparisons, …)
get the wide arguments. Other functions get the types that they were bound with; a value that does not fit is an error.
"""

from functools import reduce

from joinfold.logical.expressions import Call, Case, Cast, Expression, Literal
from joinfold.types import BIGINT, INTEGER_BITS, MAX_PRECISION, VOID, DataType, common_type, decimal

_ARITHMETIC = ("+", "-", "*", "negate", "abs")
_ANY_WIDTH = ("%", "=", "<>", "<", "<=", ">", ">=", "in", "is null", "coalesce", "nullif", "greatest", "least")
_TOO_LARGE = 2 ** (INTEGER_BITS["BIGINT"] - 1)


def widened(expression: Expression) -> Expression:
    """The expression with its integer arithmetic in types that hold every result."""
    match expression:
        case Call(function=function, arguments=arguments) if function in _ARITHMETIC and expression.type.is_integer:
            wide = tuple(widened(argument) for argument in arguments)
            if _largest(expression) < _TOO_LARGE and not any(argument.type.is_decimal for argument in wide):
                return Call(function, (converted(wide[0], BIGINT), *wide[1:]))
            return Call(function, tuple(map(_as_decimal, arguments, wide)))
        case Call(function=function, arguments=arguments):
            operands = expression.signature.operands
            return Call(function, tuple(map(_operand, [function] * len(arguments), arguments, operands)))
        case Cast(argument=argument, type=type_):
            return Cast(widened(argument), type_)
        case Case(branches=branches, otherwise=otherwise, type=type_):
            values = [widened(value) for value in (*(then for _, then in branches), otherwise)]
            conditions = [widened(condition) for condition, _ in branches]
            return Case(tuple(zip(conditions, values, strict=False)), values[-1], _common(type_, values))
        case _:
            return expression


def converted(expression: Expression, type_: DataType) -> Expression:
    """The expression, cast to this type if it has another."""
    return expression if expression.type == type_ else Cast(expression, type_)


def _operand(function: str, argument: Expression, operand: DataType) -> Expression:
    """The wide argument if the function takes integers of any width, else converted to the type that it takes."""
    wide = widened(argument)
    if wide.type == argument.type or (function in _ANY_WIDTH and operand.is_integer):
        return wide
    return converted(wide, operand)


def _as_decimal(argument: Expression, wide: Expression) -> Expression:
    if wide.type.is_decimal:
        return wide
    return Cast(wide, decimal(min(len(str(_largest(argument))), MAX_PRECISION), 0))


def _common(type_: DataType, values: list[Expression]) -> DataType:
    """The type of a CASE whose integers may have become wider."""
    if not type_.is_integer:
        return type_
    common: DataType | None = reduce(lambda so_far, value: common_type(so_far, value.type) or so_far, values, VOID)
    assert common is not None
    return common


def _largest(expression: Expression) -> int:
    """An upper bound of the absolute value of an integer expression, computed without overflow."""
    match expression:
        case Literal(value=int(value)):
            return abs(value)
        case Call(function="+" | "-", arguments=(left, right)):
            return _largest(left) + _largest(right)
        case Call(function="*", arguments=(left, right)):
            return _largest(left) * _largest(right)
        case Call(function="%", arguments=(left, right)):
            return min(_largest(left), _largest(right))
        case Call(function="negate" | "abs" | "coalesce" | "greatest" | "least", arguments=arguments):
            return max(map(_largest, arguments))
        case Call(function="nullif", arguments=(value, _)):
            return _largest(value)
        case Case(branches=branches, otherwise=otherwise):
            return max(map(_largest, (*(then for _, then in branches), otherwise)))
        case _:
            return 0 if expression.type == VOID else 2 ** (INTEGER_BITS[expression.type.name] - 1)
