"""The operators and functions of the language: those that both Spark and DuckDB have.

An entry of ``FUNCTIONS`` has the typing rule (``signature``), the usage for error messages, for an operator the text
between its operands in Spark and its precedence, and DuckDB's name if it differs. A function is written ``NAME(…)``.
Division by zero is NULL, by joinfold's own rule; Spark in ANSI mode would raise an error.
"""

from collections.abc import Callable
from dataclasses import dataclass

from joinfold.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DataType,
    arithmetic_type,
    as_decimal,
    common_type,
    decimal,
)

Types = tuple[DataType, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """The types to which the arguments of a call are converted, and the type of its result."""

    operands: Types
    result: DataType


@dataclass(frozen=True, slots=True)
class Function:
    """An operator or function: its typing rule and how it is written.

    ``signature`` returns None for argument types that the function does not take. Only operators have a precedence.
    """

    signature: Callable[[Types], Signature | None]
    usage: str
    spark: str | None = None
    precedence: int | None = None

    @property
    def is_operator(self) -> bool:
        """Whether it is written between or around its operands, and not called by its name."""
        return self.precedence is not None


def _common(types: Types) -> DataType | None:
    result: DataType | None = VOID
    for type_ in types:
        result = None if result is None else common_type(result, type_)
    return result


def _comparison(types: Types) -> Signature | None:
    common = _common(types)
    comparable = common is not None and "MAP<" not in common.name
    return Signature((common,) * len(types), BOOLEAN) if common is not None and comparable else None


def _ordering(types: Types) -> Signature | None:
    common = _common(types)
    return None if common is None or common.is_nested else Signature((common,) * len(types), BOOLEAN)


def _extreme(types: Types) -> Signature | None:
    common = _common(types)
    return None if common is None or common.is_nested or len(types) < 2 else Signature((common,) * len(types), common)


def _coalesce(types: Types) -> Signature | None:
    common = _common(types)
    return None if common is None or not types else Signature((common,) * len(types), common)


def _nullif(types: Types) -> Signature | None:
    common = _common(types)
    return None if common is None or len(types) != 2 else Signature((types[0], types[1]), types[0])


def _arithmetic(operator: str) -> Callable[[Types], Signature | None]:
    def signature(types: Types) -> Signature | None:
        if len(types) != 2:
            return None
        left, right = types
        result = arithmetic_type(operator, left, right)
        if result is None:
            return None
        if result.is_decimal:
            operands = tuple(result if type_ == VOID else as_decimal(type_) for type_ in types)
            return Signature(operands, result)
        return Signature((result, result) if result.is_numeric else types, result)

    return signature


def _numeric_unary(types: Types) -> Signature | None:
    return Signature(types, types[0]) if len(types) == 1 and types[0].is_numeric else None


def _rounded_up_or_down(types: Types) -> Signature | None:
    if len(types) != 1 or not types[0].is_numeric:
        return None
    (type_,) = types
    if type_.is_decimal:
        assert type_.precision is not None and type_.scale is not None
        return Signature(types, decimal(type_.precision - type_.scale + (type_.scale > 0), 0))
    return Signature((DOUBLE if type_.is_floating else BIGINT,), BIGINT)


def _double(*arities: int) -> Callable[[Types], Signature | None]:
    def signature(types: Types) -> Signature | None:
        fits = len(types) in arities and all(type_.is_numeric for type_ in types)
        return Signature((DOUBLE,) * len(types), DOUBLE) if fits else None

    return signature


def _fixed(operands: Types, result: DataType, optional: int = 0) -> Callable[[Types], Signature | None]:
    def signature(types: Types) -> Signature | None:
        if not len(operands) - optional <= len(types) <= len(operands):
            return None
        wanted = operands[: len(types)]
        fits = all(_widens(type_, operand) for type_, operand in zip(types, wanted, strict=True))
        return Signature(wanted, result) if fits else None

    return signature


def _widens(type_: DataType, operand: DataType) -> bool:
    return type_ in (operand, VOID) or (type_.is_integer and common_type(type_, operand) == operand)


def _strings(types: Types) -> Signature | None:
    fits = len(types) >= 1 and all(type_ in (STRING, VOID) for type_ in types)
    return Signature((STRING,) * len(types), STRING) if fits else None


def _booleans(types: Types) -> Signature | None:
    fits = types and all(type_ in (BOOLEAN, VOID) for type_ in types)
    return Signature((BOOLEAN,) * len(types), BOOLEAN) if fits else None


def _anything(types: Types) -> Signature | None:
    return Signature(types, BOOLEAN) if len(types) == 1 else None


def _date_part(*allowed: DataType) -> Callable[[Types], Signature | None]:
    def signature(types: Types) -> Signature | None:
        return Signature(types, INT) if len(types) == 1 and types[0] in allowed else None

    return signature


OR, AND, NOT, COMPARE, CONCAT, ADD, MULTIPLY, NEGATE = range(1, 9)
ATOM = 10

_DAYS = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
_CLOCKS = (TIMESTAMP, TIMESTAMP_NTZ)

FUNCTIONS: dict[str, Function] = {
    "or": Function(_booleans, "x OR y", " OR ", precedence=OR),
    "and": Function(_booleans, "x AND y", " AND ", precedence=AND),
    "not": Function(_booleans, "NOT x", precedence=NOT),
    "=": Function(_comparison, "x = y", " = ", precedence=COMPARE),
    "<>": Function(_comparison, "x <> y", " <> ", precedence=COMPARE),
    "<": Function(_ordering, "x < y", " < ", precedence=COMPARE),
    "<=": Function(_ordering, "x <= y", " <= ", precedence=COMPARE),
    ">": Function(_ordering, "x > y", " > ", precedence=COMPARE),
    ">=": Function(_ordering, "x >= y", " >= ", precedence=COMPARE),
    "is null": Function(_anything, "x IS NULL", precedence=COMPARE),
    "in": Function(_comparison, "x IN (y, …)", precedence=COMPARE),
    "like": Function(_fixed((STRING, STRING), BOOLEAN), "x LIKE pattern", " LIKE ", precedence=COMPARE),
    "||": Function(_strings, "x || y", " || ", precedence=CONCAT),
    "+": Function(_arithmetic("+"), "x + y", " + ", precedence=ADD),
    "-": Function(_arithmetic("-"), "x - y", " - ", precedence=ADD),
    "*": Function(_arithmetic("*"), "x * y", " * ", precedence=MULTIPLY),
    "/": Function(_arithmetic("/"), "x / y", " / ", precedence=MULTIPLY),
    "%": Function(_arithmetic("%"), "x % y", " % ", precedence=MULTIPLY),
    "negate": Function(_numeric_unary, "-x", precedence=NEGATE),
    "abs": Function(_numeric_unary, "ABS(x)"),
    "ceil": Function(_rounded_up_or_down, "CEIL(x)"),
    "floor": Function(_rounded_up_or_down, "FLOOR(x)"),
    "sqrt": Function(_double(1), "SQRT(x)"),
    "exp": Function(_double(1), "EXP(x)"),
    "ln": Function(_double(1), "LN(x)"),
    "power": Function(_double(2), "POWER(x, y)"),
    "greatest": Function(_extreme, "GREATEST(x, y, …)"),
    "least": Function(_extreme, "LEAST(x, y, …)"),
    "coalesce": Function(_coalesce, "COALESCE(x, …)"),
    "nullif": Function(_nullif, "NULLIF(x, y)"),
    "upper": Function(_fixed((STRING,), STRING), "UPPER(text)"),
    "lower": Function(_fixed((STRING,), STRING), "LOWER(text)"),
    "trim": Function(_fixed((STRING,), STRING), "TRIM(text)"),
    "ltrim": Function(_fixed((STRING,), STRING), "LTRIM(text)"),
    "rtrim": Function(_fixed((STRING,), STRING), "RTRIM(text)"),
    "length": Function(_fixed((STRING,), INT), "LENGTH(text)"),
    "reverse": Function(_fixed((STRING,), STRING), "REVERSE(text)"),
    "replace": Function(_fixed((STRING, STRING, STRING), STRING), "REPLACE(text, search, replacement)"),
    "substring": Function(_fixed((STRING, INT, INT), STRING, optional=1), "SUBSTRING(text, start[, length])"),
    "left": Function(_fixed((STRING, INT), STRING), "LEFT(text, length)"),
    "right": Function(_fixed((STRING, INT), STRING), "RIGHT(text, length)"),
    "instr": Function(_fixed((STRING, STRING), INT), "INSTR(text, search)"),
    "contains": Function(_fixed((STRING, STRING), BOOLEAN), "CONTAINS(text, search)"),
    "startswith": Function(_fixed((STRING, STRING), BOOLEAN), "STARTSWITH(text, prefix)"),
    "endswith": Function(_fixed((STRING, STRING), BOOLEAN), "ENDSWITH(text, suffix)"),
    "year": Function(_date_part(*_DAYS), "YEAR(time)"),
    "month": Function(_date_part(*_DAYS), "MONTH(time)"),
    "day": Function(_date_part(*_DAYS), "DAY(time)"),
    "hour": Function(_date_part(*_CLOCKS), "HOUR(time)"),
    "minute": Function(_date_part(*_CLOCKS), "MINUTE(time)"),
    "second": Function(_date_part(*_CLOCKS), "SECOND(time)"),
    "date_trunc": Function(_fixed((STRING, TIMESTAMP), TIMESTAMP), "DATE_TRUNC('unit', time)"),
}

SYNONYMS = {
    "pow": "power",
    "ceiling": "ceil",
    "ucase": "upper",
    "lcase": "lower",
    "char_length": "length",
    "substr": "substring",
    "starts_with": "startswith",
    "ends_with": "endswith",
    "ifnull": "coalesce",
    "nvl": "coalesce",
    "concat": "||",
    "mod": "%",
    "negative": "negate",
    "dayofmonth": "day",
}

TRUNCATION_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND")
