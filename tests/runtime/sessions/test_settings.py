"""A Spark session with any settings will do: joinfold borrows what it needs, and puts it back."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import joinfold as jf
from joinfold.reference.rows import from_arrow
from joinfold.reference.streaming import stream
from joinfold.runtime.sessions.settings import ANSI, PARTITIONS, ROCKSDB, STATE_STORE, borrowed, building, is_connect
from tests.runtime import resumable
from tests.strategies import assert_same_answers

pytestmark = pytest.mark.spark

HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
THREADS = 8


@pytest.fixture
def plain(spark: Any) -> Iterator[Any]:
    """A session of its own, as somebody else would have it: nothing set, and arithmetic that hides mistakes."""
    session = spark.newSession()
    for name in (PARTITIONS, STATE_STORE):
        session.conf.unset(name)
    session.conf.set(STATE_STORE, HDFS)
    session.conf.set(ANSI, "false")
    return session


def settings_of(spark: Any) -> dict[str, str | None]:
    return {name: spark.conf.get(name, None) for name in (ANSI, PARTITIONS, STATE_STORE)}


def test_settings_are_put_back_also_after_an_error(plain: Any) -> None:
    before, wanted = settings_of(plain), {PARTITIONS: "7", ANSI: "true", STATE_STORE: ROCKSDB}

    def fail() -> None:
        with borrowed(plain, wanted):
            assert settings_of(plain) == wanted
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert settings_of(plain) == before


def test_what_was_not_set_is_not_set_afterwards(plain: Any) -> None:
    name = "spark.sql.streaming.numRecentProgressUpdates"
    with borrowed(plain, {name: "7"}):
        assert plain.conf.get(name) == "7"
    assert plain.conf.get(name, None) is None


def test_a_query_runs_in_a_session_with_other_settings(plain: Any, tmp_path: Path) -> None:
    data, before = resumable.write_files(tmp_path), settings_of(plain)
    running = resumable.query_over(jf.Session(plain), tmp_path).start(
        "parquet", checkpoint=f"{tmp_path}/checkpoint", trigger="available", path=f"{tmp_path}/out"
    )
    assert running.wait(120)
    assert settings_of(plain) == before
    found = [tuple(row.values()) for row in from_arrow(plain.read.parquet(f"{tmp_path}/out").toArrow())]
    assert_same_answers(stream(resumable.logical(), [data]).answers, found)
    stores = [path.name for path in (tmp_path / "checkpoint" / "state" / "0").iterdir() if path.name.isdigit()]
    assert len(stores) == plain.sparkContext.defaultParallelism


def test_mistakes_in_arithmetic_are_not_hidden(plain: Any) -> None:
    session = jf.Session(plain)
    rows = plain.createDataFrame([(datetime(2025, 1, 1), "x")], "ts TIMESTAMP, s STRING")
    assert rows.selectExpr("CAST(s AS INT)").collect()[0][0] is None  # the user's own frames stay as they are
    session.stream("a", rows, time="ts")
    query = session.sql("SELECT SUM(CAST(s AS INT)) AS total FROM a [10 SECOND SLIDE 1 SECOND]")
    with pytest.raises(Exception, match="cannot be cast"):
        query.collect()


def test_a_frame_that_somebody_else_starts_needs_the_right_state_store(plain: Any) -> None:
    session = jf.Session(plain)
    session.stream("r", plain.readStream.format("rate").load(), time="timestamp")
    query = session.sql("SELECT COUNT(*) AS n FROM r [TUMBLE 1 SECOND]")
    with pytest.raises(jf.SetupError, match="RocksDB") as refused:
        query.to_df()
    assert refused.value.hint is not None
    exec(refused.value.hint.partition(": ")[2], {"spark": plain})
    assert query.to_df().isStreaming


def test_threads_that_build_at_once_see_their_own_settings(plain: Any) -> None:
    before = settings_of(plain)

    def seen(number: int) -> bool:
        with borrowed(plain, {PARTITIONS: str(number + 1)}), building(plain):
            return settings_of(plain) == before | {PARTITIONS: str(number + 1), ANSI: "true"}

    with ThreadPoolExecutor(THREADS) as threads:
        assert all(threads.map(seen, list(range(THREADS)) * 5))
    assert settings_of(plain) == before


def test_a_session_of_this_process_is_not_one_of_connect(spark: Any) -> None:
    assert not is_connect(spark)
