"""What stages cost: what each bucket does by itself, and more for more."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.planner.cost.estimating import Setting, stages_of
from joinfold.planner.cost.sizes import entry_bytes
from joinfold.planner.cost.weights import shipped_weights
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.planner.stream_statistics import Statistics
from tests.planner.known import (
    FAST,
    SETS,
    TEXTS,
    WINDOW,
    decision_of,
    drawn_statistics,
    estimated,
    faster,
    plans_in_seconds,
    query_of,
    stream,
)


def test_stages_of_a_join_with_what_each_bucket_does_by_itself() -> None:
    plan, streams = plan_query(query_of(SETS)), (stream(FAST, 4, 3), stream(FAST, 4))
    setting = Setting.of(plan, Statistics(streams), shipped_weights(), buckets=5)
    stages = list(stages_of(setting, plan))
    assert [(stage.kind, stage.number) for stage in stages] == [
        *(("PACK", 0), ("PACK", 1), ("shuffle", 0), ("FOLD", 0), ("MERGE", 0))
    ]
    pack, _, shuffle, fold, merge = stages
    assert pack.amounts["blob packed"] == 5 and pack.amounts["entry packed"] == pytest.approx(12)
    assert fold.amounts["instant"] == 5 and fold.amounts["call of sets"] == 5 * 4
    assert fold.amounts["entry taken in"] == pytest.approx(12 + 4)  # distributed by key
    assert merge.amounts["group merged"] == 5 * 3
    a, b = (entry_bytes(spec, setting.widths) for spec in plan.body.inputs)
    frames = 2 * 5 * 1_500
    assert shuffle.shuffle_bytes == shuffle.amounts["byte shuffled"] == pytest.approx(12 * a + 4 * b + frames)
    assert fold.state_bytes == pytest.approx(10 * (12 * a + 4 * b) + 10 * frames)


def test_without_a_key_one_input_is_sent_to_every_bucket() -> None:
    text = f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.x < b.x"
    plan, sent = plan_query(query_of(text)), []
    for buckets in (1, 5):
        setting = Setting.of(plan, Statistics((stream(10), stream(10))), shipped_weights(), buckets)
        (shuffle,) = (s for s in stages_of(setting, plan) if s.kind == "shuffle")
        sent.append(shuffle.shuffle_bytes - 2 * buckets * 1_500)
    assert sent[1] / sent[0] == pytest.approx((1 + 5) / 2, rel=0.05)


@given(usual=plans_in_seconds(), data=st.data(), times=st.sampled_from([1.01, 2.0, 100.0]))
def test_more_rows_never_cost_less(usual: PlannedQuery, data: st.DataObject, times: float) -> None:
    """Nor do they take less memory or travel less, whichever stream they are of and whatever the plan."""
    few = drawn_statistics(data, usual)
    many = faster(few, data.draw(st.integers(0, len(usual.frames) - 1)), times)
    plan = plan_query(usual.query, None, few, shipped_weights())
    for other in decision_of(plan).alternatives:
        before, after = (estimated(other.plan, known) for known in (few, many))
        assert after.cpu >= before.cpu * (1 - 1e-9), other.title
        assert after.memory_bytes >= before.memory_bytes * (1 - 1e-9), other.title
        assert after.shuffle_bytes >= before.shuffle_bytes * (1 - 1e-9), other.title


@given(text=st.sampled_from(TEXTS), data=st.data(), times=st.sampled_from([2, 30, 1_000]))
def test_larger_windows_of_the_same_cells_never_take_less_state_or_memory(
    text: str, data: st.DataObject, times: int
) -> None:
    small, large = (plan_query(query_of(text.replace("10 SECOND", f"{10 * more} SECOND"))) for more in (1, times))
    statistics = drawn_statistics(data, small)
    chosen = plan_query(small.query, None, statistics, shipped_weights())
    for other in decision_of(chosen).alternatives:
        if other.plan.root == small.root:
            before = estimated(replace(small, choices=other.plan.choices), statistics)
            after = estimated(replace(large, choices=other.plan.choices), statistics)
            assert after.state_bytes >= before.state_bytes * (1 - 1e-9), other.title
            assert after.memory_bytes >= before.memory_bytes * (1 - 1e-9), other.title
