"""The pieces of windows that are not alike: bounded however long a query runs, and enough to go on from."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.operators.runs import Data, plan_of, tables_of
from tests.strategies import assert_same_answers

from joinfold.inprocess.frames import frame_batch
from joinfold.inprocess.selecting import answer_table
from joinfold.operators.bucket import CUTS, Bucket, Noted
from joinfold.operators.chain import pack_for, pass_on
from joinfold.operators.merge import merge, placed, together
from joinfold.reference.rows import from_arrow
from joinfold.reference.streaming import stream
from joinfold.runtime.pieces import FRESH_RUNS, LONGER, Pieces
from joinfold.runtime.stages import FoldStage
from joinfold.runtime.streaming import _moment_facts, _moment_from

LABELS = (5, 8)
ONE = (5,)
SCHEMA = "k INT, j INT, v BIGINT"
TEXTS = {
    "rows": "SELECT a.j, COUNT(*) AS n, MAX(b.v) AS x FROM a [ROWS 12 SLIDE 4], b [8 MICROSECOND SLIDE 4 MICROSECOND] "
    "WHERE a.k = b.k GROUP BY a.j",
    "time by rows": "SELECT COUNT(*) AS n, SUM(a.v) AS x FROM a [RANGE 9 MICROSECOND SLIDE 3 ROWS], b [ROWS 5] "
    "WHERE a.k = b.k",
    "last rows": "SELECT b.j, COUNT(*) AS n, MAX(a.v) AS x "
    "FROM a [PARTITION BY j ROWS 3], b [8 MICROSECOND SLIDE 4 MICROSECOND] WHERE a.k = b.k GROUP BY b.j",
    "ids": "SELECT a.j, COUNT(*) AS n, MAX(b.v) AS x FROM a [ROWS 12 SLIDE 4], b [8 MICROSECOND SLIDE 4 MICROSECOND] "
    "WHERE a.k = b.k GROUP BY a.j SYNC ON WINDOW ID",
    "ids again": "SELECT COUNT(*) AS n, MAX(b.v) AS x FROM a [8 MICROSECOND SLIDE 4 MICROSECOND], b [ROWS 4 SLIDE 2] "
    "WHERE a.k = b.k SYNC ON WINDOW ID MOD 3",
    "rows again": "SELECT COUNT(*) AS n, MAX(b.v) AS x FROM a [ROWS 6 SLIDE 4], b [8 MICROSECOND SLIDE 4 MICROSECOND] "
    "WHERE a.k = b.k SYNC ON WINDOW ID MOD 3",
    "time again": "SELECT COUNT(*) AS n, SUM(a.v) AS x FROM a [RANGE 9 MICROSECOND SLIDE 3 ROWS], b [ROWS 4 SLIDE 2] "
    "WHERE a.k = b.k SYNC ON WINDOW ID MOD 3",
    "pairs by ids": "SELECT a.v AS x, b.v AS y FROM a [ROWS 6 SLIDE 4], b [8 MICROSECOND SLIDE 4 MICROSECOND] "
    "WHERE a.k = b.k SYNC ON WINDOW ID",
}


@dataclass
class Memory:
    """A store of pieces."""

    held: dict[Any, Any] = field(default_factory=dict)

    def getValue(self, key: Any) -> Any:  # noqa: N802
        return self.held.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.held[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self.held[key]


@dataclass
class Stored:
    """A bucket of a stage, with its pieces and with what its state says besides."""

    stage: FoldStage
    label: int
    bucket: Bucket
    store: Memory = field(default_factory=Memory)
    facts: dict[str, Any] | None = None
    most_entries: int = 0
    most_cuts: int = 0
    most_runs: int = 0
    most_facts: int = 0

    def run(self, blobs: list[bytes]) -> Noted:
        """A micro-batch, as the runtime has it."""
        pieces = Pieces(self.store, self.facts)
        pieces.add(self.bucket.absorb(blobs))
        noted = self.bucket.answer()
        pieces.add(self.bucket.take_made())
        pieces.forget(self.bucket.is_done)
        pieces.merge(self.bucket)
        self.facts = pieces.facts() | _moment_facts(self.bucket.moment)
        cuts = sum(run.entries for run in pieces.runs if run.place >= CUTS)
        self.most_cuts = max(self.most_cuts, cuts)
        self.most_entries = max(self.most_entries, sum(run.entries for run in pieces.runs) - cuts)
        self.most_runs = max(self.most_runs, len(pieces.runs))
        self.most_facts = max(self.most_facts, sum(map(len, self.facts["occupancy"])))
        return noted

    def make_anew(self) -> None:
        """Forgets everything but the state."""
        if self.facts is not None:
            self.bucket = self.stage.fold_for(self.label)
            for place, batch in Pieces(self.store, self.facts).read():
                self.bucket.add(place, batch)
            self.bucket.moment = _moment_from(self.facts)
            self.bucket.resume()


class Query:
    """All stages of a query, each in as many buckets as there are labels, micro-batch by micro-batch."""

    def __init__(self, text: str, labels: tuple[int, ...] = LABELS) -> None:
        self.plan = plan_of(text, SCHEMA)
        self.labels = labels
        self.stages = [
            [
                Stored(stage, label, stage.fold_for(label))
                for label in labels
                for stage in [FoldStage(self.plan.folds, number, choice, labels, labels, text)]
            ]
            for number, choice in enumerate(self.plan.choices)
        ]
        self.answers: list[tuple[Any, ...]] = []

    @property
    def buckets(self) -> Iterator[Stored]:
        for stage in self.stages:
            yield from stage

    def run(self, batch: Data) -> None:
        tables, labels = tables_of(self.plan, batch), self.labels
        blobs = [
            blob
            for place, frame in enumerate(self.plan.frames)
            for blob in pack_for(self.plan.folds, place, labels, frame_batch(frame, tables[frame.input.source.name]))
        ]
        noted: list[Noted] = []
        for number, stage in enumerate(self.stages):
            noted = [
                own.run([blob for to, label, blob in blobs if (to, label) == (number, own.label)]) for own in stage
            ]
            if number < len(self.stages) - 1:
                for place, found in enumerate(noted):
                    blobs += pass_on(self.plan.folds, number, place, labels, found)
        self._finish(noted)

    def _finish(self, noted: list[Noted]) -> None:
        parts = [found.rows for found in noted if found.rows is not None]
        if not parts:
            return
        finished = together(parts) if self.plan.layout.is_plain else merge(self.plan.layout, parts)
        if noted[0].where is not None:
            leading = [own.name for own in self.plan.query.leading]
            finished = placed(finished, noted[0].numbers, noted[0].where, leading)
        self.answers += [tuple(row.values()) for row in from_arrow(answer_table(self.plan, finished))]


def going_on(batches: int, rows: int = 6, keys: int = 3, each_us: int = 6, behind_us: int = 0) -> list[Data]:
    """As many rows of both streams in each micro-batch, some of one time; one stream is behind the other."""

    def own(batch: int, stream: int) -> list[dict[str, Any]]:
        start = batch * each_us + (0 if stream else behind_us)
        return [
            {
                "ts": start + place * each_us // rows,
                "k": (batch + place) % keys,
                "j": (batch * (stream + 2) + place) % keys,
                "v": (batch * 7 + place * 3) % 11,
            }
            for place in range(rows)
        ]

    return [{name: own(batch, number) for number, name in enumerate("ab")} for batch in range(batches)]


@pytest.mark.parametrize("name", TEXTS)
def test_buckets_made_anew_from_their_pieces_go_on_as_before(name: str) -> None:
    """At every micro-batch some are, in turn; more micro-batches than are needed to merge runs of runs."""
    query, batches = Query(TEXTS[name]), going_on(5 * FRESH_RUNS, rows=7, each_us=4)
    for number, batch in enumerate(batches):
        query.run(batch)
        for place, stored in enumerate(query.buckets):
            if number % 3 != place % 3:
                stored.make_anew()
    expected = stream(query.plan.query, batches)
    assert len(expected.answers) > 4 * FRESH_RUNS
    assert_same_answers(expected.answers, query.answers)


def ran(text: str, batches: list[Data]) -> Query:
    query = Query(text, ONE)
    for batch in batches:
        query.run(batch)
    assert query.answers
    return query


def kept(window: int, fresh: int) -> int:
    """How many entries pieces may have where so many live and a micro-batch brings so many: see `runtime.pieces`."""
    return LONGER * (window + FRESH_RUNS * fresh)


BATCHES, ROWS, KEYS = 300, 6, 3


@pytest.mark.parametrize(
    "name", ["rows", "time by rows", "ids", "ids again", "rows again", "time again", "pairs by ids"]
)
def test_what_counts_rows_stays_bounded(name: str) -> None:
    query = ran(TEXTS[name], going_on(BATCHES, ROWS, KEYS))
    live = 12 + 2 * ROWS  # the longest window, and rows that wait for the watermark
    for number, stage in enumerate(query.stages):
        for stored in stage:
            assert stored.most_entries <= 2 * kept(live, ROWS), f"stage {number}"
            assert stored.most_cuts <= 2 * kept(live, ROWS), f"stage {number}"
            assert stored.most_runs <= 4 * (FRESH_RUNS + 2), f"stage {number}"
            assert stored.most_facts <= 8 * ROWS, f"stage {number}"


def test_the_last_rows_of_each_key_stay_bounded() -> None:
    query = ran(TEXTS["last rows"], going_on(BATCHES, ROWS, KEYS))
    for number, stage in enumerate(query.stages):
        for stored in stage:
            assert stored.most_entries <= kept(3 * KEYS, 2 * ROWS) + kept(2 * ROWS, ROWS), f"stage {number}"
            assert stored.most_runs <= 3 * (FRESH_RUNS + 2), f"stage {number}"
            assert stored.most_facts <= 8 * ROWS, f"stage {number}"


MINUTE = 60_000_000
APART = (
    "SELECT COUNT(*) AS n, SUM(a.v) AS x FROM a [5 MINUTE SLIDE 1 MINUTE], b [4 MINUTE SLIDE 1 MINUTE] "
    "WHERE a.k = b.k SYNC ON WINDOW ID"
)


def test_of_streams_that_are_hours_apart_sub_windows_wait() -> None:
    """Windows of both wait until the one that is behind has come so far, whatever the number of their rows."""
    hours = 3
    runs = [ran(APART, going_on(BATCHES, rows, KEYS, MINUTE, hours * 60 * MINUTE)) for rows in (6, 60)]
    few, many = (sum(stored.most_entries for stored in query.buckets) for query in runs)
    waiting = (hours * 60 + 5) * KEYS * len(runs[0].plan.frames)
    assert waiting / 2 < few == many <= LONGER * waiting
