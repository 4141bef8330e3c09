"""The chunks of windows that are not alike: bounded however long a query runs, and enough to go on from."""

import pytest

from joinfold.operators.state.chunks import FRESH_RUNS, LONGER
from joinfold.reference.streaming import stream
from tests.operators.runs import Data, plan_of
from tests.operators.state.kept import Query, going_on
from tests.strategies import assert_same_answers

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


@pytest.mark.parametrize("name", TEXTS)
def test_buckets_made_anew_from_their_chunks_go_on_as_before(name: str) -> None:
    """At every micro-batch some are, in turn; more micro-batches than are needed to merge runs of runs."""
    query, batches = Query(plan_of(TEXTS[name], SCHEMA)), going_on(5 * FRESH_RUNS, rows=7, each_us=4)
    for number, batch in enumerate(batches):
        query.run(batch)
        for ordinal, own in enumerate(query.buckets):
            if number % 3 != ordinal % 3:
                own.make_anew()
    expected = stream(query.plan.query, batches)
    assert len(expected.answers) > 4 * FRESH_RUNS
    assert_same_answers(expected.answers, query.answers)


def ran(text: str, batches: list[Data]) -> Query:
    query = Query(plan_of(text, SCHEMA), ONE)
    for batch in batches:
        query.run(batch)
    assert query.answers
    return query


def kept(window: int, fresh: int) -> int:
    """How many entries chunks may have where so many live and a micro-batch brings so many: see `state.chunks`."""
    return LONGER * (window + FRESH_RUNS * fresh)


BATCHES, ROWS, KEYS = 300, 6, 3


@pytest.mark.parametrize(
    "name", ["rows", "time by rows", "ids", "ids again", "rows again", "time again", "pairs by ids"]
)
def test_what_counts_rows_stays_bounded(name: str) -> None:
    query = ran(TEXTS[name], going_on(BATCHES, ROWS, KEYS))
    live = 12 + 2 * ROWS  # the longest window, and rows that wait for the watermark
    for number, stage in enumerate(query.stages):
        for own in stage:
            assert own.most_entries <= 2 * kept(live, ROWS), f"stage {number}"
            assert own.most_boundaries <= 2 * kept(live, ROWS), f"stage {number}"
            assert own.most_runs <= 4 * (FRESH_RUNS + 2), f"stage {number}"
            assert own.most_facts <= 8 * ROWS, f"stage {number}"


def test_the_last_rows_of_each_key_stay_bounded() -> None:
    query = ran(TEXTS["last rows"], going_on(BATCHES, ROWS, KEYS))
    for number, stage in enumerate(query.stages):
        for own in stage:
            assert own.most_entries <= kept(3 * KEYS, 2 * ROWS) + kept(2 * ROWS, ROWS), f"stage {number}"
            assert own.most_runs <= 3 * (FRESH_RUNS + 2), f"stage {number}"
            assert own.most_facts <= 8 * ROWS, f"stage {number}"


MINUTE = 60_000_000
APART = (
    "SELECT COUNT(*) AS n, SUM(a.v) AS x FROM a [5 MINUTE SLIDE 1 MINUTE], b [4 MINUTE SLIDE 1 MINUTE] "
    "WHERE a.k = b.k SYNC ON WINDOW ID"
)


def test_of_streams_that_are_hours_apart_sub_windows_wait() -> None:
    """Windows of both wait until the one that is behind has come so far, whatever the number of their rows."""
    hours = 3
    runs = [ran(APART, going_on(BATCHES, rows, KEYS, MINUTE, hours * 60 * MINUTE)) for rows in (6, 60)]
    few, many = (sum(own.most_entries for own in query.buckets) for query in runs)
    waiting = (hours * 60 + 5) * KEYS * len(runs[0].plan.frames)
    assert waiting / 2 < few == many <= LONGER * waiting
