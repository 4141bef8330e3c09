"""Plain joins as windows move: once for windows that count rows, with every window for those that have numbers."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators.stages.join_at_moves import MoveJoin, Paired
from joinfold.operators.stages.open_bucket import open_bucket
from joinfold.planner.planned_query import PlannedQuery
from tests.operators.runs import Data, Row, answer, feed, plan_of

SCHEMA = "k INT, v INT"
SIZE_US, SLIDE_US = 4, 2
BY_NUMBER = plan_of(
    f"SELECT a.v, b.v AS w FROM a [{SIZE_US} MICROSECOND SLIDE {SLIDE_US} MICROSECOND], b [ROWS 4 SLIDE 2] "
    "WHERE a.k = b.k SYNC ON WINDOW ID",
    SCHEMA,
)
LAST = 3
BY_ROWS = plan_of(f"SELECT a.v, b.v AS w FROM a [ROWS {LAST}], b [UNBOUNDED] WHERE a.k = b.k", SCHEMA)
EACH_US = 3
rows = st.lists(
    st.fixed_dictionaries({"ts": st.integers(0, EACH_US - 1), "k": st.integers(0, 1), "v": st.integers(0, 9)}),
    min_size=1,
    max_size=4,
)
micro_batches = st.lists(st.fixed_dictionaries({"a": rows, "b": rows}), min_size=1, max_size=5).map(
    lambda batches: [
        {name: [row | {"ts": row["ts"] + EACH_US * number} for row in own] for name, own in batch.items()}
        for number, batch in enumerate(batches)
    ]
)


def run(plan: PlannedQuery, batches: list[Data], shares: bool = True) -> tuple[list[Any], MoveJoin]:
    machine = InProcess(plan)
    bucket = open_bucket(plan.stages[-1], plan.timing, 0, replace(plan.choice, shares=shares))
    machine.buckets[-1] = bucket
    found = list[Any]()
    for batch in batches:
        feed(machine, batch)
        found += answer(machine)
    found += answer(machine, to_the_end=True)
    assert isinstance(bucket, MoveJoin)
    return found, bucket


def ordered(batches: list[Data], name: str) -> list[Row]:
    return sorted((row for batch in batches for row in batch[name]), key=lambda row: (row["ts"], row["k"], row["v"]))


@pytest.mark.parametrize("shares", [True, False])
@given(batches=micro_batches)
def test_a_result_window_has_all_combinations_of_its_windows(shares: bool, batches: list[Data]) -> None:
    """Whether what a pair of sub-windows comes to is shared by all that hold both, or each is joined anew."""
    found, bucket = run(BY_NUMBER, batches, shares)
    assert bucket.live.windows.shares == shares
    lefts, rights = ordered(batches, "a"), ordered(batches, "b")
    origin = lefts[0]["ts"] // SLIDE_US * SLIDE_US
    expected: Counter[tuple[Any, ...]] = Counter()
    for wid in range(40):
        begin, first = origin + wid * SLIDE_US, 2 * wid
        if begin > lefts[-1]["ts"] or first + 4 > len(rights):
            break
        for left in lefts:
            for right in rights[first : first + 4]:
                if begin <= left["ts"] < begin + SIZE_US and left["k"] == right["k"]:
                    expected[wid, begin, begin + SIZE_US, first + 1, first + 4, left["v"], right["v"]] += 1
    assert Counter(found) == expected


def test_what_is_shared_is_looked_for_once() -> None:
    batches: list[Data] = [
        {name: [{"ts": ts, "k": 0, "v": ts}, {"ts": ts, "k": 0, "v": ts}] for name in "ab"} for ts in range(12)
    ]
    touched = {}
    for shares in (True, False):
        found, bucket = run(BY_NUMBER, batches, shares)
        assert found
        touched[shares] = bucket.touched
    assert touched[True] < touched[False]


@given(batches=micro_batches)
def test_a_combination_of_windows_that_count_rows_goes_out_once(batches: list[Data]) -> None:
    """When the second of its rows enters: if the first has not been driven out by then."""
    found, bucket = run(BY_ROWS, batches)
    lefts, rights = ordered(batches, "a"), ordered(batches, "b")
    expected: Counter[tuple[Any, ...]] = Counter()
    for number, left in enumerate(lefts):
        driving = lefts[number + LAST]["ts"] + 1 if number + LAST < len(lefts) else 10**6
        for right in rights:
            instant = max(left["ts"], right["ts"]) + 1
            if left["k"] == right["k"] and instant < driving:
                expected[instant, left["v"], right["v"]] += 1
    assert Counter(found) == expected
    windows = bucket.live.windows
    assert isinstance(windows, Paired) and windows.found == [] and not windows.has_drifted


def test_a_bucket_that_is_rebuilt_does_not_give_combinations_again() -> None:
    machine = InProcess(BY_ROWS)
    batch: Data = {name: [{"ts": 0, "k": 0, "v": 1}, {"ts": 5, "k": 0, "v": 2}] for name in "ab"}
    feed(machine, batch)
    assert answer(machine) == [(1, 1, 1)]
    bucket = machine.buckets[-1]
    assert isinstance(bucket, MoveJoin)
    touched = bucket.touched
    bucket.rebuild()
    assert answer(machine) == [] and bucket.entries_held == 2 and bucket.touched >= touched
    assert sorted(answer(machine, to_the_end=True)) == [(6, 1, 2), (6, 2, 1), (6, 2, 2)]
