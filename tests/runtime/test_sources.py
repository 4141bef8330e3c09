"""Streams and tables that a line of text names, whatever their columns are called."""

import json
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from joinfold.registering import schema_of
from joinfold.runtime.schema import spark_schema
from joinfold.runtime.sources import FileStream, FileTable, SocketStream, open_stream, read_table
from joinfold.types import BIGINT, INTERVAL, STRING, Field, Schema, decimal

pytestmark = pytest.mark.spark

ODD = Schema(
    (
        *(Field("a key", BIGINT), Field("select", STRING), Field("x`y", decimal(9, 2)), Field("日 本", STRING)),
        *(Field("a.b", BIGINT), Field("how long", INTERVAL)),
    )
)


@pytest.mark.parametrize(
    "source",
    [FileStream("json", "", ODD), FileStream("csv", "", ODD), SocketStream("localhost", 9, ODD)],
    ids=lambda source: type(source).__name__,
)
def test_columns_of_any_name_and_type(spark: Any, tmp_path: Path, source: Any) -> None:
    if isinstance(source, FileStream):
        source = FileStream(source.format, str(tmp_path), source.schema)
    assert spark_schema(open_stream(spark, source)) == ODD


def test_values_of_columns_whose_names_have_to_be_quoted(spark: Any, tmp_path: Path) -> None:
    row = {"a key": 7, "select": "x", "x`y": 1.25, "日 本": None, "a.b": 3}
    (tmp_path / "1.json").write_text(json.dumps(row) + "\n")
    frame = open_stream(spark, FileStream("json", str(tmp_path), Schema(ODD.fields[:-1])))
    query = frame.writeStream.format("memory").queryName("odd").trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    (found,) = spark.sql("SELECT * FROM odd").toArrow().to_pylist()
    assert found | {"x`y": float(found["x`y"])} == row


def test_tables_are_read_as_a_whole(spark: Any, tmp_path: Path) -> None:
    schema = schema_of("id BIGINT, name STRING")
    (tmp_path / "rooms.csv").write_text("id,name\n1,attic\n2,\n")
    (tmp_path / "rooms.json").write_text('{"id": 1, "name": "attic"}\n{"id": 2}\n')
    tables = [FileTable(kind, str(tmp_path / f"rooms.{kind}"), schema) for kind in ("csv", "json")]
    read_table(spark, tables[0]).write.parquet(str(tmp_path / "rooms.parquet"))
    for table in (*tables, FileTable("parquet", str(tmp_path / "rooms.parquet"), None)):
        frame = read_table(spark, table)
        assert spark_schema(frame) == schema and not frame.isStreaming
        assert sorted(map(tuple, frame.collect())) == [(1, "attic"), (2, None)]
    (tmp_path / "rooms.csv").write_text("id,name\none,attic\n")
    with pytest.raises(Py4JJavaError, match='For input string: "one"'):
        read_table(spark, tables[0]).collect()
