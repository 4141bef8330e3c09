"""A stage's processor with a state in memory: what a worker remembers never disagrees with what is committed."""

import os
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from tests.operators.runs import Data, plan_of, tables_of
from tests.strategies import assert_same_answers

from joinfold.errors import EvaluationError
from joinfold.inprocess.frames import frame_batch
from joinfold.operators.codec import decode
from joinfold.operators.packing.routing import pack
from joinfold.operators.stages.fold import Fold
from joinfold.operators.stages.merge import merge
from joinfold.operators.state.bucket_state import POSITION
from joinfold.physical.stage import Merge
from joinfold.reference.rows import from_arrow
from joinfold.reference.streaming import stream
from joinfold.runtime import streaming, warm
from joinfold.runtime.stages import StageRun
from joinfold.runtime.streaming import StageProcessor
from joinfold.runtime.warm import WarmBuckets, shared_folder

WINDOW = "[4 MICROSECOND SLIDE 2 MICROSECOND]"
TEXT = f"SELECT COUNT(*) AS n, MAX(a.v) AS m, SUM(b.v) AS s FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k"
PLAN = plan_of(TEXT, "k STRING, v BIGINT")
BATCHES: list[Data] = [
    {name: [{"ts": ts, "k": "xy"[ts % 2], "v": ts} for ts in range(start, start + 3)] for name in ("a", "b")}
    for start in range(0, 18, 3)
]


class Store:
    """A state store of one key: what a batch writes is there for good only when it is committed."""

    def __init__(self) -> None:
        self.committed: dict[Any, Any] = {}
        self.written: dict[Any, Any] = {}

    def begin(self) -> None:
        self.written = deepcopy(self.committed)

    def commit(self) -> None:
        self.committed = deepcopy(self.written)

    # what a handle and its state offer
    def getMapState(self, name: str, key: str, value: str) -> "Store":  # noqa: N802
        return self

    def getValue(self, key: Any) -> Any:  # noqa: N802
        return self.written.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.written[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self.written[key]


def only_the_position(store: Store) -> Callable[[Any], Any]:
    """Reading that fails for entries."""
    return lambda key: store.written.get(key) if key == POSITION else pytest.fail("the state was read")


class Worker:
    """A processor with its store, fed with one bucket's micro-batches."""

    def __init__(self) -> None:
        self.store = Store()
        self.processor = StageProcessor(StageRun(PLAN.pipeline, 0, PLAN.choice, (5,), (5,)), "run")
        self.processor.init(self.store)  # type: ignore[arg-type]

    def attempt(self, batch: Data) -> list[tuple[Any, ...]]:
        """One try at a micro-batch, not committed."""
        self.store.begin()
        tables = tables_of(PLAN, batch)
        blobs = [
            blob
            for place, frame in enumerate(PLAN.frames)
            for _, _, blob in pack(PLAN.pipeline, place, (5,), frame_batch(frame, tables[frame.input.source.name]))
        ]
        arrived = pd.DataFrame({"stage": 0, "bucket": 5, "blob": blobs})
        (answered,) = self.processor.handleInputRows((5,), iter([arrived]), None)
        parts = [decode(bytes(blob))[0] for blob in answered["blob"].dropna()]
        if not parts:
            return []
        last = PLAN.pipeline.last
        assert isinstance(last, Merge)
        rows = from_arrow(pa.Table.from_batches([merge(last, parts)]))
        return [(row["instant"], *(row[f"aggregate_{number}"] for number in range(3))) for row in rows]

    def run(self, batch: Data) -> list[tuple[Any, ...]]:
        answered = self.attempt(batch)
        self.store.commit()
        return answered


@pytest.fixture(autouse=True)
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_warm", WarmBuckets(lambda: tmp_path))


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
                done(fold, *arguments)
                raise RuntimeError("the worker is lost")

            patch.setattr(Fold, step, fails)
            if worker.store.committed or step != "is_done":
                with pytest.raises(RuntimeError, match="lost"):
                    worker.attempt(batch)
        found += worker.run(batch)
    assert_same_answers(stream(PLAN.query, BATCHES).answers, found)


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
