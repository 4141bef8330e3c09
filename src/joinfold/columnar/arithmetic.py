"""Arithmetic: + - * / %, and functions of numbers.

Integers and decimals are exact (`columnar.exact`). A result that its type cannot hold is an error, unless it is part of
the argument of an aggregate (``wide``). x/0 and x%0 are NULL. Times are added and subtracted as integers. They must fit
their type only when they are read.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joinfold.columnar.exact import (
    absolute,
    combine,
    negative,
    quotient,
    remainder,
    require_fit,
    rescaled,
    scaled_up,
    whole_numbers,
)
from joinfold.columnar.operation import Compute, Operation, strict
from joinfold.columnar.vector import Array, Flags, Vector, both
from joinfold.types import DataType

_UFUNCS: dict[str, np.ufunc] = {"+": np.add, "-": np.subtract, "*": np.multiply}


def _ring(call: Operation) -> Array:
    """x + y, x - y and x * y."""
    left, right = call.values
    operation = _UFUNCS[call.name]
    if call.result.is_floating:
        with np.errstate(all="ignore"):
            return np.asarray(operation(left, right))
    present = call.present
    if call.name == "*":
        scale = sum(map(_scale, call.types))
    else:
        (left, right), scale = _at_one_scale(call, present)
    return _fitted(combine(operation, left, right, present), scale, present, call)


def _divide(call: Operation) -> Vector:
    """x / y: a floating number, or a decimal rounded half up."""
    left, right = call.values
    present = _where_not_zero(call)
    if call.result.is_floating:
        with np.errstate(all="ignore"):
            return Vector(np.true_divide(left, right), present)
    up = _scale(call.result) + _scale(call.types[1]) - _scale(call.types[0])
    dividend, divisor = scaled_up(left, max(up, 0), present), scaled_up(right, max(-up, 0), present)
    units = quotient(dividend, _without_zeros(divisor), present)
    return Vector(_fitted(units, _scale(call.result), present, call), present)


def _modulo(call: Operation) -> Vector:
    """x % y: the remainder, with the sign of the dividend."""
    left, right = call.values
    present = _where_not_zero(call)
    if call.result.is_floating:
        with np.errstate(all="ignore"):
            return Vector(np.fmod(left, right), present)
    (left, right), scale = _at_one_scale(call, present)
    units = remainder(left, _without_zeros(right), present)
    return Vector(_fitted(units, scale, present, call), present)


def _at_one_scale(call: Operation, present: Flags | None) -> tuple[list[Array], int]:
    """The units of both arguments at the larger of their scales, and that scale."""
    scale = max(map(_scale, call.types))
    pairs = zip(call.values, call.types, strict=True)
    return [scaled_up(units, scale - _scale(type_), present) for units, type_ in pairs], scale


def _where_not_zero(call: Operation) -> Flags | None:
    is_zero = call.arguments[1].values == 0
    return both(call.present, ~is_zero if is_zero.any() else None)


def _without_zeros(divisor: Array) -> Array:
    """The divisors, with 1 in the place of 0; there the quotient is NULL anyway."""
    is_zero = divisor == 0
    return np.where(is_zero, 1, divisor) if is_zero.any() else divisor


def _fitted(units: Array, scale: int, present: Flags | None, call: Operation) -> Array:
    """The units at the scale of the result; an error if they do not fit its type, unless the result is wide."""
    if call.result.is_decimal:
        units = rescaled(units, scale, _scale(call.result), present)
    if call.result.is_numeric and not call.wide:
        require_fit(units, present, call.result)
    return units


def _sign(call: Operation) -> Array:
    """−x and |x|. For a decimal they always fit its type; for an integer they must, unless the result is wide."""
    values: Array = call.values[0]
    if call.result.is_floating:
        return -values if call.name == "negate" else np.abs(values)
    result = negative(values) if call.name == "negate" else absolute(values)
    if call.result.is_integer and not call.wide:
        require_fit(result, call.present, call.result)
    return result


def _whole(call: Operation) -> Array:
    """⌈x⌉ and ⌊x⌋."""
    (values,), (type_,) = call.values, call.types
    up = call.name == "ceil"
    if type_.is_floating:
        return whole_numbers(np.ceil(values) if up else np.floor(values), call.present, call.result)
    if type_.is_decimal:
        power = 10 ** _scale(type_)
        values = values if power < 2**63 else values.astype(object)
        values = negative(negative(values) // power) if up else values // power
    require_fit(values, call.present, call.result)
    return np.asarray(values)


def _root(call: Operation) -> Array:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sqrt(call.values[0]))


def _logarithm(call: Operation) -> Vector:
    """LN, which is NULL for numbers ≤ 0."""
    (values,) = call.values
    return Vector(_libm(pc.ln, values), both(call.present, ~(values <= 0)))


def _power(call: Operation) -> Array:
    base, exponent = call.values
    result = _libm(pc.power, base, exponent)
    # C's pow gives −∞ for −0.0 to the power of −1, and ∞ for 0.0. Here −0.0 = 0.0, so both must give ∞.
    return np.where((base == 0) & (exponent < 0), np.inf, result)


def _libm(function: Callable[..., pa.Array], *values: Array) -> Array:
    """The function of Arrow, which calls the C library. The last digit of NumPy's depends on the processor."""
    return np.asarray(function(*(pa.array(part) for part in values)).to_numpy())


def _scale(type_: DataType) -> int:
    return type_.scale or 0


ARITHMETIC: dict[str, Compute] = {
    "+": strict(_ring),
    "-": strict(_ring),
    "*": strict(_ring),
    "/": _divide,
    "%": _modulo,
    "negate": strict(_sign),
    "abs": strict(_sign),
    "ceil": strict(_whole),
    "floor": strict(_whole),
    "sqrt": strict(_root),
    "exp": strict(lambda call: _libm(pc.exp, call.values[0])),
    "ln": _logarithm,
    "power": strict(_power),
}
