"""Expected matches of relations, against a count by hand."""

from typing import Any

import pyarrow as pa
import pytest

from joinfold import Session
from joinfold.logical.query import LogicalQuery
from joinfold.statistics import matches as counting
from joinfold.statistics.matches import expected_matches

WINDOW = "[TUMBLE 1 MINUTE]"
STREAM = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.int32()), ("j", pa.int32())])
RELATION = pa.schema([("k", pa.int32()), ("j", pa.int32())])
TEXT = f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW}, r WHERE a.j = b.j AND a.k = r.k AND b.j = r.j"


def stream(*rows: tuple[int | None, int]) -> pa.Table:
    return pa.table([[0] * len(rows), *zip(*rows, strict=True)], schema=STREAM)


def relation(*rows: tuple[int | None, int]) -> pa.Table:
    return pa.table(list(zip(*rows, strict=True)), schema=RELATION)


R = relation((1, 1), (1, 2), (1, 3), (2, 4), (None, 5))


def session(a: Any = STREAM, b: Any = STREAM, r: Any = R) -> Session:
    made = Session()
    made.stream("a", a, time="ts")
    made.stream("b", b, time="ts")
    made.table("r", r)
    return made


def bound(text: str = TEXT) -> LogicalQuery:
    return session().sql(text).logical


def test_rows_of_a_stream_are_looked_up() -> None:
    known = {"a": stream((1, 0), (1, 0), (2, 0), (9, 0), (None, 0)), "b": stream((0, 1), (0, 7)), "r": R}
    assert expected_matches(bound(), known) == {("r", "a"): 7 / 5, ("r", "b"): 0.5}


def test_an_unknown_stream_has_the_keys_of_the_relation() -> None:
    assert expected_matches(bound(), {"r": R}) == {("r", "a"): 2.0, ("r", "b"): 1.0}


def test_filters_are_applied_first() -> None:
    text = f"{TEXT} AND r.j < 3 AND a.k < 2"
    known = {"a": stream((1, 0), (2, 0)), "r": R}
    assert expected_matches(bound(text), known) == {("r", "a"): 2.0, ("r", "b"): 1.0}
    nothing = expected_matches(bound(f"{TEXT} AND r.j > 99 AND a.k > 99"), known)
    assert nothing == {("r", "a"): 0.0, ("r", "b"): 0.0}


def test_nothing_is_expected_of_what_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert expected_matches(bound(), {}) == expected_matches(bound(), {"a": stream((1, 0))}) == {}
    assert expected_matches(bound(), {"r": R.slice(0, 0)}) == {}
    assert expected_matches(bound(), {"r": R.drop(["k"])}) == {}, "an error comes when the query runs"
    monkeypatch.setattr(counting, "MOST_RELATION_ROWS", 4)
    assert expected_matches(bound(), {"r": R}) == {}


def test_a_query_joins_a_relation_where_it_has_the_fewest_matches_and_says_so() -> None:
    many = relation(*((1, number) for number in range(5000)))
    query = session(r=many).sql(TEXT)
    assert query.plan.homes == {"r": "b"}
    assert "joined with relation r on b.j = r.j before PACK: about 1 match for each row" in query.explain("physical")
    other = session(r=relation(*((number, 1) for number in range(5000)))).sql(TEXT)
    assert other.plan.homes == {"r": "a"}
    assert "about 1 match for each row" in other.explain("physical")
