"""A bucket goes on with another plan: when it should, not before, not back and forth, and it says why."""

import pickle
from dataclasses import replace

import pytest

from joinfold.inprocess import InProcess
from joinfold.operators.choice import SUMS, FoldChoice
from joinfold.operators.fold import Fold
from joinfold.operators.layout import FoldLayout
from joinfold.planner import adapting, search
from joinfold.planner.adapting import MARGIN, Change, Following, has_choice
from joinfold.planner.cost.weights import shipped_weights
from joinfold.planner.cost.windows import Flow
from joinfold.planner.estimating import Setting
from joinfold.planner.folding import plan_fold
from joinfold.planner.forcing import Plan
from tests.operators.runs import Data, feed, plan_of
from tests.planner.known import COUNTING, WINDOW, chain_of, common_key, query_of, unknown
from tests.planner.shifting import (
    BY_MATCHES,
    FEW_MATCHES,
    MANY_MATCHES,
    SCHEMA,
    SHIFTING,
    Phase,
    following_plan,
    micro_batches,
    weights_of,
)

CONDITION = f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k AND a.v <> b.v"


def after(batches: list[Data], text: str = SHIFTING, forced: Plan | None = None) -> InProcess:
    machine = InProcess(following_plan(text, forced=forced))
    for batch in batches:
        feed(machine, batch)
        machine.answer()
    return machine


def bucket_of(machine: InProcess) -> Fold:
    (bucket,) = machine.folds
    assert isinstance(bucket, Fold)
    bucket.observed.compared = None  # what it has compared so far counts no more
    return bucket


# --- when ---------------------------------------------------------------------------------------------------------


def test_nothing_changes_before_anything_is_measured() -> None:
    machine = after(micro_batches(FEW_MATCHES)[:1])
    assert machine.changes == [] and SUMS in bucket_of(machine).choice.indexes


def test_combinations_are_found_while_they_are_few_and_summed_when_they_are_many() -> None:
    machine = after(micro_batches(FEW_MATCHES))
    assert len(machine.changes) == 1 and SUMS not in bucket_of(machine).choice.indexes
    machine = after(micro_batches(FEW_MATCHES, MANY_MATCHES))
    assert len(machine.changes) == 2 and SUMS in bucket_of(machine).choice.indexes
    assert machine.changes[0].before == machine.changes[1].after == "IC over sums of ranges"


@pytest.mark.parametrize("phase", [FEW_MATCHES, MANY_MATCHES])
def test_a_steady_stream_has_one_plan(phase: Phase) -> None:
    """However long it goes on, and whatever the rows of a micro-batch happen to be."""
    for seed in range(3):
        machine = after(micro_batches(replace(phase, seconds=40), seed=seed))
        assert len(machine.changes) == (phase is FEW_MATCHES)


def test_what_is_steady_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    bucket = bucket_of(after(micro_batches(MANY_MATCHES)))
    monkeypatch.setattr(adapting, "fold_choices", lambda *given: looked.append(given) or search.fold_choices(*given))
    for _ in range(3):
        Following(BY_MATCHES, ("a", "b")).follow(bucket)
    assert len(looked) == 1
    bucket.observed.selectivity = (bucket.observed.selectivity or 1.0) / 2
    Following(BY_MATCHES, ("a", "b")).follow(bucket)
    Following(replace(BY_MATCHES, origin="another"), ("a", "b")).follow(bucket)
    assert len(looked) == 3


def test_a_share_that_is_assumed_changes_nothing() -> None:
    """Of fewer than a hundred pairs none is counted: nobody knows how many join, and the plan stays."""
    seldom = Phase(20, 2, 20, 2_000)
    machine = after(micro_batches(seldom))
    assert bucket_of(machine).observed.selectivity is None and machine.changes == []


@pytest.mark.parametrize("forced", [Plan("ic"), Plan("tc"), Plan(index={"a": "sums", "b": "sums"}), Plan(adapt="off")])
def test_what_is_forced_stays(forced: Plan) -> None:
    machine = after(micro_batches(FEW_MATCHES, MANY_MATCHES), forced=forced)
    assert machine.changes == [] and bucket_of(machine).choice == machine.plan.choice


def test_an_option_says_that_a_query_stays_with_its_plan() -> None:
    machine = after(micro_batches(FEW_MATCHES, MANY_MATCHES), f"{SHIFTING} OPTION (adapt = off)")
    assert machine.changes == [] and machine.plan.following is None
    machine = after(micro_batches(FEW_MATCHES, MANY_MATCHES), f"{SHIFTING} OPTION (adapt = on)")
    assert len(machine.changes) == 2


def test_a_plan_that_was_made_without_statistics_stays() -> None:
    assert plan_of(SHIFTING, SCHEMA).following is None


# --- by how much --------------------------------------------------------------------------------------------------


def with_costs(monkeypatch: pytest.MonkeyPatch, before: FoldChoice, now: float, others: float) -> None:
    """Lets the choice that there is cost so much, and all others so much."""

    def cost(setting: Setting, layout: FoldLayout, choice: FoldChoice, flows: list[Flow], instants: float) -> float:
        return now if choice == before else others

    monkeypatch.setattr(search, "fold_cost", cost)
    monkeypatch.setattr(adapting, "fold_cost", cost)


@pytest.mark.parametrize(
    ("now", "others", "changes"),
    [
        (MARGIN * 1.01, 1.0, True),
        (MARGIN * 0.99, 1.0, False),
        (MARGIN, 1.0, False),
        (1.0, 1.0, False),
        (1.0, 5.0, False),
        (0.0, 0.0, False),
    ],
)
def test_another_choice_must_be_cheaper_by_the_margin(
    now: float, others: float, changes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = bucket_of(after(micro_batches(MANY_MATCHES)))
    before = bucket.choice
    with_costs(monkeypatch, before, now, others)
    change = Following(BY_MATCHES, ("a", "b")).follow(bucket)
    assert (change is not None) == (bucket.choice != before) == changes
    assert Following(BY_MATCHES, ("a", "b")).follow(bucket) is None or not changes


def test_two_plans_that_are_close_do_not_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs that go up and down by a fifth turn nothing, whichever of the two there is."""
    bucket = bucket_of(after(micro_batches(MANY_MATCHES)))
    first = bucket.choice
    for number in range(10):
        with_costs(monkeypatch, first, *((1.2, 1.0) if number % 2 else (1.0, 1.2)))
        bucket.observed.compared = None
        assert Following(BY_MATCHES, ("a", "b")).follow(bucket) is None
    assert bucket.choice == first


# --- what is said -------------------------------------------------------------------------------------------------


def test_a_change_says_from_what_to_what_and_why() -> None:
    (change,) = after(micro_batches(FEW_MATCHES)).changes
    assert change.before == "IC over sums of ranges" and change.after.startswith(("TC; early none; ", "PC; early none"))
    share, _, measured = change.reason.partition(", by ")
    assert share.startswith("estimated at ") and share.endswith("% of its CPU")
    assert measured.startswith("a 1") and "rows/s, 2 keys, " in measured and "; b 1" in measured
    assert measured.endswith(" of the pairs join")
    assert str(Change("x", "y", "because")) == "x → y: because"


def test_titles_are_those_of_the_decision() -> None:
    plan = following_plan(SHIFTING)
    assert plan.following is not None and plan.decision is not None
    assert plan.following.title(plan.layout, plan.choice) == plan.decision.chosen.title


def test_it_travels_to_workers() -> None:
    plan = following_plan(SHIFTING)
    assert plan.following is not None and pickle.loads(pickle.dumps(plan.following)) == plan.following


# --- where there is anything to follow ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "follows"),
    [
        (CONDITION, True),
        (f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.x < b.x", True),
        (common_key(3) + " AND a.v <> b.v", True),
        (common_key(2), False),  # sets by key
        (common_key(5), False),
        (chain_of(3), False),  # views
        (f"SELECT a.v, b.v AS w FROM a {WINDOW}, b {WINDOW} WHERE a.x < b.x", False),  # nothing to aggregate
        ("SELECT COUNT(*) AS n FROM a [1 SECOND], b [1 SECOND] WHERE a.x < b.x EMIT ON ARRIVAL", False),
        (f"SELECT COUNT(*) AS n FROM a {COUNTING[0]}, b {WINDOW} WHERE a.x < b.x", True),
        (f"SELECT COUNT(*) AS n FROM a {COUNTING[2]}, b {WINDOW} WHERE a.x < b.x", False),  # comes as a view
        (f"SELECT COUNT(*) AS n FROM a {WINDOW}", False),
    ],
)
def test_only_where_combinations_are_found_or_summed_there_is_a_choice(text: str, follows: bool) -> None:
    plan = plan_fold(query_of(text))
    assert has_choice(plan.layout) == follows
    again = plan_fold(plan.query, None, unknown(len(plan.frames)), shipped_weights())
    assert (again.following is not None) == follows


def test_stages_before_a_fold_have_none() -> None:
    for window in (COUNTING[0], COUNTING[2]):
        text = f"SELECT COUNT(*) AS n FROM a {window}, b {WINDOW} WHERE a.x < b.x"
        *before, last = plan_fold(query_of(text)).folds
        assert len(before) == 1 and not has_choice(before[0]) and last.inputs


def test_the_names_are_those_of_the_streams_alone() -> None:
    """A relation has no window and is measured with its stream."""
    assert following_plan(SHIFTING, weights_of({})).following == Following(weights_of({}), ("a", "b"))
