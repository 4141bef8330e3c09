"""What a checkpoint is refused for, and what it is not."""

from pathlib import Path
from typing import Any

import pytest

import joinfold as jf
from joinfold.runtime.checkpoints.agreement import COMPACT_INTERVAL, agree
from joinfold.runtime.checkpoints.folder import Folder
from joinfold.runtime.checkpoints.manifest import FOLDER, LAYOUT, read_manifest
from tests.runtime.checkpoints.local_directory import MANIFEST, LocalDirectory, rewrite

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
    before = (tmp_path / MANIFEST).read_text()
    with pytest.raises(jf.UsageError, match=told):
        start(spark, tmp_path, **changed)
    assert (tmp_path / MANIFEST).read_text() == before
    start(spark, tmp_path)


WHERE = "SELECT k, COUNT(*) AS n FROM a [TUMBLE 1 MINUTE] WHERE v > 1 + 2 AND NOT k = 3 GROUP BY k"


def record(directory: Path, text: str) -> str:
    """Puts another text of the query into the manifest, as another version may have written it."""
    rewrite(LocalDirectory(directory), query=text)
    return (directory / MANIFEST).read_text()


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
    assert (tmp_path / MANIFEST).read_text() == before


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
    assert (tmp_path / MANIFEST).read_text() == before


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


def test_a_checkpoint_has_an_id_of_its_own(spark: Any, tmp_path: Path) -> None:
    for name in ("one", "another"):
        start(spark, tmp_path / name)
        start(spark, tmp_path / name)
    found = [read_manifest(LocalDirectory(tmp_path / name)) for name in ("one", "another")]
    assert len({own.id for own in found if own is not None and own.id is not None}) == 2


def test_a_manifest_that_does_not_fit_the_checksum_of_hadoop_is_named(spark: Any, tmp_path: Path) -> None:
    start(spark, tmp_path)
    (tmp_path / MANIFEST).write_text((tmp_path / MANIFEST).read_text().replace('"partitions": 2', '"partitions": 3'))
    with pytest.raises(jf.UsageError, match=rf"'{MANIFEST}' of the checkpoint .* cannot be read: Checksum error"):
        start(spark, tmp_path)


def test_of_two_first_starts_one_writes_the_manifest(spark: Any, tmp_path: Path) -> None:
    start(spark, tmp_path)
    assert not Folder(spark, str(tmp_path)).create(f"{FOLDER}/{LAYOUT}", "another")
    assert [path.name for path in (tmp_path / MANIFEST).parent.iterdir() if not path.name.endswith(".crc")] == [
        "manifest.txt"
    ]
    start(spark, tmp_path)


def test_a_lost_log_is_found_by_the_interval_of_the_session(spark: Any, tmp_path: Path) -> None:
    start(spark, tmp_path)
    LocalDirectory(tmp_path).write_as_spark(kept=["2"])
    before = spark.conf.get(COMPACT_INTERVAL)
    try:
        for interval, lost in (("2", "1.compact"), ("10", "1")):
            spark.conf.set(COMPACT_INTERVAL, interval)
            with pytest.raises(jf.UsageError, match=f"has lost its file 'sources/0/{lost}'"):
                start(spark, tmp_path)
    finally:
        spark.conf.set(COMPACT_INTERVAL, before)
