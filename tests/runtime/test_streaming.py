"""A stage's processor: a batch is there as a whole or not at all, and its row of metrics says what was done."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from joinfold.errors import EvaluationError
from joinfold.operators.stages.fold import Fold
from joinfold.operators.state.bucket_state import POSITION
from joinfold.reference.streaming import stream
from joinfold.runtime import streaming
from joinfold.runtime.streaming import ROWS
from joinfold.runtime.warm import WarmBuckets
from tests.runtime.worker import BATCHES, PLAN, Worker
from tests.strategies import assert_same_answers


@pytest.fixture(autouse=True)
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = tmp_path / "executor"
    executor.mkdir()
    monkeypatch.setattr(streaming, "_warm", WarmBuckets(lambda: executor))


def test_a_batch_that_failed_after_its_end_leaves_no_trace() -> None:
    worker, found = Worker(), []
    for number, batch in enumerate(BATCHES):
        if number % 2:
            worker.attempt(BATCHES[-1])  # other rows, of a time that makes all the rest late; never committed
        worker.attempt(batch)
        found += worker.run(batch)
    assert_same_answers(stream(PLAN.query, BATCHES).answers, found)


@pytest.mark.parametrize("step", ["answer", "absorb", "is_done"])
def test_a_batch_that_failed_on_its_way_leaves_no_trace(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, found = Worker(), []
    for batch in BATCHES:
        with monkeypatch.context() as patch:
            done = getattr(Fold, step)

            def fails(fold: Any, *arguments: Any, done: Any = done) -> None:
                result = done(fold, *arguments)
                if step == "answer":
                    list(result)  # pieces are made as they are read
                raise RuntimeError("the worker is lost")

            patch.setattr(Fold, step, fails)
            if worker.store.committed or step != "is_done":
                with pytest.raises(RuntimeError, match="lost"):
                    worker.attempt(batch)
        found += worker.run(batch)
    assert_same_answers(stream(PLAN.query, BATCHES).answers, found)


def test_state_does_not_outlive_its_cells() -> None:
    worker = Worker()
    for batch in BATCHES:
        worker.run(batch)
        assert len(worker.store.committed) <= 1 + 2 * 4


@pytest.mark.parametrize(
    ("part", "damage"),
    [
        *((part, damage) for part in ("position", "chunk") for damage in ("truncated", "garbled", "future")),
        ("chunk", "missing"),
    ],
)
def test_damaged_state_is_refused_before_anything_is_written(
    part: str, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker()
    worker.run(BATCHES[0])
    monkeypatch.setattr(streaming, "_warm", WarmBuckets())
    held = worker.store.committed
    key = next(key for key in held if (key == POSITION) == (part == "position"))
    blob = held[key][0]
    match damage:
        case "truncated":
            held[key] = (blob[: len(blob) // 2],)
        case "garbled":
            held[key] = (blob[:-9] + bytes(9),)
        case "future":
            held[key] = (blob[:4] + (99).to_bytes(4, "little") + blob[8:],)
        case "missing":
            del held[key]
    before = deepcopy(held)
    with pytest.raises(EvaluationError, match=r"damaged|version 99|missing"):
        worker.attempt(BATCHES[1])
    assert worker.store.written == before


def test_blobs_for_later_stages_go_on_as_they_are_and_the_last_row_has_the_metrics() -> None:
    rows = Worker().handled(BATCHES[0], passing=[(3, 5, b"later"), (1, 5, b"merge")])
    assert list(rows.columns) == [field.split()[0] for field in ROWS.split(", ")]
    sent = list(zip(rows["stage"], rows["bucket"], rows["blob"], strict=True))
    assert sent[:2] == [(3, 5, b"later"), (1, 5, b"merge")]
    assert (rows["stage"].iloc[-1], rows["blob"].iloc[-1]) == (-1, None)
    assert set(rows["stage"].iloc[2:-1]) == {1}, "what is answered goes to MERGE"
    assert rows["watermark"].iloc[:-1].isna().all() and rows["watermark"].iloc[-1] == 2


def test_rows_that_every_bucket_knows_of_are_reported_by_the_first() -> None:
    read = []
    for shuffle_key in (5, 8):
        metrics = Worker((5, 8)).handled(BATCHES[0], shuffle_key).iloc[-1]
        read.append(metrics["read"])
        assert metrics["seen"] == [2, 2] and metrics["late"] == [0, 0]
        assert (metrics["figures"] is None) == (shuffle_key != 5)
        assert (metrics["plan"], metrics["change"]) == (None, None)
    assert read == [[3, 3], [0, 0]]


def test_what_is_reported_of_the_state_is_what_is_held() -> None:
    worker, held = Worker(), []
    for batch in BATCHES:
        metrics = worker.handled(batch).iloc[-1]
        worker.store.commit()
        held.append((metrics["cells"], metrics["entries"]))
        chunks = [value[0] for key, value in worker.store.committed.items() if key != POSITION]
        assert metrics["state_bytes"] == sum(map(len, chunks))
    assert held[-1] == held[-2] and held[-1][0] > 0
