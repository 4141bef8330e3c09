"""Constants: from their text to a value with Spark's type for it."""

import decimal
import math
from datetime import date

from joinfold.errors import UsageError
from joinfold.logical.expressions import Expression, Literal
from joinfold.timetext import duration_us, timestamp_us
from joinfold.types import (
    BIGINT,
    BINARY,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    MAX_PRECISION,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
)
from joinfold.types import decimal as decimal_type


def number_literal(text: str) -> Literal:
    """A number: INT or BIGINT by its size, DECIMAL by its digits, or DOUBLE if it has an exponent."""
    try:
        if "e" in text.lower():
            return Literal(_finite(float(text), text), DOUBLE)
        if "." not in text and -(2**63) <= int(text) < 2**63:
            return Literal(int(text), INT if -(2**31) <= int(text) < 2**31 else BIGINT)
        exact = decimal.Decimal(text)
    except (ValueError, decimal.InvalidOperation) as error:
        raise UsageError(f"'{text}' is not a number") from error
    _, digits, exponent = exact.as_tuple()
    scale = max(-int(exponent), 0)
    precision = max(len(digits), scale)
    if precision > MAX_PRECISION:
        raise UsageError(f"the number {text} has more than {MAX_PRECISION} digits")
    return Literal(exact, decimal_type(precision, scale))


def negated(literal: Literal) -> Literal | None:
    """The constant with the other sign; None if it is not a number or an interval."""
    match literal.value:
        case None | bool() | str():
            return None
        case int() as value if literal.type.is_integer:
            return number_literal(str(-value))
        case decimal.Decimal() as value:
            return Literal(value.copy_negate(), literal.type)  # unary minus would round to the context's precision
        case int() | float() as value if literal.type not in (TIMESTAMP, TIMESTAMP_NTZ):
            return Literal(-value, literal.type)
        case _:
            return None


def beside_decimal(side: Expression, other: Expression) -> Expression:
    """The operand ``side``; beside a decimal, an integer constant becomes a decimal with just the digits it has."""
    if isinstance(side, Literal) and isinstance(side.value, int) and side.type.is_integer and other.type.is_decimal:
        exact = decimal.Decimal(side.value)
        return Literal(exact, decimal_type(len(exact.as_tuple().digits), 0))
    return side


def binary_literal(digits: str) -> Literal:
    """The constant X'1F00'."""
    try:
        return Literal(bytes.fromhex(digits), BINARY)
    except ValueError as error:
        what = "a binary constant needs two hexadecimal digits for each byte"
        raise UsageError(what, "write it as X'1F00'.") from error


def interval_literal(amount: str, unit: str) -> Literal:
    """The constant INTERVAL '5' SECOND; it may be negative."""
    sign = -1 if amount.startswith("-") else 1
    return Literal(sign * duration_us(f"{amount.removeprefix('-')} {unit}"), INTERVAL)


def time_literal(text: str, type_: DataType) -> Literal | None:
    """The constant TIMESTAMP '…' or DATE '…'; None for other types. The text is in UTC unless it has a time zone."""
    if type_ in (TIMESTAMP, TIMESTAMP_NTZ):
        return Literal(timestamp_us(text), type_)
    if type_ != DATE:
        return None
    try:
        return Literal(date.fromisoformat(text), DATE)
    except ValueError as error:
        raise UsageError(f"'{text}' is not a date", "write it as DATE '2025-01-31'.") from error


def _finite(number: float, text: str) -> float:
    if math.isinf(number):
        raise UsageError(f"the number {text} is too large for a DOUBLE")
    return number
