"""What a worker remembers of its buckets never disagrees with what is committed."""

import os
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import joinfold as jf
from joinfold.operators.codec import decode
from joinfold.operators.state.bucket_state import POSITION
from joinfold.reference.streaming import stream
from joinfold.runtime import streaming, warm
from joinfold.runtime.warm import WarmBuckets, remove_run, shared_folder, sweep
from tests.runtime import resumable
from tests.runtime.worker import BATCHES, PLAN, Worker, only_the_position
from tests.strategies import assert_same_answers


@pytest.fixture
def executor(tmp_path: Path) -> Path:
    """The folder of an executor."""
    found = tmp_path / "executor"
    found.mkdir()
    return found


@pytest.fixture(autouse=True)
def cold(executor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_warm", WarmBuckets(lambda: executor))


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
    damage: str, executor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, found = Worker(), []
    if damage == "too large":
        monkeypatch.setattr(warm, "MOST_BYTES", 1)
    for batch in BATCHES:
        found += worker.run(batch)
        (path,) = executor.iterdir() if damage != "too large" else [None]
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


def kept_file(executor: Path) -> tuple[Path, str]:
    """The file of a bucket after two micro-batches, and its token."""
    worker = Worker()
    for batch in BATCHES[:2]:
        worker.run(batch)
    (path,) = executor.iterdir()
    return path, decode(worker.store.committed[POSITION][0])[1]["token"]


def test_a_file_that_was_damaged_or_cut_anywhere_is_none(executor: Path) -> None:
    path, token = kept_file(executor)
    whole, others = path.read_bytes(), WarmBuckets(lambda: executor)
    assert others.take(path.name, token) is not None
    arrays = whole.rindex(b"WarmBucket")
    places = [*range(0, arrays, 7), *range(arrays, len(whole), 61)]
    for place in (place for place in places if whole[place]):  # others may be between two parts
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        assert others.take(path.name, token) is None, place
    for length in range(0, len(whole) - 8, 97):
        path.write_bytes(whole[:length])
        assert others.take(path.name, token) is None, length


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this executor, in some memory."""
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setattr(warm, "MEMORY", memory)
    found = shared_folder()
    assert found is not None
    return found


def test_the_folder_is_closed_to_others(folder: Path) -> None:
    assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777 == 0o700
    assert shared_folder() == folder
    folder.parent.chmod(0o755)
    assert shared_folder() is None


def test_files_that_were_abandoned_and_those_of_executors_that_are_gone_are_swept(folder: Path) -> None:
    for name, age in (("old", 2 * warm.ABANDONED_SECONDS), ("new", 0.0)):
        (folder / name).write_text("")
        os.utime(folder / name, (time.time() - age,) * 2)
    number, _, began = folder.name.partition("-")
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name in (f"{gone.pid}-{began}", f"{number}-{int(began) + 1}", "what an earlier version made"):
        (folder.parent / name).mkdir()
        (folder.parent / name / "file").write_text("")
    (folder.parent / "file of an earlier version").write_text("")
    sweep()
    assert list(folder.parent.iterdir()) == [folder]
    assert [path.name for path in folder.iterdir()] == ["new"]


def test_a_run_removes_its_own_files_and_no_others(folder: Path) -> None:
    another = folder.parent / f"{os.getpid()}-1"
    another.mkdir()
    for place in (folder, another):
        for name in ("run-0-5", "run-0-5.unfinished", "run-1-8", "runs-0-5"):
            (place / name).write_text("")
    remove_run("run")
    assert [path.name for place in (folder, another) for path in place.iterdir()] == ["runs-0-5"] * 2


def test_no_more_than_a_share_of_the_memory_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written longest ago gives way, whoever wrote it."""
    monkeypatch.setattr(streaming, "_warm", WarmBuckets(lambda: folder))
    Worker().run(BATCHES[0])
    (path,) = folder.iterdir()
    token, bucket = streaming._warm.here.popitem()[1]
    size = path.stat().st_size
    path.unlink()
    blocks = 4 * 5 * size  # room for five such files in a quarter

    def full(_: Path) -> Any:
        return SimpleNamespace(f_frsize=1, f_blocks=blocks, f_bavail=blocks - blocks // 4)

    monkeypatch.setattr(os, "statvfs", full)
    another = folder.parent / "another executor"
    another.mkdir()
    for number in range(12):
        place = another if number % 2 else folder
        WarmBuckets(lambda place=place: place).keep(f"run-0-{number}", token, bucket)
        held = [file for own in (folder, another) for file in own.iterdir()]
        assert sum(file.stat().st_size for file in held) <= blocks // 4
        names = {int(file.name.rpartition("-")[2]) for file in held}
        assert number in names and len(names) >= min(number + 1, 4) and min(names) >= number - 5
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_frsize=1, f_blocks=4 * size - 8, f_bavail=4 * size))
    streaming._warm.keep("run-0-too-large", token, bucket)
    assert not (folder / "run-0-too-large").exists()


@pytest.mark.spark
@pytest.mark.parametrize("end", ["stop", "wait", "failure"])
def test_a_query_that_ends_leaves_no_file(end: str, spark: Any, tmp_path: Path) -> None:
    resumable.write_files(tmp_path)
    seen: list[list[str]] = []

    def sink(answers: pa.Table, batch: int) -> None:
        seen.append([path.name for path in files()])
        if end == "failure" and batch == 2:
            raise RuntimeError("the sink is full")

    def files() -> list[Path]:
        return [path for path in Path(f"/dev/shm/joinfold-{os.getuid()}").glob("*/*") if path.name not in before]

    before = {path.name for path in Path(f"/dev/shm/joinfold-{os.getuid()}").glob("*/*")}
    trigger = "100 milliseconds" if end == "stop" else "available"
    running = resumable.query_over(jf.Session(spark), tmp_path).start(
        sink, checkpoint=tmp_path / "checkpoint", trigger=trigger
    )
    match end:
        case "stop":
            while len(seen) < resumable.FILES:
                assert running.is_active
                time.sleep(0.05)
            running.stop()
        case "wait":
            assert running.wait(120)
        case "failure":
            with pytest.raises(jf.JoinfoldError, match="the sink is full"):
                running.wait(120)
    assert any(seen)
    assert files() == []
