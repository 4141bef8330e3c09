"""Spark's operators, functions and casts as DuckDB SQL, including where the two engines differ.

- Timestamps and intervals are BIGINT microseconds, so their arithmetic is that of integers.
- Integers are computed as HUGEINT and decimals as DECIMAL(38, scale): only outputs must fit their types.
- DuckDB divides decimals as doubles. Here unscaled integers are divided exactly and rounded half up.
- x / 0 and x % 0 are NULL by joinfold's rule, and LN is NULL for numbers ≤ 0 by Spark's rule.

An operand that is needed more than once is bound by a list comprehension, ``[f(v) for v in [operand]][1]``.
"""

from collections.abc import Callable

from joinfold.logical.functions import Signature
from joinfold.types import BOOLEAN, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, VOID, DataType

_STORED = {
    "STRING": "VARCHAR",
    "BINARY": "BLOB",
    "TIMESTAMP": "BIGINT",
    "TIMESTAMP_NTZ": "BIGINT",
    "INTERVAL": "BIGINT",
}
_TIMES = (TIMESTAMP, TIMESTAMP_NTZ)

Form = Callable[..., str]


def stored_type(type_: DataType) -> str:
    """The DuckDB type in which values of a Spark type are stored."""
    return _STORED.get(type_.name, str(type_))


def call_text(function: str, signature: Signature, operands: list[str]) -> str:
    """A call whose operands already have the types of its signature."""
    if function in ("+", "-", "*", "/", "%"):
        return _arithmetic(function, signature, *operands)
    return _FORMS[function](*operands) if function in _FORMS else _typed_form(function, signature.operands, operands)


def _let(name: str, value: str, text: str) -> str:
    """The text, in which ``name`` stands for the value."""
    return f"[{text} for {name} in [{value}]][1]"


# --- arithmetic ---------------------------------------------------------------------------------------------


def _arithmetic(operator: str, signature: Signature, left: str, right: str) -> str:
    result = signature.result
    divisor = f"NULLIF({right}, 0)" if operator in ("/", "%") else right
    if result.is_floating:
        return f"({left} {operator} {divisor})"
    if not result.is_decimal:
        return f"({left}::{'HUGEINT' if result.is_integer else 'BIGINT'} {operator} {divisor})"
    left_scale, right_scale = map(scale_of, signature.operands)
    if operator == "/":
        shift = scale_of(result) + right_scale - left_scale
        return rescaled(quotient(unscaled(left), f"NULLIF({unscaled(right)}, 0)", shift), scale_of(result))
    shared = max(left_scale, right_scale)
    scales = (left_scale, right_scale) if operator == "*" else (shared, shared)
    left, divisor = (_wide(side, scale) for side, scale in zip((left, divisor), scales, strict=True))
    return _wide(f"{left} {operator} {divisor}", scale_of(result))


def _wide(number: str, scale: int) -> str:
    return f"CAST({number} AS DECIMAL(38, {scale}))"


def quotient(dividend: str, divisor: str, shift: int) -> str:
    """dividend · 10^shift / divisor as a whole number, rounded half away from zero.

    The whole part of the quotient is shifted separately, so that no intermediate number is much longer than the result.
    """
    if shift < 0:
        divisor, shift = f"{divisor} * {10**-shift}::HUGEINT", 0
    power = f"{10**shift}::HUGEINT"
    rounded = f"(2 * (abs(q.n) % abs(q.d)) * {power} + abs(q.d)) // (2 * abs(q.d))"
    size = f"(abs(q.n) // abs(q.d)) * {power} + {rounded}"
    return _let("q", f"{{'n': {dividend}, 'd': ({divisor})::HUGEINT}}", f"sign(q.n) * sign(q.d) * ({size})")


def unscaled(number: str) -> str:
    """The digits of a decimal as a whole number."""
    return f"replace(({number})::VARCHAR, '.', '')::HUGEINT"


def rescaled(digits: str, scale: int) -> str:
    """The decimal with these digits, the last ``scale`` of them after the point."""
    whole = _wide(digits, 0)
    return f"({whole} * CAST('0.{'1':0>{scale}}' AS DECIMAL({scale}, {scale})))" if scale else whole


def scale_of(decimal_type: DataType) -> int:
    """The number of digits after the point in a decimal type."""
    assert decimal_type.scale is not None
    return decimal_type.scale


# --- functions ----------------------------------------------------------------------------------------------


def _typed_form(function: str, types: tuple[DataType, ...], operands: list[str]) -> str:
    """A call of a function whose SQL depends on the type of its last argument."""
    type_ = types[-1]
    match function, operands:
        case "negate" | "abs", [x]:
            wide = f"{x}::HUGEINT" if type_.is_integer else x
            return f"(-{wide})" if function == "negate" else f"abs({wide})"
        case "ceil" | "floor", [x]:
            return x if type_.is_integer else f"{function}({x})" if type_.is_decimal else f"{function}({x})::BIGINT"
        case "date_trunc", [unit, time]:
            return f"epoch_us(date_trunc({unit}, make_timestamp({time})))"
        case "year" | "month" | "day" | "hour" | "minute" | "second", [time]:
            return f"{function}({time})" if type_ == DATE else f"{function}(make_timestamp({time}))"
        case _:
            raise AssertionError(function)


def _power(base: str, exponent: str) -> str:
    """POWER as in Java: NaN for 1 to the power of NaN and for ±1 to the power of ±∞, where C gives 1."""
    strange = "isnan(p.y) OR (abs(p.x) = 1 AND isinf(p.y))"
    value = f"CASE WHEN {strange} THEN 'NaN'::DOUBLE ELSE power(p.x, p.y) END"
    return _let("p", f"{{'x': {base}, 'y': {exponent}}}", value)


def _substring(text: str, start: str, length: str = "2147483647") -> str:
    """SUBSTRING as in Spark: start 0 means 1, a negative start counts from the end.

    If it is before the text, the positions up to the text count towards the length.
    """
    first = "CASE WHEN s.start > 0 THEN s.start - 1 WHEN s.start < 0 THEN length(s.text) + s.start ELSE 0 END"
    bounds = f"{{'text': s.text, 'lo': {first}, 'hi': {first} + s.length}}"
    piece = "substring(p.text, greatest(p.lo, 0) + 1, greatest(p.hi - greatest(p.lo, 0), 0))"
    arguments = f"{{'text': {text}, 'start': {start}::BIGINT, 'length': {length}::BIGINT}}"
    return _let("p", _let("s", arguments, bounds), f"CASE WHEN p.lo + p.hi IS NOT NULL THEN {piece} END")


def _reversed(text: str) -> str:
    """REVERSE by code points; DuckDB's function keeps letters and their combining accents together."""
    letters = "[substring(v, length(v) - n, 1) for n in range(length(v))]"
    return _let("v", text, f"CASE WHEN v IS NOT NULL THEN array_to_string({letters}, '') END")


def _infix(operator: str) -> Form:
    return lambda *operands: "(" + f" {operator} ".join(operands) + ")"


def _named(name: str) -> Form:
    return lambda *operands: f"{name}({', '.join(operands)})"


def _trimmed(name: str) -> Form:
    return lambda text: f"{name}({text}, ' ')"


def _end_piece(name: str) -> Form:
    """LEFT or RIGHT: empty for a length below 1, where DuckDB counts from the other end."""
    return lambda text, n: f"CASE WHEN {n} > 0 THEN {name}({text}, {n}) WHEN {n} <= 0 THEN left({text}, 0) END"


_FORMS: dict[str, Form] = {
    **{operator: _infix(operator.upper()) for operator in ("and", "or", "=", "<>", "<", "<=", ">", ">=", "||")},
    "not": lambda x: f"(NOT {x})",
    "is null": lambda x: f"({x} IS NULL)",
    "in": lambda x, *members: f"({x} IN ({', '.join(members)}))",
    "like": lambda x, pattern: f"({x} LIKE {pattern} ESCAPE '\\')",
    **{name: _named(name) for name in ("sqrt", "exp", "greatest", "least", "coalesce")},
    "ln": lambda x: f"CASE WHEN {x} > 0 THEN ln({x}) END",
    "power": _power,
    **{name: _named(name) for name in ("upper", "lower", "length", "replace", "instr", "contains")},
    "startswith": _named("starts_with"),
    "endswith": _named("ends_with"),
    **{name: _trimmed(name) for name in ("trim", "ltrim", "rtrim")},
    "reverse": _reversed,
    "substring": _substring,
    "left": _end_piece("left"),
    "right": _end_piece("right"),
}


# --- casts --------------------------------------------------------------------------------------------------


def converted(text: str, source: DataType, target: DataType) -> str:
    """A value in the operand type of an operator; integers of all widths are treated as the same type."""
    if source == target or (source.is_integer and target.is_integer):
        return text
    if source == VOID:
        return f"NULL::{stored_type(target)}"
    return _wide(text, scale_of(target)) if target.is_decimal else f"CAST({text} AS {stored_type(target)})"


def cast_text(text: str, source: DataType, target: DataType) -> str:
    """CAST with Spark's meaning: numbers are truncated to integers, and floating numbers are written as in Java."""
    plain = f"CAST({text} AS {stored_type(target)})"
    if source in (target, VOID):
        return plain
    if target.is_integer and (source.is_floating or source.is_decimal):
        return f"CAST(trunc({text}) AS {target})"
    if target.is_integer and source == STRING:
        digits = "v IS NULL OR regexp_full_match(trim(v), '[+-]?[0-9]+')"
        failed = f"error('not a whole number: ' || v)::{target}"
        return _let("v", text, f"CASE WHEN {digits} THEN CAST(v AS {target}) ELSE {failed} END")
    if target.is_decimal and (source.is_floating or source == STRING):
        digits = text if source == STRING else f"CAST({text} AS DOUBLE)::VARCHAR"
        return f"CAST({_wide(digits, scale_of(target))} AS {target})"
    if target == BOOLEAN and source.is_numeric:
        return f"({text} <> 0)"
    if target == STRING and source.is_floating:
        return _floating_text(text)
    if target == STRING and source.is_decimal and scale_of(source) == source.precision:
        return f"regexp_replace(({text})::VARCHAR, '^(-?)\\.', '\\10.')"
    return _time_cast(text, source, target) or plain


def _time_cast(text: str, source: DataType, target: DataType) -> str | None:
    if source in _TIMES:
        return text if target in _TIMES else f"CAST(make_timestamp({text}) AS {stored_type(target)})"
    if target in _TIMES:
        zoned = "TIMESTAMPTZ" if (source, target) == (STRING, TIMESTAMP) else "TIMESTAMP"
        return f"epoch_us(CAST({text} AS {zoned}))"
    return None


def _floating_text(number: str) -> str:
    """A floating number as Java prints it: 1.0, 1.5E10, 1.0E-4, NaN, -Infinity."""
    whole, power = "split_part(abs(v)::VARCHAR, 'e', 1)", "split_part(abs(v)::VARCHAR, 'e', 2)"
    parts = (
        f"{{'sign': CASE WHEN v < 0 THEN '-' ELSE '' END, 'digits': replace({whole}, '.', ''),"
        f" 'point': length(split_part({whole}, '.', 1)) + coalesce(try_cast({power} AS INT), 0)}}"
    )
    significant = "ltrim(p.digits, '0')"
    mantissa = f"{significant}[1] || '.' || coalesce(nullif(rtrim({significant}[2:], '0'), ''), '0')"
    exponent = f"p.point - 1 - (length(p.digits) - length({significant}))"
    scientific = _let("p", parts, f"p.sign || {mantissa} || 'E' || ({exponent})")
    special = "WHEN isnan(v) THEN 'NaN' WHEN isinf(v) THEN CASE WHEN v > 0 THEN 'Infinity' ELSE '-Infinity' END"
    plain = "WHEN v = 0 OR (abs(v) >= 1e-3 AND abs(v) < 1e7) THEN v::VARCHAR"
    return _let("v", number, f"CASE {special} {plain} ELSE {scientific} END")
