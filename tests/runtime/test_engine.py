"""Queries on Spark, static and streaming, against the definition."""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import joinfold as jf
from joinfold.errors import QueryError
from joinfold.logical.query import Source
from joinfold.reference import naive
from joinfold.reference.rows import from_arrow, to_arrow
from joinfold.reference.streaming import stream
from joinfold.runtime import engine
from joinfold.runtime.stages import RunId
from joinfold.timetext import duration_text
from tests.operators.runs import in_pieces, plan_of
from tests.operators.test_machine import RUNS, planned, runnable, scattered
from tests.operators.test_plans import plans
from tests.refusals import Asked, check_refusal
from tests.strategies import Case, assert_same_answers, cases

pytestmark = pytest.mark.spark

few = settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate,),  # to shrink a case on Spark takes longer than to read it
)
fewer = settings(few, max_examples=4)
any_join = cases(modes=RUNS, inputs=(1, 3))


@pytest.fixture(autouse=True)
def in_utc(spark: Any) -> Iterator[None]:
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    yield
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in from_arrow(table)]


@pytest.mark.filterwarnings("ignore::joinfold.errors.JoinfoldWarning")  # random windows may leave gaps
@few
@given(case=st.one_of(runnable, any_join), zone=st.sampled_from(["UTC", "Asia/Tokyo"]))
def test_static_frames(spark: Any, case: Case, zone: str) -> None:
    plan = planned(case)
    assume(plan is not None)
    assert plan is not None
    expected = naive.answers(plan.query, case.data)
    assume(expected)
    spark.conf.set("spark.sql.session.timeZone", zone)
    session = jf.Session(spark)
    for name, source in case.catalog.items():
        frame = spark.createDataFrame(to_arrow(case.data[name], source.schema), schema=str(source.schema))
        register(session, source, frame)
    answered = session.sql(case.text).collect()
    assert answered.column_names == list(plan.query.schema.names)
    assert_same_answers(expected, rows_of(answered))


@fewer
@given(case=st.one_of(runnable, any_join), data=st.data())
def test_streams_that_are_stopped_and_started_again_with_another_plan(
    spark: Any, tmp_path_factory: pytest.TempPathFactory, case: Case, data: st.DataObject
) -> None:
    plan = planned(case)
    assume(plan is not None)
    assert plan is not None
    batches = scattered(case, data)
    expected = stream(plan.query, batches)
    assume(len(expected.answers) > 1)
    directory = tmp_path_factory.mktemp("stream")
    late = 0
    for done, present in ((0, 1), (1, 3)):  # the first run finds one batch, the second all of them
        for number in range(present):
            write_batch(directory, case, number, batches[number])
        handle = query_over(spark, directory, case, data).start(
            "parquet", checkpoint=f"{directory}/checkpoint", trigger="available", path=f"{directory}/out"
        )
        assert handle.wait(120)
        progress = handle.progress()
        read = {input_.source.name for input_ in plan.query.streams}
        assert (progress is not None) == any(batch[name] for batch in batches[done:present] for name in read)
        if progress is not None:
            late = sum(side.late_rows for side in progress.streams)
    answered = spark.read.parquet(f"{directory}/out").toArrow()
    assert_same_answers(expected.answers, rows_of(answered))
    assert late == sum(expected.late.values())


@pytest.mark.parametrize("changes", ["", " CHANGES"])
def test_answers_leave_in_pieces_and_are_merged_piece_by_piece(spark: Any, tmp_path: Path, changes: str) -> None:
    """The groups are in several buckets, and the last batch lets the query catch up over many instants."""
    text = (
        "SELECT a.g, COUNT(*) AS n FROM a [9 SECOND SLIDE 1 SECOND], b [6 SECOND SLIDE 2 SECOND] "
        f"WHERE a.k = b.k GROUP BY a.g{changes}"
    )
    plan = in_pieces(plan_of(text, "k INT, g INT"), 4)
    early = [{"ts": ts * 1_000_000, "k": ts % 5, "g": ts % 2} for ts in range(12)]
    batches = [dict.fromkeys("ab", early), {name: [{"ts": 10**9, "k": 0, "g": 0}] for name in "ab"}]
    schema = plan.query.inputs[0].source.schema
    for number, batch in enumerate(batches):
        for name, rows in batch.items():
            path = tmp_path / name / f"{number}.parquet"
            path.parent.mkdir(exist_ok=True)
            parquet.write_table(to_arrow(rows, schema), path)
            os.utime(path, (1_700_000_000 + number,) * 2)
    bounded = {name: spark.read.schema(str(schema)).parquet(f"{tmp_path}/{name}") for name in "ab"}
    everything = {name: [row for batch in batches for row in batch[name]] for name in "ab"}
    assert_same_answers(
        naive.answers(plan.query, everything), rows_of(engine.run(plan, bounded, 2, None, RunId()).toArrow())
    )
    reader = spark.readStream.schema(str(schema)).option("maxFilesPerTrigger", 1)
    streams = {name: reader.parquet(f"{tmp_path}/{name}") for name in "ab"}
    writer = engine.run(plan, streams, 2, None, RunId()).writeStream.format("parquet").option("path", f"{tmp_path}/out")
    writer.option("checkpointLocation", f"{tmp_path}/checkpoint").trigger(availableNow=True).start().awaitTermination()
    answered = rows_of(spark.read.parquet(f"{tmp_path}/out").toArrow())
    assert_same_answers(stream(plan.query, batches).answers, answered)


def write_batch(directory: Path, case: Case, number: int, batch: dict[str, list[dict[str, Any]]]) -> None:
    for name, source in case.catalog.items():
        path = directory / name / f"{number}.parquet"
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            parquet.write_table(to_arrow(batch[name], source.schema), path)
            os.utime(path, (time.time() + number, 1_700_000_000 + number))  # Spark takes files by their age


def register(session: jf.Session, source: Source, frame: Any) -> None:
    if source.is_stream:
        session.stream(source.name, frame, time="ts", delay=duration_text(source.delay_us))
    else:
        session.table(source.name, frame)


def query_over(spark: Any, directory: Path, case: Case, data: st.DataObject) -> jf.Query:
    session = jf.Session(spark)
    for name, source in case.catalog.items():
        schema, path = str(source.schema), f"{directory}/{name}"
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        register(session, source, reader.parquet(path) if source.is_stream else spark.read.schema(schema).parquet(path))
    aliases = [input_.alias for input_ in case.bind().streams]
    forced = data.draw(plans(aliases))
    try:
        return session.sql(case.text, forced)
    except QueryError as error:  # that plan cannot be
        check_refusal(error, Asked(case.text, case.bind(), forced))
        return session.sql(case.text)


def test_a_checkpoint_of_another_query_is_refused_before_anything_runs(spark: Any, tmp_path: Path) -> None:
    session = jf.Session(spark)
    session.stream("r", spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts"), time="ts")
    checkpoint = f"{tmp_path}/checkpoint"
    first = session.sql("SELECT COUNT(*) AS n FROM r [10 SECOND SLIDE 1 SECOND]")
    handle = first.start("noop", checkpoint=checkpoint)
    handle.stop()
    other = session.sql("SELECT COUNT(*) AS n FROM r [10 SECOND SLIDE 2 SECOND]")
    with pytest.raises(jf.UsageError, match="belongs to another query"):
        other.start("noop", checkpoint=checkpoint)
    with pytest.raises(jf.UsageError, match="has 2 partitions, not 5"):
        first.start("noop", checkpoint=checkpoint, partitions=5)


def test_bounded_and_streaming_inputs_are_not_confused(spark: Any) -> None:
    session = jf.Session(spark)
    session.stream("r", spark.readStream.format("rate").load(), time="timestamp")
    session.stream("s", spark.range(3).selectExpr("id", "timestamp_micros(id) AS ts"), time="ts")
    with pytest.raises(jf.UsageError, match="use start"):
        session.sql("SELECT COUNT(*) AS n FROM r [TUMBLE 1 SECOND]").collect()
    with pytest.raises(jf.UsageError, match="use collect"):
        session.sql("SELECT COUNT(*) AS n FROM s [TUMBLE 1 SECOND]").start("noop", checkpoint="/nowhere")


def test_combinations_read_timestamps_in_the_zone_of_the_session(spark: Any) -> None:
    """Half past eight in the evening of UTC is another day in Tokyo; so is the day of what two inputs give."""
    at = datetime(2025, 6, 1, 20, 30, tzinfo=UTC)
    rows = pa.table({"ts": pa.array([at], pa.timestamp("us", tz="UTC")), "k": [1]})
    session = jf.Session(spark)
    for name in ("a", "b"):
        session.stream(name, rows, time="ts")
    query = session.sql(
        "SELECT DAY(GREATEST(a.ts, b.ts)) AS d, COUNT(*) AS n FROM a [1 HOUR], b [1 HOUR] WHERE a.k = b.k "
        "AND HOUR(LEAST(a.ts, b.ts)) = 5 GROUP BY DAY(GREATEST(a.ts, b.ts)) EMIT ON TRIGGER"
    )
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    assert query.collect().select(["d", "n"]).to_pylist() == [{"d": 2, "n": 1}]
