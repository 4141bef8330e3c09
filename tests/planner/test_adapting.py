"""A bucket goes on with another plan: when it should, not before, not back and forth, and it says why."""

import pickle
from dataclasses import replace

import pytest

from joinfold.inprocess import InProcess
from joinfold.operators.stages.fold import Fold
from joinfold.physical.choice import SUMS, FoldChoice, can_follow
from joinfold.physical.measured import Measured, StreamFigures
from joinfold.physical.stage import JoiningStage
from joinfold.planner import adapting, search
from joinfold.planner.adapting import MARGIN, Change, Comparison, Following
from joinfold.planner.cost.estimating import Setting
from joinfold.planner.cost.weights import shipped_weights
from joinfold.planner.cost.windows import Flow
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import plan_query
from joinfold.planner.stream_statistics import Statistics
from tests.operators.runs import Data, feed, plan_of
from tests.planner.known import COUNTING, WINDOW, chain_of, common_key, query_of, unknown
from tests.planner.shifting import (
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


def choice_of(machine: InProcess) -> FoldChoice:
    (bucket,) = machine.buckets
    assert isinstance(bucket, Fold)
    return bucket.choice


def figures(groups: float, rate: float = 12) -> StreamFigures:
    return StreamFigures(rate, 1.0, 2, groups, 40, 1.0, 0.0)


FEW = Measured((figures(20), figures(1)), 0.01)
MANY = Measured((figures(1), figures(1)), 0.9)


def compared(measured: Measured, before: Statistics | None = None, choice: FoldChoice | None = None) -> Comparison:
    plan = following_plan(SHIFTING)
    assert plan.following is not None
    return plan.following.compare(plan.answering, plan.timing, choice or plan.choice, measured, before)


# --- when ---------------------------------------------------------------------------------------------------------


def test_nothing_changes_before_anything_is_measured() -> None:
    machine = after(micro_batches(FEW_MATCHES)[:1])
    assert machine.changes == [] and SUMS in choice_of(machine).indexes


def test_combinations_are_found_while_they_are_few_and_summed_when_they_are_many() -> None:
    machine = after(micro_batches(FEW_MATCHES))
    assert len(machine.changes) == 1 and SUMS not in choice_of(machine).indexes
    machine = after(micro_batches(FEW_MATCHES, MANY_MATCHES))
    assert len(machine.changes) == 2 and SUMS in choice_of(machine).indexes
    assert machine.changes[0].before == machine.changes[1].after == "IC over sums of ranges"


@pytest.mark.parametrize("phase", [FEW_MATCHES, MANY_MATCHES])
def test_a_steady_stream_has_one_plan(phase: Phase) -> None:
    """However long it goes on, and whatever the rows of a micro-batch happen to be."""
    for seed in range(3):
        machine = after(micro_batches(replace(phase, seconds=40), seed=seed))
        assert len(machine.changes) == (phase is FEW_MATCHES)


def test_what_is_steady_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    monkeypatch.setattr(adapting, "fold_choices", lambda *given: looked.append(given) or search.fold_choices(*given))
    before = None
    for selectivity in (0.9, 0.9, 0.85, 0.9):
        comparison = compared(replace(MANY, selectivity=selectivity), before)
        assert before is None or comparison == Comparison(before)
        before = comparison.statistics
    assert len(looked) == 1
    assert compared(replace(MANY, selectivity=0.4), before).statistics != before
    faster = replace(MANY, streams=(figures(1, rate=14), figures(1)))
    assert compared(faster, before).statistics != before
    assert len(looked) == 3


def test_what_slowly_moves_is_compared_with_what_was_compared() -> None:
    """Steps of a twentieth are no news, but several of them are."""
    before, found = compared(MANY).statistics, []
    for step in range(4):
        comparison = compared(replace(MANY, selectivity=0.9 * 0.95**step), before)
        found.append(comparison.statistics is before)
        before = comparison.statistics
    assert found == [True, True, False, True]


def test_a_share_that_nobody_counted_changes_nothing() -> None:
    """Of fewer than a hundred pairs none is counted: nobody knows how many join, and the plan stays."""
    machine = after(micro_batches(Phase(20, 2, 20, 2_000)))
    measured = machine.buckets[0].measured()
    assert measured is not None and measured.selectivity is None and machine.changes == []
    before = compared(FEW).statistics
    assert compared(replace(FEW, selectivity=None)) == Comparison(None)
    assert compared(replace(FEW, selectivity=None), before) == Comparison(before)


@pytest.mark.parametrize("forced", [Plan("ic"), Plan("tc"), Plan(index={"a": "sums", "b": "sums"}), Plan(adapt="off")])
def test_what_is_forced_stays(forced: Plan) -> None:
    machine = after(micro_batches(FEW_MATCHES, MANY_MATCHES), forced=forced)
    assert machine.changes == [] and choice_of(machine) == machine.plan.choice


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

    def cost(setting: Setting, stage: JoiningStage, choice: FoldChoice, flows: list[Flow], instants: float) -> float:
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
    before = following_plan(SHIFTING).choice
    with_costs(monkeypatch, before, now, others)
    comparison = compared(MANY)
    assert (comparison.change is not None) == (comparison.choice is not None) == changes
    assert comparison.choice != before and comparison.statistics is not None


def test_two_plans_that_are_close_do_not_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs that go up and down by a fifth turn nothing, whichever of the two there is."""
    first = following_plan(SHIFTING).choice
    for number in range(10):
        with_costs(monkeypatch, first, *((1.2, 1.0) if number % 2 else (1.0, 1.2)))
        assert compared(MANY).choice is None


# --- what is said -------------------------------------------------------------------------------------------------


def test_a_change_says_from_what_to_what_and_why() -> None:
    (change,) = after(micro_batches(FEW_MATCHES)).changes
    assert change.before == "IC over sums of ranges" and change.after.startswith(("TC; early none; ", "PC; early none"))
    share, _, measured = change.reason.partition("; measured: ")
    assert share.startswith("estimated to take ") and share.endswith("% of its CPU")
    assert measured.startswith("a 1") and "rows/s, 2 keys, " in measured and "; b 1" in measured
    assert measured.endswith(" of the pairs join")
    assert str(Change("x", "y", "because")) == "x → y: because"


def test_titles_are_those_of_the_decision() -> None:
    plan = following_plan(SHIFTING)
    assert plan.following is not None and plan.decision is not None
    assert plan.following.title(plan.answering, plan.choice) == plan.decision.chosen.title


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
    plan = plan_query(query_of(text))
    assert can_follow(plan.answering) == follows
    again = plan_query(plan.query, None, unknown(len(plan.frames)), shipped_weights())
    assert (again.following is not None) == follows


def test_stages_before_a_fold_have_none() -> None:
    for window in (COUNTING[0], COUNTING[2]):
        text = f"SELECT COUNT(*) AS n FROM a {window}, b {WINDOW} WHERE a.x < b.x"
        first, _ = plan_query(query_of(text)).stages
        assert not can_follow(first)


def test_the_names_are_those_of_the_streams_alone() -> None:
    """A relation has no window and is measured with its stream."""
    assert following_plan(SHIFTING, weights_of({})).following == Following(weights_of({}), ("a", "b"))
