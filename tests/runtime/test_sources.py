"""Streams that a line of text names, whatever their columns are called."""

import json
from pathlib import Path
from typing import Any

import pytest

from joinfold.runtime.schema import spark_schema
from joinfold.runtime.sources import FileStream, SocketStream, open_stream
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
