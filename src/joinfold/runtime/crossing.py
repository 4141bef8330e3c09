"""Rows that cross into Python and are only counted there: no stage in Python can be faster."""

import time
from collections.abc import Iterable, Iterator
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from joinfold.runtime.workers import prepare_worker


def counted(streams: Iterable[DataFrame]) -> DataFrame:
    """How many rows each batch has that is handed to Python, of all streams."""
    return reduce(DataFrame.union, [rows.mapInArrow(_count, "n BIGINT") for rows in streams])


def crossing_seconds(spark: SparkSession, rows: int, columns: int) -> float:
    """How long rows of so many columns take to cross into Python and be counted there, on all cores."""
    frame = spark.range(rows).selectExpr(*(f"id + {number} AS c{number}" for number in range(columns)))
    began = time.perf_counter()
    counted([frame]).agg({"n": "sum"}).collect()
    return time.perf_counter() - began


def _count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    prepare_worker()  # as joinfold's workers do
    yield pa.RecordBatch.from_pydict({"n": pa.array([sum(batch.num_rows for batch in batches)], pa.int64())})
