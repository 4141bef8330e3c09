"""The pieces of views: a row of a group takes the place of the one before, and what has gone is forgotten in time."""

from copy import deepcopy
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.operators.chains import chain_of
from tests.operators.runs import Data, tables_of
from tests.strategies import assert_same_answers

from joinfold.inprocess.frames import frame_batch
from joinfold.operators.chain import ORIGIN, pack_for
from joinfold.operators.codec import decode
from joinfold.operators.fold import Fold
from joinfold.operators.merge import merge
from joinfold.reference.rows import from_arrow
from joinfold.reference.streaming import stream
from joinfold.runtime.pieces import FRESH_RUNS, Pieces
from joinfold.runtime.stages import FoldStage

LABEL = 5
SCHEMA = "k INT, j INT, s INT"
TEXT = (
    "SELECT a.s, COUNT(*) AS n, MAX(b.s) AS m FROM a {0}, b {0}, c {0} WHERE a.k = b.k AND b.j = c.j GROUP BY a.s "
    "OPTION (root = c)"
)
SLIDING = TEXT.format("[2 MICROSECOND SLIDE 1 MICROSECOND]")


class Memory:
    """A store of pieces."""

    def __init__(self) -> None:
        self.held: dict[Any, Any] = {}

    def getValue(self, key: Any) -> Any:  # noqa: N802
        return self.held.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.held[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self.held[key]


class Chain:
    """The folds of a query, one bucket each, with their pieces, micro-batch by micro-batch."""

    def __init__(self, text: str) -> None:
        self.plan = chain_of(text, SCHEMA, "abc")
        self.stages = [
            FoldStage(self.plan.folds, number, choice, (LABEL,), (LABEL,), text)
            for number, choice in enumerate(self.plan.choices)
        ]
        self.folds = [self._opened(stage) for stage in self.stages]
        self.stores = [Memory() for _ in self.stages]
        self.facts: list[dict[str, Any] | None] = [None for _ in self.stages]
        self.answers: list[tuple[Any, ...]] = []
        self.most_entries, self.most_runs = ([0] * len(self.stages) for _ in range(2))

    def _opened(self, stage: FoldStage) -> Fold:
        fold = stage.fold_for(LABEL)
        assert isinstance(fold, Fold)
        return fold

    def run(self, batch: Data) -> None:
        tables = tables_of(self.plan, batch)
        blobs = [
            blob
            for place, frame in enumerate(self.plan.frames)
            for blob in pack_for(self.plan.folds, place, (LABEL,), frame_batch(frame, tables[frame.input.source.name]))
        ]
        for number, (stage, fold) in enumerate(zip(self.stages, self.folds, strict=True)):
            pieces = Pieces(self.stores[number], self.facts[number])
            pieces.add(fold.absorb(blob for own, _, blob in blobs if own == number))
            blobs += stage.split(LABEL, fold.answer())
            pieces.forget(fold.is_done)
            pieces.merge(fold)
            self.facts[number] = pieces.facts()
            views = [run for run in pieces.runs if run.place in fold.layout.views]
            self.most_entries[number] = max(self.most_entries[number], sum(run.entries for run in views))
            self.most_runs[number] = max(self.most_runs[number], len(views))
        merged = [decode(blob)[0] for own, _, blob in blobs if own == len(self.stages)]
        if merged:
            found = from_arrow(merge(self.plan.layout, merged))
            self.answers += [tuple(row[name] for name in ("instant", "g0", "a0", "a1")) for row in found]

    def rebuilt(self, number: int) -> Fold:
        """A fold made anew from its pieces."""
        fold = self._opened(self.stages[number])
        for place, batch in Pieces(self.stores[number], self.facts[number]).read():
            fold.add(place, batch)
        fold.moment = deepcopy(self.folds[number].moment)
        fold.resume()
        return fold


def standing_rows(fold: Fold) -> list[list[dict[str, Any]]]:
    """What stands of each view that a fold reads."""
    found = []
    for place, standing in deepcopy(fold.standing).items():
        stood = standing.take()
        rows = [] if stood is None else fold.live.vocabulary._batch_of(place, stood).to_pylist()
        found.append(sorted(rows, key=lambda row: [row[name] for name in fold.layout.inputs[place].identity]))
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
            rows = [{"ts": ts, "k": 1, "j": ts * live + place, "s": place} for place in range(live)]
            for name, own in (("a", [rows[0] | {"s": ts % 7}]), ("b", rows), ("c", rows[:1])):
                batches[-1][name] += own
    return batches


def test_answers_do_not_depend_on_the_pieces_of_a_view() -> None:
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
            assert standing_rows(rebuilt) == standing_rows(warm)
            assert group_rows(rebuilt) == group_rows(warm)
    assert any(map(standing_rows, running.folds)) and all(map(group_rows, running.folds))


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
    """The view of a chain by itself: rows are put into its pieces by hand."""

    def __init__(self) -> None:
        self.chain = Chain(TEXT.format("[TUMBLE 1 MICROSECOND]"))
        self.layout = self.chain.plan.layout
        (self.place,) = self.layout.views
        self.store, self.facts = Memory(), None
        self.instant = 0

    def run(self, rows: list[tuple[int, int]]) -> None:
        """An instant at which groups get these counts."""
        side = self.layout.inputs[self.place]
        named = {name: [group for group, _ in rows] for name in side.identity if name != ORIGIN}
        counts = [count for _, count in rows]
        sums = {f"i{number}": pa.array(counts, pa.int64()) for number in range(len(side.integers))}
        sums |= {f"e{number}": pa.array(counts, pa.int32()) for number in range(len(side.extremes))}
        cells = pa.array([self.instant] * len(rows), pa.int64())
        ids = {name: pa.array(values, pa.int32()) for name, values in named.items()}
        batch = pa.RecordBatch.from_pydict(
            {"cell": cells} | ids | {ORIGIN: pa.array([0] * len(rows), pa.int64())} | sums
        )
        pieces = Pieces(self.store, self.facts)
        pieces.add([(self.place, batch)] if rows else [])
        pieces.merge(self.chain.folds[-1])
        self.facts = pieces.facts()
        self.instant += 1

    @property
    def rows(self) -> list[tuple[int, int]]:
        """All stored rows, oldest first: group and count."""
        stored = [batch.to_pylist() for _, batch in Pieces(self.store, self.facts).read()]
        name = self.layout.inputs[self.place].keys[0]
        return [(row[name], row["i0"]) for batch in stored for row in batch]

    @property
    def standing(self) -> dict[int, int]:
        """What a bucket finds that is made anew from the pieces."""
        fold = self.chain._opened(self.chain.stages[-1])
        for place, batch in Pieces(self.store, self.facts).read():
            fold.add(place, batch)
        fold.move(self.instant)
        (rows,) = standing_rows(fold)
        return {row[self.layout.inputs[self.place].keys[0]]: row["i0"] for row in rows}


def test_what_says_that_a_group_is_gone_stays_as_long_as_an_earlier_row() -> None:
    view = View()
    many = 10 * FRESH_RUNS
    for part in range(FRESH_RUNS):
        view.run([(group, 1) for group in range(many) if group % FRESH_RUNS == part])
    assert len(view.rows) == many
    for group in range(FRESH_RUNS):
        view.run([(group, 0)])
    assert len(view.rows) == many + FRESH_RUNS  # merged with each other alone: the long run is left as it is
    assert view.standing == dict.fromkeys(range(FRESH_RUNS, many), 1)
    for first in range(0, 4 * FRESH_RUNS, 4):
        view.run([(FRESH_RUNS + group, 0) for group in range(first, first + 4)])
    left = range(5 * FRESH_RUNS, many)
    assert sorted(view.rows) == [(group, 1) for group in left]  # all are merged: nothing is left to be gone
    assert view.standing == dict.fromkeys(left, 1)


def test_a_view_that_is_gone_altogether_has_no_pieces() -> None:
    view = View()
    for count in (1, 0) * FRESH_RUNS:
        view.run([(group, count) for group in range(3)])
    assert view.rows == [] and view.store.held == {} and view.standing == {}


@settings(max_examples=20)
@given(
    instants=st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=5), max_size=5 * FRESH_RUNS),
)
def test_pieces_say_what_the_last_rows_say(instants: list[list[tuple[int, int]]]) -> None:
    view, last = View(), dict[int, int]()
    for rows in instants:
        view.run(rows)
        last |= dict(rows)
    assert view.standing == {group: count for group, count in last.items() if count}
