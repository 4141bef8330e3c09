"""What a checkpoint is refused for, and what it is not."""

import json
from collections.abc import Iterator
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
QUERY_ID = '{"id":"46ea1f07-7c4f-4f0c-9c6e-3f8f0e0f5a11"}'
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


def change(path: Path, text: str) -> None:
    """Writes another text into a file of the checkpoint, with no checksum beside it."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"partitions": "two"}, "'partitions' cannot be \"two\""),
        ({"partitions": True}, "'partitions' cannot be true"),
        ({"inputs": 5}, "'inputs' cannot be 5"),
        ({"inputs": [5]}, "5 stands where an object belongs"),
        ({"inputs": [{"alias": "a"}]}, "'columns' is missing"),
        ({"query": None}, "'query' cannot be null"),
        ({"sampler": 7}, "'sampler' cannot be 7"),
        ({"colour": "red"}, "'colour' is unknown"),
    ],
)
def test_a_manifest_with_wrong_fields_is_refused_with_the_field(
    spark: Any, tmp_path: Path, facts: dict[str, Any], told: str
) -> None:
    start(spark, tmp_path)
    path = tmp_path / checkpoint.FILE
    change(path, json.dumps(json.loads(path.read_text()) | facts))
    with pytest.raises(jf.UsageError) as refused:
        start(spark, tmp_path)
    assert str(refused.value) == (
        f"the file 'joinfold.json' of the checkpoint '{tmp_path}' cannot be read: {told}\n"
        "Hint: restore the file from a copy of the checkpoint, or use a new checkpoint directory."
    )


def test_a_manifest_with_fewer_inputs_is_refused(spark: Any, tmp_path: Path) -> None:
    start(spark, tmp_path)
    path = tmp_path / checkpoint.FILE
    change(path, json.dumps(json.loads(path.read_text()) | {"inputs": []}))
    with pytest.raises(jf.UsageError, match="belongs to another query"):
        start(spark, tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"partitions": ', '{"id": "46`a"}'])
@pytest.mark.parametrize("name", [checkpoint.FILE, checkpoint.METADATA])
def test_a_small_file_that_is_damaged_is_named(spark: Any, tmp_path: Path, name: str, text: str) -> None:
    start(spark, tmp_path)
    write_as_spark(tmp_path)
    start(spark, tmp_path)
    change(tmp_path / name, text)
    with pytest.raises(jf.UsageError, match=f"the file '{name}' of the checkpoint '.*' cannot be read: "):
        start(spark, tmp_path)


def write_as_spark(directory: Path) -> None:
    """The files of two micro-batches."""
    change(directory / checkpoint.METADATA, QUERY_ID)
    for folder in ("offsets", "commits"):
        (directory / folder).mkdir()
        for batch in "01":
            (directory / folder / batch).write_text("v1\n{}")


@pytest.mark.parametrize("name", ["metadata", "offsets/1"])
def test_a_file_that_was_lost_is_named(spark: Any, tmp_path: Path, name: str) -> None:
    start(spark, tmp_path)
    write_as_spark(tmp_path)
    (tmp_path / "commits" / "1").rename(tmp_path / "aside")
    start(spark, tmp_path)  # a micro-batch that was not finished
    (tmp_path / "aside").rename(tmp_path / "commits" / "1")
    (tmp_path / name).unlink()
    with pytest.raises(jf.UsageError, match=f"has lost its file '{name}'"):
        start(spark, tmp_path)


def test_a_file_that_does_not_fit_its_checksum_is_named_with_the_cause(spark: Any, tmp_path: Path) -> None:
    start(spark, tmp_path)
    path = tmp_path / checkpoint.FILE
    path.write_text(path.read_text().replace('"partitions": 2', '"partitions": 3'))
    with pytest.raises(jf.UsageError, match=r"'joinfold.json' of the checkpoint .* cannot be read: Checksum error"):
        start(spark, tmp_path)


def test_a_checkpoint_has_an_id_of_its_own(spark: Any, tmp_path: Path) -> None:
    for name in ("one", "another"):
        start(spark, tmp_path / name)
        start(spark, tmp_path / name)
    found = {json.loads((tmp_path / name / checkpoint.FILE).read_text())["id"] for name in ("one", "another")}
    assert len(found) == 2 and None not in found


@pytest.mark.parametrize(
    ("kept", "lost"),
    [
        (["0", "1", "2"], None),
        (["0", "1"], "sources/0/2"),
        (["0", "2"], "sources/0/1"),
        (["1.compact", "2"], None),  # the compacted file has what was before it
        (["2"], "sources/0/1.compact"),
    ],
)
def test_a_file_source_that_has_lost_a_part_of_its_log_is_refused(
    restored_interval: Any, tmp_path: Path, kept: list[str], lost: str | None
) -> None:
    """Spark itself would say only that a batch does not exist."""
    spark = restored_interval
    spark.conf.set(INTERVAL, "2" if "1.compact" in (lost or "") else "10")
    start(spark, tmp_path)
    for name in ("offsets/3", "commits/3", *(f"sources/0/{own}" for own in kept)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('v1\n{"conf":{}}\n{"logOffset":2}\n')
    (tmp_path / "metadata").write_text(QUERY_ID)
    if lost is None:
        start(spark, tmp_path)
    else:
        with pytest.raises(jf.UsageError, match=f"has lost its file '{lost}'"):
            start(spark, tmp_path)


@pytest.mark.parametrize(("kept", "lost"), [(["0", "1", "2"], None), (["0", "2"], "sources/0/1")])
def test_a_source_that_is_read_twice_has_one_log(spark: Any, tmp_path: Path, kept: list[str], lost: str | None) -> None:
    """Spark writes its offset twice, and then comes the offset of the next source."""
    start(spark, tmp_path)
    for name in ("offsets/3", "commits/3", *(f"sources/0/{own}" for own in kept), "sources/1/0"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('v1\n{"conf":{}}\n{"logOffset":2}\n{"logOffset":2}\n{"logOffset":0}\n')
    (tmp_path / "metadata").write_text(QUERY_ID)
    if lost is None:
        start(spark, tmp_path)
    else:
        with pytest.raises(jf.UsageError, match=f"has lost its file '{lost}'"):
            start(spark, tmp_path)


@pytest.mark.parametrize("name", ["offsets/3", "commits/3", "sources/0/2", "sources/0/1.compact"])
@pytest.mark.parametrize("text", ["", "v", 'v1\n{"path":"a'], ids=["empty", "cut short", "cut in a line"])
def test_a_log_that_is_cut_short_is_named(spark: Any, tmp_path: Path, name: str, text: str) -> None:
    """On a disk without checksums Spark would say only what its parser met."""
    start(spark, tmp_path)
    for own in ("offsets/3", "commits/3", "sources/0/2", "sources/0/1.compact"):
        (tmp_path / own).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / own).write_text('v1\n{"conf":{}}\n{"logOffset":2}\n')
    (tmp_path / "metadata").write_text(QUERY_ID)
    start(spark, tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(jf.UsageError, match=f"the file '{name}' of the checkpoint '.*' cannot be read: "):
        start(spark, tmp_path)


INTERVAL = "spark.sql.streaming.fileSource.log.compactInterval"


@pytest.fixture
def restored_interval(spark: Any) -> Iterator[Any]:
    before = spark.conf.get(INTERVAL)
    yield spark
    spark.conf.set(INTERVAL, before)
