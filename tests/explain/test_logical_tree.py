"""A logical query as a tree; whole trees are golden files of tests/dialect/test_binding.py."""

import pytest

from joinfold import Session
from joinfold.explain.logical_tree import query_tree, when_text
from tests.planner.known import JOINED, WINDOW, chain_of, common_key, query_of

ROWS = "[ROWS 9 SLIDE 3]"


def facts(text: str) -> list[str]:
    """The lines of a tree without its branches."""
    return [line.lstrip("│├└─ ") for line in str(query_tree(query_of(text))).splitlines()]


@pytest.mark.parametrize(
    ("clause", "told"),
    [
        ("", "at every move of a window"),
        (" EMIT EVERY 90 SECONDS", "every 90 SECOND"),
        (" EMIT ON TRIGGER", "at every advance of the watermark"),
        (" SYNC ON WINDOW ID", "for every window id"),
        (" SYNC ON WINDOW ID MOD 4", "for every window id of b, id mod 4 of a"),
        (" SYNC ON FULL", "where all windows move together"),
    ],
)
def test_when_answers_are_given_is_said_first(clause: str, told: str) -> None:
    query = query_of(f"SELECT COUNT(*) AS n {JOINED}{clause}")
    assert when_text(query) == told
    assert str(query_tree(query)).startswith(f"Answer: {told}\n")


def test_arrivals_changes_and_plain_joins_are_told() -> None:
    arrivals = query_of("SELECT COUNT(*) AS n FROM a [9 SECOND], b [9 SECOND] WHERE a.k = b.k EMIT ON ARRIVAL")
    assert when_text(arrivals) == "at every arrival of a row"
    assert facts(f"SELECT a.v {JOINED}")[0] == "Join: each combination once, as soon as it exists"
    assert facts(f"SELECT COUNT(*) AS n {JOINED} CHANGES")[0] == "Answer: at every move of a window, changes only"


@pytest.mark.parametrize(
    ("text", "title", "shape"),
    [
        (common_key(3), "join of 3 inputs, one common key", None),
        (chain_of(3), "join of 3 inputs, acyclic", "join tree: "),
        (chain_of(3) + " AND a.x = c.x", "join of 3 inputs, cyclic", "no join tree: the keys of a, b, c form a cycle"),
        (f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.x < b.x", "join without an equality", None),
    ],
)
def test_the_shape_of_a_join_is_told_where_keys_differ(text: str, title: str, shape: str | None) -> None:
    lines = facts(text)
    assert title in lines
    found = [line for line in lines if "join tree" in line]
    assert [line.startswith(shape or "") for line in found] == ([True] if shape else [])


def test_every_condition_has_its_line() -> None:
    where = "a.v > 1 AND a.x < b.x AND a.d BETWEEN b.d - 1 AND b.d + 1 AND a.v + b.v <> 7"
    lines = facts(f"SELECT a.g, COUNT(*) AS n {JOINED} AND {where} GROUP BY a.g HAVING COUNT(*) > 2")
    kinds = ("key", "band", "inequality", "residual", "filter", "having")
    assert [line for line in lines if line.startswith(kinds)] == [
        "having COUNT(*) > 2",
        "key a.k = b.k",
        "band b.d - 1 <= a.d <= b.d + 1",
        "inequality a.x < b.x",
        "residual a.v + b.v <> 7",
        "filter a.v > 1",
    ]
    assert "select a.g AS g INT, COUNT(*) AS n BIGINT" in lines and "group by a.g" in lines
    assert "aggregate COUNT(*), reads no column" in lines


@pytest.mark.parametrize(
    ("select", "clause", "told"),
    [
        (
            "COUNT(*) AS n",
            "SHED",
            "shed to keep up within the trigger interval and hold what fits into the memory of the workers; "
            "estimates from a sample by key or row, as planned, confidence 95 percent; seed 0",
        ),
        (
            "COUNT(*) AS n",
            "SHED TO KEEP UP WITHIN 5 SECONDS SAMPLE BY KEY CONFIDENCE 99.5 PERCENT SEED 7",
            "shed to keep up within 5 SECOND; estimates from a sample by key, confidence 99.5 percent; seed 7",
        ),
        (
            "a.v",
            "SHED TO HOLD 64 MEGABYTES AND PROCESS 100 ROWS PER SECOND",
            "shed to process 100 rows per second and hold 64 megabytes; favours most pairs; seed 0",
        ),
        (
            "a.v",
            "SHED TO HOLD 1000 ROWS FAVOUR ALL TO b AT LEAST 10 ROWS OF EACH AT LEAST 1 ROW PER SECOND OF EACH",
            "shed to hold 1000 rows; favours all to b, at least 10 rows of each, at least 1 row per second of each; "
            "seed 0",
        ),
    ],
)
def test_shedding_is_told_with_its_defaults(select: str, clause: str, told: str) -> None:
    assert [line for line in facts(f"SELECT {select} {JOINED} {clause}") if line.startswith("shed")] == [told]
    assert not [line for line in facts(f"SELECT {select} {JOINED}") if line.startswith("shed")]


def test_a_stream_has_its_time_and_delay_and_a_relation_none() -> None:
    session = Session()
    session.stream("s", "ts TIMESTAMP, k INT", time="ts", delay="5 SECOND", idle="1 minute")
    session.stream("arriving", "k INT")
    session.table("r", "k INT")
    query = session.sql(
        "SELECT COUNT(*) AS n FROM s [9 SECOND], arriving [9 SECOND], r WHERE s.k = arriving.k AND r.k = s.k"
    )
    lines = [line.lstrip("│├└─ ") for line in str(query_tree(query.logical)).splitlines()]
    assert "time ts, delay 5 SECOND, idle after 1 MINUTE" in lines and "time of arrival" in lines
    assert lines[-2:] == ["relation r", "reads k"]
