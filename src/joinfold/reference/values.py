"""The order of values, and the conversion of values from one type to another."""

import decimal
import math
import struct
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from joinfold.errors import EvaluationError
from joinfold.types import INTEGER_BITS, DataType

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")


def order_key(value: Any) -> Any:
    """A sort key for Spark's order: NULL first, NaN last and equal to itself, −0.0 equal to 0.0."""
    if value is None:
        return (0, 0)
    if isinstance(value, float):
        return (2, 0.0) if math.isnan(value) else (1, value)
    return (1, value)


def canonical(value: Any) -> Any:
    """The value that is shown for all equal values: 0.0 for −0.0."""
    return value + 0.0 if isinstance(value, float) else value


def in_range(value: int, type_: DataType) -> int:
    """The integer itself; an error if the type cannot hold it."""
    bits = INTEGER_BITS[type_.name]
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise EvaluationError(f"{value} does not fit {type_}")
    return value


def to_scale(value: decimal.Decimal, type_: DataType, wide: bool = False) -> decimal.Decimal:
    """The decimal, rounded half up to the scale of the type; an error if it has too many digits, unless ``wide``."""
    assert type_.precision is not None and type_.scale is not None
    with decimal.localcontext(prec=200):
        rounded = value.quantize(decimal.Decimal(1).scaleb(-type_.scale), decimal.ROUND_HALF_UP)
        if not wide and abs(rounded).scaleb(type_.scale) >= 10**type_.precision:
            raise EvaluationError(f"{value} does not fit {type_}")
    return rounded


def to_float(value: float, type_: DataType) -> float:
    """The value rounded to the floating type."""
    if type_.name == "DOUBLE" or not math.isfinite(value):
        return value
    try:
        single: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return single


def convert(value: Any, source: DataType, target: DataType) -> Any:
    """The implicit conversion of an operand: numbers get a wider type."""
    if value is None or source == target or not target.is_numeric or (source.is_integer and target.is_integer):
        return value
    return to_scale(decimal.Decimal(value), target, wide=True) if target.is_decimal else _to_number(value, target)


def cast(value: Any, source: DataType, target: DataType, zone: tzinfo) -> Any:
    """CAST of Spark in ANSI mode: a value that the target type cannot represent is an error, not NULL."""
    if value is None or source == target:
        return value
    match target.name:
        case "STRING":
            return _to_string(value, source, zone)
        case "BOOLEAN":
            return _to_boolean(value)
        case "DATE" | "TIMESTAMP" | "TIMESTAMP_NTZ":
            return _to_time(value, source, target, zone)
        case _:
            return _to_number(value, target)


def local_time(us: int, zone: tzinfo) -> datetime:
    """The date and time of a timestamp in a time zone."""
    return (_EPOCH + us * _MICROSECOND).astimezone(zone)


def microseconds(moment: datetime) -> int:
    """Microseconds from the epoch to a moment that has a time zone."""
    return (moment - _EPOCH) // _MICROSECOND


def _to_number(value: Any, target: DataType) -> Any:
    if isinstance(value, str):
        try:
            value = decimal.Decimal(value.strip()) if not target.is_floating else float(value)
        except (decimal.InvalidOperation, ValueError) as error:
            raise EvaluationError(f"'{value}' is not a number") from error
        if target.is_integer and value != value.to_integral_value():
            raise EvaluationError(f"'{value}' is not a {target}")
    if target.is_floating:
        return to_float(float(value), target)
    if isinstance(value, float) and not math.isfinite(value):
        raise EvaluationError(f"{value} does not fit {target}")
    if target.is_integer:
        return in_range(math.trunc(value), target)
    exact = decimal.Decimal(repr(value)) if isinstance(value, float) else decimal.Decimal(value)
    return to_scale(exact, target)


def _to_boolean(value: Any) -> bool:
    if not isinstance(value, str):
        return bool(value != 0)
    word = value.strip().lower()
    if word not in (*_TRUE, *_FALSE):
        raise EvaluationError(f"'{value}' is not a BOOLEAN")
    return word in _TRUE


def _to_string(value: Any, source: DataType, zone: tzinfo) -> str:
    match source.name:
        case "BOOLEAN":
            return "true" if value else "false"
        case "TIMESTAMP" | "TIMESTAMP_NTZ":
            moment = local_time(value, zone if source.name == "TIMESTAMP" else UTC)
            fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
            return moment.strftime("%Y-%m-%d %H:%M:%S") + fraction
        case "DOUBLE" | "FLOAT":
            return _float_text(value)
        case _:
            return f"{value:f}" if source.is_decimal else str(value)


def _float_text(value: float) -> str:
    """A double as Java prints it."""
    if not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = f"{decimal.Decimal(repr(value)):f}"
        return text if "." in text else f"{text}.0"
    sign, digits, exponent = decimal.Decimal(repr(value)).normalize().as_tuple()
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{rest}E{len(digits) - 1 + int(exponent)}"


def _to_time(value: Any, source: DataType, target: DataType, zone: tzinfo) -> Any:
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError as error:
            raise EvaluationError(f"'{value}' is not a {target}") from error
    elif isinstance(value, date):
        moment = datetime(value.year, value.month, value.day)
    else:
        moment = local_time(value, zone if source.name == "TIMESTAMP" else UTC).replace(tzinfo=None)
    if target.name == "DATE":
        return moment.date()
    if target.name == "TIMESTAMP":
        return microseconds(moment if moment.tzinfo else moment.replace(tzinfo=zone))
    return microseconds(moment.replace(tzinfo=UTC))
