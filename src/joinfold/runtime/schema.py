"""Spark's schemas as joinfold's."""

from pyspark.sql import DataFrame
from pyspark.sql import types as spark

from joinfold.errors import UsageError
from joinfold.types import DataType, Field, Schema, decimal

_NAMES: dict[type[spark.DataType], str] = {
    spark.BooleanType: "BOOLEAN",
    spark.ByteType: "TINYINT",
    spark.ShortType: "SMALLINT",
    spark.IntegerType: "INT",
    spark.LongType: "BIGINT",
    spark.FloatType: "FLOAT",
    spark.DoubleType: "DOUBLE",
    spark.StringType: "STRING",
    spark.VarcharType: "STRING",
    spark.CharType: "STRING",
    spark.BinaryType: "BINARY",
    spark.DateType: "DATE",
    spark.TimestampType: "TIMESTAMP",
    spark.TimestampNTZType: "TIMESTAMP_NTZ",
    spark.DayTimeIntervalType: "INTERVAL",
    spark.NullType: "VOID",
}


def spark_schema(frame: DataFrame) -> Schema:
    """The columns of a DataFrame."""
    return Schema(tuple(Field(field.name, joinfold_type(field.dataType, field.name)) for field in frame.schema))


def joinfold_type(type_: spark.DataType, column: str) -> DataType:
    """The type of a column."""
    if isinstance(type_, spark.DecimalType):
        return decimal(type_.precision, type_.scale)
    if isinstance(type_, spark.ArrayType | spark.MapType | spark.StructType):
        return DataType(type_.simpleString().upper())
    name = _NAMES.get(type(type_))
    if name is None:
        raise UsageError(
            f"column '{column}' has the type {type_.simpleString().upper()}, which joinfold cannot read",
            "leave it out of the DataFrame, or cast it to a string or a number.",
        )
    return DataType(name)
