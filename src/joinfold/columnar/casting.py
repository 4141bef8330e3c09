"""Conversions of a vector from one type to another.

`convert` is the implicit conversion of operands: numbers get a wider type. `cast` is CAST of Spark in ANSI mode: a
value that the target type cannot represent is an error, not NULL.
"""

from collections.abc import Callable
from datetime import UTC, tzinfo
from typing import Any

import numpy as np

from joinfold.columnar.exact import magnitude, narrowed, require_fit, rescaled, truncated, whole_numbers
from joinfold.columnar.operation import for_each
from joinfold.columnar.reading import decimal_units, number_reader, time_reader, truth_of_text
from joinfold.columnar.vector import Array, Flags, Vector, nothing
from joinfold.columnar.writing import text_of
from joinfold.columnar.zones import DAY_US, instants, require_calendar, walls
from joinfold.errors import EvaluationError
from joinfold.types import DATE, STRING, TIMESTAMP, VOID, DataType

_EXACT_IN_DOUBLE = 2**53
_EXACT_POWER = 22  # 10^22 is the largest power of ten that a double holds exactly


def convert(vector: Vector, source: DataType, target: DataType, rows: int) -> Vector:
    """The vector as an operand of the target type. Decimals may have more digits than its precision allows."""
    if source == target:
        return vector
    if source == VOID:
        return nothing(target, rows)
    if target.is_decimal:
        return Vector(rescaled(vector.values, source.scale or 0, target.scale or 0, vector.present), vector.present)
    return Vector(_floats(vector.values, source, target), vector.present) if target.is_floating else vector


def cast(vector: Vector, source: DataType, target: DataType, rows: int, zone: tzinfo) -> Vector:
    """CAST(vector AS target); timestamps are read and written in the zone."""
    present = vector.present
    if source == target:
        return vector
    if source == VOID or (present is not None and not present.any()):
        return nothing(target, rows)
    if source == STRING:
        return Vector(_from_text(vector, target, rows, zone), present)
    if target == STRING:
        return Vector(text_of(vector, source, rows, zone), present)
    if target.name == "BOOLEAN":
        return Vector(vector.values != 0, present)
    if target.is_numeric:
        return Vector(_number(vector, source, target, rows), present)
    return Vector(_time(vector.values, present, source, target, zone), present)


def _number(vector: Vector, source: DataType, target: DataType, rows: int) -> Array:
    values, present = vector.values, vector.present
    if source.name == "BOOLEAN":
        values = values.astype(np.int64)
    if target.is_floating:
        return _floats(values, source, target)
    if source.is_floating and target.is_integer:
        units = whole_numbers(np.trunc(values), present, target)
    elif source.is_floating:
        units = for_each(lambda value: decimal_units(repr(value), target), (vector,), target, rows, present)
    elif target.is_integer:
        units = truncated(values, source.scale or 0)
    else:
        units = rescaled(values, source.scale or 0, target.scale or 0, present)
    require_fit(units, present, target)
    return narrowed(units, present)


def _floats(values: Array, source: DataType, target: DataType) -> Array:
    """The nearest floating numbers; for FLOAT, rounded to DOUBLE first."""
    dtype = np.float32 if target.name == "FLOAT" else np.float64
    scale = source.scale or 0
    if scale and not _divides_exactly(values, scale):
        values = values.astype(object) / 10**scale  # Python rounds the quotient of two integers only once
    try:
        doubles = values.astype(np.float64)
    except OverflowError as error:
        raise EvaluationError(f"a number is too large for {target}") from error
    if scale and values.dtype != object:
        doubles = doubles / 10.0**scale
    with np.errstate(over="ignore"):
        return doubles.astype(dtype, copy=False)


def _divides_exactly(units: Array, scale: int) -> bool:
    """Whether doubles hold the units and 10^scale exactly, so that their quotient is rounded only once."""
    if units.dtype == object or scale > _EXACT_POWER:
        return False
    return magnitude(units) <= _EXACT_IN_DOUBLE


def _from_text(vector: Vector, target: DataType, rows: int, zone: tzinfo) -> Array:
    """CAST from STRING: each distinct text is read once, in Python."""
    read: Callable[[str], Any]
    if target.name == "BOOLEAN":
        read = truth_of_text
    elif target.is_numeric:
        read = number_reader(target)
    else:
        read = time_reader(target, zone)
    values: Array = for_each(read, (vector,), target, rows, vector.present)
    if not target.is_numeric or target.is_floating:
        return values
    require_fit(values, vector.present, target)
    return narrowed(values, vector.present)


def _time(values: Array, present: Flags | None, source: DataType, target: DataType, zone: tzinfo) -> Array:
    """CAST between DATE, TIMESTAMP and TIMESTAMP_NTZ, by way of local time."""
    if source == DATE:
        wall = require_calendar(values, present, DAY_US) * DAY_US
    else:
        wall, _ = walls(values, present, zone if source == TIMESTAMP else UTC)
    if target == DATE:
        return wall // DAY_US
    return instants(wall, zone) if target == TIMESTAMP else wall
