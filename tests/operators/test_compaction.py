"""Stored entries made fewer say the same."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators.codec import encode
from joinfold.operators.stages.bucket import Accepted, Bucket
from joinfold.physical.column_names import COUNT
from joinfold.physical.stored import EntriesOf
from joinfold.reference.streaming import stream
from tests.operators.runs import Data, answer, feed, plan_of, restored
from tests.operators.test_machine import planned, runnable, scattered
from tests.strategies import Case, assert_same_answers


def compacted(bucket: Bucket, accepted: Accepted) -> Accepted:
    """All that is stored of each kind as one batch."""
    return [
        (stored, bucket.compacted(stored, pa.Table.from_batches(own).combine_chunks().to_batches()[0], are_all=True))
        for stored in dict.fromkeys(stored for stored, _ in accepted)
        if (own := [batch for mine, batch in accepted if mine == stored])
    ]


@given(case=runnable, data=st.data())
def test_a_bucket_made_anew_from_fewer_entries_goes_on_as_before(case: Case, data: st.DataObject) -> None:
    plan = planned(case)
    if plan is None:
        return
    batches = scattered(case, data)
    machine = InProcess(plan, 2)
    kept: list[Accepted] = [[] for _ in machine.buckets]
    answered: list[tuple[Any, ...]] = []
    for batch in batches:
        for number, accepted in enumerate(feed(machine, batch)):
            kept[number] += accepted
        answered += answer(machine)
        kept = [compacted(bucket, own) for bucket, own in zip(machine.buckets, kept, strict=True)]
        machine.buckets = [
            restored(bucket, [(stored, encode(entries)) for stored, entries in own])
            for bucket, own in zip(machine.buckets, kept, strict=True)
        ]
    assert_same_answers(stream(plan.query, batches).answers, answered)


@pytest.mark.parametrize(
    ("windows", "entries"),
    [
        ("a [UNBOUNDED], b [UNBOUNDED]", 2 + 2),  # all alike, but for what has not entered
        ("a [TUMBLE 100 MICROSECOND], b [TUMBLE 100 MICROSECOND]", 2),  # all of one cell
        ("a [100 MICROSECOND SLIDE 10 MICROSECOND], b [TUMBLE 10 MICROSECOND]", 2 * 8),
    ],
)
def test_entries_that_enter_and_leave_together_become_one(windows: str, entries: int) -> None:
    text = f"SELECT a.k, COUNT(*) AS n, SUM(a.v) AS s, AVG(b.w) AS m, MAX(a.w) AS x, MIN(b.v) AS y FROM {windows} "
    plan = plan_of(f"{text} WHERE a.k = b.k GROUP BY a.k EMIT EVERY 10 MICROSECONDS", "k STRING, v BIGINT, w DOUBLE")
    batches: list[Data] = [
        {name: [{"ts": ts, "k": "xy"[ts % 2], "v": ts, "w": ts / 7}] for name in ("a", "b")} for ts in range(78)
    ]
    machine = InProcess(plan, 1)
    accepted: Accepted = []
    answered: list[tuple[Any, ...]] = []
    for batch in batches:
        accepted += feed(machine, batch)[0]
        answered += answer(machine)
    (bucket,) = machine.buckets
    ((kind, first), _) = fewer = compacted(bucket, accepted)
    assert kind == EntriesOf("a") and first.num_rows == entries
    assert sum(first.column(COUNT).to_pylist()) == len(batches)
    machine.buckets = [restored(bucket, [(stored, encode(batch)) for stored, batch in fewer])]
    later: Data = {name: [{"ts": 130, "k": "x", "v": -5, "w": 0.5}] for name in ("a", "b")}
    feed(machine, later)
    answered += answer(machine)
    assert_same_answers(stream(plan.query, [*batches, later]).answers, answered)
