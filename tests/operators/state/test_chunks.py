"""The chunks of a bucket over many micro-batches: few, small, and seldom written again."""

from dataclasses import dataclass
from typing import Any

import pytest

from joinfold.inprocess.frames import frame_batch
from joinfold.operators.merging.merge import finished
from joinfold.operators.packing.routing import pack
from joinfold.operators.stages.bucket import Bucket
from joinfold.operators.stages.open_bucket import open_bucket
from joinfold.operators.state import chunks as module
from joinfold.operators.state.chunks import FRESH_RUNS, Chunks
from joinfold.reference.rows import from_arrow
from joinfold.reference.streaming import stream
from tests.operators.runs import Data, plan_of, tables_of
from tests.operators.state.memory import Memory
from tests.strategies import assert_same_answers

KEYS = 5
SCHEMA = "k INT, v BIGINT"


@dataclass
class CountingMemory(Memory):
    """A store that counts what is written."""

    written: int = 0
    reads: int = 0

    def getValue(self, key: Any) -> Any:  # noqa: N802
        self.reads += 1
        return super().getValue(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        assert key not in self.held
        super().updateValue(key, value)
        self.written += len(value[0])


class Stream:
    """A bucket and its chunks, micro-batch by micro-batch; made anew from them whenever that is asked for."""

    def __init__(self, text: str) -> None:
        self.plan = plan_of(text, SCHEMA)
        self.bucket = self._opened()
        self.store = CountingMemory()
        self.facts: dict[str, Any] | None = None
        self.brought = self.most_runs = self.most_entries = 0
        self.answers: list[tuple[Any, ...]] = []

    def _opened(self) -> Bucket:
        (stage,) = self.plan.stages
        return open_bucket(stage, self.plan.timing, 0, self.plan.choice)

    def run(self, batch: Data) -> None:
        pipeline, tables = self.plan.pipeline, tables_of(self.plan, batch)
        blobs = [
            blob
            for number, frame in enumerate(self.plan.frames)
            for _, _, blob in pack(pipeline, number, (5,), frame_batch(frame, tables[frame.input.source.name]))
        ]
        chunks = Chunks(self.store, self.facts)
        accepted = self.bucket.absorb(blobs)
        before = self.store.written
        chunks.add(accepted)
        self.brought += self.store.written - before
        answers = finished(pipeline.last, list(self.bucket.answer()))
        if answers is not None:
            leading = [name for name in ("instant", "arrival") if name in answers.schema.names]
            names = [*leading, *(f"aggregate_{number}" for number in range(3))]
            self.answers += [tuple(row[name] for name in names) for row in from_arrow(answers)]
        chunks.forget(self.bucket.is_done)
        chunks.merge(self.bucket)
        self.facts = chunks.facts()
        numbers = [chunk.number for run in chunks.runs for chunk in run.chunks]
        assert sorted(key for (key,) in self.store.held) == sorted(numbers)
        assert chunks.size_bytes == sum(len(blob) for (blob,) in self.store.held.values())
        self.most_runs = max(self.most_runs, len(chunks.runs))
        self.most_entries = max(self.most_entries, sum(run.entries for run in chunks.runs))

    def restart(self) -> None:
        position, self.bucket = self.bucket.position, self._opened()
        for stored, batch in Chunks(self.store, self.facts).read():
            self.bucket.add(stored, batch)
        self.bucket.resume(position)

    @property
    def rewritten(self) -> float:
        """How often an entry that came was written once more, in bytes."""
        return self.store.written / self.brought - 1


def batch_at(second: int, rows: int = KEYS) -> Data:
    values = [{"ts": 10 * second + ordinal % 10, "k": ordinal % KEYS, "v": second} for ordinal in range(rows)]
    return {"a": values, "b": values[:1]}


JOIN = "SELECT COUNT(*) AS n, SUM(a.v) AS s, MAX(b.v) AS m FROM a {0}, b {0} WHERE a.k = b.k"
LANDMARK = JOIN.format("[UNBOUNDED]") + " EMIT EVERY 10 MICROSECONDS"
LONG_CELL = JOIN.format("[TUMBLE 5000 MICROSECOND]")
SLIDING = JOIN.format("[600 MICROSECOND SLIDE 10 MICROSECOND]")
ARRIVAL = JOIN.format("[100 MICROSECOND]") + " EMIT ON ARRIVAL"


@pytest.mark.parametrize("text", [LANDMARK, LONG_CELL, SLIDING, ARRIVAL])
def test_answers_do_not_depend_on_the_chunks(text: str) -> None:
    running = Stream(text)
    batches = [batch_at(second) for second in range(24)]
    for number, batch in enumerate(batches):
        running.run(batch)
        if number % 5 == 0:
            running.restart()
    assert_same_answers(stream(running.plan.query, batches).answers, running.answers)


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        (LANDMARK, (KEYS + 1) * (FRESH_RUNS + 2)),
        (LONG_CELL, (KEYS + 1) * (FRESH_RUNS + 2)),
        (SLIDING, 2 * (KEYS + 1) * 62),  # a window holds 60 micro-batches
    ],
)
def test_state_stays_small_and_in_few_chunks(text: str, entries: int) -> None:
    running = Stream(text)
    for second in range(150):
        running.run(batch_at(second))
    assert running.most_runs <= 2 * (FRESH_RUNS + 3)
    assert running.most_entries <= entries
    assert running.rewritten < 1


def test_long_runs_are_merged_only_where_entries_can_be_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENTRIES_PER_CHUNK", 4)
    running = {text: Stream(text) for text in (LANDMARK, LONG_CELL, SLIDING, ARRIVAL)}
    for second in range(60):
        for own in running.values():
            own.run(batch_at(second))
    assert running[LANDMARK].most_entries <= (KEYS + 1) * (FRESH_RUNS + 2)
    assert running[LONG_CELL].most_entries <= (KEYS + 1) * (FRESH_RUNS + 2)
    for text in (SLIDING, ARRIVAL):
        assert running[text].rewritten == 0


def test_nothing_is_read_until_there_are_many() -> None:
    running = Stream(LANDMARK)
    for second in range(FRESH_RUNS - 1):
        running.run(batch_at(second))
    assert running.store.reads == 0
    running.run(batch_at(FRESH_RUNS))
    assert running.store.reads == 2 * FRESH_RUNS
