"""CAST to STRING: floating numbers as Java prints them, decimals without an exponent, times in ISO format."""

import decimal
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

import pyarrow as pa

from joinfold.columnar.exact import exact_text
from joinfold.columnar.operation import for_each
from joinfold.columnar.vector import EPOCH_DAY, Values, Vector
from joinfold.columnar.zones import DAY_US, require_calendar, walls
from joinfold.types import DATE, STRING, TIMESTAMP, DataType

_EPOCH = datetime(1970, 1, 1)


def text_of(vector: Vector, source: DataType, rows: int, zone: tzinfo) -> Values:
    """CAST(vector AS STRING) for the rows that are present; timestamps are written in the zone."""
    if source.is_integer and vector.values.dtype != object:
        return pa.array(vector.values).cast(pa.string())
    write: Callable[[Any], str]
    if source.name == "BOOLEAN":
        write = {True: "true", False: "false"}.__getitem__
    elif source.is_floating:
        write = float_text
    elif source == DATE:
        require_calendar(vector.values, vector.present, DAY_US)
        write = _date_text
    elif source.is_numeric:
        scale = source.scale or 0

        def write(units: int) -> str:
            return exact_text(units, scale)
    else:
        wall, _ = walls(vector.values, vector.present, zone if source == TIMESTAMP else UTC)
        vector, write = Vector(wall, vector.present), _time_text
    return for_each(write, (vector,), STRING, rows, vector.present)


def float_text(value: float) -> str:
    """A double as Java prints it."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    exact = decimal.Decimal(repr(value))
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = f"{exact:f}"
        return text if "." in text else f"{text}.0"
    sign, digits, exponent = exact.normalize().as_tuple()
    assert isinstance(exponent, int)
    fraction = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{fraction}E{exponent + len(digits) - 1}"


def _date_text(days: int) -> str:
    return date.fromordinal(EPOCH_DAY + days).isoformat()


def _time_text(us: int) -> str:
    """'YYYY-MM-DD HH:MM:SS', and the fraction of a second without trailing zeros."""
    text = (_EPOCH + timedelta(microseconds=us)).isoformat(sep=" ")
    return text.rstrip("0") if "." in text else text
