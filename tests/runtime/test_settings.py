"""A Spark that is there may be set in a way that joinfold cannot work with; it says so before anything runs."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import joinfold as jf
from joinfold.runtime import local

pytestmark = pytest.mark.spark

ANSI = "spark.sql.ansi.enabled"
STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


@pytest.fixture(autouse=True)
def restored(spark: Any) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in (ANSI, STATE_STORE)}
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


def query_over(spark: Any, is_streaming: bool) -> jf.Query:
    session = jf.Session(spark)
    reader = spark.readStream if is_streaming else None
    rows = reader.format("rate").load() if reader else spark.sql("SELECT timestamp_micros(1) AS timestamp, 1 AS value")
    session.stream("r", rows, time="timestamp")
    return session.sql("SELECT COUNT(*) AS n FROM r [TUMBLE 1 SECOND]")


@pytest.mark.parametrize(("name", "value", "told"), [(ANSI, "false", "ANSI mode"), (STATE_STORE, HDFS, "RocksDB")])
def test_a_stream_is_refused_with_the_setting_to_change(
    spark: Any, tmp_path: Path, name: str, value: str, told: str
) -> None:
    query = query_over(spark, is_streaming=True)
    spark.conf.set(name, value)
    with pytest.raises(jf.SetupError, match=told) as refused:
        query.start("noop", checkpoint=f"{tmp_path}/checkpoint")
    assert not (tmp_path / "checkpoint").exists()
    with pytest.raises(jf.SetupError, match=told):
        query.to_df()
    assert refused.value.hint is not None
    exec(refused.value.hint.partition(": ")[2], {"spark": spark})
    assert query.to_df().isStreaming


def test_bounded_data_need_no_state_store(spark: Any) -> None:
    spark.conf.set(STATE_STORE, HDFS)
    assert query_over(spark, is_streaming=False).collect()["n"].to_pylist() == [1, 0]
    spark.conf.set(ANSI, "false")
    with pytest.raises(jf.SetupError, match="ANSI mode"):
        query_over(spark, is_streaming=False).collect()


def test_a_worker_does_not_search_what_it_has_loaded_for_garbage(spark: Any) -> None:
    def hidden(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"n": pa.array([gc.get_freeze_count()], pa.int64())})

    query_over(spark, is_streaming=False).collect()
    found = spark.range(0, 2, 1, 2).mapInArrow(hidden, "n BIGINT").toArrow()
    assert max(found.column("n").to_pylist()) > 50_000


@pytest.mark.parametrize("name", local.JAVA_VARIABLES)
def test_java_keeps_the_collector_that_the_environment_chooses(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in local.JAVA_VARIABLES:
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, "-Xmx2g -XX:+UseDynamicNumberOfGCThreads")
    assert local._java_options() == "-XX:+UseParallelGC"
    monkeypatch.setenv(name, "-Xmx2g -XX:+UseZGC")
    assert local._java_options() == ""
