"""What a worker remembers of its buckets never disagrees with what is committed."""

import os
import time
from pathlib import Path

import pytest

from joinfold.reference.streaming import stream
from joinfold.runtime import streaming, warm
from joinfold.runtime.warm import WarmBuckets, shared_folder
from tests.runtime.worker import BATCHES, PLAN, Worker, only_the_position
from tests.strategies import assert_same_answers


@pytest.fixture(autouse=True)
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_warm", WarmBuckets(lambda: tmp_path))


def test_a_worker_that_comes_back_to_a_bucket_reads_what_others_wrote() -> None:
    """Two workers take turns; neither goes on with what it remembers from its own last turn."""
    first, second = Worker(), Worker()
    second.store = first.store
    second.processor.init(second.store)  # type: ignore[arg-type]
    found = []
    for number, batch in enumerate(BATCHES):
        found += (second if number % 3 == 1 else first).run(batch)
    assert_same_answers(stream(PLAN.query, BATCHES).answers, found)


def test_a_worker_reads_the_state_only_when_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker()
    worker.run(BATCHES[0])
    monkeypatch.setattr(worker.store, "getValue", only_the_position(worker.store))
    for batch in BATCHES[1:]:
        worker.run(batch)


def test_another_process_of_the_host_goes_on_without_reading_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    worker, found = Worker(), []
    for number, batch in enumerate(BATCHES):
        if number:
            monkeypatch.setattr(worker.store, "getValue", only_the_position(worker.store))
            streaming._warm.here.clear()
        found += worker.run(batch)
    assert_same_answers(stream(PLAN.query, BATCHES).answers, found)


@pytest.mark.parametrize("damage", ["gone", "cut short", "another token", "too large"])
def test_what_the_host_has_lost_is_read_from_the_state(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, found = Worker(), []
    if damage == "too large":
        monkeypatch.setattr(warm, "MOST_BYTES", 1)
    for batch in BATCHES:
        found += worker.run(batch)
        (path,) = tmp_path.iterdir() if damage != "too large" else [None]
        match damage:
            case "gone":
                path.unlink()
            case "cut short":
                path.write_bytes(path.read_bytes()[:100])
            case "another token":
                before = path.read_bytes()
                worker.attempt(batch)
                assert path.read_bytes() != before
        streaming._warm.here.clear()
    assert_same_answers(stream(PLAN.query, BATCHES).answers, found)


def test_the_folder_is_closed_to_others_and_forgets_what_was_abandoned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "MEMORY", tmp_path)
    folder = shared_folder()
    assert folder is not None and folder.stat().st_mode & 0o777 == 0o700
    for name, age in (("old", 2 * warm.ABANDONED_SECONDS), ("new", 0.0)):
        (folder / name).write_text("")
        os.utime(folder / name, (time.time() - age,) * 2)
    assert shared_folder() == folder and [path.name for path in folder.iterdir()] == ["new"]
    folder.chmod(0o755)
    assert shared_folder() is None
