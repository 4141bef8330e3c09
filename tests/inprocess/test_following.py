"""Buckets that change their plans while they run: the answers never do."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators.codec import encode
from joinfold.operators.stages.fold import Fold
from joinfold.physical.measured import Measured
from joinfold.physical.stored import Stored
from joinfold.planner.planned_query import PlannedQuery
from joinfold.reference.streaming import stream
from tests import refusals
from tests.operators.runs import Answers, Data, answer, check_batches, feed, restored
from tests.planner.known import unknown
from tests.planner.shifting import (
    FEW_MATCHES,
    MANY_MATCHES,
    SHIFTING,
    following_plan,
    micro_batches,
    restless,
    with_any_choice,
)
from tests.strategies import Case, assert_same_answers, cases

MODES = ("default", "slide", "every", "trigger", "full", "window id", "mod")
BATCHES = 6
SEEDS = st.integers(0, 10**6)


def found_one_by_one(left: str, right: str) -> st.SearchStrategy[str]:
    """Joins that no sets by key answer."""
    return st.sampled_from(
        [
            f"{left}.v BETWEEN {right}.w - 2 AND {right}.w + 2",
            f"{left}.w < {right}.w",
            f"{left}.w + {right}.w < 2",
            f"{left}.k = {right}.k AND {left}.w <= {right}.v",
            f"{left}.k = {right}.k AND {left}.t <= {right}.t AND {left}.t > {right}.t - INTERVAL 9 MICROSECONDS",
            f"{left}.k = {right}.k AND COALESCE({left}.w, 0) <> {right}.w",
        ]
    )


def joins(inputs: tuple[int, int], most_rows: int) -> st.SearchStrategy[Case]:
    return cases(
        modes=MODES, plain=False, inputs=inputs, most_rows=most_rows, least_rows=3, connection=found_one_by_one
    )


def following(case: Case, seed: int) -> PlannedQuery:
    """A plan that changes after every micro-batch, of a query that has plans to choose from."""
    query = case.bind()
    plan = refusals.planned(query, case.text, statistics=unknown(len(query.streams)))
    assume(plan is not None and plan.following is not None)
    assert plan is not None
    return with_any_choice(plan, seed)


@contextmanager
def always_asked() -> Iterator[None]:
    """Buckets are asked after every micro-batch, whether there is anything that they have measured or not."""
    measured = Fold.measured
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Fold, "measured", lambda bucket: measured(bucket) or Measured((), None))
        yield


def one_after_another(case: Case, seed: int) -> list[Data]:
    """The rows in micro-batches, about in the order of their times; those of relations in the first."""
    draw, batches = Random(seed), [{name: [] for name in case.data} for _ in range(BATCHES)]
    for name, rows in case.data.items():
        for place, row in enumerate(sorted(rows, key=lambda row: row["ts"])):
            about = place * BATCHES // len(rows) + draw.choice((0, 0, 0, 1))
            batches[min(about, BATCHES - 1) if case.catalog[name].is_stream else 0][name].append(row)
    return batches


@given(case=joins((2, 2), 12), buckets=st.integers(1, 3), seed=SEEDS)
def test_plans_change_and_answers_do_not(case: Case, buckets: int, seed: int) -> None:
    machine = InProcess(following(case, seed), buckets)
    with always_asked():
        check_batches(machine, one_after_another(case, seed))
    assert len(machine.changes) == BATCHES * len(machine.shuffle_keys)


@given(case=joins((3, 4), 6), buckets=st.integers(1, 2), seed=SEEDS)
def test_nor_do_those_of_more_streams(case: Case, buckets: int, seed: int) -> None:
    with always_asked():
        check_batches(InProcess(following(case, seed), buckets), one_after_another(case, seed))


def answers_with_restarts(plan: PlannedQuery, batches: list[Data], seed: int) -> Answers:
    """Buckets change their plans, and now and then begin anew from what is stored, with the plan of the query."""
    machine, found, draw = InProcess(plan, 2), [], Random(seed)
    kept: list[list[tuple[Stored, bytes]]] = [[] for _ in machine.buckets]
    for batch in batches:
        for number, accepted in enumerate(feed(machine, batch)):
            kept[number] += [(stored, encode(entries)) for stored, entries in accepted]
        found += answer(machine)
        for number, bucket in enumerate(machine.buckets):
            if draw.random() < 0.4:
                bucket.choice = plan.choices[number // len(machine.shuffle_keys)]
                machine.buckets[number] = restored(bucket, kept[number])
    return found


@given(case=joins((2, 2), 12), seed=SEEDS)
def test_what_is_stored_is_the_same_whatever_the_plan_was(case: Case, seed: int) -> None:
    plan, batches = following(case, seed), one_after_another(case, seed)
    with always_asked():
        assert_same_answers(stream(plan.query, batches).answers, answers_with_restarts(plan, batches, seed))


# --- a stream that shifts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("buckets", [1, 3])
def test_a_stream_that_shifts_is_answered_as_defined(buckets: int) -> None:
    machine = InProcess(following_plan(SHIFTING), buckets)
    check_batches(machine, micro_batches(FEW_MATCHES, replace(MANY_MATCHES, seconds=6)))
    assert len(machine.changes) >= 2
    assert {change.before for change in machine.changes} & {change.after for change in machine.changes}


@pytest.mark.parametrize(
    "text",
    [
        SHIFTING,
        SHIFTING.replace("SUM(b.v)", "MAX(b.v)"),
        SHIFTING.replace("SUM(b.v)", "SUM(a.v * b.v)") + " EMIT EVERY 1500 MILLISECONDS",
        SHIFTING.replace("a.x BETWEEN b.x - 10 AND b.x + 10", "a.x <> b.v") + " CHANGES",
        SHIFTING.replace("a.k = b.k AND ", "") + " EMIT ON TRIGGER",
    ],
)
def test_plans_that_change_all_the_time(text: str) -> None:
    """Many plans, one after another, as they are cheapest by prices that change."""
    machine = InProcess(restless(following_plan(text), seed=5))
    found = check_batches(machine, micro_batches(replace(FEW_MATCHES, seconds=5), replace(MANY_MATCHES, seconds=4)))
    assert found and len(machine.changes) >= 4
    assert len({change.after for change in machine.changes}) >= 3


def test_each_bucket_decides_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is asked and one that is not have different plans, and their answers are put together."""
    plan = following_plan(SHIFTING)
    machine, measured = InProcess(plan, 2), Fold.measured
    monkeypatch.setattr(Fold, "measured", lambda bucket: measured(bucket) if bucket.is_first else None)
    check_batches(machine, micro_batches(FEW_MATCHES))
    changed, other = machine.buckets
    assert changed.choice != plan.choice == other.choice
    assert len(machine.changes) == 1


def test_what_was_touched_before_a_change_is_not_forgotten() -> None:
    machine, touched = InProcess(restless(following_plan(SHIFTING), seed=2)), []
    for batch in micro_batches(FEW_MATCHES, MANY_MATCHES):
        feed(machine, batch)
        machine.answer()
        touched.append(machine.measures.touched)
    assert machine.changes and touched == sorted(touched) and touched[-1] > 0


def test_a_bucket_goes_on_with_the_choice_it_is_given() -> None:
    plan = following_plan(SHIFTING)
    machine = InProcess(replace(plan, following=None))
    for batch in micro_batches(FEW_MATCHES):
        feed(machine, batch)
        machine.answer()
    (bucket,) = machine.buckets
    assert isinstance(bucket, Fold) and plan.decision is not None
    totals = [(other.plan.choice, _noted(bucket, other.plan.choice)) for other in plan.decision.alternatives]
    assert len(totals) > 4
    assert all(noted == totals[0][1] for _, noted in totals)


def _noted(bucket: Fold, choice: object) -> list[dict[str, object]]:
    """The groups as they stand, under a choice."""
    bucket.go_on_with(choice)  # type: ignore[arg-type]
    assert bucket.choice is choice and bucket.position.applied is not None
    bucket.emit(bucket.position.applied, bucket.position.applied)
    noted = bucket.live.emitted()
    assert noted is not None
    return sorted(noted.to_pylist(), key=str)
