"""Time that runs away, and time that stands still, on Spark: rows ahead, and idle streams, against the definition."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

import joinfold as jf
from joinfold.dialect import read_schema
from joinfold.errors import EvaluationError, UsageError
from joinfold.reference.rows import Row, to_arrow
from joinfold.reference.streaming import stream
from joinfold.runtime.handle import Handle
from tests.runtime.test_engine import rows_of
from tests.strategies import assert_same_answers

pytestmark = pytest.mark.spark

SECOND = 1_000_000
LAST_US = 253_402_300_799_000_000  # the last second of the year 9999
TEXT = "SELECT COUNT(*) AS n, SUM(b.v) AS s FROM a [TUMBLE 4 SECOND], b [TUMBLE 2 SECOND] WHERE a.k = b.k"
Data = dict[str, list[Row]]


def row(ts: int, v: int = 1) -> Row:
    return {"ts": ts, "k": v % 2, "v": v}


def write(directory: Path, type_: str, number: int, batch: Data) -> None:
    for name in ("a", "b"):
        path = directory / name / f"{number}.parquet"
        path.parent.mkdir(exist_ok=True)
        if name in batch:
            parquet.write_table(to_arrow(batch[name], read_schema(f"ts {type_}, k INT, v BIGINT")), path)
            os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes files by their age


def run(
    spark: Any,
    directory: Path,
    type_: str = "TIMESTAMP",
    text: str = TEXT,
    checkpoint: str = "checkpoint",
    **settings: str,
) -> Handle:
    session = jf.Session(spark)
    for name in ("a", "b"):
        reader = spark.readStream.schema(f"ts {type_}, k INT, v BIGINT").option("maxFilesPerTrigger", 1)
        session.stream(name, reader.parquet(f"{directory}/{name}"), time="ts", **settings)
    handle = session.sql(text).start(
        "parquet", checkpoint=f"{directory}/{checkpoint}", trigger="available", path=f"{directory}/out", partitions=2
    )
    assert handle.wait(120)
    return handle


def clocks_in(directory: Path, batches: int) -> list[int]:
    """The times of the micro-batches, which Spark keeps beside their offsets."""
    logs = [(directory / "checkpoint" / "offsets" / str(number)).read_text() for number in range(batches)]
    return [1000 * json.loads(log.splitlines()[1])["batchTimestampMs"] for log in logs]


def now_us() -> int:
    return int(datetime.now(UTC).timestamp()) * SECOND


@pytest.mark.parametrize("type_", ["TIMESTAMP", "TIMESTAMP_NTZ"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_one_row_of_the_year_9999_in_each_stream_ends_nothing(
    spark: Any, tmp_path: Path, type_: str, zone: str
) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        start = now_us() - 100 * SECOND
        far = [row(LAST_US), row(now_us() + 90_000 * SECOND), row(9 * 10**18)]
        batches: list[Data] = [
            {name: [row(start + place * SECOND, place) for place in range(8)] for name in ("a", "b")},
            {name: [*far, row(start + 9 * SECOND, 3)] for name in ("a", "b")},
            {name: [row(start + place * SECOND, place) for place in range(7, 16)] for name in ("a", "b")},
        ]
        for number, batch in enumerate(batches):
            write(tmp_path, type_, number, batch)
        handle = run(spark, tmp_path, type_)
        expected = stream(handle.plan.query, batches, clocks=clocks_in(tmp_path, 3))
        assert len(expected.answers) > 2 and expected.ahead == {"a": 3, "b": 3}
        assert_same_answers(expected.answers, rows_of(spark.read.parquet(f"{tmp_path}/out").toArrow()))
        progress = handle.progress()
        assert progress is not None
        assert [side.ahead_rows for side in progress.streams] == [3, 3]
        assert {side.alias: side.late_rows for side in progress.streams} == expected.late
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_a_stream_that_begins_ahead_fails_and_another_bound_is_refused(spark: Any, tmp_path: Path) -> None:
    write(tmp_path, "TIMESTAMP", 0, {"a": [row(0)], "b": [row(1000 * now_us())]})
    with pytest.raises(EvaluationError, match=r"the first rows of 'b' all lie in the future.*µs since 1970"):
        run(spark, tmp_path)
    with pytest.raises(UsageError, match="was made with ahead of 'a' 1 DAY, not off"):
        run(spark, tmp_path, ahead="off")
    with pytest.raises(UsageError, match="was made with idle of 'a' off, not 5 MINUTE"):
        run(spark, tmp_path, idle="5 minutes")


def test_an_idle_stream_is_not_waited_for(spark: Any, tmp_path: Path) -> None:
    """The stream 'b' has a row in the first micro-batch only. The shortest silence is over by the next one."""
    text = "SELECT COUNT(*) AS n FROM a [TUMBLE 2 SECOND], b [8 SECOND] WHERE a.k = b.k"
    write(tmp_path, "TIMESTAMP", 0, {"a": [row(SECOND)], "b": [row(SECOND), row(2 * SECOND, 2)]})
    batches: list[Data] = [{"a": [row(SECOND)], "b": [row(SECOND), row(2 * SECOND, 2)]}]
    for number in range(1, 4):
        batches.append({"a": [row(3 * number * SECOND, number)]})
        write(tmp_path, "TIMESTAMP", number, batches[-1])
    handle = run(spark, tmp_path, text=text, idle="1 microsecond")
    expected = stream(handle.plan.query, batches, clocks=clocks_in(tmp_path, 4))
    assert len(expected.answers) > 2
    assert_same_answers(expected.answers, rows_of(spark.read.parquet(f"{tmp_path}/out").toArrow()))
    progress = handle.progress()
    assert progress is not None
    assert [side.is_idle for side in progress.streams] == [False, True]
    reached = datetime(1970, 1, 1) + timedelta(seconds=9)
    assert progress.watermark == reached.isoformat(sep=" ")
