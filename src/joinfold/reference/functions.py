"""The functions of the language in plain Python, for arguments that are not NULL."""

import decimal
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from joinfold.errors import EvaluationError
from joinfold.reference.values import in_range, local_time, microseconds, to_float, to_scale
from joinfold.types import DataType


def arithmetic(operator: str, left: Any, right: Any, result: DataType, wide: bool) -> Any:
    """x + y, x - y, x * y, x / y and x % y, exact for integers and decimals; x/0 and x%0 are NULL.

    A wide result may be an integer or decimal that its type cannot hold: it is part of an argument of an aggregate.
    """
    if operator in "/%" and right == 0:
        return None
    if result.is_floating:
        return to_float(_float_arithmetic(operator, left, right), result)
    with decimal.localcontext(prec=200):
        value = {
            "+": lambda: left + right,
            "-": lambda: left - right,
            "*": lambda: left * right,
            "/": lambda: left / right,
            "%": lambda: _remainder(left, right),
        }[operator]()
    if result.is_integer:
        return value if wide else in_range(value, result)
    return to_scale(value, result, wide) if result.is_decimal else value


def call_function(function: str, values: list[Any], result: DataType, zone: tzinfo, wide: bool = False) -> Any:
    """The value of a function, called by its name; ``wide`` is as in `arithmetic`."""
    if function in _CALENDAR:
        return _CALENDAR[function](_moment(values[0], zone))
    match function:
        case "date_trunc":
            return microseconds(_truncate(values[0].upper(), local_time(values[1], zone)))
        case "negate" | "abs":
            value = -values[0] if function == "negate" else abs(values[0])
            return in_range(value, result) if result.is_integer and not wide else value
        case "ceil" | "floor":
            return _round_to_integer(math.ceil if function == "ceil" else math.floor, values[0], result)
        case _:
            return _PLAIN[function](*values)


def _float_arithmetic(operator: str, left: float, right: float) -> float:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right
        case "%":
            return math.nan if math.isinf(left) else math.fmod(left, right)
        case _:
            raise AssertionError(operator)


def _remainder(left: Any, right: Any) -> Any:
    """The remainder with the sign of the dividend."""
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def _round_to_integer(rounding: Callable[[Any], int], value: Any, result: DataType) -> Any:
    if not math.isfinite(value):
        raise EvaluationError(f"{value} does not fit {result}")
    rounded = rounding(value)
    return to_scale(decimal.Decimal(rounded), result) if result.is_decimal else in_range(rounded, result)


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        odd = exponent % 2 == 1
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:
        return math.inf if base == 0 else math.nan


def _exponential(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _substring(text: str, start: int, length: int | None = None) -> str:
    """SUBSTRING: the start counts from 1, or from the end if it is negative; positions outside the text are empty."""
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = len(text) if length is None else begin + length
    return text[max(begin, 0) : max(end, 0)]


def _like(text: str, pattern: str) -> bool:
    parts, escaped = [], False
    for char in pattern:
        if escaped:
            if char not in "%_\\":
                raise EvaluationError(f"'\\{char}' in the LIKE pattern '{pattern}' is not a valid escape")
            parts.append(re.escape(char))
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            parts.append({"%": ".*", "_": "."}.get(char, re.escape(char)))
    if escaped:
        raise EvaluationError(f"the LIKE pattern '{pattern}' ends with a single backslash")
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def _moment(value: int | date, zone: tzinfo) -> datetime:
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return local_time(value, zone)


def _truncate(unit: str, moment: datetime) -> datetime:
    """The beginning of the unit of time that contains the moment, in the moment's time zone."""
    match unit:
        case "MILLISECOND":
            return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
        case "SECOND":
            return moment.replace(microsecond=0)
        case "MINUTE":
            return moment.replace(second=0, microsecond=0)
        case "HOUR":
            return moment.replace(minute=0, second=0, microsecond=0)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "DAY":
            return day
        case "WEEK":
            return day - timedelta(days=day.weekday())
        case "MONTH":
            return day.replace(day=1)
        case "QUARTER":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "YEAR":
            return day.replace(month=1, day=1)
        case _:
            raise AssertionError(unit)


_CALENDAR: dict[str, Callable[[datetime], int]] = {
    "year": lambda moment: moment.year,
    "month": lambda moment: moment.month,
    "day": lambda moment: moment.day,
    "hour": lambda moment: moment.hour,
    "minute": lambda moment: moment.minute,
    "second": lambda moment: moment.second,
}

_PLAIN: dict[str, Callable[..., Any]] = {
    "sqrt": lambda value: math.sqrt(value) if value >= 0 or math.isnan(value) else math.nan,
    "exp": _exponential,
    "ln": lambda value: math.log(value) if value > 0 else value if math.isnan(value) else None,
    "power": _power,
    "||": lambda *texts: "".join(texts),
    "like": _like,
    "upper": str.upper,
    "lower": str.lower,
    "trim": lambda text: text.strip(" "),
    "ltrim": lambda text: text.lstrip(" "),
    "rtrim": lambda text: text.rstrip(" "),
    "length": len,
    "reverse": lambda text: text[::-1],
    "replace": lambda text, search, by: text.replace(search, by) if search else text,
    "substring": _substring,
    "left": lambda text, length: text[: max(length, 0)],
    "right": lambda text, length: text[len(text) - min(length, len(text)) :] if length > 0 else "",
    "instr": lambda text, search: text.find(search) + 1,
    "contains": lambda text, search: search in text,
    "startswith": str.startswith,
    "endswith": str.endswith,
}
