"""The explanation of the costs of a plan. `REGENERATE=1` writes the golden files; read them as a user would."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

import joinfold as jf
from joinfold.explain.costs import MOST_SHOWN, cost_text, shown_alternatives
from joinfold.explain.costs_page import cost_page
from joinfold.explain.physical_tree import plan_tree
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.stream_statistics import StreamStatistics
from tests.explain.test_physical_tree import QUERIES
from tests.planner.decisions import alternative_of, decided, estimate_of
from tests.planner.known import decision_of

GOLDEN = Path(__file__).parent.parent / "golden" / "costs"
SHOWN = ("alarms", "band", "group_across_keys", "last_rows", "one_input", "rows", "three_streams")


@pytest.mark.parametrize("name", SHOWN)
def test_costs(session: jf.Session, name: str) -> None:
    text = cost_text(decided(session.sql(QUERIES[name]).plan)) + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("REGENERATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_golden_file_has_its_query() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_every_stage_of_the_estimate_is_in_the_tree(session: jf.Session, name: str) -> None:
    """Costs are added to the tree; nothing else in it changes."""
    plan = decided(session.sql(QUERIES[name]).plan)
    tree = cost_text(plan).split("\n\n")[0]
    assert re.sub(" ‹.*?›", "", tree) == str(plan_tree(plan))
    stages = [stage for stage in estimate_of(plan).stages if stage.kind != "shuffle"]
    assert len(re.findall("‹.*?›", tree)) == len(stages)


def test_without_a_decision_only_the_tree_is_shown(session: jf.Session) -> None:
    plan = replace(session.sql(QUERIES["alarms"]).plan, decision=None)
    assert cost_text(plan) == str(plan_tree(plan))
    assert "<svg" not in cost_page(plan, "SELECT 1")


def test_few_of_many_plans_are_shown_and_the_chosen_plan_is_one_of_them(plan: PlannedQuery) -> None:
    many = decided(plan, others=15)
    assert "  and 4 more, with up to " in cost_text(many)
    for chosen_at in (0, 5, 11, 12, 15):
        decision = decision_of(decided(plan, others=15, chosen_at=chosen_at))
        shown = shown_alternatives(decision)
        assert len(shown) == MOST_SHOWN and decision.chosen in shown
        marked = [line for line in cost_text(decided(plan, 15, chosen_at=chosen_at)).splitlines() if "▶" in line]
        assert len(marked) == 1 and decision.chosen.title in marked[0] and " 1.0 ×" in marked[0]


def test_a_chosen_plan_that_is_no_alternative_is_shown(plan: PlannedQuery) -> None:
    decision = replace(decision_of(plan), chosen=alternative_of(plan, "forced", 2.0))
    titles = [alternative.title for alternative in shown_alternatives(decision)]
    assert titles[:3] == ["aggregation sets by key", "forced", "PC, windows by hash"]


def test_the_text_says_if_nothing_is_known_of_the_streams(plan: PlannedQuery) -> None:
    assert "Nothing is known" not in cost_text(plan)
    assert "Nothing is known about the streams" in cost_text(decided(plan, streams=(StreamStatistics(),)))


def test_how_a_plain_join_divides_its_budgets(session: jf.Session) -> None:
    """Windows of 10,000 and 5,000 rows, of which 3,000 are held; 1,500 rows come per second, of which 300 probe."""
    text = """SELECT t.floor, s.strength FROM temperature t [10 SECONDS], smoke s [10 SECONDS]
              WHERE t.location = s.location SHED TO {} OPTION (rate = 't 1000, s 500')"""
    shed = "PROCESS 300 ROWS PER SECOND AND HOLD 3000 ROWS FAVOUR ALL TO s"
    lines = cost_text(session.sql(text.format(shed)).plan).splitlines()
    at = lines.index("SHED, as divided among the streams")
    assert [line.split() for line in lines[at + 2 : at + 5]] == [
        ["temperature", "AS", "t", "0", "%", "0", "%"],
        ["smoke", "AS", "s", "60", "%", "60", "%"],
        [],
    ]
    assert any("rations which rows probe and which are held: all to s" in line for line in lines)
    unknown = cost_text(session.sql(text.format("KEEP UP")).plan)
    assert "What KEEP UP and the memory of the workers allow is known when the query runs." in unknown


def test_where_every_row_is_answered_only_memory_is_shed(session: jf.Session) -> None:
    text = """SELECT COUNT(*) AS n FROM temperature t [10 SECONDS], smoke s [10 SECONDS]
              WHERE t.location = s.location EMIT {} SHED TO HOLD 3000 ROWS"""
    arriving, every = (cost_text(session.sql(text.format(emit)).plan) for emit in ("ON ARRIVAL", "EVERY 5 SECONDS"))
    assert "Memory is saved, but hardly any CPU: every row has its answer." in arriving
    assert "of the CPU can be shed" in every and "of the CPU can be shed" not in arriving
