"""Time that is no timestamp, on Spark: integers that count, and the arrival of rows, against the definition."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

import joinfold as jf
from joinfold.dialect import read_schema
from joinfold.reference import naive
from joinfold.reference.rows import Row, to_arrow
from joinfold.reference.streaming import stream
from joinfold.runtime.handle import Handle
from tests.runtime.test_engine import rows_of
from tests.strategies import assert_same_answers

pytestmark = pytest.mark.spark

SCHEMAS = {
    "a": "seq BIGINT, k INT, v BIGINT",
    "b": "tick INT, k INT, v BIGINT",
    "c": "k INT, v BIGINT",
    "d": "ts TIMESTAMP, k INT, v BIGINT",
    "person": "k INT, name STRING",
}
TIMES = {"a": "seq", "b": "tick", "c": None, "d": "ts"}
UNITS = {"a": "ticks", "b": "ticks"}
PEOPLE: list[Row] = [{"k": 1, "name": "x"}, {"k": 1, "name": "y"}, {"k": 2, "name": "z"}]
INTEGERS = """SELECT a.k, COUNT(*) AS n, MAX(b.v) AS m FROM a [8 MICROSECOND SLIDE 4 MICROSECOND], b [6 MICROSECOND]
    WHERE a.k = b.k GROUP BY a.k"""
NUMBERED = """SELECT COUNT(*) AS n, SUM(a.v) AS s
    FROM a [TUMBLE 4 MICROSECOND], {other} [ROWS 3 SLIDE 2], d [TUMBLE 6 MICROSECOND]
    WHERE a.k = {other}.k AND {other}.k = d.k SYNC ON WINDOW ID"""
ARRIVING = """SELECT x.k, COUNT(*) AS n, SUM(y.v) AS s FROM c x [{size} SLIDE {slide}], c y [TUMBLE {slide}]
    WHERE x.k = y.k GROUP BY x.k"""
RELATED = "SELECT p.name, SUM(c.v) AS s FROM c [ROWS 4 SLIDE 2], person p WHERE c.k = p.k GROUP BY p.name"
Data = dict[str, list[Row]]


def batch(number: int) -> Data:
    """Twelve rows of each stream; the last micro-batch has some of a time long past."""
    found: Data = {name: [] for name in TIMES}
    for place in range(12):
        ts = 12 * number + place - (30 if number == 2 and place == 3 else 0)
        for name, time in TIMES.items():
            row: Row = {} if time is None else {time: ts}
            found[name].append({**row, "k": (place * place + len(name)) % 3, "v": 100 * number + place})
    return found


BATCHES = [batch(number) for number in range(3)]
BOUNDED: Data = {name: [row for batch in BATCHES for row in batch[name]] for name in TIMES} | {"person": PEOPLE}


@pytest.fixture(autouse=True)
def settings(spark: Any) -> Iterator[None]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    yield
    spark.conf.set("spark.sql.session.timeZone", before)


def bounded(spark: Any) -> jf.Session:
    session = jf.Session(spark)
    for name, rows in BOUNDED.items():
        frame = spark.createDataFrame(to_arrow(rows, read_schema(SCHEMAS[name])), SCHEMAS[name])
        if name in TIMES:
            session.stream(name, frame, time=TIMES[name], delay="3 microseconds", unit=UNITS.get(name))
        else:
            session.table(name, frame)
    return session


QUERIES = {
    "integers": INTEGERS,
    "every clock its own": NUMBERED.format(other="b"),
    "numbered beside arrival": NUMBERED.format(other="c"),
    "arrival": ARRIVING.format(size="9 MICROSECOND", slide="4 MICROSECOND"),
    "arrival with a relation": RELATED,
}


@pytest.mark.parametrize("name", QUERIES)
def test_bounded_data(spark: Any, name: str) -> None:
    query = bounded(spark).sql(QUERIES[name])
    expected = naive.answers(query.logical, BOUNDED)
    assert len(expected) > 3
    found = query.collect()
    assert_same_answers(expected, rows_of(found))
    assert [str(field.type) for field in found.schema][:2] == _types(query)


def _types(query: jf.Query) -> list[str]:
    arrow = {"BIGINT": "int64", "TIMESTAMP": "timestamp[us, tz=UTC]", "INT": "int32", "STRING": "string"}
    return [arrow[str(field.type)] for field in query.schema][:2]


def run(spark: Any, directory: Path, text: str) -> Handle:
    session = jf.Session(spark)
    for name, time in TIMES.items():
        reader = spark.readStream.schema(SCHEMAS[name]).option("maxFilesPerTrigger", 1)
        session.stream(
            name, reader.parquet(f"{directory}/{name}"), time=time, delay="3 microseconds", unit=UNITS.get(name)
        )
    session.table("person", to_arrow(PEOPLE, read_schema(SCHEMAS["person"])))
    handle = session.sql(text).start(
        "parquet", checkpoint=f"{directory}/checkpoint", trigger="available", path=f"{directory}/out", partitions=2
    )
    assert handle.wait(120)
    return handle


def write(directory: Path, number: int) -> None:
    for name, rows in BATCHES[number].items():
        path = directory / name / f"{number}.parquet"
        path.parent.mkdir(exist_ok=True)
        parquet.write_table(to_arrow(rows, read_schema(SCHEMAS[name])), path)
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes files by their age


def arrivals_in(directory: Path) -> list[int]:
    """The times of the micro-batches, which Spark keeps beside their offsets."""
    lines = [(directory / "checkpoint" / "offsets" / str(number)).read_text().splitlines() for number in range(3)]
    return [1000 * json.loads(metadata)["batchTimestampMs"] for _, metadata, *_ in lines]


STREAMED = {
    "every clock its own": NUMBERED.format(other="b"),
    "arrival with a relation": RELATED,
}


@pytest.mark.parametrize("name", STREAMED)
def test_streams_that_are_stopped_and_started_again(spark: Any, tmp_path: Path, name: str) -> None:
    for number in (0, 1):
        write(tmp_path, number)
    run(spark, tmp_path, STREAMED[name])
    write(tmp_path, 2)
    handle = run(spark, tmp_path, STREAMED[name])
    batches: list[Data] = [dict(batch) for batch in BATCHES]
    batches[0]["person"] = PEOPLE
    arrivals = arrivals_in(tmp_path)
    assert arrivals == sorted(set(arrivals))
    expected = stream(handle.plan.query, batches, arrivals=arrivals)
    assert len(expected.answers) > 1
    assert_same_answers(expected.answers, rows_of(spark.read.parquet(f"{tmp_path}/out").toArrow()))
    progress = handle.progress()
    assert progress is not None and {side.alias: side.late_rows for side in progress.streams} == expected.late
