"""Spark's types as joinfold's, and schemas as Spark reads them."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark_types

from joinfold.dialect import read_schema
from joinfold.errors import UsageError
from joinfold.logical.query import Source
from joinfold.runtime.schema import first_rows, joinfold_type, schema_text, spark_schema, to_frame
from joinfold.types import BIGINT, INTERVAL, STRING, DataType, Field, Schema, decimal

EVERY = read_schema(
    "a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h STRING, i BINARY, j DATE, k TIMESTAMP, "
    "l TIMESTAMP_NTZ, m DECIMAL(9, 2)"
)
SOURCE = Source("s", Schema((Field("k", BIGINT), Field("a name", STRING))), True, None)


@pytest.mark.parametrize(
    ("type_", "told"),
    [
        (spark_types.LongType(), "BIGINT"),
        (spark_types.VarcharType(5), "STRING"),
        (spark_types.CharType(5), "STRING"),
        (spark_types.DecimalType(9, 2), "DECIMAL(9, 2)"),
        (spark_types.ArrayType(spark_types.IntegerType()), "ARRAY<INT>"),
        (spark_types.DayTimeIntervalType(), "INTERVAL"),
        (spark_types.NullType(), "VOID"),
    ],
)
def test_a_type_is_that_of_joinfold(type_: spark_types.DataType, told: str) -> None:
    assert str(joinfold_type(type_, "c")) == told


def test_a_type_that_joinfold_cannot_read_is_refused_with_its_column() -> None:
    with pytest.raises(UsageError, match="column 'how long' has the type INTERVAL YEAR TO MONTH") as refused:
        joinfold_type(spark_types.YearMonthIntervalType(), "how long")
    assert refused.value.hint is not None and refused.value.hint.startswith("leave it out of the DataFrame")


def test_names_are_quoted_where_they_must_be_and_an_interval_has_its_units() -> None:
    schema = Schema((Field("k", decimal(5, 1)), Field("a`b c", STRING), Field("order", INTERVAL)))
    assert schema_text(schema) == "k DECIMAL(5, 1), `a``b c` STRING, `order` INTERVAL DAY TO SECOND"


@pytest.mark.spark
def test_schemas_go_to_spark_and_come_back(spark: Any) -> None:
    schema = Schema((*EVERY.fields, Field("an interval", INTERVAL), Field("x`y", DataType("ARRAY<INT>"))))
    assert spark_schema(spark.createDataFrame([], schema_text(schema))) == schema


@pytest.mark.spark
def test_rows_are_a_frame_whatever_they_are_given_as(spark: Any) -> None:
    table = pa.table({"k": pa.array([1, 2], pa.int32()), "a name": ["x", None]})
    frame = to_frame(spark, table, SOURCE)
    assert spark_schema(frame) == SOURCE.schema and to_frame(spark, frame, SOURCE) is frame
    batch = to_frame(spark, table.to_batches()[0], SOURCE)
    assert list(map(tuple, batch.collect())) == list(map(tuple, frame.collect())) == [(1, "x"), (2, None)]
    with pytest.raises(UsageError, match="'s' was registered as a schema without rows"):
        to_frame(spark, SOURCE.schema, SOURCE)


@pytest.mark.spark
def test_of_rows_that_cannot_be_computed_there_is_no_sample(spark: Any) -> None:
    frame = spark.range(5)
    rows = first_rows(frame, 3)
    assert rows is not None and rows.num_rows == 3
    assert first_rows(frame.selectExpr("1 / (id - 1) AS broken"), 3) is None
