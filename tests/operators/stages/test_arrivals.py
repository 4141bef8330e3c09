"""One answer for every row, in the order of rows: against windows that are lists."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators.stages.arrivals import ArrivalFold
from joinfold.physical.stored import ArrivalsOf, EntriesOf
from joinfold.planner.planned_query import PlannedQuery
from tests.operators.runs import Data, Row, answer, feed, plan_of
from tests.operators.state.kept import Kept, Query

SIZE_US, LAST = 4, 3
TEXT = (
    "SELECT COUNT(*) AS n, SUM(a.v) AS s, MAX(b.v) AS x "
    f"FROM a [{SIZE_US} MICROSECOND], b {{}} WHERE a.k = b.k EMIT ON ARRIVAL"
)
SCHEMA = "k INT, v INT"
PLAN = plan_of(TEXT.format(f"[ROWS {LAST}]"), SCHEMA)
IN_TIME = plan_of(TEXT.format(f"[{LAST} MICROSECOND]"), SCHEMA)
EACH_US = 3
rows = st.lists(
    st.fixed_dictionaries(
        {"ts": st.integers(0, EACH_US - 1), "k": st.none() | st.integers(0, 1), "v": st.integers(0, 3)}
    ),
    max_size=4,
)
micro_batches = st.lists(st.fixed_dictionaries({"a": rows, "b": rows}), min_size=1, max_size=6)


def defined(batches: list[Data], is_counted: bool) -> list[tuple[Any, ...]]:
    """Time and number among the rows of one time of every row, and what it finds: it is in its own window."""
    every = [(row["ts"], name, row) for batch in batches for name in "ab" for row in batch[name]]
    every.sort(key=lambda item: (item[0], item[1], item[2]["k"] is not None, item[2]["k"] or 0, item[2]["v"]))
    found = list[tuple[Any, ...]]()
    for number, (ts, _, _) in enumerate(every):
        seen = every[: number + 1]
        lefts = [row for at, name, row in seen if name == "a" and at >= ts - SIZE_US]
        rights = [row for at, name, row in seen if name == "b" and (is_counted or at >= ts - LAST)]
        rights = rights[-LAST:] if is_counted else rights
        pairs = [(left, right) for left in lefts for right in rights if left["k"] == right["k"] is not None]
        among = found[-1][1] + 1 if found and found[-1][0] == ts else 1
        total = sum(left["v"] for left, _ in pairs) if pairs else None
        found.append((ts, among, len(pairs), total, max((right["v"] for _, right in pairs), default=None)))
    return found


@pytest.mark.parametrize("plan", [PLAN, IN_TIME], ids=["rows", "time"])
@given(batches=micro_batches, buckets=st.integers(1, 3))
def test_every_row_is_answered_in_its_turn(plan: PlannedQuery, batches: list[Data], buckets: int) -> None:
    """Rows of one time are in order of their streams, then of their values; rows without a key are answered too."""
    batches = [
        {name: [row | {"ts": row["ts"] + EACH_US * number} for row in own] for name, own in batch.items()}
        for number, batch in enumerate(batches)
    ]
    machine, found = InProcess(plan, buckets), list[Any]()
    for batch in batches:
        feed(machine, batch)
        found += answer(machine)
    assert set(machine.late.values()) == {0}
    streamed = len(found)
    found += answer(machine, to_the_end=True)
    expected = defined(batches, plan is PLAN)
    assert found == expected
    kept = Query(plan)
    for batch in batches:
        kept.run(batch)
        kept.go_on_as(plan)  # from what is stored, without what is done
    assert sorted(kept.answers) == expected[:streamed]


def row(ts: int, k: int = 0) -> Row:
    return {"ts": ts, "k": k, "v": ts}


def bucket_after(times: range) -> ArrivalFold:
    machine = InProcess(PLAN)
    for ts in times:
        feed(machine, {"a": [row(ts)], "b": [row(ts)]})
        answer(machine)
    (bucket,) = machine.buckets
    assert isinstance(bucket, ArrivalFold)
    return bucket


def test_rows_are_done_when_no_row_to_come_sees_them() -> None:
    """Up to 18 is answered: rows of 19 wait. A row of b is counted by the rows that came after it."""
    bucket = bucket_after(range(20))
    assert (bucket.position.answered, bucket.position.applied) == (19, 18)
    assert [bucket.is_done(EntriesOf("a"), ts) for ts in (13, 14)] == [True, False]
    assert [bucket.is_done(ArrivalsOf("a"), ts) for ts in (18, 19)] == [True, False]
    assert [bucket.is_done(EntriesOf("b"), ts) for ts in (15, 16)] == [True, False]
    assert [bucket.is_done(ArrivalsOf("b"), ts) for ts in (15, 16)] == [True, False]


def test_memory_is_that_of_rows_that_wait_or_are_inside() -> None:
    held = [
        (len(bucket.rows), [len(own) for own in bucket.inside]) for bucket in map(bucket_after, map(range, (9, 40)))
    ]
    assert held == [(2, [SIZE_US + 1, LAST])] * 2
    assert bucket_after(range(9)).cells_held == 0


def rows_held(own: Kept) -> int:
    assert isinstance(own.bucket, ArrivalFold)
    return len(own.bucket.rows) + sum(map(len, own.bucket.inside))


@pytest.mark.parametrize("sampler", ["KEY", "ROW"])
def test_entries_are_shed_and_arrivals_are_not(sampler: str) -> None:
    """About 60 rows are held, also in the state, and every row has its answer."""
    plan = plan_of(f"{TEXT.format('[ROWS 40]')} SHED TO HOLD 60 ROWS SAMPLE BY {sampler}", SCHEMA)
    kept, arrived, held = Query(plan), 0, list[int]()
    for number in range(20):
        rows = [{"ts": EACH_US * number + v % EACH_US, "k": number + v, "v": v} for v in range(20)]
        kept.run({"a": rows, "b": rows})
        kept.go_on_as(plan)
        arrived += 2 * len(rows)
        held.append(sum(map(rows_held, kept.buckets)))
    assert len(kept.answers) > 0.9 * arrived
    assert min(held[6:]) > 10 and max(held[6:]) <= 90  # the size of a sample of few keys is random
    assert sum(own.bucket.position.streams[0].shed for own in kept.buckets) > 100
