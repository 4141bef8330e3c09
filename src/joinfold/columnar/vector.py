"""Vectors: the values of a (sub-)expression for all rows, and which of them are present (not NULL).

Columns come from Arrow, and results go back to Arrow (`columnar.boundary`). In between, values are kept as what is
fastest to compute with:

    BOOLEAN                               bool
    integers                              int64, or Python's integers (dtype object) where one of them is larger
    DECIMAL(p, s)                         units, the value × 10^s, as integers are
    FLOAT, DOUBLE                         float32, float64
    DATE                                  int64 days
    TIMESTAMP, TIMESTAMP_NTZ, INTERVAL    int64 microseconds
    STRING, BINARY, nested types          an Arrow array

A constant is stored once: as a NumPy array of stride 0, or as an Arrow scalar. Only ``present`` decides what is NULL. A
value that is not present is arbitrary, so code that raises an error must check ``present`` first.
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
        """Whether all rows have the same value, stored once."""
        return isinstance(self.values, pa.Scalar) or (is_numpy(self.values) and self.values.strides == (0,))

    def take(self, rows: Rows) -> "Vector":
        """The vector at these rows."""
        return Vector(take(self.values, rows), None if self.present is None else self.present[rows])


def is_numpy(values: Values) -> bool:
    """Whether the values are a NumPy array: numbers, times or booleans."""
    return isinstance(values, np.ndarray)


def dtype_of(type_: DataType) -> type[np.generic] | None:
    """The NumPy type of the values of a type; None if they are kept in Arrow."""
    if type_.name in ("BOOLEAN", "VOID"):
        return np.bool_
    if type_.is_floating:
        return np.float32 if type_.name == "FLOAT" else np.float64
    return None if type_.is_nested or type_.name in ("STRING", "BINARY") else np.int64


def constant(value: object, type_: DataType, rows: int) -> Vector:
    """A constant for all rows."""
    if value is None:
        return nothing(type_, rows)
    if dtype_of(type_) is None:
        return Vector(pa.scalar(value, arrow_type(type_)))
    return Vector(repeated(listed([_plain(value, type_)], type_), rows))


def nothing(type_: DataType, rows: int) -> Vector:
    """NULL for all rows."""
    dtype = dtype_of(type_)
    if dtype is None:
        values = pa.scalar(None, pa.null() if type_.is_nested else arrow_type(type_))
    else:
        values = repeated(np.zeros(1, dtype), rows)
    return Vector(values, repeated(np.zeros(1, np.bool_), rows))


def repeated(one: Array, rows: int) -> Array:
    """A single value for all rows, stored once."""
    return np.broadcast_to(one.reshape(()), (rows,))


def listed(values: Sequence[Any], type_: DataType) -> Values:
    """Values of a type from a list; decimals (as units) and times are integers in the list."""
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
    """The values as an array with one value per row, even if they are an Arrow constant."""
    return pa.repeat(values, rows) if isinstance(values, pa.Scalar) else values


def choose(chosen: Flags, left: Values, right: Values) -> Values:
    """The left value where ``chosen`` is true, otherwise the right one."""
    if is_numpy(left):
        return np.where(chosen, left, right)
    return pc.if_else(pa.array(chosen), left, right)


def merge(parts: Sequence[tuple[Rows, Vector]], type_: DataType, rows: int) -> Vector:
    """One vector from parts for different rows, which together cover all rows."""
    parts = [(positions, part) for positions, part in parts if len(positions)]
    if not parts:
        return nothing(type_, rows)
    if len(parts) == 1:
        return parts[0][1]
    present: Flags | None = None
    if any(part.present is not None for _, part in parts):
        present = np.ones(rows, np.bool_)
        for positions, part in parts:
            if part.present is not None:
                present[positions] = part.present
    if dtype_of(type_) is None:
        return Vector(_merged_arrow(parts, rows), present)
    values = np.empty(rows, np.result_type(*(part.values.dtype for _, part in parts)))
    for positions, part in parts:
        values[positions] = part.values
    return Vector(values, present)


def _merged_arrow(parts: Sequence[tuple[Rows, Vector]], rows: int) -> pa.Array:
    type_ = next((part.values.type for _, part in parts if part.values.type != pa.null()), pa.null())
    arrays = [spread(part.values, len(positions)) for positions, part in parts]
    joined = pa.concat_arrays([pa.nulls(len(array), type_) if array.type == pa.null() else array for array in arrays])
    origin = np.empty(rows, np.int64)
    origin[np.concatenate([positions for positions, _ in parts])] = np.arange(rows)
    return joined.take(pa.array(origin))


def both(left: Flags | None, right: Flags | None) -> Flags | None:
    """Where both of two vectors are present; None means everywhere."""
    if left is None or right is None:
        return right if left is None else left
    return left & right


def _plain(value: Any, type_: DataType) -> Any:
    if type_.is_decimal:
        return int(value.scaleb(type_.scale, _ENOUGH_DIGITS))
    return value.toordinal() - EPOCH_DAY if isinstance(value, datetime.date) else value
