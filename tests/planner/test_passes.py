"""What each pass does to a draft, and beside it the nearest query that it leaves alone."""

import pytest

from joinfold.physical.choice import NO_CHOICE, usual_choice
from joinfold.physical.column_names import ORIGIN
from joinfold.physical.source import StreamRows, ViewOf
from joinfold.physical.stage import LastRowsPerKey, Merge, NumberRows, Totals, is_replicated, makes_view
from joinfold.planner.context import Context
from joinfold.planner.cost.weights import shipped_weights
from joinfold.planner.drafting.draft import draft
from joinfold.planner.forcing import Plan
from joinfold.planner.passes.follow_data import follow_data
from joinfold.planner.passes.keep_last_rows import keep_last_rows
from joinfold.planner.passes.number_rows import number_rows
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import PASSES, has_rival, plan_query
from joinfold.planner.stream_statistics import Statistics
from tests.planner.known import CONDITION, SETS, WINDOW, chain_of, query_of, unknown

ROWS, BY_ROWS, LAST = "[ROWS 9 SLIDE 3]", "[RANGE 9 SECOND SLIDE 2 ROWS]", "[PARTITION BY g, j ROWS 3]"


def context(wanted: Plan | None = None, statistics: Statistics | None = None) -> Context:
    return Context(wanted or Plan(), statistics, shipped_weights())


def joined(a: str, b: str = WINDOW, tail: str = "") -> PlannedQuery:
    return draft(query_of(f"SELECT COUNT(*) AS n FROM a {a}, b {b} WHERE a.k = b.k {tail}"))


def test_the_passes_read_aloud() -> None:
    assert [change.__name__ for change in PASSES] == ["number_rows", "keep_last_rows", "choose", "follow_data"]


# --- number_rows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "streams"),
    [(ROWS, WINDOW, (0,)), (WINDOW, BY_ROWS, (1,)), (ROWS, BY_ROWS, (0, 1))],
)
def test_rows_that_are_counted_are_numbered_first(a: str, b: str, streams: tuple[int, ...]) -> None:
    plan = joined(a, b)
    after = number_rows(plan, context())
    assert after.stages == (NumberRows(streams), *plan.stages)
    assert after.choices == (NO_CHOICE, *plan.choices)


@pytest.mark.parametrize(
    ("a", "b", "tail"),
    [
        (WINDOW, WINDOW, ""),
        (LAST, WINDOW, ""),  # each bucket counts the rows of its own keys
        ("[ROWS 9]", "[9 SECOND]", "EMIT ON ARRIVAL"),  # every bucket goes through all rows anyhow
    ],
)
def test_other_rows_are_not(a: str, b: str, tail: str) -> None:
    plan = joined(a, b, tail)
    assert number_rows(plan, context()) is plan


# --- keep_last_rows -----------------------------------------------------------------------------------------------


def test_the_last_rows_of_each_key_are_a_view() -> None:
    plan = joined(LAST)
    first, stage = keep_last_rows(plan, context()).stages
    assert first == LastRowsPerKey(plan.body.inputs[0], ("order a.g", "order a.j"), 3) and makes_view(first)
    reader = stage.body.inputs[0]  # type: ignore[union-attr]
    assert (reader.name, reader.source, reader.open_ended) == ("a", ViewOf(0), True)
    assert (reader.carried, reader.order) == ((ORIGIN,), ())
    assert stage.body.inputs[1] == plan.body.inputs[1]  # type: ignore[union-attr]


def test_views_are_numbered_by_their_stage() -> None:
    plan = plan_query(query_of(f"SELECT COUNT(*) AS n FROM a {ROWS}, b {LAST}, c {LAST} WHERE a.k = b.k AND b.k = c.k"))
    assert [type(stage).__name__ for stage in plan.stages] == [
        *("NumberRows", "LastRowsPerKey", "LastRowsPerKey", "FoldAtInstants")
    ]
    assert [spec.source for spec in plan.body.inputs] == [StreamRows(0), ViewOf(1), ViewOf(2)]
    assert plan.pipeline.reader_of(1) == plan.pipeline.reader_of(2) == 3


def test_extremes_of_rows_whose_leaving_nobody_knows_are_counted() -> None:
    """The choice that was usual for the stream is not usual for its view."""
    plan = draft(query_of(f"SELECT MAX(a.v) AS top FROM a {LAST}, b {WINDOW} WHERE a.k = b.k"))
    after = keep_last_rows(plan, context())
    assert (plan.choice.windows, after.choice.windows) == ("sets", "structures")
    assert after.choice == usual_choice(after.answering)


@pytest.mark.parametrize("window", [ROWS, BY_ROWS, WINDOW])
def test_rows_of_all_keys_together_are_no_view(window: str) -> None:
    plan = joined(window)
    assert keep_last_rows(plan, context()) is plan


# --- choose -------------------------------------------------------------------------------------------------------


def test_a_chain_has_views_before_the_stage_that_answers() -> None:
    plan = plan_query(query_of(chain_of(3, "b.g, COUNT(*) AS n", " GROUP BY b.g")), Plan(root="c"))
    first, last = plan.stages
    assert (makes_view(first), makes_view(last), plan.root) == (True, False, "c")
    assert [spec.name for spec in plan.body.inputs] == ["c", "view of a, b"]
    merge = plan.pipeline.last
    assert isinstance(merge, Merge) and merge.totals == Totals.of(plan.body) and merge.groups == ("b.g",)


def test_a_chain_over_views_goes_on_with_their_numbers() -> None:
    windows = f"a {ROWS}, b {LAST}, c {WINDOW}"
    text = f"SELECT COUNT(*) AS n FROM {windows} WHERE a.k = b.k AND b.j = c.j"
    plan = plan_query(query_of(text), Plan(root="c"))
    *_, fold, last = plan.stages
    assert len(plan.stages) == 4
    assert {spec.source for spec in fold.body.inputs} == {StreamRows(0), ViewOf(1)}  # type: ignore[union-attr]
    assert {spec.source for spec in last.body.inputs} == {StreamRows(2), ViewOf(2)}  # type: ignore[union-attr]


def test_groups_cross_buckets_unless_they_determine_the_keys() -> None:
    for group, crosses in (("a.k", False), ("b.k", False), ("a.g", True), ("a.k + 1", True)):
        text = f"SELECT {group} AS g, COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k GROUP BY {group}"
        merge = plan_query(query_of(text)).pipeline.last
        assert isinstance(merge, Merge) and merge.crosses_buckets == crosses


def test_without_statistics_nothing_is_decided() -> None:
    assert plan_query(query_of(CONDITION)).decision is None
    plan = plan_query(query_of(CONDITION), None, unknown(2))
    assert plan.decision is not None and plan.decision.chosen.plan.choices == plan.choices


def test_without_a_key_one_input_goes_to_every_bucket() -> None:
    stage = draft(query_of(f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.x < b.x")).answering
    assert [is_replicated(stage, ordinal) for ordinal in range(2)] == [False, True]


# --- follow_data --------------------------------------------------------------------------------------------------


def test_a_choice_follows_the_data_unless_it_is_forced() -> None:
    plan = draft(query_of(CONDITION))
    assert follow_data(plan, context(statistics=unknown(2))).following is not None
    for wanted in (Plan(adapt="off"), Plan("tc")):
        assert follow_data(plan, context(wanted, unknown(2))) is plan
    assert follow_data(plan, context()) is plan
    fused = draft(query_of(SETS))
    assert follow_data(fused, context(statistics=unknown(2))) is fused


# --- what is worth a sample ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rival"),
    [
        (SETS, False),
        (CONDITION, True),
        (chain_of(3), True),
        (f"SELECT MAX(a.v) AS top FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k", False),
        (f"SELECT MAX(a.v) AS top FROM a {LAST}, b {WINDOW} WHERE a.k = b.k", True),
    ],
)
def test_where_sets_answer_there_is_no_other_plan(text: str, rival: bool) -> None:
    assert has_rival(draft(query_of(text))) == rival
