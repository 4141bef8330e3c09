"""The pieces of a bucket over many micro-batches: few, small, and seldom written again."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.operators.runs import Data, plan_of, tables_of
from tests.strategies import assert_same_answers

from joinfold.inprocess.frames import frame_batch
from joinfold.operators.chain import pack_for
from joinfold.operators.merge import merge, placed
from joinfold.reference.rows import from_arrow
from joinfold.reference.streaming import stream
from joinfold.runtime import pieces as module
from joinfold.runtime.pieces import FRESH_RUNS, Pieces
from joinfold.runtime.stages import FoldStage

KEYS = 5
SCHEMA = "k INT, v BIGINT"


@dataclass
class Memory:
    """A store that counts what is written."""

    held: dict[Any, Any] = field(default_factory=dict)
    written: int = 0
    reads: int = 0

    def getValue(self, key: Any) -> Any:  # noqa: N802
        self.reads += 1
        return self.held.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        assert key not in self.held
        self.held[key] = value
        self.written += len(value[0])

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self.held[key]


class Stream:
    """A bucket and its pieces, micro-batch by micro-batch; made anew from them whenever that is asked for."""

    def __init__(self, text: str) -> None:
        self.plan = plan_of(text, SCHEMA)
        self.stage = FoldStage(self.plan.folds, 0, self.plan.choice, (5,), (5,), text)
        self.fold = self.stage.fold_for(5)
        self.store = Memory()
        self.facts: dict[str, Any] | None = None
        self.brought = self.most_runs = self.most_entries = 0
        self.answers: list[tuple[Any, ...]] = []

    def run(self, batch: Data) -> None:
        layout, tables = self.plan.layout, tables_of(self.plan, batch)
        blobs = [
            blob
            for place, frame in enumerate(self.plan.frames)
            for _, _, blob in pack_for((layout,), place, (5,), frame_batch(frame, tables[frame.input.source.name]))
        ]
        pieces = Pieces(self.store, self.facts)
        accepted = self.fold.absorb(blobs)
        before = self.store.written
        pieces.add(accepted)
        self.brought += self.store.written - before
        noted = self.fold.answer()
        if noted.rows is not None:
            finished = merge(layout, [noted.rows])
            if noted.where is not None:
                finished = placed(finished, noted.numbers, noted.where, ["instant", "arrival"])
            names = [name for name in ("instant", "arrival", "a0", "a1", "a2") if name in finished.schema.names]
            self.answers += [tuple(row[name] for name in names) for row in from_arrow(finished)]
        pieces.forget(self.fold.is_done)
        pieces.merge(self.fold)
        self.facts = pieces.facts()
        assert sorted(key for (key,) in self.store.held) == sorted(p.number for run in pieces.runs for p in run.pieces)
        assert pieces.size_bytes == sum(len(blob) for (blob,) in self.store.held.values())
        self.most_runs = max(self.most_runs, len(pieces.runs))
        self.most_entries = max(self.most_entries, sum(run.entries for run in pieces.runs))

    def restart(self) -> None:
        moment, self.fold = self.fold.moment, self.stage.fold_for(5)
        for place, batch in Pieces(self.store, self.facts).read():
            self.fold.add(place, batch)
        self.fold.moment = moment
        self.fold.resume()

    @property
    def rewritten(self) -> float:
        """How often an entry that came was written once more, in bytes."""
        return self.store.written / self.brought - 1


def batch_at(second: int, rows: int = KEYS) -> Data:
    values = [{"ts": 10 * second + place % 10, "k": place % KEYS, "v": second} for place in range(rows)]
    return {"a": values, "b": values[:1]}


JOIN = "SELECT COUNT(*) AS n, SUM(a.v) AS s, MAX(b.v) AS m FROM a {0}, b {0} WHERE a.k = b.k"
LANDMARK = JOIN.format("[UNBOUNDED]") + " EMIT EVERY 10 MICROSECONDS"
LONG_CELL = JOIN.format("[TUMBLE 5000 MICROSECOND]")
SLIDING = JOIN.format("[600 MICROSECOND SLIDE 10 MICROSECOND]")
ARRIVAL = JOIN.format("[100 MICROSECOND]") + " EMIT ON ARRIVAL"


@pytest.mark.parametrize("text", [LANDMARK, LONG_CELL, SLIDING, ARRIVAL])
def test_answers_do_not_depend_on_the_pieces(text: str) -> None:
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
def test_state_stays_small_and_in_few_pieces(text: str, entries: int) -> None:
    running = Stream(text)
    for second in range(150):
        running.run(batch_at(second))
    assert running.most_runs <= 2 * (FRESH_RUNS + 3)
    assert running.most_entries <= entries
    assert running.rewritten < 1


def test_long_runs_are_merged_only_where_entries_can_be_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENTRIES_PER_PIECE", 4)
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
