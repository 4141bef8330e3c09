"""Integers without overflow: arithmetic on int64 that switches to Python's integers where int64 is too small.

An exact array is int64, or has Python's integers (dtype object) if a present value needs them. The smallest and largest
value usually show that a whole array cannot overflow. If they do not, a float64 estimate finds the rows that may, and
only those are computed again in Python's integers. So ordinary numbers cost three or four passes over memory, about
2 ns per value. Decimals are kept as units: the value × 10^scale, an integer.
"""

from typing import Any

import numpy as np

from joinfold.columnar.vector import Array, Flags
from joinfold.errors import EvaluationError
from joinfold.types import INTEGER_BITS, DataType

_INT64 = range(-(2**63), 2**63)
_END = 2.0**63
_RISKY = _END / 2  # half the limit: a margin that is far larger than the rounding error of the estimate


def combine(operation: np.ufunc, left: Array, right: Array, present: Flags | None) -> Array:
    """left + right, left − right or left × right for exact arrays of n values; correct where present. Cost: O(n)."""
    if left.dtype == object or right.dtype == object:
        return narrowed(operation(left.astype(object), right.astype(object)), present)
    largest = (magnitude(left), magnitude(right))
    if (largest[0] * largest[1] if operation is np.multiply else sum(largest)) < 2**63:
        return np.asarray(operation(left, right))
    risky = np.abs(operation(left.astype(np.float64), right.astype(np.float64))) >= _RISKY
    if present is not None:
        risky &= present
    result: Array = operation(left, right)
    if not risky.any():
        return result
    exact = narrowed(operation(left[risky].astype(object), right[risky].astype(object)))
    if exact.dtype == object:
        result = result.astype(object)
    result[risky] = exact
    return result


def magnitude(values: Array) -> int:
    """The largest absolute value of an int64 array."""
    if not len(values) or values.strides == (0,):
        return abs(int(values[0])) if len(values) else 0
    return max(abs(int(values.max())), abs(int(values.min())))


def narrowed(values: Array, present: Flags | None = None) -> Array:
    """The same values in int64 if all present ones fit; values that are not present may become 0."""
    if values.dtype != object:
        return values
    kept = values if present is None else np.where(present, values, 0)
    if not len(kept) or (kept.min() in _INT64 and kept.max() in _INT64):
        return kept.astype(np.int64)
    return values


def negative(values: Array) -> Array:
    """−values."""
    return -_with_opposites(values)


def absolute(values: Array) -> Array:
    """|values|."""
    return np.abs(_with_opposites(values))


def _with_opposites(values: Array) -> Array:
    """The values, in Python's integers if −2^63 is among them, which has no opposite in int64."""
    least = values.dtype == np.int64 and len(values) > 0 and int(values.min()) == _INT64.start
    return values.astype(object) if least else values


def scaled_up(values: Array, digits: int, present: Flags | None) -> Array:
    """values × 10^digits."""
    if digits == 0:
        return values
    return combine(np.multiply, values, np.broadcast_to(power_of_ten(digits), values.shape), present)


def power_of_ten(digits: int) -> Array:
    """10^digits as an exact array without dimensions."""
    return np.array(10**digits, np.int64 if digits <= 18 else object)


def rescaled(values: Array, source: int, target: int, present: Flags | None) -> Array:
    """Units at scale ``source`` as units at scale ``target``, rounded half up (away from zero)."""
    if target >= source:
        return scaled_up(values, target - source, present)
    return quotient(values, np.broadcast_to(power_of_ten(source - target), values.shape), present)


def quotient(dividend: Array, divisor: Array, present: Flags | None) -> Array:
    """dividend / divisor to the nearest integer, half up (away from zero); divisors must not be 0."""
    is_negative = divisor < 0
    if is_negative.any():
        dividend = np.where(is_negative, negative(dividend), dividend)
        divisor = absolute(divisor)
    below = dividend // divisor
    rest = dividend - below * divisor
    upper = divisor - rest
    # From the integer below, a half is rounded up if the quotient is positive, and down if it is negative.
    return narrowed(below + np.where(dividend >= 0, rest >= upper, rest > upper), present)


def remainder(dividend: Array, divisor: Array, present: Flags | None) -> Array:
    """dividend − divisor × the quotient rounded towards zero: it has the dividend's sign; divisors must not be 0."""
    divisor = absolute(divisor)
    rest = dividend % divisor
    return narrowed(np.where((dividend < 0) & (rest != 0), rest - divisor, rest), present)


def truncated(values: Array, digits: int) -> Array:
    """values / 10^digits, rounded towards zero."""
    if digits == 0:
        return values
    power = 10**digits
    if values.dtype == np.int64 and digits > 18:
        return np.zeros_like(values)
    below = values // power
    result: Array = below + ((values < 0) & (below * power != values))
    return result


def require_fit(values: Array, present: Flags | None, type_: DataType) -> None:
    """Raises `EvaluationError` for the first present integer (or decimal, as units) that the type cannot hold."""
    if type_.is_decimal:
        end = 10 ** (type_.precision or 0)
        allowed = range(1 - end, end)
    else:
        end = 1 << INTEGER_BITS.get(type_.name, 64) - 1
        allowed = range(-end, end)
    if not len(values) or (values.dtype == np.int64 and end >= 2**63):
        return
    if values.dtype == np.int64 and int(values.min()) in allowed and int(values.max()) in allowed:
        return
    outside = (values < allowed.start) | (values >= allowed.stop)
    if present is not None:
        outside &= present
    if outside.any():
        raise does_not_fit(exact_text(int(values[outside.argmax()]), type_.scale or 0), type_)


def whole_numbers(values: Array, present: Flags | None, type_: DataType) -> Array:
    """Floating numbers without a fraction as int64; an error for the first present one that int64 cannot hold."""
    inside = (values >= -_END) & (values < _END)
    outside = ~inside if present is None else ~inside & present
    if outside.any():
        raise does_not_fit(values[outside.argmax()], type_)
    return np.where(inside, values, 0).astype(np.int64)


def does_not_fit(value: Any, type_: DataType) -> EvaluationError:
    """The error for a value that its type cannot hold."""
    return EvaluationError(f"{value} does not fit {type_}")


def exact_text(units: int, scale: int) -> str:
    """A decimal as text in digits, without an exponent."""
    digits = f"{abs(units):0{scale + 1}d}"
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :]
    return f"{'-' if units < 0 else ''}{whole}{'.' if scale else ''}{fraction}"
