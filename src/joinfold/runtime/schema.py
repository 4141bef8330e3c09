"""Converts schemas and data between Spark and joinfold."""

from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as spark

from joinfold.errors import UsageError
from joinfold.logical.query import Source
from joinfold.names import identifier_text
from joinfold.types import INTERVAL, DataType, Field, Schema, decimal

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
_TEXTS = {INTERVAL: "INTERVAL DAY TO SECOND"}


def spark_schema(frame: DataFrame) -> Schema:
    """The schema of a DataFrame."""
    return Schema(tuple(Field(field.name, joinfold_type(field.dataType, field.name)) for field in frame.schema))


def schema_text(schema: Schema) -> str:
    """The schema as text that Spark reads."""
    return ", ".join(f"{identifier_text(field.name)} {_TEXTS.get(field.type, field.type)}" for field in schema)


def to_frame(spark: SparkSession, data: Any, source: Source) -> DataFrame:
    """The rows of a source as a DataFrame."""
    if isinstance(data, DataFrame):
        return data
    if isinstance(data, pa.Table | pa.RecordBatch):
        return spark.createDataFrame(pa.table(data), schema=schema_text(source.schema))
    raise UsageError(
        f"'{source.name}' was registered as a schema without rows", "register a DataFrame or a table to run it."
    )


def with_timestamp(frame: DataFrame, column: str, unit_us: int) -> DataFrame:
    """The DataFrame with a column of integers, which count a unit of time since 1970, as a TIMESTAMP."""
    quoted = identifier_text(column)
    return frame.withColumn(column, f.expr(f"timestamp_micros(CAST({quoted} AS BIGINT) * {unit_us}L)"))


def first_rows(frame: DataFrame, rows: int) -> pa.Table | None:
    """The first rows of a bounded DataFrame; None if Spark fails to compute them. The query itself will report that."""
    try:
        return frame.limit(rows).toArrow()
    except PySparkException:
        return None


def joinfold_type(type_: spark.DataType, column: str) -> DataType:
    """The type of a column; raises `UsageError` for a type that joinfold cannot read."""
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
