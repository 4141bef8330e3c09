"""From Arrow columns to vectors and back.

Numbers are read without a copy, as a view of the Arrow buffer. A decimal128 is two words of 64 bits. If all high words
only repeat the sign of the low words, the low words are the units.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joinfold.arrow import arrow_type
from joinfold.columnar.exact import narrowed, require_fit
from joinfold.columnar.vector import Array, Flags, Vector, is_numpy, spread
from joinfold.errors import EvaluationError
from joinfold.types import MAX_PRECISION, VOID, DataType

WIDEST_PRECISION = 76
_LOW_WORD = 2**64 - 1


def from_arrow(column: pa.Array, type_: DataType) -> Vector:
    """The column as a vector of the type; its Arrow type may be a different one with the same meaning."""
    if not type_.is_nested and column.type != arrow_type(type_):
        column = column.cast(arrow_type(type_))
    present = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    if type_.is_decimal:
        return Vector(_units(column, present), present)
    if type_.is_nested or type_.name in ("STRING", "BINARY"):
        return Vector(column, present)
    if type_.name in ("BOOLEAN", "VOID"):
        truth = column.cast(pa.bool_()).fill_null(False)
        return Vector(truth.to_numpy(zero_copy_only=False), present)
    if type_.is_floating:
        return Vector(_words(column, np.float32 if type_.name == "FLOAT" else np.float64), present)
    width = column.type.bit_width
    return Vector(_words(column, np.dtype(f"int{width}").type).astype(np.int64, copy=False), present)


def to_arrow(vector: Vector, type_: DataType, rows: int, wide: bool = False) -> pa.Array:
    """The vector as an Arrow array of the type, or, if ``wide``, of the type that `evaluate` describes."""
    values, present = vector.values, vector.present
    if type_ == VOID:
        return pa.nulls(rows)
    if not is_numpy(values):
        return _without_absent(spread(values, rows), present)
    values = narrowed(values, present)
    if type_.is_decimal or values.dtype == object:
        return _exact_array(values, present, type_, wide)
    mask = None if present is None else ~present
    wanted = pa.int64() if wide and type_.is_integer else arrow_type(type_)
    if wanted.bit_width in (8, 16, 32) and values.dtype == np.int64:
        values = values.astype(f"int{wanted.bit_width}")
    array = pa.array(values, mask=mask)
    return array if array.type == wanted else array.view(wanted)


def _without_absent(array: pa.Array, present: Flags | None) -> pa.Array:
    absent = 0 if present is None else len(present) - int(np.count_nonzero(present))
    if array.null_count == absent:  # a null in the array is always absent, so equal counts mean equal rows
        return array
    return pc.if_else(pa.array(present), array, pa.scalar(None, array.type))


def _words(column: pa.Array, dtype: type[np.generic], per_value: int = 1) -> Array:
    if not len(column):
        return np.empty(0, dtype)
    words = np.frombuffer(column.buffers()[1], dtype)
    return words[column.offset * per_value : (column.offset + len(column)) * per_value]


def _units(column: pa.Array, present: Flags | None) -> Array:
    words = _words(column, np.int64, 2)
    low, high = words[::2], words[1::2]
    is_large = high != low >> 63
    if present is not None:
        is_large &= present
    if not is_large.any():
        return np.ascontiguousarray(low)
    large: Array = (high.astype(object) << 64) + low.view(np.uint64).astype(object)
    return large


def _exact_array(values: Array, present: Flags | None, type_: DataType, wide: bool) -> pa.Array:
    """Units as decimals: of the type's precision, or, if they are wide and need more, of precision 38 or 76."""
    scale = type_.scale or 0
    if not wide:
        require_fit(values, present, type_)
    if present is not None:
        values = np.where(present, values, 0)
    largest = max(abs(int(values.max(initial=0))), abs(int(values.min(initial=0))))
    if type_.is_decimal and largest < 10 ** (type_.precision or 0):
        return _decimal_array(values, present, pa.decimal128(type_.precision, scale), 2)
    if largest < 10**MAX_PRECISION:
        return _decimal_array(values, present, pa.decimal128(MAX_PRECISION, scale), 2)
    if largest < 10**WIDEST_PRECISION:
        return _decimal_array(values, present, pa.decimal256(WIDEST_PRECISION, scale), 4)
    raise EvaluationError(f"an argument of an aggregate has more than {WIDEST_PRECISION} digits")


def _decimal_array(values: Array, present: Flags | None, type_: pa.DataType, words: int) -> pa.Array:
    data = np.empty((len(values), words), np.int64)
    if values.dtype == np.int64:
        data[:, 0] = values
        data[:, 1:] = (values >> 63)[:, None]
    else:
        for word in range(words):
            data[:, word] = ((values >> 64 * word) & _LOW_WORD).astype(np.uint64).view(np.int64)
    validity = None if present is None else pa.array(present).buffers()[1]
    return pa.Array.from_buffers(type_, len(values), [validity, pa.py_buffer(data)])
