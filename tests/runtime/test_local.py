"""A Spark that is there may be set in a way that joinfold cannot work with; it says so before anything runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import joinfold as jf
from joinfold.runtime import local

ANSI = "spark.sql.ansi.enabled"
STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


@pytest.fixture
def restored(spark: Any) -> Iterator[Any]:
    """The session, whose settings are as before afterwards."""
    before = {name: spark.conf.get(name) for name in (ANSI, STATE_STORE)}
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


def query_over(spark: Any, is_streaming: bool) -> jf.Query:
    session = jf.Session(spark)
    reader = spark.readStream if is_streaming else None
    rows = reader.format("rate").load() if reader else spark.sql("SELECT timestamp_micros(1) AS timestamp, 1 AS value")
    session.stream("r", rows, time="timestamp")
    return session.sql("SELECT COUNT(*) AS n FROM r [TUMBLE 1 SECOND]")


@pytest.mark.spark
@pytest.mark.parametrize(("name", "value", "told"), [(ANSI, "false", "ANSI mode"), (STATE_STORE, HDFS, "RocksDB")])
def test_a_stream_is_refused_with_the_setting_to_change(
    restored: Any, tmp_path: Path, name: str, value: str, told: str
) -> None:
    spark = restored
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


@pytest.mark.spark
def test_bounded_data_need_no_state_store(restored: Any) -> None:
    spark = restored
    spark.conf.set(STATE_STORE, HDFS)
    assert query_over(spark, is_streaming=False).collect()["n"].to_pylist() == [1, 0]
    spark.conf.set(ANSI, "false")
    with pytest.raises(jf.SetupError, match="ANSI mode"):
        query_over(spark, is_streaming=False).collect()


@pytest.mark.parametrize("name", local.JAVA_VARIABLES)
def test_java_keeps_the_collector_that_the_environment_chooses(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in local.JAVA_VARIABLES:
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, "-Xmx2g -XX:+UseDynamicNumberOfGCThreads")
    assert local._java_options() == "-XX:+UseParallelGC"
    monkeypatch.setenv(name, "-Xmx2g -XX:+UseZGC")
    assert local._java_options() == ""


def fake_java(folder: Path, version: str) -> Path:
    """A home of Java that says which version it is."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-01' >&2\n")
    java.chmod(0o755)
    return folder


@pytest.mark.parametrize("version", ["17.0.15", "17", "21-ea"])
def test_a_java_that_is_new_enough_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version)))
    local.require_java()


@pytest.mark.parametrize(
    ("version", "told"), [("16.0.1", "is version 16"), ("1.8.0_302", "is version 1"), ("none", "is version 0")]
)
def test_an_old_java_is_refused_with_the_command_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, told: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version)))
    with pytest.raises(
        jf.SetupError, match=f"Spark needs Java 17 or newer, and '{tmp_path}/bin/java' {told}"
    ) as refused:
        local.require_java()
    assert refused.value.hint is not None and "apt-get install openjdk-17" in refused.value.hint


def test_without_java_it_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(jf.SetupError, match="no 'java' was found"):
        local.require_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(jf.SetupError, match="no 'java' was found"):
        local.require_java()


@pytest.mark.spark
def test_a_session_that_is_there_is_taken(spark: Any) -> None:
    assert local.start_local_spark() is spark
