"""A load on Spark for a few micro-batches: they are watched with SHED and without, and the load follows its phases."""

import time
from typing import Any

import pytest

from joinfold import Session
from joinfold_bench.shedding import keeping_up as module
from joinfold_bench.shedding.keeping_up import KeepUpRun, KeepUpSettings, Load, Phase, run_keeping_up, stream_of

pytestmark = pytest.mark.spark

STEP = Load("step", (Phase(0.5, 0.5), Phase(1.0, 2.0)))
SETTINGS = KeepUpSettings(300.0, 1, 5, 50, 100, loads=(STEP,), most_batches=3)


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """The progress lines of the run."""
    return []


@pytest.fixture(scope="module")
def runs(spark: Any, lines: list[str]) -> list[KeepUpRun]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "STARTING_BATCHES", 1)
        return run_keeping_up(Session(spark), SETTINGS, lines.append)


def test_a_load_runs_with_shed_and_without(runs: list[KeepUpRun], lines: list[str]) -> None:
    assert [(run.load, run.sheds, run.rows_per_second) for run in runs] == [("step", True, 100), ("step", False, 100)]
    assert [line.split()[0] for line in lines] == ["starting", "starting", "step,", "step:"]
    for run in runs:
        finished = [batch for batch in run.batches if batch.is_finished]
        assert len(finished) >= 3 and run.usual_seconds is not None
        assert all(batch.rows > 0 and batch.started < batch.ended for batch in finished)
        assert all(0 < batch.behind < batch.ended for batch in run.batches)
        assert [batch.number for batch in run.batches] == sorted({batch.number for batch in run.batches})
    assert all(batch.kept is None for batch in runs[1].batches)
    assert all(batch.kept is not None for batch in runs[0].batches)


def test_the_rate_follows_the_phases(spark: Any) -> None:
    began = time.time()
    frame = stream_of(Session(spark), SETTINGS, STEP, 500, began, 8.0, 0)
    query = frame.writeStream.format("memory").queryName("load_of_phases").start()
    try:
        while time.time() < began + 9:
            time.sleep(0.2)
        query.processAllAvailable()
    finally:
        query.stop()
    columns = "COUNT_IF(unix_micros(ts) < {}) AS before, COUNT(*) AS all, COUNT(DISTINCT k) AS keys"
    text = columns.format(round((began + 4) * 1e6))
    (row,) = spark.sql(f"SELECT {text}, MIN(v) AS low, MAX(v) AS high FROM load_of_phases").collect()
    assert 250 < row["before"] < 1_200 < 2_000 < row["all"] - row["before"]
    assert row["keys"] == SETTINGS.keys and 0 <= row["low"] < row["high"] < module.VALUES


def test_the_capacity_is_found_by_trials(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def watched(session: Session, settings: KeepUpSettings, load: Load, rate: int, *_: object) -> list[object]:
        tried.append(rate)
        return [module.WatchedBatch(1, 1, 10.0, 10.0 + rate / 8_000, 1.0, None)]

    monkeypatch.setattr(module, "_watched", watched)
    assert module.find_capacity(Session(spark), SETTINGS, lambda line: None) == 8_000
    assert tried == [1_000, 2_000, 4_000]
