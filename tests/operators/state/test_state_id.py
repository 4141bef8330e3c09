"""State is opened by the micro-batch that follows the one that stored it, and by no other."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import EvaluationError
from joinfold.operators.state.state_id import StateId
from tests.operators.runs import plan_of
from tests.operators.state.kept import Query, going_on

TEXT = "SELECT COUNT(*) AS n FROM a [8 MICROSECOND SLIDE 4 MICROSECOND], b [4 MICROSECOND] WHERE a.k = b.k"

ids = st.builds(
    StateId,
    checkpoint=st.sampled_from(["x", "y"]),
    stage=st.integers(0, 1),
    bucket=st.integers(0, 2),
    batch=st.integers(0, 5),
)


def stored(own: StateId) -> dict[str, Any]:
    return {"state_id": own.facts(), "token": "any"}


@given(ids, ids)
def test_only_the_next_micro_batch_of_the_same_bucket_goes_on(before: StateId, now: StateId) -> None:
    if now == replace(before, batch=before.batch + 1):
        now.refuse_to_follow(stored(before))
    else:
        with pytest.raises(EvaluationError, match=f"^bucket {now.bucket} of stage {now.stage} cannot start"):
            now.refuse_to_follow(stored(before))


@given(ids)
def test_a_bucket_is_without_state_in_the_first_micro_batch_only(now: StateId) -> None:
    if now.batch == 0:
        now.refuse_to_follow(None)
    else:
        with pytest.raises(EvaluationError, match="found no state"):
            now.refuse_to_follow(None)


@given(ids)
def test_state_of_before_there_were_ids_goes_on(now: StateId) -> None:
    now.refuse_to_follow({"token": "any"})


def test_the_error_says_what_was_expected_what_was_found_and_what_to_do() -> None:
    with pytest.raises(EvaluationError) as raised:
        StateId("c0ffee", 1, 2, 7).refuse_to_follow(stored(StateId("c0ffee", 1, 2, 4)))
    assert str(raised.value) == (
        "bucket 2 of stage 1 cannot start micro-batch 7: expected the state of bucket 2 of stage 1 after micro-batch 6 "
        "in checkpoint c0ffee, found the state of bucket 2 of stage 1 after micro-batch 4 in checkpoint c0ffee\n"
        "Hint: a part of the checkpoint was lost, moved or restored from another copy. Restore the whole checkpoint "
        "from one copy, or use a new checkpoint directory."
    )


def test_a_bucket_that_gets_nothing_is_stored_and_keeps_its_token() -> None:
    query, batches = Query(plan_of(TEXT, "k INT, j INT, v BIGINT")), going_on(3)
    (first, second) = query.stages[0]
    for own in (first, second):
        own.state.skip(query.plan.choice)
        own.batch += 1
        own.make_anew()
    query.run(batches[0])
    token = first.state.token
    first.state.skip(query.plan.choice)
    first.batch += 1
    assert first.state.token == token
    second.batch += 1
    with pytest.raises(EvaluationError, match=r"expected .* after micro-batch 2 .* found .* after micro-batch 1"):
        query.run(batches[1])
