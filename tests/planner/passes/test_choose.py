"""Which stages join: one or a chain of them, as asked for or as decided."""

from joinfold.physical.source import StreamRows, ViewOf
from joinfold.physical.stage import Merge, Totals, makes_view
from joinfold.planner.drafting.draft import draft
from joinfold.planner.forcing import Plan
from joinfold.planner.passes.choose import choose
from joinfold.planner.planning import plan_query
from joinfold.planner.stream_statistics import Statistics
from tests.planner.known import (
    BAND,
    CONDITION,
    LAST,
    LONG,
    ROWS,
    WINDOW,
    chain_of,
    context,
    decision_of,
    query_of,
    stream,
    unknown,
)


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


def test_without_statistics_nothing_is_decided() -> None:
    assert plan_query(query_of(CONDITION)).decision is None
    plan = plan_query(query_of(CONDITION), None, unknown(2))
    assert plan.decision is not None and plan.decision.chosen.plan.choices == plan.choices


def test_what_is_decided_for_is_the_plan() -> None:
    known = (stream(4_000, keys=20, groups=3_000), stream(4_000, keys=20))
    drafted, statistics = draft(query_of(BAND)), Statistics(known, 0.002)
    asked, decided = choose(drafted, context()), choose(drafted, context(statistics=statistics))
    assert asked.choice.windows == "sums" != decided.choice.windows
    assert decided.choices == decision_of(decided).chosen.plan.choices
    forced = choose(drafted, context(Plan("pc"), statistics))
    assert forced.choice.method == "pc" and decision_of(forced).chosen.plan.choices == forced.choices


def test_the_chain_that_is_decided_for_has_its_root() -> None:
    drafted = draft(query_of(chain_of(3, window=LONG)))
    streams = [stream(rate, 1e5) for rate in (1e5, 1e3, 1e3)]
    decided = choose(drafted, context(statistics=Statistics(tuple(streams))))
    assert (drafted.root, decided.root, len(decided.stages)) == (None, "a", 2)
