"""Streams and tables as texts on the command line."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from joinfold.errors import UsageError
from joinfold.live.columns import parquet_schema
from joinfold.live.specs import named_stream, named_table, schema_of_stream, schema_of_table
from joinfold.registering import schema_of
from joinfold.runtime.sources import FileStream, FileTable, RateStream, SocketStream

SCHEMA = schema_of("location STRING, ts TIMESTAMP")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "part-0.parquet").parent.mkdir(exist_ok=True)
    parquet.write_table(pa.table({"ts": pa.array([0], pa.timestamp("us", "UTC"))}), tmp_path / "part-0.parquet")
    return tmp_path


def test_every_kind_of_stream(folder: Path) -> None:
    assert named_stream("a", "rate:100", None) == RateStream(100)
    assert named_stream("a", "socket:localhost:9999", SCHEMA) == SocketStream("localhost", 9999, SCHEMA)
    assert named_stream("a", "socket:::1:9999", None) == SocketStream("::1", 9999, None)
    assert named_stream("a", f"json:{folder}", SCHEMA) == FileStream("json", str(folder), SCHEMA)
    assert named_stream("a", f"parquet:{folder}", None) == FileStream("parquet", str(folder), None)


@pytest.mark.parametrize(
    ("name", "format_"), [("x.parquet", "parquet"), ("x.csv", "csv"), ("x.csv.gz", "csv"), ("x.jsonl", "json")]
)
def test_the_ending_tells_the_format(tmp_path: Path, name: str, format_: str) -> None:
    (tmp_path / "_metadata.txt").touch()
    (tmp_path / ".part.csv.tmp").touch()
    (tmp_path / name).touch()
    assert named_stream("a", str(tmp_path), SCHEMA) == FileStream(format_, str(tmp_path), SCHEMA)


def test_columns_are_known_before_spark_starts(folder: Path) -> None:
    assert str(schema_of_stream(RateStream(1))) == "timestamp TIMESTAMP, value BIGINT"
    assert str(schema_of_stream(SocketStream("h", 1, None))) == "value STRING, timestamp TIMESTAMP"
    assert schema_of_stream(SocketStream("h", 1, SCHEMA)) == SCHEMA
    assert str(schema_of_stream(FileStream("parquet", str(folder), None))) == "ts TIMESTAMP"


def test_timestamps_as_spark_writes_them_are_instants(tmp_path: Path) -> None:
    table = pa.table({"ts": pa.array([0], pa.timestamp("ns")), "local": pa.array([0], pa.timestamp("us"))})
    parquet.write_table(table, tmp_path / "old.parquet", use_deprecated_int96_timestamps=True)
    assert str(parquet_schema(str(tmp_path))) == "ts TIMESTAMP, local TIMESTAMP"
    parquet.write_table(table, tmp_path / "old.parquet")
    assert str(parquet_schema(str(tmp_path / "old.parquet"))) == "ts TIMESTAMP_NTZ, local TIMESTAMP_NTZ"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rate:many", "the number of rows per second must be a positive whole number, not 'many'"),
        ("rate:0", "the number of rows per second must be a positive whole number, not '0'"),
        ("socket:9999", "stream 'a': 'socket:9999' names no server"),
        ("socket:localhost:http", "the port must be a positive whole number, not 'http'"),
        ("nowhere", "there is no folder 'nowhere'"),
        ("json:nowhere", "there is no folder 'nowhere'"),
        ("csv:{folder}", "CSV files do not contain the types of their columns"),
        ("{empty}", "no file in '{empty}' has an ending that shows its format"),
        ("parquet:{empty}", "the folder '{empty}' has no file to read the columns from"),
    ],
)
def test_what_is_no_stream(folder: Path, text: str, message: str) -> None:
    empty = folder / "empty"
    empty.mkdir()
    with pytest.raises(UsageError) as caught:
        named_stream("a", text.format(folder=folder, empty=empty), None)
    assert message.format(empty=empty) in caught.value.message


def test_a_rate_has_its_own_columns() -> None:
    with pytest.raises(UsageError, match="a rate stream always has the columns timestamp TIMESTAMP, value BIGINT"):
        named_stream("a", "rate:5", SCHEMA)


def test_tables_are_files_or_folders_of_them(folder: Path) -> None:
    file = folder / "rooms.csv"
    file.write_text("location\nattic\n")
    assert named_table("r", str(file), SCHEMA) == FileTable("csv", str(file), SCHEMA)
    assert named_table("r", f"json:{folder}", SCHEMA) == FileTable("json", str(folder), SCHEMA)
    assert named_table("r", str(folder / "part-0.parquet"), None) == FileTable(
        "parquet", str(folder / "part-0.parquet"), None
    )
    assert str(schema_of_table(named_table("r", f"parquet:{folder}", None))) == "ts TIMESTAMP"
    assert schema_of_table(FileTable("csv", str(file), SCHEMA)) == SCHEMA
    assert named_table("r", "parquet:s3://bucket/rooms", SCHEMA).path == "s3://bucket/rooms"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nowhere", "table 'r': there is no file or folder 'nowhere'"),
        ("csv:nowhere", "table 'r': there is no file or folder 'nowhere'"),
        ("rate:100", "table 'r': there is no file or folder 'rate:100'"),
        ("csv:{folder}", "table 'r': CSV files do not contain the types of their columns"),
        ("{empty}", "table 'r': no file in '{empty}' has an ending that shows its format"),
    ],
)
def test_what_is_no_table(folder: Path, text: str, message: str) -> None:
    empty = folder / "empty"
    empty.mkdir()
    with pytest.raises(UsageError) as caught:
        named_table("r", text.format(folder=folder, empty=empty), None)
    assert caught.value.message == message.format(empty=empty)
