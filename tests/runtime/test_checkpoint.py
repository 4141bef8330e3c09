"""What a checkpoint is refused for, and what it is not."""

import json
from pathlib import Path
from typing import Any

import pytest

import joinfold as jf
from joinfold.operators.codec import VERSION
from joinfold.runtime import checkpoint
from joinfold.runtime.checkpoint import agree

pytestmark = pytest.mark.spark

SCHEMA = "ts TIMESTAMP, other TIMESTAMP, k INT, v BIGINT, unread STRING"
COUNT = "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [TUMBLE 1 MINUTE] GROUP BY k"
BY_HOUR = "SELECT HOUR(ts) AS h, COUNT(*) AS n FROM a [TUMBLE 1 MINUTE] GROUP BY HOUR(ts)"


def start(
    spark: Any, directory: Path, text: str = COUNT, schema: str = SCHEMA, time: str = "ts", delay: str = "5 seconds"
) -> None:
    session = jf.Session()
    session.stream("a", schema, time=time, delay=delay)
    agree(spark, str(directory), session.sql(text).plan, 2, explicit=False)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"time": "other"}, "with the time of 'a' taken from ts, not other"),
        (
            {"schema": SCHEMA.replace("v BIGINT", "v INT")},
            "with 'a' having the columns k INT, ts TIMESTAMP, v BIGINT, not k INT, ts TIMESTAMP, v INT",
        ),
        ({"delay": "6 seconds"}, "with a delay of 'a' of 5 SECOND, not 6 SECOND"),
        ({"text": COUNT.replace("SUM", "MAX")}, "belongs to another query"),
    ],
)
def test_another_stream_is_refused(spark: Any, tmp_path: Path, changed: dict[str, str], told: str) -> None:
    start(spark, tmp_path)
    before = (tmp_path / checkpoint.FILE).read_text()
    with pytest.raises(jf.UsageError, match=told):
        start(spark, tmp_path, **changed)
    assert (tmp_path / checkpoint.FILE).read_text() == before
    start(spark, tmp_path)


WHERE = "SELECT k, COUNT(*) AS n FROM a [TUMBLE 1 MINUTE] WHERE v > 1 + 2 AND NOT k = 3 GROUP BY k"


def record(directory: Path, text: str) -> str:
    """Puts another text of the query into the manifest, as another version may have written it."""
    path = directory / checkpoint.FILE
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)  # else Hadoop takes it for damaged
    path.write_text(json.dumps(json.loads(path.read_text()) | {"query": text}))
    return path.read_text()


@pytest.mark.parametrize(
    ("text", "recorded"),
    [
        (COUNT, "select k,\n       count( * ) as n, sum(v) as s\nfrom a [tumble 60 seconds]\ngroup by k"),
        (COUNT, "SELECT a.k AS k, COUNT(*) AS n, SUM((a.v)) AS s FROM a AS a [TUMBLE 1 MINUTE] GROUP BY (a.k)"),
        (COUNT, f"{COUNT} OPTION (method = tc)"),
        (f"{COUNT} OPTION (method = tc)", COUNT),
        (WHERE, WHERE.replace("v > 1 + 2 AND NOT k = 3", "((v) > (1 + 2)) AND (NOT (k = 3))")),
    ],
)
def test_the_recorded_query_may_be_written_otherwise(spark: Any, tmp_path: Path, text: str, recorded: str) -> None:
    start(spark, tmp_path, text)
    before = record(tmp_path, recorded)
    start(spark, tmp_path, text)
    assert (tmp_path / checkpoint.FILE).read_text() == before


@pytest.mark.parametrize(
    ("text", "recorded"),
    [
        (COUNT, COUNT.replace("1 MINUTE", "2 MINUTE")),
        (COUNT, COUNT.replace("SUM(v)", "SUM(v + 0)")),
        (COUNT, COUNT.replace(" AS s", " AS t")),
        (COUNT, COUNT.replace("GROUP BY k", "GROUP BY k CHANGES")),
        (COUNT, COUNT.replace("v)", "w)")),
        (COUNT, COUNT.replace("FROM a", "FROM b")),
        (COUNT, "no query at all"),
        (WHERE, WHERE.replace("1 + 2", "3")),
        (WHERE, WHERE.replace("NOT k = 3", "k <> 3")),
    ],
)
def test_a_recorded_query_that_means_something_else_is_refused(
    spark: Any, tmp_path: Path, text: str, recorded: str
) -> None:
    start(spark, tmp_path, text)
    before = record(tmp_path, recorded)
    with pytest.raises(jf.UsageError, match="belongs to another query") as refused:
        start(spark, tmp_path, text)
    assert recorded in refused.value.report()
    assert (tmp_path / checkpoint.FILE).read_text() == before


def test_columns_that_are_not_read_may_change(spark: Any, tmp_path: Path) -> None:
    start(spark, tmp_path)
    start(spark, tmp_path, schema=SCHEMA.replace("unread STRING", "more INT, unread INT"))


def test_columns_may_come_in_another_order(spark: Any, tmp_path: Path) -> None:
    start(spark, tmp_path)
    start(spark, tmp_path, schema=", ".join(SCHEMA.split(", ")[::-1]))


def test_the_time_zone_must_stay_where_the_calendar_is_read(spark: Any, tmp_path: Path) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        start(spark, tmp_path / "hours", BY_HOUR)
        start(spark, tmp_path / "counts")
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        with pytest.raises(jf.UsageError, match="was made in the time zone Asia/Tokyo, not UTC"):
            start(spark, tmp_path / "hours", BY_HOUR)
        start(spark, tmp_path / "counts")
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize("reads", [VERSION - 1, VERSION + 1])
def test_a_checkpoint_of_another_joinfold_is_told_apart_from_a_damaged_one(
    reads: int, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(spark, tmp_path)
    monkeypatch.setattr(checkpoint, "VERSION", reads)
    with pytest.raises(jf.UsageError, match=f"holds blobs of version {VERSION}"):
        start(spark, tmp_path)
