"""From Spark's types to Arrow's, and back."""

import pyarrow as pa

from joinfold.errors import UsageError
from joinfold.types import MAX_PRECISION, TIMESTAMP, TIMESTAMP_NTZ, DataType, Field, Schema, decimal

_SCALARS = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    "INTERVAL": pa.duration("us"),
    "VOID": pa.null(),
}
_NAMES = {type_: name for name, type_ in _SCALARS.items()} | {
    pa.large_string(): "STRING",
    pa.string_view(): "STRING",
    pa.large_binary(): "BINARY",
}


def arrow_type(type_: DataType) -> pa.DataType:
    """The Arrow type of a scalar Spark type."""
    return pa.decimal128(type_.precision, type_.scale) if type_.is_decimal else _SCALARS[type_.name]


def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of scalar columns."""
    return pa.schema([pa.field(field.name, arrow_type(field.type)) for field in schema])


def schema_from_arrow(schema: pa.Schema) -> Schema:
    """The columns of an Arrow schema, with Spark's types."""
    return Schema(tuple(Field(field.name, _data_type(field.name, field.type)) for field in schema))


def _data_type(column: str, type_: pa.DataType) -> DataType:
    if pa.types.is_timestamp(type_):
        return TIMESTAMP if type_.tz else TIMESTAMP_NTZ
    if pa.types.is_duration(type_):
        return DataType("INTERVAL")
    if pa.types.is_decimal(type_) and 0 <= type_.scale <= type_.precision <= MAX_PRECISION:
        return decimal(type_.precision, type_.scale)
    if pa.types.is_dictionary(type_):
        return _data_type(column, type_.value_type)
    if pa.types.is_nested(type_):
        return DataType(f"{type(type_).__name__}<{type_}>")
    if type_ not in _NAMES:
        what = f"column '{column}' has the Arrow type {type_}, which Spark does not have"
        raise UsageError(what, "cast the column to another type.")
    return DataType(_NAMES[type_])
