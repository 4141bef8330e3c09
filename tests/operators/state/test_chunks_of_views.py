"""The chunks of views: a row of a group takes the place of the one before, and what has gone is forgotten in time."""

from copy import deepcopy
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joinfold.inprocess.frames import frame_batch
from joinfold.operators.emitted import Emitted
from joinfold.operators.merging.merge import finished
from joinfold.operators.packing.routing import pack, pass_on
from joinfold.operators.stages.fold import Fold
from joinfold.operators.stages.intake import ViewIntake
from joinfold.operators.stages.open_bucket import open_bucket
from joinfold.operators.state.chunks import FRESH_RUNS, Chunks
from joinfold.physical.column_names import CELL, COUNT, ORIGIN
from joinfold.physical.stored import EntriesOf
from joinfold.reference.rows import from_arrow
from joinfold.reference.streaming import stream
from tests.operators.chains import chain_of
from tests.operators.runs import Data, tables_of
from tests.operators.state.memory import Memory
from tests.strategies import assert_same_answers

LABEL = 5
SCHEMA = "k INT, j INT, s INT"
TEXT = (
    "SELECT a.s, COUNT(*) AS n, MAX(b.s) AS m FROM a {0}, b {0}, c {0} WHERE a.k = b.k AND b.j = c.j GROUP BY a.s "
    "OPTION (root = c)"
)
SLIDING = TEXT.format("[2 MICROSECOND SLIDE 1 MICROSECOND]")


class Chain:
    """The folds of a query, one bucket each, with their chunks, micro-batch by micro-batch."""

    def __init__(self, text: str) -> None:
        self.plan = chain_of(text, SCHEMA, "abc")
        self.folds = [self.opened(number) for number in range(len(self.plan.stages))]
        self.stores = [Memory() for _ in self.folds]
        self.facts: list[dict[str, Any] | None] = [None for _ in self.folds]
        self.answers: list[tuple[Any, ...]] = []
        self.most_entries, self.most_runs = ([0] * len(self.folds) for _ in range(2))

    def opened(self, number: int) -> Fold:
        fold = open_bucket(self.plan.stages[number], self.plan.timing, 0, self.plan.choices[number])
        assert isinstance(fold, Fold)
        return fold

    def run(self, batch: Data) -> None:
        pipeline, tables = self.plan.pipeline, tables_of(self.plan, batch)
        blobs = [
            blob
            for stream_number, frame in enumerate(self.plan.frames)
            for blob in pack(pipeline, stream_number, (LABEL,), frame_batch(frame, tables[frame.input.source.name]))
        ]
        emitted: list[Emitted] = []
        for number, fold in enumerate(self.folds):
            chunks = Chunks(self.stores[number], self.facts[number])
            chunks.add(fold.absorb(blob for own, _, blob in blobs if own == number))
            emitted = list(fold.answer())
            if number < len(self.folds) - 1:
                blobs += pass_on(pipeline, number, 0, (LABEL,), emitted[0])
            chunks.forget(fold.is_done)
            chunks.merge(fold)
            self.facts[number] = chunks.facts()
            names = {EntriesOf(fold.inputs[ordinal].name) for ordinal in fold.body.views}
            views = [run for run in chunks.runs if run.stored in names]
            self.most_entries[number] = max(self.most_entries[number], sum(run.entries for run in views))
            self.most_runs[number] = max(self.most_runs[number], len(views))
        answers = finished(pipeline.last, emitted)
        if answers is not None:
            names = ("instant", "group_0", "aggregate_0", "aggregate_1")
            self.answers += [tuple(row[name] for name in names) for row in from_arrow(answers)]

    def rebuilt(self, number: int) -> Fold:
        """A fold made anew from its chunks."""
        fold = self.opened(number)
        for stored, batch in Chunks(self.stores[number], self.facts[number]).read():
            fold.add(stored, batch)
        fold.resume(deepcopy(self.folds[number].position))
        return fold


def current_rows(fold: Fold) -> list[list[dict[str, Any]]]:
    """What is in force of each view that a fold reads."""
    found = []
    for ordinal, intake in fold.intakes.items():
        if not isinstance(intake, ViewIntake):
            continue
        current = deepcopy(intake.current).take()
        rows = [] if current is None else fold.live.vocabulary._batch_of(ordinal, current).to_pylist()
        identity = fold.inputs[ordinal].identity
        found.append(sorted(rows, key=lambda row: [row[name] for name in identity]))
    return found


def group_rows(fold: Fold) -> list[tuple[Any, ...]]:
    """The groups that a fold has, with their totals."""
    totals = fold.live.windows.totals
    there = np.flatnonzero(totals.totals.ints[:, 0])
    groups = [column.to_pylist() for column in fold.live.vocabulary.group_columns(totals.group_ids(there))]
    integers = totals.integer_products(totals.totals.ints[there])
    return sorted(zip(*groups, *integers.T.tolist(), strict=True))


def coming_and_going(instants: int, live: int, each: int = 1) -> list[Data]:
    """At every instant other groups by other keys, ``live`` of them; so many instants in each micro-batch."""
    batches: list[Data] = []
    for first in range(0, instants, each):
        batches.append({"a": [], "b": [], "c": []})
        for ts in range(first, first + each):
            rows = [{"ts": ts, "k": 1, "j": ts * live + ordinal, "s": ordinal} for ordinal in range(live)]
            for name, own in (("a", [rows[0] | {"s": ts % 7}]), ("b", rows), ("c", rows[:1])):
                batches[-1][name] += own
    return batches


def test_answers_do_not_depend_on_the_chunks_of_a_view() -> None:
    running, batches = Chain(SLIDING), coming_and_going(40, 3)
    for number, batch in enumerate(batches):
        running.run(batch)
        if number % 7 == 0:
            running.folds = [running.rebuilt(own) for own in range(len(running.folds))]
    assert_same_answers(stream(running.plan.query, batches).answers, running.answers)


def test_a_bucket_made_anew_is_the_one_that_was_kept() -> None:
    running = Chain(SLIDING)
    for batch in coming_and_going(30, 3):
        running.run(batch)
        for number, warm in enumerate(running.folds):
            rebuilt = running.rebuilt(number)
            assert current_rows(rebuilt) == current_rows(warm)
            assert group_rows(rebuilt) == group_rows(warm)
    assert any(map(current_rows, running.folds)) and all(map(group_rows, running.folds))


@pytest.mark.parametrize(("live", "instants"), [(3, 1000), (30, 200)])
def test_state_is_linear_in_the_groups_that_live(live: int, instants: int) -> None:
    """At each instant all groups of the view go and others come."""
    running, each = Chain(SLIDING), 5
    for batch in coming_and_going(instants, live, each):
        running.run(batch)
    rows = 4 * live * each  # of a micro-batch: the windows of an instant have two, and what has gone is said too
    assert running.most_entries[-1] <= 1.5 * FRESH_RUNS * rows
    assert running.most_runs[-1] <= FRESH_RUNS + 2
    assert sum(len(blob) for (blob,) in running.stores[-1].held.values()) < 40 * rows + 2_000


class View:
    """The view of a chain by itself: rows are put into its chunks by hand."""

    def __init__(self) -> None:
        self.chain = Chain(TEXT.format("[TUMBLE 1 MICROSECOND]"))
        body = self.chain.plan.body
        (ordinal,) = body.views
        self.spec = body.inputs[ordinal]
        (self.key,) = self.spec.keys
        self.store = Memory()
        self.facts: dict[str, Any] | None = None
        self.instant = 0

    def run(self, rows: list[tuple[int, int]]) -> None:
        """An instant at which groups get these counts."""
        named = {name: [group for group, _ in rows] for name in self.spec.identity if name != ORIGIN}
        counts = [count for _, count in rows]
        sums = {name: pa.array(counts, pa.int64()) for name in self.spec.integer_names}
        sums |= {name: pa.array(counts, pa.int32()) for name in self.spec.extreme_names}
        cells = pa.array([self.instant] * len(rows), pa.int64())
        ids = {name: pa.array(values, pa.int32()) for name, values in named.items()}
        batch = pa.RecordBatch.from_pydict({CELL: cells} | ids | {ORIGIN: pa.array([0] * len(rows), pa.int64())} | sums)
        chunks = Chunks(self.store, self.facts)
        chunks.add([(EntriesOf(self.spec.name), batch)] if rows else [])
        chunks.merge(self.chain.folds[-1])
        self.facts = chunks.facts()
        self.instant += 1

    @property
    def rows(self) -> list[tuple[int, int]]:
        """All stored rows, oldest first: group and count."""
        stored = [batch.to_pylist() for _, batch in Chunks(self.store, self.facts).read()]
        return [(row[self.key], row[COUNT]) for batch in stored for row in batch]

    @property
    def current(self) -> dict[int, int]:
        """What a bucket finds that is made anew from the chunks."""
        fold = self.chain.opened(len(self.chain.folds) - 1)
        for stored, batch in Chunks(self.store, self.facts).read():
            fold.add(stored, batch)
        fold.move(self.instant)
        (rows,) = current_rows(fold)
        return {row[self.key]: row[COUNT] for row in rows}


def test_what_says_that_a_group_is_gone_stays_as_long_as_an_earlier_row() -> None:
    view = View()
    many = 10 * FRESH_RUNS
    for part in range(FRESH_RUNS):
        view.run([(group, 1) for group in range(many) if group % FRESH_RUNS == part])
    assert len(view.rows) == many
    for group in range(FRESH_RUNS):
        view.run([(group, 0)])
    assert len(view.rows) == many + FRESH_RUNS  # merged with each other alone: the long run is left as it is
    assert view.current == dict.fromkeys(range(FRESH_RUNS, many), 1)
    for first in range(0, 4 * FRESH_RUNS, 4):
        view.run([(FRESH_RUNS + group, 0) for group in range(first, first + 4)])
    left = range(5 * FRESH_RUNS, many)
    assert sorted(view.rows) == [(group, 1) for group in left]  # all are merged: nothing is left to be gone
    assert view.current == dict.fromkeys(left, 1)


def test_a_view_that_is_gone_altogether_has_no_chunks() -> None:
    view = View()
    for count in (1, 0) * FRESH_RUNS:
        view.run([(group, count) for group in range(3)])
    assert view.rows == [] and view.store.held == {} and view.current == {}


@settings(max_examples=20)
@given(
    instants=st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=5), max_size=5 * FRESH_RUNS),
)
def test_chunks_say_what_the_last_rows_say(instants: list[list[tuple[int, int]]]) -> None:
    view, last = View(), dict[int, int]()
    for rows in instants:
        view.run(rows)
        last |= dict(rows)
    assert view.current == {group: count for group, count in last.items() if count}
