"""Expressions and aggregates as DuckDB SQL, with Spark's types and the rules of DESIGN 1.9.

Where the two engines agree the text is the obvious one; the rest of this file is the list of differences:

- timestamps and intervals are BIGINT microseconds, so their arithmetic is that of integers;
- integers are computed as HUGEINT and decimals as DECIMAL(38, scale): only outputs must fit their types;
- DuckDB divides decimals as doubles; here a quotient of unscaled integers is rounded HALF_UP, exactly;
- x / 0 and x % 0 are NULL, LN outside its domain is NULL, a zero denominator of CORR and REGR_* is NULL.

A column of an input is written ``"alias.column"``; the groups and aggregates of a query ``group_0``, ``aggregate_0``.
"""

import datetime
import decimal
from collections.abc import Callable

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
from joinfold.types import BOOLEAN, DATE, DOUBLE, INTERVAL, STRING, TIMESTAMP, TIMESTAMP_NTZ, VOID, DataType

_STORED = {"STRING": "VARCHAR", "BINARY": "BLOB", "TIMESTAMP": "BIGINT", "TIMESTAMP_NTZ": "BIGINT", "INTERVAL": "BIGINT"}
_TIMES = (TIMESTAMP, TIMESTAMP_NTZ)
_NAN = "'NaN'::DOUBLE"


def identifier(name: str) -> str:
    """A name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def column(alias: str, name: str) -> str:
    """A column of an input, in the CTEs from the rows to the combinations."""
    return identifier(f"{alias}.{name}")


def string(value: str) -> str:
    """A string constant."""
    return "'" + value.replace("'", "''") + "'"


def output(expression: Expression) -> str:
    """An expression of SELECT, checked to fit its type."""
    text = scalar(expression)
    return text if expression.type == VOID else f"CAST({text} AS {_stored_type(expression.type)})"


def scalar(expression: Expression) -> str:
    """An expression over the columns of a combination, or over the values of a group."""
    match expression:
        case Column(input=alias, name=name):
            return column(alias, name)
        case GroupValue(index=index):
            return f"group_{index}"
        case AggregateValue(index=index):
            return f"aggregate_{index}"
        case Literal():
            return _literal(expression)
        case Cast(argument=argument, type=type_):
            return _cast(scalar(argument), argument.type, type_)
        case Case(branches=branches, otherwise=otherwise, type=type_):
            whens = " ".join(f"WHEN {scalar(when)} THEN {_converted(then, type_)}" for when, then in branches)
            return f"CASE {whens} ELSE {_converted(otherwise, type_)} END"
        case Call(function=function, arguments=arguments):
            operands = call_operands(expression)
            if function in "+-*/%":
                return _arithmetic(function, *operands, expression)
            return _FORMS[function](*operands) if function in _FORMS else _typed_form(function, operands, arguments)
        case Aggregate():
            raise AssertionError("aggregates are computed before the expressions over them")


def call_operands(call: Call) -> list[str]:
    """The arguments of a call, converted to the operand types of its signature."""
    pairs = zip(call.arguments, call.signature.operands, strict=True)
    return [_converted(argument, type_) for argument, type_ in pairs]


# --- aggregates ---------------------------------------------------------------------------------------------


def aggregate(node: Aggregate, present: str | None = None) -> str:
    """An aggregate over the combinations of a group for which ``present`` and its own condition are true."""
    conditions = [text for text in (present, node.condition and scalar(node.condition)) if text]

    def over(call: str, *more: str) -> str:
        rule = " AND ".join(f"({condition})" for condition in (*conditions, *more))
        return f"{call} FILTER (WHERE {rule})" if rule else call

    if not node.arguments:
        return over("COUNT(*)")
    texts, types = [scalar(argument) for argument in node.arguments], [argument.type for argument in node.arguments]
    match node.function:
        case "count":
            return over(f"COUNT({texts[0]})")
        case "min" | "max":
            return over(f"{node.function.upper()}({texts[0]})")
        case "sum" if not types[0].is_floating:
            return over(f"SUM({texts[0]})")
        case "avg" if types[0].is_decimal:
            scale, more = _scale(types[0]), _scale(node.type) - _scale(types[0])
            return _decimal(_quotient(_unscaled(over(f"SUM({texts[0]})")), over(f"COUNT({texts[0]})"), more), scale + more)
        case "avg" if types[0].is_integer:
            return f"{over(f'SUM({texts[0]})')}::DOUBLE / {over(f'COUNT({texts[0]})')}"
        case "sum" | "avg":
            return _floating_sum(texts[0], node.function == "avg", over)
        case _:
            return _statistic(node.function, [f"CAST({text} AS DOUBLE)" for text in texts], over)


def _floating_sum(argument: str, average: bool, over: Callable[..., str]) -> str:
    """With compensation while that is finite: infinities and overflow spoil it but not the plain sum."""
    number = f"CAST({argument} AS DOUBLE)"
    compensated, plain = over(f"FSUM({number})"), over(f"SUM({number})")
    total = f"CASE WHEN isfinite({compensated}) THEN {compensated} ELSE {plain} END"
    return f"({total}) / {over(f'COUNT({argument})')}" if average else total


def _statistic(function: str, numbers: list[str], over: Callable[..., str]) -> str:
    """NULL for too few values, NaN where one is not finite, NULL for a zero denominator."""
    fewest = 2 if function.endswith("_samp") else 1
    both = " AND ".join(f"{number} IS NOT NULL" for number in numbers)
    finite = " AND ".join(f"isfinite({number})" for number in numbers)
    varying = {"corr": numbers, "regr_slope": numbers[1:], "regr_intercept": numbers[1:]}.get(function, [])
    constant = "".join(
        f" WHEN {over(f'MIN({number})', both)} = {over(f'MAX({number})', both)} THEN NULL" for number in varying
    )
    value = over(f"{function.upper()}({', '.join(numbers)})", finite)
    return (
        f"CASE WHEN {over('COUNT(*)', both)} < {fewest} THEN NULL"
        f" WHEN NOT {over(f'bool_and({finite})', both)} THEN {_NAN}{constant} ELSE {value} END"
    )


# --- operators and functions --------------------------------------------------------------------------------


def _arithmetic(operator: str, left: str, right: str, call: Call) -> str:
    result = call.type
    divisor = f"NULLIF({right}, 0)" if operator in "/%" else right
    if result.is_floating:
        return f"({left} {operator} {divisor})"
    if not result.is_decimal:
        return f"({left}::{'HUGEINT' if result.is_integer else 'BIGINT'} {operator} {divisor})"
    left_scale, right_scale = map(_scale, call.signature.operands)
    if operator == "/":
        shift = _scale(result) + right_scale - left_scale
        return _decimal(_quotient(_unscaled(left), f"NULLIF({_unscaled(right)}, 0)", shift), _scale(result))
    scales = (left_scale, right_scale) if operator == "*" else (max(left_scale, right_scale),) * 2
    left, divisor = (f"CAST({side} AS DECIMAL(38, {scale}))" for side, scale in zip((left, divisor), scales, strict=True))
    return f"CAST({left} {operator} {divisor} AS DECIMAL(38, {_scale(result)}))"


def _quotient(dividend: str, divisor: str, shift: int) -> str:
    """dividend · 10^shift / divisor in whole numbers, rounded half away from zero.

    The whole part is shifted by itself, so that no intermediate is much longer than the result.
    """
    if shift < 0:
        divisor, shift = f"{divisor} * {10**-shift}::HUGEINT", 0
    power = f"{10**shift}::HUGEINT"
    rounded = f"(2 * (abs(q.n) % abs(q.d)) * {power} + abs(q.d)) // (2 * abs(q.d))"
    size = f"(abs(q.n) // abs(q.d)) * {power} + {rounded}"
    pair = f"{{'n': {dividend}, 'd': ({divisor})::HUGEINT}}"
    return f"[sign(q.n) * sign(q.d) * ({size}) for q in [{pair}]][1]"


def _unscaled(number: str) -> str:
    """A decimal's digits as a whole number."""
    return f"replace(({number})::VARCHAR, '.', '')::HUGEINT"


def _decimal(unscaled: str, scale: int) -> str:
    """The inverse of ``_unscaled``."""
    whole = f"CAST({unscaled} AS DECIMAL(38, 0))"
    return f"{whole} * CAST('1e-{scale}' AS DECIMAL({scale}, {scale}))" if scale else whole


def _typed_form(function: str, operands: list[str], arguments: tuple[Expression, ...]) -> str:
    """The functions whose text depends on the types of their arguments."""
    type_ = arguments[-1].type
    match function, operands:
        case "negate" | "abs", [x]:
            wide = f"{x}::HUGEINT" if type_.is_integer else x
            return f"(-{wide})" if function == "negate" else f"abs({wide})"
        case "ceil" | "floor", [x]:
            return x if type_.is_integer else f"{function}({x})" if type_.is_decimal else _whole(function, x)
        case "nullif", [x, y]:
            return f"CASE WHEN {scalar(Call('=', arguments))} THEN NULL ELSE {x} END" if y != "NULL" else x
        case "date_trunc", [unit, time]:
            return f"epoch_us(date_trunc({unit}, make_timestamp({time})))"
        case "year" | "month" | "day" | "hour" | "minute" | "second", [time]:
            return f"{function}({time})" if type_ == DATE else f"{function}(make_timestamp({time}))"
        case _:
            raise AssertionError(function)


def _whole(function: str, x: str) -> str:
    """CEIL or FLOOR of a double as BIGINT, saturated as in Java; NaN is 0."""
    bounded = "WHEN v >= 9223372036854775807 THEN 9223372036854775807 WHEN v < -9223372036854775808"
    return (
        f"[CASE WHEN isnan(v) THEN 0 {bounded} THEN -9223372036854775808 ELSE {function}(v)::BIGINT END"
        f" for v in [{x}]][1]"
    )


def _infix(operator: str) -> Callable[..., str]:
    return lambda *operands: "(" + f" {operator} ".join(operands) + ")"


def _named(name: str) -> Callable[..., str]:
    return lambda *operands: f"{name}({', '.join(operands)})"


def _power(x: str, y: str) -> str:
    """Java's: NaN for 1 to the power of NaN and ±1 to the power of ±∞, where C has 1."""
    return f"CASE WHEN isnan({y}) OR (abs({x}) = 1 AND isinf({y})) THEN {_NAN} ELSE power({x}, {y}) END"


def _substring(text: str, start: str, length: str | None = None) -> str:
    """Spark's: the start 0 is 1, a negative one counts from the end; what lies before the text uses up length."""
    first = "CASE WHEN s.pos > 0 THEN s.pos - 1 WHEN s.pos < 0 THEN length(s.txt) + s.pos ELSE 0 END"
    record = f"{{'txt': {text}, 'pos': {start}::BIGINT, 'len': {length or '2147483647'}::BIGINT}}"
    piece = "substring(p.txt, greatest(p.lo, 0) + 1, greatest(p.hi - greatest(p.lo, 0), 0))"
    bounds = f"{{'txt': s.txt, 'lo': {first}, 'hi': {first} + s.len}}"
    known = "p.hi IS NOT NULL AND p.txt IS NOT NULL"
    return f"[CASE WHEN {known} THEN {piece} END for p in [{bounds} for s in [{record}]]][1]"


def _piece(function: str) -> Callable[[str, str], str]:
    return lambda text, n: f"CASE WHEN {n} > 0 THEN {function}({text}, {n}) WHEN {n} <= 0 THEN left({text}, 0) END"


_FORMS: dict[str, Callable[..., str]] = {
    **{operator: _infix(operator.upper()) for operator in ("and", "or", "=", "<>", "<", "<=", ">", ">=", "||")},
    "not": lambda x: f"(NOT {x})",
    "is null": lambda x: f"({x} IS NULL)",
    "in": lambda x, *members: f"({x} IN ({', '.join(members)}))",
    "like": lambda x, pattern: f"({x} LIKE {pattern} ESCAPE '\\')",
    **{name: _named(name) for name in ("sqrt", "exp", "greatest", "least", "coalesce", "upper", "lower", "length")},
    **{name: _named(name) for name in ("replace", "instr", "contains")},
    "startswith": _named("starts_with"),
    "endswith": _named("ends_with"),
    "ln": lambda x: f"CASE WHEN {x} > 0 THEN ln({x}) END",
    "power": _power,
    **{name: (lambda x, name=name: f"{name}({x}, ' ')") for name in ("trim", "ltrim", "rtrim")},
    "reverse": lambda x: f"[list_aggregate([substring(v, length(v) - n, 1) for n in range(length(v))], 'string_agg', '')"
    f" for v in [{x}]][1]",
    "substring": _substring,
    "left": _piece("left"),
    "right": _piece("right"),
}


# --- constants and conversions ------------------------------------------------------------------------------


def _literal(literal: Literal) -> str:
    value, type_ = literal.value, literal.type
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int() if type_ in (*_TIMES, INTERVAL):
            return f"({value})::BIGINT"
        case int():
            return f"({value})" if value < 0 else str(value)
        case float() | decimal.Decimal():
            text = repr(value) if isinstance(value, float) else f"{value:f}"
            return f"'{text}'::{_stored_type(type_)}"
        case str():
            return string(value)
        case bytes():
            return f"from_hex('{value.hex()}')"
        case datetime.date():
            return f"DATE '{value.isoformat()}'"


def _converted(expression: Expression, type_: DataType) -> str:
    """The expression in the type that an operator asks for; integers of all widths are alike."""
    text = scalar(expression)
    if expression.type == type_ or (expression.type.is_integer and type_.is_integer):
        return text
    if expression.type == VOID:
        return f"NULL::{_stored_type(type_)}"
    return f"CAST({text} AS {f'DECIMAL(38, {_scale(type_)})' if type_.is_decimal else _stored_type(type_)})"


def _cast(text: str, source: DataType, target: DataType) -> str:
    """CAST with Spark's meaning: numbers are cut, not rounded, to integers; texts are Java's."""
    plain = f"CAST({text} AS {_stored_type(target)})"
    if target == source or source == VOID:
        return plain
    if target.is_integer and (source.is_floating or source.is_decimal):
        return f"CAST(trunc({text}) AS {target})"
    if target.is_integer and source == STRING:
        return (
            f"[CASE WHEN regexp_full_match(trim(v), '[+-]?[0-9]+') OR v IS NULL THEN CAST(v AS {target})"
            f" ELSE error('not a whole number: ' || v)::{target} END for v in [{text}]][1]"
        )
    if target.is_decimal and source.is_floating:
        return f"CAST(CAST({text} AS DOUBLE)::VARCHAR AS {target})"
    if target == BOOLEAN and source.is_numeric:
        return f"({text} <> 0)"
    if target == STRING and source.is_floating:
        return _floating_text(text)
    if target == STRING and source.is_decimal and _scale(source) == source.precision:
        return f"regexp_replace(({text})::VARCHAR, '^(-?)\\.', '\\10.')"
    return _cast_time(text, source, target) or plain


def _cast_time(text: str, source: DataType, target: DataType) -> str | None:
    if source in _TIMES:
        return text if target in _TIMES else f"CAST(make_timestamp({text}) AS {_stored_type(target)})"
    if target in _TIMES:
        zoned = "TIMESTAMPTZ" if target == TIMESTAMP and source == STRING else "TIMESTAMP"
        return f"epoch_us(CAST({text} AS {zoned}))"
    return None


def _floating_text(number: str) -> str:
    """Java's text of a floating number: 1.0, 1.5E10, 1.0E-4, NaN, -Infinity."""
    parts = (
        "{'sign': CASE WHEN v < 0 THEN '-' ELSE '' END,"
        " 'digits': replace(split_part(abs(v)::VARCHAR, 'e', 1), '.', ''),"
        " 'point': length(split_part(split_part(abs(v)::VARCHAR, 'e', 1), '.', 1)),"
        " 'shift': coalesce(try_cast(split_part(abs(v)::VARCHAR, 'e', 2) AS INT), 0)}"
    )
    mantissa = "ltrim(p.digits, '0')[1] || '.' || coalesce(nullif(rtrim(ltrim(p.digits, '0')[2:], '0'), ''), '0')"
    exponent = "p.point + p.shift - 1 - (length(p.digits) - length(ltrim(p.digits, '0')))"
    scientific = f"[p.sign || {mantissa} || 'E' || ({exponent}) for p in [{parts}]][1]"
    return (
        "[CASE WHEN isnan(v) THEN 'NaN' WHEN isinf(v) THEN CASE WHEN v > 0 THEN 'Infinity' ELSE '-Infinity' END"
        f" WHEN v = 0 OR (abs(v) >= 1e-3 AND abs(v) < 1e7) THEN v::VARCHAR ELSE {scientific} END for v in [{number}]][1]"
    )


def _stored_type(type_: DataType) -> str:
    """The DuckDB type in which values of a type are kept."""
    return _STORED.get(type_.name, str(type_))


def _scale(type_: DataType) -> int:
    assert type_.scale is not None
    return type_.scale
