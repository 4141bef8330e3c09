"""What is said of streams: in the session, in OPTION, by a plan; and what follows from it for a query."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from joinfold import Plan, QueryError, Session, UsageError
from joinfold.planner.stream_statistics import StreamStatistics

WINDOW = "[1 MINUTE SLIDE 10 SECOND]"
COLUMNS = "k INT, h BIGINT, g STRING, v INT, ts TIMESTAMP"
JOINED = f"SELECT a.g, COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k GROUP BY a.g"


def session(**said: Any) -> Session:
    found = Session()
    found.stream("a", COLUMNS, time="ts", **said)
    found.stream("b", COLUMNS, time="ts")
    found.table("t", "k INT, name STRING")
    return found


def first(text: str = JOINED, plan: Plan | None = None, **said: Any) -> StreamStatistics:
    return session(**said).sql(text, plan).statistics.streams[0]


def test_where_nothing_is_said_streams_are_alike_but_for_what_the_query_says() -> None:
    a, b = session().sql(JOINED).statistics.streams
    usual = StreamStatistics()
    assert (a.rate, a.keys, a.groups, a.entries) == (usual.rate, usual.keys, usual.groups, None)
    assert (b.rate, b.keys, b.groups, b.entries) == (usual.rate, usual.keys, 1, usual.keys)
    assert not session().sql(JOINED).statistics.is_known
    alone = first(f"SELECT COUNT(*) AS n FROM a {WINDOW}")
    assert (alone.keys, alone.groups) == (1, 1)


def test_rate_and_keys_are_those_that_are_said() -> None:
    found = first(rate=2000, keys=50)
    assert (found.rate, found.keys, found.groups, found.origin) == (2000, 50, StreamStatistics().groups, "declared")
    assert first(rate=2000).keys == StreamStatistics().keys
    assert first(keys=50).rate == StreamStatistics().rate


def test_columns_serve_keys_and_groups() -> None:
    found = first(keys={"K": 50, "g": 4})
    assert (found.keys, found.groups, found.entries) == (50, 4, 200)
    both = first(JOINED.replace("a.k = b.k", "a.k = b.k AND a.h = b.h"), keys={"k": 50, "h": 3})
    assert both.keys == 150
    assert first(keys={"v": 7}).origin == "assumed"


def test_a_column_that_is_converted_is_still_that_column() -> None:
    assert first(JOINED.replace("a.k = b.k", "a.k = b.h"), keys={"k": 50}).keys == 50


def test_an_expression_has_no_more_values_than_its_columns() -> None:
    assert first(JOINED.replace("a.k = b.k", "a.k + 1 = b.k"), keys={"k": 50}).keys == 50
    assert first(JOINED.replace("a.k = b.k", "a.k + a.h = b.k"), keys={"k": 50, "h": 3}).keys == 150
    assert first(JOINED.replace("a.k = b.k", "a.k + a.h = b.k"), keys={"k": 50}).origin == "assumed"
    assert first(JOINED.replace("a.k = b.k", "a.k % 9 = b.k"), keys={"k": 1e6}).origin == "assumed"
    assert first(JOINED.replace("a.g", "1 + 1"), keys={"h": 50}).origin == "assumed"
    band = f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE b.v BETWEEN a.v - 1 AND a.v + 1"
    found = first(band, keys={"v": 9})
    assert (found.keys, found.groups, found.entries, found.origin) == (1, 1, 9, "declared")


def test_groups_that_are_the_keys_are_as_many() -> None:
    text = JOINED.replace("a.g", "a.k")
    found = first(text, keys=50)
    assert (found.keys, found.groups, found.entries) == (50, 50, 50)
    found = first(f"{text} OPTION (groups = 'a 70')")
    assert (found.keys, found.groups, found.entries) == (70, 70, 70)


def test_a_query_may_say_otherwise_and_a_plan_has_the_last_word() -> None:
    text = f"{JOINED} OPTION (rate = 'a 5, b 1e3', keys = 'a 60', groups = 'a 9')"
    found = first(text, rate=2000, keys={"k": 50, "g": 4})
    assert (found.rate, found.keys, found.groups) == (5, 60, 9)
    assert session().sql(text).statistics.streams[1].rate == 1000
    found = first(text, Plan(rate={"a": 7}, keys={"a": 8}), rate=2000, keys=50)
    assert (found.rate, found.keys, found.groups) == (7, 8, 9)


def test_what_is_said_stands_above_what_is_sampled() -> None:
    rows = 6000
    random = np.random.default_rng(0)
    ts = pa.array(np.arange(rows) * 10_000).cast(pa.timestamp("us", "UTC"))
    table = pa.table({"ts": ts, "k": random.integers(0, 20, rows), "g": random.integers(0, 3, rows)})
    found = Session()
    found.stream("a", table, time="ts", keys={"k": 1000})
    found.stream("b", table, time="ts")
    a, b = found.sql(JOINED).statistics.streams
    assert (a.keys, a.groups, a.origin) == (1000, 3, "declared")
    assert a.rate == pytest.approx(100, rel=0.01)
    assert a.entries == 1000  # at least as many as keys
    assert (b.keys, b.origin) == (20, "sampled")
    found.stream("a", table, time="ts", keys=5, replace=True)
    fewer = found.sql(JOINED).statistics.streams[0]
    assert (fewer.keys, fewer.entries) == (5, 15)


def test_what_is_said_is_no_part_of_the_question() -> None:
    plain, told = session().sql(JOINED), session(rate=5, keys=2).sql(JOINED)
    assert plain.to_sql() == told.to_sql()
    assert plain.logical == told.logical
    text = f"{JOINED} OPTION (rate = 'a 5', adapt = off)"
    assert session().sql(text).logical.without_options == plain.logical
    again = session().sql(session().sql(text).to_sql())
    assert again.logical == session().sql(text).logical


def test_what_is_said_forces_nothing() -> None:
    said = Plan(rate={"a": 5}, keys={"a": 5}, groups={"a": 5}, adapt="off")
    assert not said.forces
    assert Plan(method="tc", adapt="on").forces
    chain = f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW}, a c {WINDOW} WHERE a.k = b.k AND b.h = c.h"
    assert session().sql(chain).plan.root is not None
    assert session().sql(chain, said).plan.root is not None
    assert session().sql(f"{chain} OPTION (root = 'a', rate = 'a 5')").plan.root == "a"


def test_adapt_is_a_switch() -> None:
    assert Plan.of({"adapt": False}) == Plan.parse("adapt=OFF") == Plan(adapt="off")
    assert Plan.of({"adapt": True}).adapt == "on"
    assert Plan(adapt="off").over(Plan(adapt="on", rate={"a": 1})) == Plan(adapt="off", rate={"a": 1})


@pytest.mark.parametrize(
    ("said", "report"),
    [
        ({"rate": 0}, "the rate of stream 'a' cannot be 0\nHint: give the rows per second of event time, a number ab"),
        ({"rate": -1.5}, "the rate of stream 'a' cannot be -1.5\nHint: give the rows"),
        ({"rate": float("nan")}, "the rate of stream 'a' cannot be nan"),
        ({"rate": float("inf")}, "the rate of stream 'a' cannot be inf"),
        ({"rate": True}, "the rate of stream 'a' cannot be True"),
        ({"rate": "fast"}, "the rate of stream 'a' cannot be 'fast'"),
        ({"keys": 0.5}, "the keys of stream 'a' cannot be 0.5\nHint: give how many there are, at least 1."),
        ({"keys": "many"}, "the keys of stream 'a' cannot be 'many'"),
        ({"keys": {"k": 0}}, "the different values of 'k' in stream 'a' cannot be 0"),
        ({"keys": {"tss": 5}}, "stream 'a' has no column 'tss'\nHint: did you mean 'ts'? It has: k, h, g, v, ts."),
        ({"keys": {"city": 5}}, "stream 'a' has no column 'city'\nHint: it has: k, h, g, v, ts."),
    ],
)  # fmt: skip
def test_mistakes_where_a_stream_is_registered(said: dict[str, Any], report: str) -> None:
    with pytest.raises(UsageError) as caught:
        session(**said)
    assert caught.value.report().startswith(f"UsageError: {report}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("rate = 5", "option 'rate' must be a string, not 5"),
        ("rate = 'a'", "'a' is not an input and a number"),
        ("rate = 'a fast'", "'a fast' is not an input and a number"),
        ("rate = 'a 5, a 6'", "input 'a' is given two numbers by rate"),
        ("rate = 'a -5'", "the rate of 'a' cannot be -5.0"),
        ("keys = 'a 0.1'", "the keys of 'a' cannot be 0.1"),
        ("groups = 'x 5'", "the plan names an unknown input 'x'"),
        ("keys = 't 5'", "the plan names 't', which is a relation"),
        ("adapt = perhaps", "adapt cannot be 'perhaps'"),
    ],
)
def test_mistakes_in_options(options: str, message: str) -> None:
    text = f"SELECT COUNT(*) AS n FROM a {WINDOW}, t WHERE a.k = t.k OPTION ({options})"
    with pytest.raises((UsageError, QueryError)) as caught:
        session().sql(text).plan  # noqa: B018
    assert caught.value.message == message
    assert caught.value.hint


@pytest.mark.parametrize(
    "said", [{"rate": {"a": 0}}, {"keys": {"a": True}}, {"groups": {"a": "x"}}, {"rate": 5}, {"index": None}]
)
def test_mistakes_in_plans(said: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Plan(**said)
