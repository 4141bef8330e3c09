"""From text to logical query: names, the join graph of WHERE, and defaults.

The trees of whole queries are golden files under tests/golden/trees; `REGENERATE=1 pytest …` writes them anew.
"""

import os
from decimal import Decimal
from pathlib import Path

import pytest

from joinfold import QueryError, Session
from joinfold.logical.expressions import AggregateValue, Call, Cast, Column, GroupValue, Literal, walk
from joinfold.logical.graph import JoinGraph
from joinfold.logical.query import Every, LogicalQuery, OnArrival, OnFull, OnSlide, OnTime, OnTrigger, OnWindowId
from joinfold.logical.sql import expression_text
from joinfold.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DataType,
)
from joinfold.types import decimal as decimal_type
from joinfold.window import Continuous, Landmark, PartitionedRows, RangeByRows, Rows, Sliding

ROOT = Path(__file__).parent.parent.parent
GOLDEN = ROOT / "tests" / "golden" / "trees"

SECOND, MINUTE, HOUR = 1_000_000, 60_000_000, 3_600_000_000


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session()
    for name in "abcd":
        session.stream(name, "k INT, l BIGINT, x INT, y DOUBLE, s STRING, p DECIMAL(10, 2), ts TIMESTAMP", time="ts")
    session.table("person", "k INT, name STRING")
    return session


def graph(session: Session, where: str, inputs: str = "ab") -> JoinGraph:
    windows = ", ".join(f"{name} [1 MINUTE]" for name in inputs)
    return session.sql(f"SELECT COUNT(*) FROM {windows} WHERE {where}").logical.graph


def texts(expressions: tuple[object, ...]) -> list[str]:
    return [expression_text(expression) for expression in expressions]  # type: ignore[arg-type]


# --- whole queries --------------------------------------------------------------------------------------------


def papers() -> dict[str, Session]:
    wang1, wang2, tran1 = Session(), Session(), Session()
    for name in "AB":
        wang1.stream(name, "src STRING, dest STRING, ts TIMESTAMP", time="ts")
    wang2.stream("A", "location STRING, time TIMESTAMP, temperature DOUBLE", time="time")
    wang2.stream("B", "location STRING, time TIMESTAMP, strength DOUBLE", time="time")
    tran1.stream("Auction", "auctionID BIGINT, sellerID BIGINT, ts TIMESTAMP", time="ts", delay="10 seconds")
    tran1.stream("Bid", "auctionID BIGINT, bidderID BIGINT, price DECIMAL(10, 2), ts TIMESTAMP", time="ts")
    tran1.table("Person", "personID BIGINT, name STRING, state STRING")
    return {"wang1": wang1, "wang2": wang2, "tran1": tran1}


WORD_FOR_WORD = {
    "wang1": "SELECT  COUNT(*) \nFROM   A[60 MINUTE], B[60 MINUTE] \nWHERE  A.src=B.src AND A.dest=B.dest",
    "wang2": "SELECT  location, COUNT(*)  FROM  A[10 MINUTE], B[10 MINUTE] \n"
    "WHERE  A.location=B.location and A.temperature>=40 and B.strength>0.6 \n"
    "GROUP BY  location \nHAVING  COUNT(*)>5.",
    "tran1": "SELECT A.auctionID, COUNT(B.*)\n"
    "FROM Auction AS A [WINDOW UNTIL NOW], Bid AS B [WINDOW 1 HOUR],\n     Person AS P\n"
    'WHERE A.auctionID = B.auctionID AND A.sellerID = P.personID AND P.state = "VT"\n'
    "GROUP BY A.auctionID;",
}

TREES = {
    "everything": """
        SELECT a.k, UPPER(b.s) AS name, SUM(a.p * b.p) / COUNT(*) AS mean, CORR(a.y, b.y) FILTER (WHERE a.x <> 0) AS r
        FROM a [10 MINUTE SLIDE 1 MINUTE START TIMESTAMP '2025-01-01 00:00:07'], b [PARTITION BY s, k ROWS 5], person p
        WHERE a.k = b.k AND b.k = p.k AND a.x BETWEEN b.x - 5 AND b.x + 5 AND a.ts < b.ts AND a.x + b.x > 3
          AND a.s LIKE 'x%' AND p.name IS NOT NULL
        GROUP BY a.k, UPPER(b.s) HAVING COUNT(*) > 5 AND mean < 3
        EMIT EVERY 5 SECONDS CHANGES OPTION (method = tc)""",
    "plain_join": "SELECT a.s, b.y FROM a [1 HOUR], b [UNBOUNDED] WHERE a.k = b.k",
    "one_input": "SELECT COUNT(*) FROM a [ROWS 100 SLIDE 10]",
    "triangle": """
        SELECT COUNT(*) FROM a [TUMBLE 1 HOUR], b [TUMBLE 1 HOUR], c [TUMBLE 1 HOUR]
        WHERE a.k = b.k AND b.l = c.l AND c.x = a.x SYNC ON FULL""",
    "band_only": """
        SELECT COUNT(*) FROM a [1 MINUTE], b [1 MINUTE] WHERE a.ts >= b.ts AND a.ts < b.ts + INTERVAL 5 SECONDS
        EMIT ON ARRIVAL""",
    "window_ids": """
        SELECT MAX(a.y) FROM a [ROWS 10 SLIDE 5], b [TUMBLE 1 MINUTE] WHERE a.k = b.k SYNC ON WINDOW ID MOD 3""",
}


def check_tree(name: str, tree: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("REGENERATE"):
        path.write_text(tree + "\n", encoding="utf-8")
    assert tree + "\n" == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", WORD_FOR_WORD)
def test_the_papers_queries_bind_word_for_word(name: str) -> None:
    example = ROOT / "examples" / "queries" / f"{name}.sql"
    assert example.read_text(encoding="utf-8") == WORD_FOR_WORD[name] + "\n"
    query = papers()[name].sql(WORD_FOR_WORD[name])
    assert papers()[name].sql(query.to_sql()).logical == query.logical
    check_tree(name, query.explain("logical"))


@pytest.mark.parametrize("name", TREES)
def test_trees(session: Session, name: str) -> None:
    check_tree(name, session.sql(TREES[name]).explain("logical"))


# --- join keys ------------------------------------------------------------------------------------------------


def test_equalities_are_key_classes(session: Session) -> None:
    found = graph(session, "a.k = b.k AND a.s = b.s")
    assert [texts(key.members) for key in found.keys] == [["a.k", "b.k"], ["a.s", "b.s"]]
    assert not (found.bands or found.inequalities or found.residual)


def test_key_classes_are_transitive(session: Session) -> None:
    (key,) = graph(session, "a.k = b.k AND c.k = d.k AND b.x = a.k AND b.k = c.k", "abcd").keys
    assert sorted(texts(key.members)) == ["a.k", "b.k", "b.x", "c.k", "d.k"]
    assert key.inputs == {"a", "b", "c", "d"}
    assert texts(key.of("b")) == ["b.k", "b.x"]


def test_key_classes_are_not_merged_across_types(session: Session) -> None:
    """INT = INT and INT = BIGINT and BIGINT = DOUBLE: a chain through a lossy conversion does not imply equality."""
    found = graph(session, "a.k = b.k AND b.k = c.l AND c.l = d.y", "abcd")
    assert [(texts(key.members), str(key.type)) for key in found.keys] == [
        (["a.k", "b.k"], "INT"),
        (["b.k", "c.l"], "BIGINT"),
        (["c.l", "d.y"], "DOUBLE"),
    ]
    found = graph(session, "CAST(a.k AS STRING) = b.s AND a.k = c.k", "abc")
    assert [texts(key.members) for key in found.keys] == [["CAST(a.k AS STRING)", "b.s"], ["a.k", "c.k"]]


def test_key_classes_take_expressions_of_one_input_a_side(session: Session) -> None:
    found = graph(session, "UPPER(a.s) = LOWER(b.s) AND a.x + a.k = b.x")
    assert [texts(key.members) for key in found.keys] == [["UPPER(a.s)", "LOWER(b.s)"], ["a.x + a.k", "b.x"]]
    found = graph(session, "a.x + b.x = b.k AND a.k = b.k")
    assert texts(found.residual) == ["a.x + b.x = b.k"]


# --- bands, inequalities, the rest ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "band"),
    [
        ("a.x BETWEEN b.x - 5 AND b.x + 5", "a.x: b.x - 5 <= <= b.x + 5"),
        ("a.x >= b.x - 5 AND a.x <= b.x + 5", "a.x: b.x - 5 <= <= b.x + 5"),
        ("a.x <= b.x + 5 AND a.x >= b.x - 5", "a.x: b.x - 5 <= <= b.x + 5"),
        ("a.x > b.x - 5 AND a.x < b.x + 5", "a.x: b.x - 5 < < b.x + 5"),
        ("a.x >= b.x AND a.x < b.x + 5", "a.x: b.x <= < b.x + 5"),
        ("b.x - 5 <= a.x AND b.x + 5 > a.x", "a.x: b.x - 5 <= < b.x + 5"),
        ("b.x - 5 <= a.x AND a.x < b.x + 5", "a.x: b.x - 5 <= < b.x + 5"),
        ("b.x BETWEEN a.x AND a.x + 5", "b.x: a.x <= <= a.x + 5"),
        ("a.ts BETWEEN b.ts AND b.ts + INTERVAL 5 SECONDS", "a.ts: b.ts <= <= b.ts + INTERVAL '5' SECOND"),
        ("a.x > b.x AND a.k < b.x", "b.x: a.k < < a.x"),
        ("ABS(a.x) > b.x AND ABS(a.x) < b.k", "ABS(a.x): b.x < < b.k"),
    ],
)
def test_bands(session: Session, where: str, band: str) -> None:
    found = graph(session, where)
    (only,) = found.bands
    signs = "<=" if only.low_inclusive else "<", "<=" if only.high_inclusive else "<"
    value, low, high = texts((only.value, only.low, only.high))
    assert f"{value}: {low} {signs[0]} {signs[1]} {high}" == band
    assert only.inputs == {"a", "b"}
    assert not (found.keys or found.inequalities or found.residual)


@pytest.mark.parametrize(
    ("where", "inequalities"),
    [
        ("a.x < b.x", ["a.x < b.x"]),
        ("a.x < b.x AND a.x < b.k", ["a.x < b.x", "a.x < b.k"]),
        ("a.x > b.x AND a.k < b.k", ["a.x > b.x", "a.k < b.k"]),
        ("a.x < b.x AND b.k < a.k", ["a.x < b.x", "b.k < a.k"]),
    ],
    ids=["one side", "twice above", "two values", "no common value"],
)
def test_inequalities_that_are_no_band(session: Session, where: str, inequalities: list[str]) -> None:
    found = graph(session, where)
    shown = [f"{expression_text(i.left)} {i.operator} {expression_text(i.right)}" for i in found.inequalities]
    assert (shown, found.bands) == (inequalities, ())
    assert found.is_connected


def test_a_band_needs_one_other_input(session: Session) -> None:
    found = graph(session, "a.x > b.x AND a.x < c.x", "abc")
    assert len(found.inequalities) == 2 and not found.bands


def test_a_third_bound_stays_an_inequality(session: Session) -> None:
    found = graph(session, "a.x > b.x AND a.x < b.k AND a.x < b.l")
    assert len(found.bands) == 1
    assert [expression_text(part.right) for part in found.inequalities] == ["b.l"]


def test_the_residual_looks_at_whole_combinations(session: Session) -> None:
    found = graph(session, "a.k = b.k AND (a.x = b.x OR a.y > b.y) AND a.k <> b.x AND a.s LIKE b.s AND 1 < 2")
    assert texts(found.residual) == ["a.x = b.x OR a.y > b.y", "a.k <> b.x", "a.s LIKE b.s"]


def test_filters_belong_to_their_input(session: Session) -> None:
    query = session.sql(
        "SELECT COUNT(*) FROM a [1 MINUTE], b [1 MINUTE] "
        "WHERE (a.k = b.k AND (a.x > 5 AND b.s IN ('u', 'v'))) AND NOT a.y IS NULL AND (a.x > 1 OR a.x < 0) "
        "AND 1 < 2"
    ).logical
    assert texts(query.filters("a")) == ["a.x > 5", "NOT a.y IS NULL", "a.x > 1 OR a.x < 0", "1 < 2"]
    assert texts(query.filters("b")) == ["b.s IN ('u', 'v')", "1 < 2"]
    assert query.columns_read("a") == ("k", "x", "y")
    assert query.columns_read("b") == ("k", "s")


# --- the shape of the join ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "inputs", "where", "acyclic", "common"),
    [
        ("chain", "abc", "a.k = b.k AND b.l = c.l", True, None),
        ("star", "abcd", "a.k = b.k AND a.l = c.l AND a.s = d.s", True, None),
        ("star of one key", "abcd", "a.k = b.k AND a.k = c.k AND a.k = d.k", True, ["a.k", "b.k", "c.k", "d.k"]),
        ("chain of one key", "abc", "a.k = b.k AND b.k = c.k", True, ["a.k", "b.k", "c.k"]),
        ("triangle", "abc", "a.k = b.k AND b.l = c.l AND c.x = a.x", False, None),
        ("triangle of one key", "abc", "a.k = b.k AND b.k = c.k AND c.k = a.k", True, ["a.k", "b.k", "c.k"]),
        ("square", "abcd", "a.k = b.k AND b.l = c.l AND c.x = d.x AND d.s = a.s", False, None),
        ("triangle and a key", "abc", "a.k = b.k AND b.k = c.k AND a.l = b.l", True, ["a.k", "b.k", "c.k"]),
        ("triangle with a tail", "abcd", "a.k = b.k AND b.l = c.l AND c.x = a.x AND c.s = d.s", False, None),
        ("two keys", "ab", "a.k = b.k AND a.s = b.s", True, ["a.k", "b.k"]),
        ("no key", "ab", "a.x < b.x", True, None),
    ],
)  # fmt: skip
def test_shapes(session: Session, shape: str, inputs: str, where: str, acyclic: bool, common: list[str] | None) -> None:
    found = graph(session, where, inputs)
    assert found.is_connected
    assert found.is_acyclic == acyclic
    assert (None if found.common_key is None else texts(found.common_key.members)) == common


def test_every_kind_of_condition_connects(session: Session) -> None:
    for condition in ("a.k = b.k", "a.x < b.x", "a.x BETWEEN b.x AND b.x + 1", "a.x + b.x > 0"):
        assert graph(session, condition).is_connected


# --- windows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("10 MINUTE SLIDE 1 MINUTE", Sliding(10 * MINUTE, MINUTE)),
        ("RANGE 10 MINUTES SLIDE 90 seconds", Sliding(10 * MINUTE, 90 * SECOND)),
        ("WINDOW 1 HOUR 30 MINUTES SLIDE 1 MINUTE", Sliding(90 * MINUTE, MINUTE)),
        ("TUMBLE 10 MINUTE", Sliding(10 * MINUTE, 10 * MINUTE)),
        ("tumble 10 minute start timestamp '1970-01-01 00:00:07'", Sliding(10 * MINUTE, 10 * MINUTE, 7 * SECOND)),
        ("1 HOUR SLIDE 1 HOUR START TIMESTAMP '1970-01-01 02:00:00+02:00'", Sliding(HOUR, HOUR, 0)),
        ("10 MINUTE", Continuous(10 * MINUTE)),
        ("RANGE 10 MINUTE", Continuous(10 * MINUTE)),
        ("WINDOW 10 MINUTE", Continuous(10 * MINUTE)),
        ("ROWS 5000 SLIDE 1000", Rows(5000, 1000)),
        ("ROWS 5000 SLIDE 1000 ROWS", Rows(5000, 1000)),
        ("ROWS 5000", Rows(5000, 1)),
        ("PARTITION BY K, `s` ROWS 5", PartitionedRows(("k", "s"), 5)),
        ("RANGE 5 MINUTE SLIDE 1000 ROWS", RangeByRows(5 * MINUTE, 1000)),
        ("5 MINUTE SLIDE 1000 ROWS", RangeByRows(5 * MINUTE, 1000)),
        ("UNBOUNDED", Landmark()),
        ("WINDOW UNTIL NOW", Landmark()),
        ("FROM TIMESTAMP '1970-01-01 00:01'", Landmark(MINUTE)),
    ],
)
def test_windows(session: Session, text: str, window: object) -> None:
    (input_,) = session.sql(f"SELECT COUNT(*) FROM a [{text}]").logical.inputs
    assert input_.window == window


def test_an_alias_may_stand_on_either_side_of_the_window(session: Session) -> None:
    for written in ("a AS t [1 HOUR]", "a t [1 HOUR]", "a [1 HOUR] AS t", "a [1 HOUR] t", "a[1 HOUR]t"):
        (input_,) = session.sql(f"SELECT COUNT(t.k) FROM {written}").logical.inputs
        assert (input_.alias, input_.source.name) == ("t", "a")


def test_a_relation_has_no_window(session: Session) -> None:
    query = session.sql("SELECT COUNT(*) FROM a [1 HOUR], person WHERE a.k = person.k").logical
    assert [input_.alias for input_ in query.streams] == ["a"]
    assert query.inputs[1].window is None


# --- emit and sync --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("windows", "clauses", "emit", "sync"),
    [
        ("[1 HOUR SLIDE 1 MINUTE]", "", OnSlide(), OnTime()),
        ("[ROWS 5]", "", OnSlide(), OnTime()),
        ("[PARTITION BY k ROWS 5]", "", OnSlide(), OnTime()),
        ("[1 HOUR SLIDE 5 ROWS]", "", OnSlide(), OnTime()),
        ("[1 HOUR]", "", OnTrigger(), OnTime()),
        ("[UNBOUNDED]", "", OnTrigger(), OnTime()),
        ("[1 HOUR]", "EMIT ON ARRIVAL", OnArrival(), OnTime()),
        ("[1 HOUR SLIDE 1 MINUTE]", "emit on trigger", OnTrigger(), OnTime()),
        ("[1 HOUR]", "EMIT EVERY 1 MINUTE 30 SECONDS", Every(90 * SECOND), OnTime()),
        ("[1 HOUR SLIDE 1 MINUTE]", "SYNC ON TIME EMIT ON SLIDE", OnSlide(), OnTime()),
        ("[1 HOUR SLIDE 1 MINUTE]", "SYNC ON FULL", OnSlide(), OnFull()),
        ("[1 HOUR SLIDE 1 MINUTE]", "SYNC ON WINDOW ID", None, OnWindowId()),
    ],
)
def test_defaults_of_emit_and_sync(session: Session, windows: str, clauses: str, emit: object, sync: object) -> None:
    query = session.sql(f"SELECT COUNT(*) FROM a {windows} {clauses}").logical
    assert (query.emit, query.sync, query.changes) == (emit, sync, False)


def test_clauses_after_having_come_in_any_order(session: Session) -> None:
    head = "SELECT COUNT(*) FROM a [1 HOUR] "
    one = session.sql(head + "EMIT EVERY 5 SECONDS CHANGES OPTION (x = 1, y = on, z = 'a b', v = -0.5)").logical
    other = session.sql(head + 'OPTION (X = 1, Y = TRUE, z = "a b", v = -0.5) CHANGES EMIT EVERY 5 SECOND').logical
    assert one == other
    assert one.options == (("x", 1), ("y", True), ("z", "a b"), ("v", -0.5))
    assert one.changes


def test_a_plain_join_has_no_instants(session: Session) -> None:
    query = session.sql("SELECT a.k FROM a [1 HOUR SLIDE 1 MINUTE]").logical
    assert query.is_plain_join
    assert (query.emit, query.schema.names) == (None, ("instant", "k"))


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT COUNT(*) FROM a [ROWS 5] CHANGES", ("instant", "change", "count")),
        ("SELECT COUNT(*) FROM a [ROWS 5] EMIT ON ARRIVAL", ("instant", "arrival", "count")),
        ("SELECT k FROM a t [ROWS 5] SYNC ON WINDOW ID", ("wid", "t_start", "t_end", "k")),
    ],
)
def test_columns_of_the_answer(session: Session, query: str, names: tuple[str, ...]) -> None:
    assert session.sql(query).schema.names == names


# --- names ----------------------------------------------------------------------------------------------------


def columns(query: LogicalQuery) -> list[str]:
    return texts(tuple(query.expanded(output.expression) for output in query.outputs))


def test_unqualified_names(session: Session) -> None:
    query = session.sql("SELECT name, COUNT(*) FROM a [1 HOUR], person p WHERE a.k = p.k GROUP BY name").logical
    assert columns(query) == ["p.name", "COUNT(*)"]


def test_an_unqualified_name_of_equated_columns_is_that_of_the_first_input(session: Session) -> None:
    for where in ("a.k = b.k AND b.k = c.k", "c.k = b.k AND a.k = c.k", "(b.k = c.k AND (c.k = a.k))"):
        query = session.sql(f"SELECT k, COUNT(*) FROM a [1 HOUR], b [1 HOUR], c [1 HOUR] WHERE {where} GROUP BY k")
        assert columns(query.logical) == ["a.k", "COUNT(*)"]
    with pytest.raises(QueryError, match="'k' is ambiguous"):
        session.sql("SELECT k FROM a [1 HOUR], b [1 HOUR], c [1 HOUR] WHERE a.k = b.k AND b.l = c.l")


def test_names_are_found_whatever_their_case(session: Session) -> None:
    query = session.sql(
        "select T.K as Key, Sum(T.`Y`) total from A as t [partition by K rows 5] "
        "where t.S = 'X' GROUP by KEY having TOTAL > 5"
    ).logical
    assert columns(query) == ["t.k", "SUM(t.y)"]
    assert query.schema.names == ("instant", "Key", "total")
    assert query.inputs[0].source.name == "a"
    assert texts(query.groups) == ["t.k"]


def test_a_name_spelled_just_so_goes_before_others() -> None:
    session = Session()
    session.stream("s", "v INT, V STRING, ts TIMESTAMP", time="ts")
    assert columns(session.sql("SELECT v, s.V AS w FROM s [1 HOUR]").logical) == ["s.v", "s.V"]


def test_names_in_backticks() -> None:
    session = Session()
    session.stream("my stream", "`a b` INT, `c``d` INT, `東` INT, ts TIMESTAMP", time="ts")
    query = session.sql("SELECT `a b`, t.`c``d`, `東` AS `select` FROM `my stream` AS t [1 HOUR]")
    assert query.schema.names == ("instant", "a b", "c`d", "select")


def test_names_with_a_catalog() -> None:
    session = Session()
    session.stream("house.temperature", "k INT, ts TIMESTAMP", time="ts")
    (input_,) = session.sql("SELECT temperature.k FROM house.temperature [1 HOUR]").logical.inputs
    assert (input_.source.name, input_.alias) == ("house.temperature", "temperature")


# --- groups, aggregates, outputs ------------------------------------------------------------------------------


def test_group_by_alias_position_and_expression(session: Session) -> None:
    head = "SELECT UPPER(s) AS name, x + 1, COUNT(*) FROM a [1 HOUR] GROUP BY "
    queries = [
        session.sql(head + groups).logical
        for groups in ("UPPER(s), x + 1", "name, x + 1", "1, 2", "UPPER(a.s), (a.x + 1), NAME", "(name), (2)")
    ]
    assert all(query == queries[0] for query in queries)
    assert texts(queries[0].groups) == ["UPPER(a.s)", "a.x + 1"]


def test_in_group_by_a_column_goes_before_an_alias(session: Session) -> None:
    query = session.sql("SELECT UPPER(s) AS x, COUNT(*) FROM a [1 HOUR] GROUP BY x, s").logical
    assert texts(query.groups) == ["a.x", "a.s"]


def test_a_boolean_or_a_timestamp_in_group_by_is_no_position(session: Session) -> None:
    for constant in ("TRUE", "TIMESTAMP '1970-01-01 00:00:00.000001'"):
        query = session.sql(f"SELECT s, COUNT(*) FROM a [1 HOUR] GROUP BY {constant}, s").logical
        assert isinstance(query.groups[0], Literal)


def test_a_group_that_is_a_number_keeps_its_position(session: Session) -> None:
    query = session.sql("SELECT COUNT(*), 5 AS five FROM a [1 HOUR] GROUP BY 2")
    assert query.logical.groups == (Literal(5, INT),)
    assert "GROUP BY 2" in query.to_sql()


def test_expressions_over_aggregates_and_groups(session: Session) -> None:
    query = session.sql(
        "SELECT x + 1 AS g, SUM(y) / COUNT(*) AS mean, CASE WHEN COUNT(*) > 1 THEN x + 1 END AS odd "
        "FROM a [1 HOUR] GROUP BY x + 1 HAVING COUNT(*) > 5 AND mean < 3 AND MAX(s) = 'z'"
    ).logical
    assert texts(query.aggregates) == ["SUM(a.y)", "COUNT(*)", "MAX(a.s)"]
    assert query.outputs[0].expression == GroupValue(0, INT)
    assert query.outputs[1].expression == Call("/", (AggregateValue(0, DOUBLE), AggregateValue(1, BIGINT)))
    assert query.having is not None
    assert expression_text(query.expanded(query.having)) == (
        "COUNT(*) > 5 AND SUM(a.y) / COUNT(*) < 3 AND MAX(a.s) = 'z'"
    )


def test_a_grouped_chain_is_found_within_a_longer_one(session: Session) -> None:
    head = "SELECT {} AS v FROM a [1 HOUR] GROUP BY s || 'u', x > 1 AND x < 5"
    for text in (
        "s || 'u' || 'v'",
        "'v' || s || 'u'",
        "CONCAT('v', s || 'u', 'w')",
        "x > 1 AND x < 5 AND COUNT(*) > 2",
    ):
        query = session.sql(head.format(text))
        (output,) = query.logical.outputs
        assert any(isinstance(node, GroupValue) for node in walk(output.expression))
        assert session.sql(query.to_sql()).logical == query.logical


def test_having_alone_makes_an_aggregate_query(session: Session) -> None:
    query = session.sql("SELECT 1 AS one FROM a [1 HOUR] HAVING COUNT(*) > 5").logical
    assert not query.is_plain_join
    assert query.emit == OnTrigger()


def test_select_star(session: Session) -> None:
    names = session.sql("SELECT * FROM a [1 HOUR]").schema.names
    assert names == ("instant", "k", "l", "x", "y", "s", "p", "ts")
    assert session.sql("SELECT p.*, a.x FROM a [1 HOUR], person p WHERE a.k = p.k").schema.names == (
        "instant", "k", "name", "x",
    )  # fmt: skip


def test_default_names(session: Session) -> None:
    query = session.sql("SELECT x, x + 1, COUNT(*), SUM(y), COVAR_POP(y, l), MAX(x + 1) FROM a [1 HOUR] GROUP BY x")
    assert query.schema.names == ("instant", "x", "column_2", "count", "sum_y", "covar_pop_y_l", "column_6")


def test_counts(session: Session) -> None:
    for count in ("COUNT(*)", "COUNT(a.*)", "count(1)", "COUNT('x')"):
        (aggregate,) = session.sql(f"SELECT {count} FROM a [1 HOUR]").logical.aggregates
        assert expression_text(aggregate) == "COUNT(*)"
    (aggregate,) = session.sql("SELECT COUNT(s) FROM a [1 HOUR]").logical.aggregates
    assert expression_text(aggregate) == "COUNT(a.s)"


def test_filter(session: Session) -> None:
    (one, other) = session.sql(
        "SELECT COUNT(*) FILTER (WHERE x > 5 AND s = 'u'), MEAN(y) FILTER (WHERE TRUE) FROM a [1 HOUR]"
    ).logical.aggregates
    assert expression_text(one) == "COUNT(*) FILTER (WHERE a.x > 5 AND a.s = 'u')"
    assert expression_text(other) == "AVG(a.y) FILTER (WHERE TRUE)"


def test_aggregates_know_the_inputs_they_read(session: Session) -> None:
    tree = session.sql("SELECT SUM(a.x * b.x), COUNT(*) FROM a [1 HOUR], b [1 HOUR] WHERE a.k = b.k").explain("logical")
    assert "aggregate SUM(a.x * b.x), reads a, b" in tree
    assert "aggregate COUNT(*), reads no column" in tree


# --- expressions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "type_"),
    [
        ("5", 5, INT),
        ("-5", -5, INT),
        ("-(-5)", 5, INT),
        ("3000000000", 3_000_000_000, BIGINT),
        ("0.6", Decimal("0.6"), decimal_type(1, 1)),
        ("5.", Decimal(5), decimal_type(1, 0)),
        ("12.50", Decimal("12.50"), decimal_type(4, 2)),
        ("99999999999999999999", Decimal("99999999999999999999"), decimal_type(20, 0)),
        ("1e3", 1000.0, DOUBLE),
        ("'it''s'", "it's", STRING),
        ('"VT"', "VT", STRING),
        (r"'a\tb\\'", "a\tb\\", STRING),
        ("TRUE", True, BOOLEAN),
        ("NULL", None, VOID),
        ("X'1F00'", b"\x1f\x00", BINARY),
        ("X''", b"", BINARY),
        ("TIMESTAMP '1970-01-01 00:00:01'", SECOND, TIMESTAMP),
        ("TIMESTAMP '1970-01-01 01:00:01+01:00'", SECOND, TIMESTAMP),
        ("TIMESTAMP_NTZ '1970-01-01 00:00:01'", SECOND, TIMESTAMP_NTZ),
        ("CAST('1970-01-01' AS TIMESTAMP)", 0, TIMESTAMP),
        ("INTERVAL 5 SECONDS", 5 * SECOND, INTERVAL),
        ("INTERVAL '90' MINUTE", 90 * MINUTE, INTERVAL),
        ("-INTERVAL '1' HOUR", -HOUR, INTERVAL),
    ],
)
def test_types_of_constants(session: Session, text: str, value: object, type_: DataType) -> None:
    (output,) = session.sql(f"SELECT {text} FROM a [1 HOUR]").logical.outputs
    assert output.expression == Literal(value, type_)  # type: ignore[arg-type]


def test_dates(session: Session) -> None:
    (output,) = session.sql("SELECT DATE '2025-01-31' FROM a [1 HOUR]").logical.outputs
    assert (str(output.expression.value), output.expression.type) == ("2025-01-31", DATE)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("x IS NOT NULL", "NOT a.x IS NULL"),
        ("x NOT IN (1, 2)", "NOT a.x IN (1, 2)"),
        ("s NOT LIKE 'u%'", "NOT a.s LIKE 'u%'"),
        ("x NOT BETWEEN 1 AND 2", "NOT (a.x >= 1 AND a.x <= 2)"),
        ("x != 3", "a.x <> 3"),
        ("(x > 3) IS TRUE", "COALESCE(a.x > 3, FALSE)"),
        ("(x > 3) IS NOT FALSE", "NOT COALESCE(NOT a.x > 3, FALSE)"),
        ("CASE x WHEN 1 THEN 'u' ELSE 'v' END", "CASE WHEN a.x = 1 THEN 'u' ELSE 'v' END"),
        ("IF(x > 1, 2, 3)", "CASE WHEN a.x > 1 THEN 2 ELSE 3 END"),
        ("CASE WHEN x > 1 THEN 2 END", "CASE WHEN a.x > 1 THEN 2 ELSE NULL END"),
        ("CONCAT(s, 'u', s)", "a.s || 'u' || a.s"),
        ("CONCAT(s || 'u', s)", "a.s || 'u' || a.s"),
        ("CONCAT(s)", "a.s"),
        ("MOD(x, 2)", "a.x % 2"),
        ("MOD(p, 2)", "a.p % 2."),
        ("NEGATIVE(5)", "-5"),
        ("NEGATIVE(x)", "-a.x"),
        ("p * 2 + 1", "a.p * 2. + 1."),
        ("x - (y - 1)", "a.x - (a.y - 1)"),
        ("x - y - 1", "a.x - a.y - 1"),
        ("-(x + 1) * 2", "-(a.x + 1) * 2"),
        ("NOT (x > 1 OR y > 1) AND NOT s = 'u'", "NOT (a.x > 1 OR a.y > 1) AND NOT a.s = 'u'"),
        ("SUBSTR(s, 1)", "SUBSTRING(a.s, 1)"),
        ("LEFT(s, 2) || RIGHT(s, 1)", "LEFT(a.s, 2) || RIGHT(a.s, 1)"),
        ("x::BIGINT", "CAST(a.x AS BIGINT)"),
        ("10L", "CAST(10 AS BIGINT)"),
        ("NVL(s, 'u')", "COALESCE(a.s, 'u')"),
        ("date_trunc('hour', ts)", "DATE_TRUNC('hour', a.ts)"),
        ("ts - INTERVAL '5' SECOND", "a.ts - INTERVAL '5' SECOND"),
    ],
)
def test_spellings_have_one_canonical_form(session: Session, text: str, canonical: str) -> None:
    query = session.sql(f"SELECT {text} AS v FROM a [1 HOUR]")
    (output,) = query.logical.outputs
    assert expression_text(output.expression) == canonical
    assert session.sql(query.to_sql()).logical == query.logical


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("x + l", "BIGINT"),
        ("x / 2", "DOUBLE"),
        ("p * 2", "DECIMAL(12, 2)"),
        ("p * x", "DECIMAL(21, 2)"),
        ("p / 3", "DECIMAL(14, 6)"),
        ("p + y", "DOUBLE"),
        ("ts - ts", "INTERVAL"),
        ("COALESCE(x, 2.5)", "DECIMAL(11, 1)"),
        ("CASE WHEN x > 1 THEN x ELSE l END", "BIGINT"),
        ("SUM(x)", "BIGINT"),
        ("SUM(p)", "DECIMAL(20, 2)"),
        ("AVG(p)", "DECIMAL(14, 6)"),
        ("MAX(s)", "STRING"),
        ("VAR_POP(x)", "DOUBLE"),
    ],
)
def test_types_of_expressions(session: Session, text: str, type_: str) -> None:
    assert str(session.sql(f"SELECT {text} AS v FROM a [1 HOUR]").schema.type_of("v")) == type_


def test_casts_of_columns_stay_casts(session: Session) -> None:
    (output,) = session.sql("SELECT CAST(s AS DECIMAL(5, 1)) FROM a [1 HOUR]").logical.outputs
    assert output.expression == Cast(Column("a", "s", STRING), decimal_type(5, 1))


def test_clocks_that_cannot_be_compared_meet_by_window_id_alone() -> None:
    session = Session()
    session.stream("a", "ts TIMESTAMP, k INT", time="ts")
    session.stream("b", "seq BIGINT, k INT", time="seq", unit="ticks")
    text = "SELECT COUNT(*) AS n FROM a [TUMBLE 1 SECOND], b [TUMBLE 10 MICROSECOND] WHERE a.k = b.k"
    with pytest.raises(QueryError, match="the times of 'a' and 'b' cannot be compared"):
        session.sql(text)
    names = [(field.name, str(field.type)) for field in session.sql(f"{text} SYNC ON WINDOW ID").schema]
    assert names[:5] == [
        ("wid", "BIGINT"),
        ("a_start", "TIMESTAMP"),
        ("a_end", "TIMESTAMP"),
        ("b_start", "BIGINT"),
        ("b_end", "BIGINT"),
    ]
    counted = session.sql("SELECT COUNT(*) AS n FROM b [TUMBLE 10 MICROSECOND]")
    assert str(counted.schema.fields[0].type) == "BIGINT"


@pytest.mark.parametrize(
    ("select", "reads"),
    [
        ("COUNT(*)", False),
        ("MAX(a.ts)", False),
        ("HOUR(MAX(a.ts))", True),
        ("COUNT(*) FILTER (WHERE DATE_TRUNC('DAY', a.ts) < a.ts)", True),
        ("MAX(CAST(a.ts AS STRING))", True),
        ("MIN(CAST(a.s AS TIMESTAMP))", True),
        ("MAX(a.ts + INTERVAL 1 DAY)", True),
        ("MAX(a.x + 1)", False),
    ],
)
def test_which_queries_depend_on_the_time_zone(session: Session, select: str, reads: bool) -> None:
    assert session.sql(f"SELECT {select} FROM a [1 MINUTE]").logical.reads_zone == reads
    assert session.sql(f"SELECT COUNT(*) FROM a [1 MINUTE] HAVING {select} IS NULL").logical.reads_zone == reads
