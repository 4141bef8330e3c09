"""Baselines in Structured Streaming: the limit, and the query of the benchmark, written by hand in two ways.

All of them read streams of (ts, key, g, v). All except the limit answer::

    SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s FROM a [size SLIDE slide], b [size SLIDE slide]
    WHERE a.key = b.key GROUP BY a.g

A window of Spark that ends at e has the content of joinfold's window at the instant e, so the answers can be compared
row by row.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from joinfold.runtime.crossing import counted

COLUMNS = "ts TIMESTAMP, key BIGINT, g BIGINT, v BIGINT"


def file_stream(spark: SparkSession, folder: str, files_per_batch: int, columns: str = COLUMNS) -> DataFrame:
    """The Parquet files of a folder as a stream, ``files_per_batch`` at a time, in the order of their modification."""
    reader = spark.readStream.schema(columns).option("maxFilesPerTrigger", files_per_batch)
    return reader.parquet(folder)


def limit(a: DataFrame, b: DataFrame) -> DataFrame:
    """Hands the columns that the query reads to Python, which only counts their rows."""
    return counted([a.select("ts", "key", "g"), b.select("ts", "key", "v")])


def join_then_aggregate(a: DataFrame, b: DataFrame, size_us: int, slide_us: int) -> DataFrame:
    """The obvious way: copies each row for each of its windows, joins all pairs, and then aggregates."""
    window = _window(size_us, slide_us)
    left = a.withWatermark("ts", "0 seconds").select(window, "key", "g")
    right = b.withWatermark("ts", "0 seconds").select(window, "key", "v")
    joined = left.join(right, ["window", "key"])
    return _answers(joined, f.count("*"), f.sum("v"))


def aggregate_then_join(a: DataFrame, b: DataFrame, size_us: int, slide_us: int) -> DataFrame:
    """The expert's way: aggregates each input by window and key before the join."""
    window = _window(size_us, slide_us)
    left = a.withWatermark("ts", "0 seconds").groupBy(window, "key", "g").agg(f.count("*").alias("a_n"))
    right = (
        b.withWatermark("ts", "0 seconds")
        .groupBy(window, "key")
        .agg(f.count("*").alias("b_n"), f.sum("v").alias("b_s"))
    )
    joined = left.join(right, ["window", "key"])
    return _answers(joined, f.sum(f.col("a_n") * f.col("b_n")), f.sum(f.col("a_n") * f.col("b_s")))


def _window(size_us: int, slide_us: int) -> Column:
    return f.window("ts", f"{size_us} microseconds", f"{slide_us} microseconds").alias("window")


def _answers(joined: DataFrame, count: Column, total: Column) -> DataFrame:
    grouped = joined.groupBy("window", "g").agg(count.alias("n"), total.alias("s"))
    return grouped.select(f.col("window.end").alias("instant"), "g", "n", "s")
