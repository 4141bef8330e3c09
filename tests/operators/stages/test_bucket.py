"""What all buckets have in common: the same watermark, what is in time, and late rows that are counted once."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.batches import cells_of
from joinfold.operators.calendars.position import Position
from joinfold.operators.stages.arrivals import ArrivalFold
from joinfold.operators.stages.bucket import Bucket
from joinfold.physical.choice import NO_CHOICE
from joinfold.physical.stored import EntriesOf
from joinfold.planner.planned_query import PlannedQuery
from joinfold.reference.streaming import stream
from tests.operators.runs import Data, plan_of
from tests.operators.stages.packed import blobs_of, buckets_of

W = "[6 MICROSECOND SLIDE 3 MICROSECOND]"
TEXTS = {
    "by key": f"SELECT COUNT(*) AS n FROM a {W}, b {W} WHERE a.k = b.k",
    "replicated": f"SELECT COUNT(*) AS n FROM a {W}, b {W} WHERE a.v < b.v",
    "filtered": f"SELECT COUNT(*) AS n FROM a {W}, b [UNBOUNDED] WHERE a.k = b.k AND a.v > 0",
    "plain": "SELECT a.v, b.v AS w FROM a [4 MICROSECOND], b [4 MICROSECOND] WHERE a.k = b.k",
    "on trigger": f"SELECT COUNT(*) AS n FROM a {W}, b [4 MICROSECOND] WHERE a.k = b.k EMIT ON TRIGGER",
    "on arrival": "SELECT COUNT(*) AS n FROM a [4 MICROSECOND], b [ROWS 3] WHERE a.k = b.k EMIT ON ARRIVAL",
}
PLANS = {name: plan_of(text, "k INT, v INT", delay_us=1) for name, text in TEXTS.items()}
rows = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.none() | st.integers(0, 15),
            "k": st.none() | st.integers(0, 4),
            "v": st.integers(0, 2),
        }
    ),
    max_size=5,
)
micro_batches = st.lists(st.fixed_dictionaries({"a": rows, "b": rows}), min_size=1, max_size=4)
BUCKETS = 3


def run(plan: PlannedQuery, batches: list[Data]) -> list[Bucket]:
    buckets = buckets_of(plan, buckets=BUCKETS)
    for batch in batches:
        for bucket, blobs in zip(buckets, blobs_of(plan, batch, buckets=BUCKETS), strict=True):
            for _, accepted in bucket.absorb(blobs):
                cells = cells_of(accepted)
                assert (cells[1:] >= cells[:-1]).all() or isinstance(bucket, ArrivalFold)
            assert len(list(bucket.answer())) == 1
    return buckets


@pytest.mark.parametrize("name", TEXTS)
@given(batches=micro_batches)
def test_late_rows_are_counted_once_and_all_know_the_same_watermark(name: str, batches: list[Data]) -> None:
    """Those without a time or a key, too, which belong to no bucket: as in the definition."""
    plan = PLANS[name]
    buckets = run(plan, batches)
    assert len({bucket.watermark for bucket in buckets}) == 1
    late = [sum(bucket.position.streams[number].late for bucket in buckets) for number in range(2)]
    assert dict(zip("ab", late, strict=True)) == stream(plan.query, batches).late
    last = batches[-1]
    assert all(bucket.rows_read == [len(last["a"]), len(last["b"])] for bucket in buckets)


@given(cells=st.lists(st.integers(-3, 9) | st.integers(-(10**6), 10**6), max_size=6), watermark=st.integers(-9, 30))
def test_what_is_in_time_does_not_depend_on_how_close_cells_lie(cells: list[int], watermark: int) -> None:
    (bucket,) = buckets_of(PLANS["by key"])
    found = bucket.in_time(0, np.array(cells, np.int64), watermark)
    first = bucket.calendars[0].first_instant(np.array(cells, np.int64))
    assert found.tolist() == [own > watermark for own in first.tolist()]
    assert bucket.in_time(0, np.array(cells, np.int64), None).all()


def test_calendars_stand_where_the_bucket_does() -> None:
    (bucket,) = buckets_of(PLANS["by key"])
    position = Position.beginning(2)
    bucket.stand_at(position)
    assert bucket.position is position
    assert all(own.position is of for own, of in zip(bucket.calendars, position.streams, strict=True))


def test_stages_without_a_choice_have_nothing_to_go_on_with() -> None:
    plan = plan_of(f"SELECT COUNT(*) AS n FROM a [ROWS 3], b {W} WHERE a.k = b.k", "k INT, v INT")
    (bucket,) = buckets_of(plan)
    with pytest.raises(AssertionError, match="has nothing to choose"):
        bucket.go_on_with(NO_CHOICE)
    assert bucket.take_made() == [] and bucket.selectivity() is None and bucket.measured() is None


def test_entries_are_compacted_and_rows_that_are_counted_are_not() -> None:
    row: dict[str, Any] = {"ts": 1, "k": 1, "v": 1}
    plan = plan_of(f"SELECT COUNT(*) AS n FROM a {W}, b [ROWS 2] WHERE a.k = b.k", "k INT, v INT")
    (bucket,) = buckets_of(plan, 1)
    (blobs,) = blobs_of(plan, {"a": [row], "b": [row]}, 1)
    accepted = dict(bucket.absorb([*blobs, *blobs]))
    fewer = {kind: bucket.compacted(kind, batch, are_all=True).num_rows for kind, batch in accepted.items()}
    assert {kind: batch.num_rows for kind, batch in accepted.items()} == {EntriesOf("a"): 2, EntriesOf("b"): 2}
    assert fewer == {EntriesOf("a"): 1, EntriesOf("b"): 2}
