"""What can be named in a line of text: folders of files, a clock that counts, lines of a socket; tables in files."""

from dataclasses import dataclass
from typing import assert_never

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from joinfold.runtime.schema import schema_text
from joinfold.types import BIGINT, STRING, TIMESTAMP, Field, Schema

RATE = Schema((Field("timestamp", TIMESTAMP), Field("value", BIGINT)))
LINES = Schema((Field("value", STRING), Field("timestamp", TIMESTAMP)))
_STRICT = {"mode": "FAILFAST"}  # a row that cannot be read must not become a row of NULLs
_OPTIONS: dict[str, dict[str, str]] = {
    "parquet": {},
    "csv": {"header": "true", "enforceSchema": "false", **_STRICT},  # a file's first line names the schema's columns
    "json": _STRICT,
}


@dataclass(frozen=True, slots=True)
class FileStream:
    """A folder in which files appear; without a schema, of Parquet, whose files carry theirs."""

    format: str
    path: str
    schema: Schema | None


@dataclass(frozen=True, slots=True)
class FileTable:
    """A file, or a folder of files, that is read as a whole; without a schema, of Parquet."""

    format: str
    path: str
    schema: Schema | None


@dataclass(frozen=True, slots=True)
class RateStream:
    """So many rows per second, with the time and a number."""

    rows_per_second: int


@dataclass(frozen=True, slots=True)
class SocketStream:
    """Lines of text from a server: JSON objects where there is a schema, else the line and the time it came."""

    host: str
    port: int
    schema: Schema | None


NamedStream = FileStream | RateStream | SocketStream


def open_stream(spark: SparkSession, source: NamedStream) -> DataFrame:
    """The streaming DataFrame."""
    match source:
        case FileStream(format="parquet", path=path, schema=None):
            return spark.readStream.schema(spark.read.parquet(path).schema).parquet(path)
        case FileStream(format=format_, path=path, schema=schema):
            assert schema is not None, "only Parquet files carry theirs"
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
