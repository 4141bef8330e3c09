"""The list of allowed refusals. A page announces each, and each is tested beside a query that must be planned."""

import re
from pathlib import Path

import pytest

from joinfold.dialect import bind, parse, read_schema
from joinfold.errors import QueryError
from joinfold.logical.query import Source
from joinfold.planner.drafting import draft as drafting
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import plan_query
from tests.refusals import REFUSALS, Asked, Refusal, check_refusal, planned, understood

DOCS = Path(__file__).parent.parent / "docs"
SCHEMA = read_schema("ts TIMESTAMP, k INT, v INT")
CATALOG = {name: Source(name, SCHEMA, name != "r", None if name == "r" else "ts") for name in ("a", "b", "r")}
SLIDE, ODD = "[4 MICROSECOND SLIDE 2 MICROSECOND]", "START TIMESTAMP '1970-01-01 00:00:00.000001'"
KEYS, SMALLER = "WHERE a.k = b.k", "WHERE a.v < b.v"
EARLY, HASH = Plan(early=("a",)), Plan(index={"a": "hash"})


def asked(select: str, left: str, right: str, tail: str = KEYS, forced: Plan | None = None) -> tuple[str, Plan]:
    return f"SELECT {select} FROM a {left}, b {right} {tail}", forced or Plan()


COUNT, MAX, COLUMNS = "COUNT(*) AS n", "MAX(a.v) AS n", "a.v, b.v AS w"
MEANT = f"{SLIDE[:-1]} {ODD}]"
HOLD, BY_KEY, BY_ROW = "SHED TO HOLD 5 ROWS", "SHED SAMPLE BY KEY", "SHED SAMPLE BY ROW"
CHAIN = f"SELECT {COUNT} FROM a {SLIDE}, b {SLIDE}, b c {SLIDE} {KEYS}"
RELATION = f"SELECT {COUNT} FROM a {SLIDE}, r WHERE a.k = r.k"

# In the order of the list: a query that is refused, and the nearest one that is not.
NEIGHBOURS = [
    (asked(COUNT, "[5 MICROSECOND]", "[UNBOUNDED]", f"{KEYS} EMIT ON SLIDE"), asked(COUNT, SLIDE, "[UNBOUNDED]")),
    (asked(COUNT, "[ROWS 2 SLIDE 2]", "[ROWS 2]", f"{KEYS} EMIT ON ARRIVAL"), asked(COUNT, "[ROWS 2]", "[ROWS 2]")),
    (asked(COUNT, "[5 MICROSECOND]", "[UNBOUNDED]", f"{KEYS} SYNC ON FULL"), asked(COUNT, SLIDE, "[5 MICROSECOND]")),
    (asked(COUNT, "[ROWS 2]", SLIDE, f"{KEYS} SYNC ON FULL"), asked(COUNT, SLIDE, SLIDE, f"{KEYS} SYNC ON FULL")),
    (asked(COUNT, SLIDE, MEANT, f"{KEYS} SYNC ON FULL"), asked(COUNT, MEANT, MEANT, f"{KEYS} SYNC ON FULL")),
    (
        asked(COUNT, SLIDE, "[UNBOUNDED]", f"{KEYS} SYNC ON WINDOW ID"),
        asked(COUNT, SLIDE, "[ROWS 2]", f"{KEYS} SYNC ON WINDOW ID"),
    ),
    (
        asked(COUNT, SLIDE, SLIDE, f"{KEYS} SHED FAVOUR EQUAL"),
        asked(COLUMNS, SLIDE, SLIDE, f"{KEYS} SHED FAVOUR EQUAL"),
    ),
    (asked(COLUMNS, SLIDE, SLIDE, f"{KEYS} {BY_KEY}"), asked(COUNT, SLIDE, SLIDE, f"{KEYS} {BY_KEY}")),
    (
        asked(COUNT, "[ROWS 2]", "[ROWS 2]", f"{KEYS} EMIT ON ARRIVAL SHED"),
        asked(COUNT, "[ROWS 2]", "[ROWS 2]", f"{KEYS} EMIT ON ARRIVAL {HOLD}"),
    ),
    (asked("MAX_BY(a.v, b.v) AS n", SLIDE, SLIDE, f"{KEYS} {HOLD}"), asked(MAX, SLIDE, SLIDE, f"{KEYS} {HOLD}")),
    ((f"{RELATION} {HOLD}", Plan()), asked(COUNT, SLIDE, SLIDE, f"{KEYS} {HOLD}")),
    (asked(COUNT, SLIDE, SLIDE, f"{SMALLER} {HOLD}"), asked(COUNT, SLIDE, SLIDE, f"{KEYS} AND a.v < b.v {HOLD}")),
    (
        asked(COUNT, "[PARTITION BY v ROWS 1]", SLIDE, f"{KEYS} {HOLD}"),
        asked(COUNT, "[PARTITION BY v, k ROWS 1]", SLIDE, f"{KEYS} {HOLD}"),
    ),
    (
        asked(COUNT, "[PARTITION BY k ROWS 1]", SLIDE, f"{KEYS} {BY_ROW}"),
        asked(COUNT, "[PARTITION BY k ROWS 1]", SLIDE, f"{KEYS} {BY_KEY}"),
    ),
    (
        asked(COUNT, SLIDE, SLIDE, f"{KEYS} AND a.v < b.v {BY_ROW}"),
        asked(COUNT, SLIDE, SLIDE, f"{KEYS} AND a.v = b.v {BY_ROW}"),
    ),
    (
        (f"{CHAIN} AND b.v = c.v {BY_ROW}", Plan()),
        (f"{CHAIN} AND b.k = c.k {BY_ROW}", Plan()),
    ),
    ((f"SELECT a.v FROM a {SLIDE} {HOLD}", Plan()), asked(COLUMNS, SLIDE, SLIDE, f"{KEYS} {HOLD}")),
    (
        asked(COLUMNS, SLIDE, SLIDE, f"{KEYS} SHED TO HOLD 19 ROWS AT LEAST 10 ROWS OF EACH"),
        asked(COLUMNS, SLIDE, SLIDE, f"{KEYS} SHED TO HOLD 20 ROWS AT LEAST 10 ROWS OF EACH"),
    ),
    (
        asked(COLUMNS, "[PARTITION BY k ROWS 1]", SLIDE, f"{KEYS} SHED"),
        asked(COLUMNS, "[PARTITION BY k ROWS 1]", SLIDE, f"{KEYS} SHED TO KEEP UP"),
    ),
    (
        asked(COUNT, "[PARTITION BY k ROWS 1]", "[ROWS 2]", f"{KEYS} EMIT ON ARRIVAL"),
        asked(COUNT, "[PARTITION BY k ROWS 1]", "[ROWS 2]", f"{KEYS} EMIT ON TRIGGER"),
    ),
    (
        asked(COLUMNS, SLIDE, SLIDE, f"{KEYS} SYNC ON WINDOW ID {HOLD}"),
        asked(COUNT, SLIDE, SLIDE, f"{KEYS} SYNC ON WINDOW ID {HOLD}"),
    ),
    (
        asked(COUNT, "[PARTITION BY k ROWS 1]", "[ROWS 2]", f"{KEYS} {HOLD}"),
        asked(COUNT, "[PARTITION BY k ROWS 1]", SLIDE, f"{KEYS} {HOLD}"),
    ),
    (
        asked(COUNT, "[PARTITION BY k ROWS 1]", SLIDE, f"{KEYS} AND a.v > 1 {HOLD}"),
        asked(COUNT, "[PARTITION BY k ROWS 1]", SLIDE, f"{KEYS} AND b.v > 1 {HOLD}"),
    ),
    (asked(MAX, SLIDE, SLIDE, forced=Plan("ic")), asked(MAX, SLIDE, SLIDE, forced=Plan("tc"))),
    (asked(COUNT, SLIDE, "[ROWS 2]", forced=Plan("tc")), asked(COUNT, SLIDE, "[ROWS 2]", forced=Plan("ic"))),
    (asked(MAX, SLIDE, "[ROWS 2]", forced=EARLY), asked(COUNT, SLIDE, "[ROWS 2]", forced=EARLY)),
    (asked(COLUMNS, SLIDE, SLIDE, forced=EARLY), asked(COLUMNS, SLIDE, SLIDE, forced=HASH)),
    (asked(COUNT, SLIDE, SLIDE, SMALLER, HASH), asked(COUNT, SLIDE, SLIDE, KEYS, HASH)),
    ((RELATION, Plan(index={"r": "hash"})), (RELATION, Plan(index={"a": "list"}))),
]
assert len(NEIGHBOURS) == len(REFUSALS), "every refusal of tests/refusals.py has a pair here, at the same position"


@pytest.mark.parametrize("refusal", REFUSALS, ids=[refusal.message for refusal in REFUSALS])
def test_a_page_announces_it(refusal: Refusal) -> None:
    text = " ".join((DOCS / refusal.page).read_text(encoding="utf-8").split())
    assert refusal.words in text


@pytest.mark.parametrize("number", range(len(REFUSALS)), ids=[refusal.message for refusal in REFUSALS])
def test_it_is_refused_and_its_neighbour_is_not(number: int) -> None:
    (text, forced), (near, forced_near) = NEIGHBOURS[number]
    with pytest.raises(QueryError) as caught:
        plan_query(bind(parse(text), CATALOG), forced)
    assert re.match(REFUSALS[number].message, caught.value.message)
    check_refusal(caught.value, Asked(text, understood(text, CATALOG), forced))
    assert plan_query(bind(parse(near), CATALOG), forced_near)
    query = bind(parse(near), CATALOG)
    with pytest.raises(AssertionError, match="refused without need"):
        check_refusal(caught.value, Asked(near, query, forced_near))


def test_every_other_refusal_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planner of this test refuses SYNC ON FULL, although a page promises it."""
    text, _ = asked(COUNT, SLIDE, SLIDE, f"{KEYS} SYNC ON FULL")
    query = bind(parse(text), CATALOG)
    assert planned(query, text) is not None

    def too_strict(query: object) -> None:
        raise QueryError("no engine runs SYNC ON FULL yet")

    monkeypatch.setattr(drafting, "_refuse_unsupported", too_strict)
    with pytest.raises(AssertionError, match="no page announces the refusal: no engine runs SYNC ON FULL yet"):
        planned(query, text)
