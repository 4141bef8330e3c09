"""Arrow columns as int64 codes: for identity within a batch, for order, and as a hash that is equal in every process.

Floats are normalized first: −0.0 becomes 0.0 and every NaN becomes the same NaN. So equal values have equal codes.
"""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from joinfold.kernels.grouping import largest, mix

Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
PAIR = ("by", "value")  # the fields of a value that is ordered by another one


def integers(column: pa.Array) -> Codes | None:
    """The values of an integer, boolean, date or time column as int64, NULL as 0; None for other types."""
    type_ = column.type
    if pa.types.is_timestamp(type_) or pa.types.is_date(type_) or pa.types.is_duration(type_):
        column = column.cast(pa.int32() if pa.types.is_date32(type_) else pa.int64())
    elif pa.types.is_boolean(type_):
        column = column.cast(pa.int8())
    elif not pa.types.is_integer(type_):
        return None
    if column.null_count:
        column = column.fill_null(0)
    return np.asarray(column.to_numpy(zero_copy_only=False), np.int64)


def floats(column: pa.Array) -> NDArray[np.float64]:
    """The column's values as normalized float64, NULL as 0.0."""
    if column.null_count:
        column = column.fill_null(0)
    values: NDArray[np.float64] = np.asarray(column.to_numpy(zero_copy_only=False), np.float64) + 0.0
    values[np.isnan(values)] = np.nan
    return values


def present(column: pa.Array) -> Flags | None:
    """True where the column is not NULL; None if it has no NULL."""
    return column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None


def flags_of(column: pa.Array) -> Flags:
    """True where a condition is true, false where it is false or NULL."""
    return column.fill_null(False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def identity_codes(column: pa.Array) -> list[Codes]:
    """One or two columns of codes. Two rows have equal codes exactly if their values are equal; NULL equals NULL."""
    values = integers(column)
    if values is None and pa.types.is_floating(column.type):
        values = floats(column).view(np.int64)
    if values is not None:
        there = present(column)
        return [values] if there is None else [values, there.astype(np.int64)]
    if pa.types.is_nested(column.type):
        column = names(column)
    return [column.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)]


def stable_hash(columns: list[pa.Array]) -> NDArray[np.uint64]:
    """A hash of rows that is the same in every batch and process and on every machine; NULLs have equal hashes."""
    return mix(np.stack([stable_codes(column) for column in columns]))


def stable_codes(column: pa.Array) -> Codes:
    """Codes that are equal for equal values in every batch and process; texts are hashed."""
    values = integers(column)
    if values is not None:
        return values
    if pa.types.is_floating(column.type):
        return floats(column).view(np.int64)
    encoded = (names(column) if pa.types.is_nested(column.type) else column).dictionary_encode()
    words = encoded.dictionary
    if not (pa.types.is_string(words.type) or pa.types.is_binary(words.type)):
        words = pa.array([repr(value) for value in words.to_pylist()], pa.string())
    hashed: Codes = pd.util.hash_array(np.array([*words.to_pylist(), ""], object), categorize=False).view(np.int64)
    return np.asarray(hashed[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)])


def names(column: pa.Array) -> pa.Array:
    """A text for each value of a nested column, the same for equal values."""
    return pa.array([None if value is None else repr(_normalized(value)) for value in column.to_pylist()], pa.string())


def _normalized(value: Any) -> Any:
    match value:
        case float():
            return value + 0.0
        case list():
            return [_normalized(part) for part in value]
        case dict():
            return {name: _normalized(part) for name, part in value.items()}
        case _:
            return value


def in_utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with UTC as the time zone of its timestamps. Their numbers are UTC in every time zone."""
    for at, field in enumerate(batch.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz not in (None, "UTC"):
            utc = pa.timestamp(field.type.unit, tz="UTC")
            batch = batch.set_column(at, field.name, batch.column(at).cast(utc))
    return batch


def order_codes(column: pa.Array) -> Codes | None:
    """The codes of a fixed-width column in the order of its values, NaN last; None for types without such codes."""
    values = integers(column)
    if values is not None:
        return values
    return _flipped(floats(column).view(np.int64)) if pa.types.is_floating(column.type) else None


def from_order_codes(codes: Codes, type_: pa.DataType, there: Flags) -> pa.Array:
    """The values of `order_codes`, NULL where ``there`` is false."""
    if pa.types.is_floating(type_):
        return pa.array(_flipped(codes).view(np.float64), mask=~there).cast(type_)
    column = pa.array(codes, pa.int64(), mask=~there)
    if pa.types.is_boolean(type_):
        return pc.equal(column, 1)
    return column.cast(pa.int32()).cast(type_) if pa.types.is_date32(type_) else column.cast(type_)


def ranks(column: pa.Array) -> tuple[Codes, pa.Array]:
    """The codes of any ordered column in the order of its values, and the values by code. NULL has the code 0."""
    encoded = column.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    rank = np.empty(len(order), np.int64)
    rank[order.to_numpy()] = np.arange(len(order))
    indices = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return (rank[indices] if len(rank) else np.zeros(len(column), np.int64)), encoded.dictionary.take(order)


def ordered_pairs(by: pa.Array, values: pa.Array) -> pa.Array:
    """Values with what they are ordered by, as structs; NULL where ``by`` is NULL."""
    return pa.StructArray.from_arrays([_normalized_floats(by), _normalized_floats(values)], PAIR, mask=by.is_null())


def _normalized_floats(column: pa.Array) -> pa.Array:
    if not pa.types.is_floating(column.type):
        return column
    return pa.array(floats(column), mask=column.is_null().to_numpy(zero_copy_only=False)).cast(column.type)


def extreme_of(values: pa.Array, mask: Flags, is_largest: bool, entry_of_row: Codes, entries: int) -> pa.Array:
    """The smallest or largest value of each entry among the rows of the mask, NULL where it has none."""
    there = present(values)
    codes, dictionary = order_codes(values), None
    if pa.types.is_struct(values.type):
        codes, dictionary = _ranks_of_pairs(values, is_largest)
    elif codes is None:
        codes, dictionary = ranks(values)
    codes = codes if is_largest else ~codes
    found, has = largest(entry_of_row, entries, codes, mask if there is None else mask & there)
    found = found if is_largest else ~found
    if dictionary is None:
        return from_order_codes(found, values.type, has)
    return dictionary.take(pa.array(found, mask=~has))


def _ranks_of_pairs(pairs: pa.Array, is_largest: bool) -> tuple[Codes, pa.Array]:
    """The rank of each pair, and the pairs in the order of their ranks."""
    by, value = pairs.field(0), pairs.field(1)
    order = np.lexsort((_order_of(value), is_wanted(value, is_largest), _order_of(by)))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank, pairs.take(pa.array(order))


def is_wanted(value: pa.Array, is_largest: bool) -> Flags:
    """The flag that orders values before their codes do: NULL comes first where the largest is wanted, else last."""
    return value.is_valid().to_numpy(zero_copy_only=False) == is_largest  # type: ignore[no-any-return]


def _order_of(column: pa.Array) -> Codes:
    codes = order_codes(column)
    return ranks(column)[0] if codes is None else codes


def _flipped(bits: Codes) -> Codes:
    """Turns the bits of floats into codes in the order of their values, and back: negative floats count down."""
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))
