"""Sources that can be named on the command line: folders of files, a counter, lines from a socket; tables in files."""

from dataclasses import dataclass
from typing import assert_never

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from joinfold.runtime.schema import schema_text
from joinfold.types import BIGINT, STRING, TIMESTAMP, Field, Schema

RATE = Schema((Field("timestamp", TIMESTAMP), Field("value", BIGINT)))
LINES = Schema((Field("value", STRING), Field("timestamp", TIMESTAMP)))
_STRICT = {"mode": "FAILFAST"}  # a row that cannot be read is an error, not a row of NULLs
_OPTIONS: dict[str, dict[str, str]] = {
    "parquet": {},
    "csv": {"header": "true", "enforceSchema": "false", **_STRICT},  # the first line of a file has the column names
    "json": _STRICT,
}


@dataclass(frozen=True, slots=True)
class FileStream:
    """A folder in which files appear. Without a schema they must be Parquet files, which carry their own."""

    format: str
    path: str
    schema: Schema | None


@dataclass(frozen=True, slots=True)
class FileTable:
    """A file, or a folder of files, that is read as a whole. Without a schema they must be Parquet files."""

    format: str
    path: str
    schema: Schema | None


@dataclass(frozen=True, slots=True)
class RateStream:
    """A stream with this many rows per second, each with a timestamp and a number."""

    rows_per_second: int


@dataclass(frozen=True, slots=True)
class SocketStream:
    """Lines of text from a server: JSON objects if there is a schema, else each line with the time at which it came."""

    host: str
    port: int
    schema: Schema | None


NamedStream = FileStream | RateStream | SocketStream


def open_stream(spark: SparkSession, source: NamedStream) -> DataFrame:
    """The streaming DataFrame of a source."""
    match source:
        case FileStream(format="parquet", path=path, schema=None):
            return spark.readStream.schema(spark.read.parquet(path).schema).parquet(path)
        case FileStream(format=format_, path=path, schema=schema):
            assert schema is not None, "only Parquet files carry their schema"
            return spark.readStream.format(format_).schema(schema_text(schema)).options(**_OPTIONS[format_]).load(path)
        case RateStream(rows_per_second=rate):
            return spark.readStream.format("rate").option("rowsPerSecond", rate).load()
        case SocketStream(host=host, port=port, schema=schema):
            reader = spark.readStream.format("socket").options(host=host, port=port, includeTimestamp=True)
            lines = reader.load()
            if schema is None:
                return lines
            return lines.select(f.from_json("value", schema_text(schema), _STRICT).alias("row")).select("row.*")
        case _:
            assert_never(source)


def read_table(spark: SparkSession, table: FileTable) -> DataFrame:
    """The DataFrame of a relation."""
    reader = spark.read.format(table.format).options(**_OPTIONS[table.format])
    return (reader if table.schema is None else reader.schema(schema_text(table.schema))).load(table.path)
