"""Windows that are not alike, on Spark: static, and streaming with a stop half-way, against the definition."""

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import joinfold as jf
from joinfold.dialect import read_schema
from joinfold.operators.stages.last_rows import LastRows
from joinfold.operators.stages.number_rows import RowNumbers
from joinfold.operators.stages.open_bucket import open_bucket
from joinfold.reference import naive
from joinfold.reference.rows import Row, to_arrow
from joinfold.reference.streaming import stream
from joinfold.runtime import engine
from joinfold.runtime.handle import Handle
from tests.runtime.test_chain_on_spark import forgetful
from tests.runtime.test_engine import rows_of
from tests.strategies import assert_same_answers

pytestmark = pytest.mark.spark

SCHEMA = "ts TIMESTAMP, k INT, j STRING, v BIGINT, s STRING"
STREAMS = "ab"
BATCH_US = 12
Data = dict[str, list[Row]]


@dataclass(frozen=True)
class Shape:
    """A query, what its result windows share, the names of its first columns, and how many stages it takes."""

    text: str
    leading: tuple[str, ...] = ("instant",)
    share: str | None = None
    stages: int = 2

    def query_over(self, session: jf.Session) -> jf.Query:
        query = session.sql(self.text, jf.Plan(share=self.share) if self.share else None)
        assert len(query.plan.stages) == self.stages
        assert tuple(query.schema.names)[: len(self.leading)] == self.leading
        return query


BY_NUMBER = ("wid", "a_start", "a_end", "b_start", "b_end")
PAIRS = (
    "SELECT a.v AS x, b.s AS y FROM a [ROWS 6 SLIDE 2], b [8 MICROSECOND SLIDE 4 MICROSECOND] "
    "WHERE a.k = b.k SYNC ON WINDOW ID"
)
SHAPES = {
    "rows": Shape(
        "SELECT a.s, COUNT(*) AS n, MAX(b.v) AS x, SUM(a.v * b.v) AS p, STDDEV_POP(a.v) AS d, AVG(b.v) / 2 AS m "
        "FROM a [ROWS 6 SLIDE 4], b [8 MICROSECOND SLIDE 4 MICROSECOND] WHERE a.k = b.k GROUP BY a.s CHANGES",
        ("instant", "change"),
    ),
    "time by rows": Shape(
        "SELECT COUNT(*) AS n, MIN(a.s) AS y FROM a [RANGE 9 MICROSECOND SLIDE 3 ROWS], b [TUMBLE 6 MICROSECOND] "
        "WHERE a.k = b.k AND a.v > 0"
    ),
    "last rows": Shape(
        "SELECT b.s, COUNT(*) AS n, MAX(a.v) AS x, SUM(a.v) AS p "
        "FROM a [PARTITION BY j, s ROWS 2], b [8 MICROSECOND SLIDE 4 MICROSECOND] WHERE a.k = b.k GROUP BY b.s"
    ),
    "ids": Shape(
        "SELECT b.s, COUNT(*) AS n, MAX(a.v) AS x FROM a [ROWS 6 SLIDE 4], b [8 MICROSECOND SLIDE 4 MICROSECOND] "
        "WHERE a.k = b.k GROUP BY b.s SYNC ON WINDOW ID",
        BY_NUMBER,
    ),
    "ids again": Shape(
        "SELECT COUNT(*) AS n, MAX(a.v) AS x FROM a [8 MICROSECOND SLIDE 4 MICROSECOND], b [ROWS 5 SLIDE 2] "
        "WHERE a.k = b.k SYNC ON WINDOW ID MOD 2",
        BY_NUMBER,
    ),
    "shared pairs": Shape(PAIRS, BY_NUMBER, "pairs"),
    "pairs anew": Shape(PAIRS, BY_NUMBER, "nothing"),
    "pairs": Shape(
        "SELECT a.v AS x, b.s AS y FROM a [ROWS 4 SLIDE 2], b [PARTITION BY j ROWS 1] WHERE a.k = b.k", stages=3
    ),
    "arrivals": Shape(
        "SELECT COUNT(*) AS n, MAX(b.v) AS x FROM a [ROWS 3], b [5 MICROSECOND] WHERE a.k = b.k EMIT ON ARRIVAL",
        ("instant", "arrival"),
        stages=1,
    ),
}


def rows_at(draws: random.Random, batch: int, late: bool) -> list[Row]:
    """Some rows, many of one time, so that blocks end among them; now and then one that comes too late."""
    return [
        {
            "ts": BATCH_US * batch + 3 * draws.randrange(BATCH_US // 3) - (20 if late and place == 0 else 0),
            "k": draws.choice((1, 1, 2, None)),
            "j": draws.choice(("x", "é", None)),
            "v": draws.randint(-2, 5),
            "s": draws.choice(("u", "v", None)),
        }
        for place in range(9)
    ]


@pytest.fixture(scope="module")
def batches() -> list[Data]:
    draws = random.Random(5)
    return [{name: rows_at(draws, batch, late=batch == 2) for name in STREAMS} for batch in range(3)]


@pytest.fixture(autouse=True)
def settings(spark: Any) -> Iterator[None]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    yield
    spark.conf.set("spark.sql.session.timeZone", before)


def together(batches: list[Data]) -> Data:
    return {name: [row for batch in batches for row in batch[name]] for name in STREAMS}


def bounded(spark: Any, data: Data) -> jf.Session:
    session = jf.Session(spark)
    for name, rows in data.items():
        session.stream(name, spark.createDataFrame(to_arrow(rows, read_schema(SCHEMA)), SCHEMA), time="ts")
    return session


def unbounded(spark: Any, directory: Path) -> jf.Session:
    """Streams over files, one of each a micro-batch."""
    session = jf.Session(spark)
    for name in STREAMS:
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        session.stream(name, reader.parquet(f"{directory}/{name}"), time="ts", delay="3 microseconds")
    return session


def write(directory: Path, number: int, batch: Data) -> None:
    for name, rows in batch.items():
        path = directory / name / f"{number}.parquet"
        path.parent.mkdir(exist_ok=True)
        parquet.write_table(to_arrow(rows, read_schema(SCHEMA)), path)
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes files by their age


def run(spark: Any, directory: Path, name: str) -> Handle:
    handle = (
        SHAPES[name]
        .query_over(unbounded(spark, directory))
        .start(
            "parquet", checkpoint=f"{directory}/checkpoint", trigger="available", path=f"{directory}/out", partitions=2
        )
    )
    assert handle.wait(200)
    return handle


def test_the_data_cut_blocks_among_equal_times(batches: list[Data]) -> None:
    """Else nothing would depend on the order of values."""
    times = sorted(row["ts"] for row in together(batches)["a"])
    assert any(times[number - 1] == times[number] for number in range(4, len(times), 4))


STOPPED = {"rows": "rows", "last rows": "last rows", "ids": "ids", "shared pairs": "pairs anew"}
"""What runs first, and what goes on from its checkpoint: what result windows share is not kept in the state."""


@pytest.mark.parametrize("name", [name for name in SHAPES if name == "rows" or name not in STOPPED])
def test_bounded_data(spark: Any, batches: list[Data], name: str) -> None:
    data = together(batches)
    query = SHAPES[name].query_over(bounded(spark, data))
    expected = naive.answers(query.logical, data)
    assert len(expected) > 3
    assert_same_answers(expected, rows_of(query.collect()))


@pytest.mark.parametrize(("first", "then"), STOPPED.items())
def test_streams_that_are_stopped_and_started_again(
    spark: Any, tmp_path: Path, batches: list[Data], first: str, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two micro-batches, then a new handle that finds the third; all that it knows is in the checkpoint."""
    if first in ("rows", "last rows"):
        monkeypatch.setattr(engine, "StageProcessor", forgetful())
    for number in (0, 1):
        write(tmp_path, number, batches[number])
    before = run(spark, tmp_path, first)
    write(tmp_path, 2, batches[2])
    after = run(spark, tmp_path, then)
    expected = stream(after.plan.query, batches)
    assert len(expected.answers) > 3 and len(before.history()) == 2
    written = spark.read.parquet(f"{tmp_path}/out").toArrow()
    assert_same_answers(expected.answers, rows_of(written))
    progress = after.progress()
    assert progress is not None
    assert {side.alias: side.late_rows for side in progress.streams} == expected.late
    assert sum(expected.late.values()) > 0
    assert [side.rows for side in progress.streams] == [len(batches[2][name]) for name in STREAMS]


def test_the_columns_of_window_ids_have_the_types_of_their_windows(spark: Any, batches: list[Data]) -> None:
    """Where rows are counted numbers, the first and the last; where time is, the beginning and the end."""
    answers = SHAPES["ids"].query_over(bounded(spark, together(batches))).collect()
    time = pa.timestamp("us", "UTC")
    expected = (pa.int64(), pa.int64(), pa.int64(), time, time)
    assert [(field.name, field.type) for field in answers.schema][:5] == list(zip(BY_NUMBER, expected, strict=True))
    first = min((row for row in answers.to_pylist()), key=lambda row: row["wid"])
    assert (first["wid"], first["a_start"], first["a_end"]) == (0, 1, 6)


@pytest.mark.parametrize(("name", "kind"), [("rows", RowNumbers), ("last rows", LastRows)])
def test_the_stages_are_those_that_are_meant(name: str, kind: type) -> None:
    session = jf.Session()
    for stream_name in STREAMS:
        session.stream(stream_name, SCHEMA, time="ts")
    plan = session.sql(SHAPES[name].text).plan
    assert isinstance(open_bucket(plan.stages[0], plan.timing, 0, plan.choices[0]), kind)
