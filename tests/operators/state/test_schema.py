"""What is stored is known by meaning, and what state must agree with is in words that do not change."""

import json

import pytest

from joinfold.errors import EvaluationError
from joinfold.operators.state.schema import identity_facts, refuse_others, stored_columns
from joinfold.physical.column_names import BATCH, CELL, COPIES, COUNT, EQUAL, KEEP, MOVED, NUMBER, ORIGIN, ROW, TURN
from joinfold.physical.stored import ArrivalsOf, BoundariesOf, EntriesOf, Inside, OrderOf, Stored, Waiting
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from tests.operators.runs import plan_of

SCHEMA = "k INT, j INT, v BIGINT"
W = "[8 MICROSECOND SLIDE 4 MICROSECOND]"
ORDERS = {"a": ("order a.k", "order a.v"), "b": ()}
TEXTS = {
    "fold at instants": f"SELECT COUNT(*) AS n, SUM(a.v) AS s FROM a {W}, b {W} WHERE a.k = b.k GROUP BY a.j",
    "fold at arrivals": "SELECT COUNT(*) AS n FROM a [9 MICROSECOND], b [ROWS 3] WHERE a.k = b.k EMIT ON ARRIVAL",
    "join on entry": "SELECT a.v AS x, b.v AS y FROM a [9 MICROSECOND], b [5 MICROSECOND] WHERE a.k = b.k",
    "join at moves": f"SELECT a.v AS x, b.v AS y FROM a [ROWS 6 SLIDE 4], b {W} WHERE a.k = b.k",
    "row numbers": f"SELECT COUNT(*) AS n FROM a [ROWS 12 SLIDE 4], b {W} WHERE a.k = b.k",
    "last rows of each key": f"SELECT COUNT(*) AS n FROM a [PARTITION BY j ROWS 3], b {W} WHERE a.k = b.k",
}


def plan_named(kind: str) -> PlannedQuery:
    return plan_of(TEXTS[kind], SCHEMA)


def stage_of(kind: str) -> int:
    """The stage that the name of a query is about: the first, but for a join that numbers rows before."""
    return 1 if kind == "join at moves" else 0


@pytest.mark.parametrize("kind", TEXTS)
def test_stages_are_called_what_checkpoints_call_them(kind: str) -> None:
    """A word of these that changes makes every checkpoint useless."""
    facts = identity_facts(plan_named(kind).pipeline, stage_of(kind), 4)
    assert facts["stage"] == kind and facts["buckets"] == 4
    assert facts == json.loads(json.dumps(facts))  # it comes back from a store as it went in


@pytest.mark.parametrize(
    ("clause", "rule"),
    [
        ("", {"answers": "at candidates", "grids": [[0, 4]], "by_rows": False}),
        ("EMIT EVERY 3 MICROSECONDS", {"answers": "at candidates", "grids": [[0, 3]], "by_rows": False}),
        ("EMIT ON TRIGGER", {"answers": "on trigger"}),
        ("SYNC ON WINDOW ID", {"answers": "by window id", "modulus": None}),
        ("SYNC ON WINDOW ID MOD 2", {"answers": "by window id", "modulus": 2}),
    ],
)
def test_the_rule_of_answering_is_in_words(clause: str, rule: dict[str, object]) -> None:
    plan = plan_of(f"SELECT COUNT(*) AS n FROM a {W}, b {W} WHERE a.k = b.k {clause}", SCHEMA)
    assert identity_facts(plan.pipeline, 0, 1)["rule"] == rule


def test_as_found_and_on_arrival_are_rules_too() -> None:
    rules = [identity_facts(plan_named(kind).pipeline, 0, 1)["rule"] for kind in ("join on entry", "fold at arrivals")]
    assert rules == [{"answers": "as found"}, {"answers": "on arrival"}]


def test_what_a_plan_chooses_is_not_in_the_identity() -> None:
    usual = plan_named("fold at instants")
    wanted = identity_facts(usual.pipeline, 0, 2)
    for forced in (Plan("tc"), Plan("pc", ()), Plan("ic", ("a",), {"a": "btree"})):
        other = plan_query(usual.query, forced)
        assert other.choices != usual.choices
        assert identity_facts(other.pipeline, 0, 2) == wanted
    assert wanted["windows"] == {"a": "[8 MICROSECOND SLIDE 4 MICROSECOND]", "b": "[8 MICROSECOND SLIDE 4 MICROSECOND]"}
    assert wanted["inputs"] == ["a", "b"]


@pytest.mark.parametrize("name", ["stage", "inputs", "where", "windows", "rule", "buckets"])
def test_state_that_differs_in_anything_is_refused_and_says_in_what(name: str) -> None:
    own = identity_facts(plan_named("fold at instants").pipeline, 0, 2)
    refuse_others(own | {"of a later version": 1}, own)
    for stored in (own | {name: "other"}, {key: value for key, value in own.items() if key != name}):
        with pytest.raises(EvaluationError, match=f"in '{name}'.* has (other|None)"):
            refuse_others(stored, own)


@pytest.mark.parametrize(
    ("kind", "stored", "columns"),
    [
        ("fold at instants", EntriesOf("a"), {CELL, "a.k", "a.j", COUNT, *ORDERS["a"]}),
        ("fold at instants", EntriesOf("b"), {CELL, "b.k", COUNT}),
        ("fold at instants", EntriesOf("c"), None),
        ("fold at instants", BoundariesOf("a"), {CELL, *ORDERS["a"], NUMBER, COPIES, EQUAL, MOVED}),
        ("fold at arrivals", EntriesOf("b"), {CELL, "b.k", COUNT, BATCH, ROW}),
        ("fold at arrivals", ArrivalsOf("a"), {CELL, *ORDERS["a"], BATCH, ROW, KEEP}),
        ("row numbers", OrderOf("a"), {CELL, *ORDERS["a"]}),
        ("row numbers", EntriesOf("a"), None),
        ("last rows of each key", Waiting(), {CELL, "a.k", "order a.j", COUNT, ROW}),
        ("last rows of each key", Inside(), {CELL, "a.k", "order a.j", COUNT, ROW, ORIGIN, TURN}),
    ],
)
def test_the_columns_of_what_is_stored(kind: str, stored: Stored, columns: set[str] | None) -> None:
    """Sums beside them are called what they sum."""
    found = stored_columns(plan_named(kind).stages[0], stored, ORDERS)
    if columns is None:
        assert found is None
        return
    assert found is not None and len(set(found)) == len(found)
    assert columns <= set(found)
    assert all(name.startswith(("sum ", "count ", "order ")) for name in set(found) - columns)
