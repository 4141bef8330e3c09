"""A column on its way through an expression: its values, and where they are present.

Arrow is at both ends (`columnar.boundary`). In between, values are what computes best:

    BOOLEAN                               bool
    integers                              int64, or Python's integers (dtype object) where one of them is larger
    DECIMAL(p, s)                         units, which are the value × 10^s, likewise
    FLOAT, DOUBLE                         float32, float64
    DATE                                  int64 days
    TIMESTAMP, TIMESTAMP_NTZ, INTERVAL    int64 microseconds
    STRING, BINARY, nested types          an Arrow array

A constant takes no room: a NumPy array of stride 0, or an Arrow scalar. ``present`` decides alone what is NULL. In a
place that is not present any value may stand, so whatever can fail looks at ``present`` before it complains.
"""

import datetime
import decimal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from joinfold.arrow import arrow_type
from joinfold.types import DataType

Array: TypeAlias = NDArray[Any]
Flags: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.int64]
Values: TypeAlias = Any  # NDArray[Any] | pa.Array | pa.Scalar; pyarrow has no types

EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_ENOUGH_DIGITS = decimal.Context(prec=100)


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """Values, and where they are present (None: everywhere)."""

    values: Values
    present: Flags | None = None

    @property
    def is_constant(self) -> bool:
        """Whether one value stands for all rows."""
        return isinstance(self.values, pa.Scalar) or (is_numpy(self.values) and self.values.strides == (0,))

    def take(self, rows: Rows) -> "Vector":
        """The vector at these rows."""
        return Vector(take(self.values, rows), None if self.present is None else self.present[rows])


def is_numpy(values: Values) -> bool:
    """Whether the values are those of a number, a time or a truth value."""
    return isinstance(values, np.ndarray)


def dtype_of(type_: DataType) -> type[np.generic] | None:
    """NumPy's type of the values, None where they are Arrow's."""
    if type_.name in ("BOOLEAN", "VOID"):
        return np.bool_
    if type_.is_floating:
        return np.float32 if type_.name == "FLOAT" else np.float64
    return None if type_.is_nested or type_.name in ("STRING", "BINARY") else np.int64


def constant(value: object, type_: DataType, rows: int) -> Vector:
    """A literal, as often as there are rows."""
    if value is None:
        return nothing(type_, rows)
    if dtype_of(type_) is None:
        return Vector(pa.scalar(value, arrow_type(type_)))
    return Vector(repeated(listed([_plain(value, type_)], type_), rows))


def nothing(type_: DataType, rows: int) -> Vector:
    """NULL, as often as there are rows."""
    dtype = dtype_of(type_)
    if dtype is None:
        values = pa.scalar(None, pa.null() if type_.is_nested else arrow_type(type_))
    else:
        values = repeated(np.zeros(1, dtype), rows)
    return Vector(values, repeated(np.zeros(1, np.bool_), rows))


def repeated(one: Array, rows: int) -> Array:
    """A single value as often as there are rows, without taking room."""
    return np.broadcast_to(one.reshape(()), (rows,))


def listed(values: Sequence[Any], type_: DataType) -> Values:
    """Values of a type from a list of them: Python's integers for decimals (units) and times."""
    dtype = dtype_of(type_)
    if dtype is None:
        return pa.array(values, arrow_type(type_))
    if dtype is np.int64 and any(not -(2**63) <= value < 2**63 for value in values):
        return np.array(values, object)
    return np.array(values, dtype)


def take(values: Values, rows: Rows) -> Values:
    """The values at these rows."""
    if isinstance(values, pa.Scalar):
        return values
    if is_numpy(values):
        return repeated(values[:1], len(rows)) if values.strides == (0,) and len(values) else values[rows]
    return values.take(pa.array(rows))


def spread(values: Values, rows: int) -> Values:
    """The values with a place for each row, also where they are constant."""
    return pa.repeat(values, rows) if isinstance(values, pa.Scalar) else values


def choose(chosen: Flags, left: Values, right: Values) -> Values:
    """The left value where the row is chosen, else the right one."""
    if is_numpy(left):
        return np.where(chosen, left, right)
    return pc.if_else(pa.array(chosen), left, right)


def merge(parts: Sequence[tuple[Rows, Vector]], type_: DataType, rows: int) -> Vector:
    """One vector of parts that belong to different rows, of which no row is left out."""
    parts = [(places, part) for places, part in parts if len(places)]
    if not parts:
        return nothing(type_, rows)
    if len(parts) == 1:
        return parts[0][1]
    present: Flags | None = None
    if any(part.present is not None for _, part in parts):
        present = np.ones(rows, np.bool_)
        for places, part in parts:
            if part.present is not None:
                present[places] = part.present
    if dtype_of(type_) is None:
        return Vector(_merged_arrow(parts, rows), present)
    values = np.empty(rows, np.result_type(*(part.values.dtype for _, part in parts)))
    for places, part in parts:
        values[places] = part.values
    return Vector(values, present)


def _merged_arrow(parts: Sequence[tuple[Rows, Vector]], rows: int) -> pa.Array:
    type_ = next((part.values.type for _, part in parts if part.values.type != pa.null()), pa.null())
    arrays = [spread(part.values, len(places)) for places, part in parts]
    joined = pa.concat_arrays([pa.nulls(len(array), type_) if array.type == pa.null() else array for array in arrays])
    origin = np.empty(rows, np.int64)
    origin[np.concatenate([places for places, _ in parts])] = np.arange(rows)
    return joined.take(pa.array(origin))


def both(left: Flags | None, right: Flags | None) -> Flags | None:
    """Where two vectors are present."""
    if left is None or right is None:
        return right if left is None else left
    return left & right


def _plain(value: Any, type_: DataType) -> Any:
    if type_.is_decimal:
        return int(value.scaleb(type_.scale, _ENOUGH_DIGITS))
    return value.toordinal() - EPOCH_DAY if isinstance(value, datetime.date) else value
