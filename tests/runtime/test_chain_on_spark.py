"""Chains of folds on Spark, static and streaming, stopped half-way and made anew, against the definition."""

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

import joinfold as jf
from joinfold.dialect import read_schema
from joinfold.operators.state.bucket_state import BucketState
from joinfold.physical.timing import AtTriggers
from joinfold.reference import naive
from joinfold.reference.rows import Row, to_arrow
from joinfold.reference.streaming import stream
from joinfold.runtime import engine, streaming
from joinfold.runtime.checkpoints.agreement import agree
from joinfold.runtime.handle import Handle
from joinfold.runtime.progress import METRICS
from joinfold.runtime.streaming import StageProcessor
from joinfold.runtime.warm import WarmBucket
from tests.runtime.checkpoints.local_directory import MANIFEST
from tests.runtime.test_engine import rows_of
from tests.strategies import assert_same_answers

pytestmark = pytest.mark.spark

SCHEMA = "ts TIMESTAMP, k INT, j STRING, i INT, v BIGINT, d DOUBLE, s STRING"
BATCHES = 3
BATCH_US = 12
Data = dict[str, list[Row]]


@dataclass(frozen=True)
class Shape:
    """A query, its root if it is not the usual one, and how many folds that takes."""

    text: str
    folds: int
    root: str | None = None

    def query_over(self, session: jf.Session) -> jf.Query:
        query = session.sql(self.text, jf.Plan(root=self.root) if self.root else None)
        assert len(query.plan.stages) == self.folds
        return query


W = "[8 MICROSECOND SLIDE 4 MICROSECOND]"
SHAPES = {
    "path": Shape(
        f"SELECT a.s, COUNT(*) AS n, SUM(a.v * c.v) AS p, AVG(b.d) AS m FROM a {W}, b [UNBOUNDED], c {W} "
        "WHERE a.k = b.k AND b.j = c.j GROUP BY a.s",
        2,
    ),
    "star": Shape(
        f"SELECT MAX(b.s) AS x, MIN(c.d) AS y, COUNT(*) AS n FROM a {W}, b {W}, c [TUMBLE 4 MICROSECOND] "
        "WHERE a.k = b.k AND a.i = c.i CHANGES",
        2,
        "a",
    ),
    "tree": Shape(
        f"SELECT d.s, b.i, COUNT(*) AS n, SUM(c.d) AS t, MAX(a.v) AS x, MIN(a.s) AS y FROM a {W}, b {W}, c {W}, d {W} "
        "WHERE a.k = b.k AND b.j = c.j AND b.i = d.i GROUP BY d.s, b.i HAVING COUNT(*) > 1 CHANGES",
        3,
    ),
    "self-join": Shape(
        f"SELECT x.s, COUNT(*) AS n, MAX(z.v) AS m FROM a x {W}, a y {W}, a z [TUMBLE 4 MICROSECOND] "
        "WHERE x.k = y.k AND y.i = z.i AND z.v >= 0 GROUP BY x.s EMIT ON TRIGGER",
        2,
    ),
}


def rows_at(draws: random.Random, batch: int, late: bool) -> list[Row]:
    """Some rows of a time; now and then one that comes too late, and some without a key."""
    return [
        {
            "ts": BATCH_US * batch + draws.randrange(BATCH_US) - (20 if late and place == 0 else 0),
            "k": draws.choice((1, 1, 2, None)),
            "j": draws.choice(("x", "é")),
            "i": draws.choice((1, 2)),
            "v": draws.randint(-3, 9),
            "d": draws.choice((0.5, 1e6 + 0.1, None)),
            "s": draws.choice(("u", "v", None)),
        }
        for place in range(6)
    ]


@pytest.fixture(scope="module")
def batches() -> list[Data]:
    draws = random.Random(11)
    return [{name: rows_at(draws, batch, late=batch == 2) for name in "abcd"} for batch in range(BATCHES)]


@pytest.fixture(autouse=True)
def settings(spark: Any) -> Iterator[None]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    yield
    spark.conf.set("spark.sql.session.timeZone", before)


def bounded(spark: Any, data: Data) -> jf.Session:
    session = jf.Session(spark)
    for name, rows in data.items():
        session.stream(name, spark.createDataFrame(to_arrow(rows, read_schema(SCHEMA)), SCHEMA), time="ts")
    return session


def unbounded(spark: Any, directory: Path) -> jf.Session:
    """Streams over files, one of each a micro-batch."""
    session = jf.Session(spark)
    for name in "abcd":
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        session.stream(name, reader.parquet(f"{directory}/{name}"), time="ts", delay="3 microseconds")
    return session


def write(directory: Path, number: int, batch: Data) -> None:
    for name, rows in batch.items():
        path = directory / name / f"{number}.parquet"
        path.parent.mkdir(exist_ok=True)
        parquet.write_table(to_arrow(rows, read_schema(SCHEMA)), path)
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes files by their age


def run(spark: Any, directory: Path, shape: Shape) -> Handle:
    handle = shape.query_over(unbounded(spark, directory)).start(
        "parquet", checkpoint=f"{directory}/checkpoint", trigger="available", path=f"{directory}/out", partitions=2
    )
    assert handle.wait(120)
    return handle


def answers_in(spark: Any, directory: Path) -> list[tuple[Any, ...]]:
    return rows_of(spark.read.parquet(f"{directory}/out").toArrow())


STOPPED = ("path", "tree", "self-join")


@pytest.mark.parametrize("name", [name for name in SHAPES if name not in STOPPED])
def test_bounded_data(spark: Any, batches: list[Data], name: str) -> None:
    data = {stream: [row for batch in batches for row in batch[stream]] for stream in "abcd"}
    query = SHAPES[name].query_over(bounded(spark, data))
    expected = naive.answers(query.logical, data)
    assert len(expected) > 3 or isinstance(query.plan.timing.rule, AtTriggers)
    assert_same_answers(expected, rows_of(query.collect()))


@pytest.mark.parametrize("name", STOPPED)
def test_streams_that_are_stopped_and_started_again(
    spark: Any, tmp_path: Path, batches: list[Data], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two micro-batches, then a new handle that finds the third; all that it knows is in the checkpoint."""
    if name == "tree":
        monkeypatch.setattr(engine, "StageProcessor", forgetful())
    for number in (0, 1):
        write(tmp_path, number, batches[number])
    before = run(spark, tmp_path, SHAPES[name])
    write(tmp_path, 2, batches[2])
    after = run(spark, tmp_path, SHAPES[name])
    expected = stream(after.plan.query, batches)
    assert len(expected.answers) > 3 and len(before.history()) == 2
    assert_same_answers(expected.answers, answers_in(spark, tmp_path))
    check_progress(after, batches[2], expected.late)


def forgetful() -> type[StageProcessor]:
    """Buckets are made anew in every micro-batch. Workers get the class itself, since they could not import it."""

    class Forgetful(StageProcessor):
        def _warm(self, shuffle_key: int, state: BucketState) -> WarmBucket:
            name = f"{self.run}-{shuffle_key}"
            streaming._warm.here.pop(name, None)
            if streaming._warm.folder is not None:
                (streaming._warm.folder / name).unlink(missing_ok=True)
            return super()._warm(shuffle_key, state)

    return Forgetful


def check_progress(handle: Handle, batch: Data, late: dict[str, int]) -> None:
    """Rows count once, whichever folds learn of them; what is held is that of all folds together."""
    progress, inputs = handle.progress(), handle.plan.query.streams
    assert progress is not None
    assert [side.rows for side in progress.streams] == [len(batch[input_.source.name]) for input_ in inputs]
    assert {side.alias: side.late_rows for side in progress.streams} == late and sum(late.values()) > 0
    report = handle.query.lastProgress
    assert len(report["sources"]) == len({input_.source.name for input_ in inputs})  # also where one is joined twice
    folds = [row.asDict() for name, row in report["observedMetrics"].items() if name.startswith(METRICS)]
    assert len(folds) == len(handle.plan.stages)
    assert all(row["state_bytes"] > 0 for row in folds)
    assert progress.state_bytes == sum(row["state_bytes"] for row in folds)
    assert progress.live_entries == sum(row["entries"] for row in folds)
    assert {row["instants"] for row in folds} == {progress.instants}


REFUSED = """\
UsageError: the checkpoint '{directory}' was made by {was}, not by {now}
Hint: force the same plan as before, or use a new directory."""


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        (jf.Plan(), jf.Plan(root="a"), ("a chain of folds with the root 'c'", "a chain of folds with the root 'a'")),
        (jf.Plan(root="c"), jf.Plan(), None),
        (jf.Plan(), jf.Plan(method="tc"), ("a chain of folds with the root 'c'", "one fold of all inputs")),
        (jf.Plan(order=("b",)), jf.Plan(), ("one fold of all inputs", "a chain of folds with the root 'c'")),
        (jf.Plan(order=("b",)), jf.Plan(method="pc"), None),
    ],
)
def test_another_chain_is_refused(
    spark: Any, tmp_path: Path, was: jf.Plan, now: jf.Plan, told: tuple[str, str] | None
) -> None:
    session = jf.Session()
    for name in "abc":
        session.stream(name, SCHEMA, time="ts")
    text = SHAPES["path"].text
    agree(spark, str(tmp_path), session.sql(text, was).plan, 2, explicit=False)
    before = (tmp_path / MANIFEST).read_text()
    if told is None:
        agree(spark, str(tmp_path), session.sql(text, now).plan, 2, explicit=False)
        return
    with pytest.raises(jf.UsageError) as refused:
        agree(spark, str(tmp_path), session.sql(text, now).plan, 2, explicit=False)
    assert refused.value.report() == REFUSED.format(directory=tmp_path, was=told[0], now=told[1])
    assert (tmp_path / MANIFEST).read_text() == before
