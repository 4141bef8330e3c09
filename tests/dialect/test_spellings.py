"""Other spellings of the same query: JOIN … ON and USING, parameters, short durations and intervals."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold import QueryError, Session, UsageError
from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.expressions import Literal, walk
from joinfold.logical.query import LogicalQuery, Source
from joinfold.types import BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, INT, INTERVAL, STRING, TIMESTAMP, TIMESTAMP_NTZ, VOID
from joinfold.types import decimal as decimal_type

STREAM = read_schema("k INT, l INT, v INT, s STRING, ts TIMESTAMP")
CATALOG = {name: Source(name, STREAM, True, "ts") for name in "abc"} | {
    "r": Source("r", read_schema("k INT, name STRING"), False)
}
ONE, TWO = "[1 MINUTE SLIDE 10 SECOND]", "[2 MINUTE SLIDE 10 SECOND]"


def bound(text: str, **parameters: Any) -> LogicalQuery:
    return bind(parse(text, parameters), CATALOG)


@pytest.mark.parametrize(
    ("joined", "listed"),
    [
        (f"a {ONE} JOIN b {TWO} ON a.k = b.k", f"a {ONE}, b {TWO} WHERE a.k = b.k"),
        (f"a {ONE} INNER JOIN b {TWO} USING (k)", f"a {ONE}, b {TWO} WHERE a.k = b.k"),
        (f"a {ONE} JOIN b {TWO} USING (k, l)", f"a {ONE}, b {TWO} WHERE a.k = b.k AND a.l = b.l"),
        (
            f"a {ONE} AS x JOIN b {TWO} y ON x.k = y.k AND x.v < y.v JOIN r ON r.k = x.k WHERE x.v > 5",
            f"a {ONE} AS x, b {TWO} y, r WHERE x.k = y.k AND x.v < y.v AND r.k = x.k AND x.v > 5",
        ),
        (
            f"a {ONE} JOIN b {TWO} USING (k) JOIN c {TWO} USING (K) JOIN r USING (k)",
            f"a {ONE}, b {TWO}, c {TWO}, r WHERE a.k = b.k AND a.k = c.k AND a.k = r.k",
        ),
        (f"a {ONE}, b {TWO} JOIN c {TWO} ON c.k = a.k WHERE a.l = b.l", None),
    ],
)
def test_join_is_the_comma_with_its_condition_in_where(joined: str, listed: str | None) -> None:
    listed = listed or f"a {ONE}, b {TWO}, c {TWO} WHERE c.k = a.k AND a.l = b.l"
    assert bound(f"SELECT COUNT(*) AS n FROM {joined}") == bound(f"SELECT COUNT(*) AS n FROM {listed}")


def test_a_column_of_using_needs_no_alias() -> None:
    text = f"FROM a {ONE} JOIN b {TWO} USING (k) GROUP BY"
    assert bound(f"SELECT k, COUNT(*) AS n {text} k") == bound(f"SELECT a.k, COUNT(*) AS n {text} a.k")


# --- durations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "usual"),
    [
        ("[10s SLIDE 250ms]", "[10 SECOND SLIDE 250 MILLISECOND]"),
        ("[1h30m SLIDE 5min]", "[90 MINUTE SLIDE 5 MINUTE]"),
        ("[1w SLIDE 1d]", "[7 DAY SLIDE 1 DAY]"),
        ("[10 s SLIDE 5 us]", "[10 SECOND SLIDE 5 MICROSECOND]"),
        ("[TUMBLE 10S]", "[TUMBLE 10 SECOND]"),
        ("[5D]", "[5 DAY]"),
        ("[RANGE 5m SLIDE 10 ROWS]", "[RANGE 5 MINUTE SLIDE 10 ROWS]"),
        ("[INTERVAL '10' MINUTE SLIDE INTERVAL 1 MINUTE]", "[10 MINUTE SLIDE 1 MINUTE]"),
        ("[INTERVAL '1 hour 30 minutes' SLIDE '30 s']", "[90 MINUTE SLIDE 30 SECOND]"),
        ("[10s SLIDE 1s START TIMESTAMP '2025-01-01']", "[10 SECOND SLIDE 1 SECOND START TIMESTAMP '2025-01-01']"),
    ],
)
def test_short_durations_and_intervals_in_windows(window: str, usual: str) -> None:
    text = "SELECT COUNT(*) AS n FROM a {} EMIT EVERY {}"
    assert bound(text.format(window, "10s")) == bound(text.format(usual, "INTERVAL '10' SECOND"))


# --- parameters -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "stored", "type_"),
    [
        (None, None, VOID),
        (True, True, BOOLEAN),
        (5, 5, INT),
        (-5, -5, INT),
        (2**40, 2**40, BIGINT),
        (0.1, 0.1, DOUBLE),
        (-1e300, -1e300, DOUBLE),
        (Decimal("-1.50"), Decimal("-1.50"), decimal_type(3, 2)),
        (Decimal(7), Decimal(7), decimal_type(1, 0)),
        ("x' OR 1 = 1 --", "x' OR 1 = 1 --", STRING),
        ("\\n :v", "\\n :v", STRING),
        (b"\x00\xff", b"\x00\xff", BINARY),
        (date(2025, 1, 2), date(2025, 1, 2), DATE),
        (datetime(2025, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), 1_735_689_600_000_000, TIMESTAMP),
        (datetime(2025, 1, 1, 0, 0, 0, 5), 1_735_689_600_000_005, TIMESTAMP_NTZ),
        (timedelta(minutes=-5), -300_000_000, INTERVAL),
    ],
)
def test_a_parameter_is_a_constant_of_its_type(value: object, stored: object, type_: object) -> None:
    query = bound(f"SELECT MAX(CASE WHEN :value IS NULL THEN 1 END) AS n FROM a {ONE}", value=value)
    literals = [node for node in walk(query.aggregates[0]) if isinstance(node, Literal)]
    assert (literals[0].value, literals[0].type) == (stored, type_)


@given(st.text())
def test_a_string_changes_nothing_but_itself(value: str) -> None:
    query = bound(f"SELECT COUNT(*) AS n FROM a {ONE} WHERE a.s = :value AND a.k = 1", value=value)
    assert len(query.where) == 2
    assert [node.value for node in walk(query.where[0]) if isinstance(node, Literal)] == [value]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite(value: float) -> None:
    session = Session()
    session.stream("a", "v DOUBLE, ts TIMESTAMP", time="ts")
    text = session.sql(f"SELECT COUNT(*) AS n FROM a {ONE} WHERE a.v < :value", value=value).to_sql()
    assert f"CAST('{value}' AS DOUBLE)" in text


def test_sizes_slides_and_periods_are_parameters_too() -> None:
    window = bound(
        "SELECT COUNT(*) AS n FROM a [:size SLIDE :slide START :start], b [ROWS :rows] "
        "WHERE a.k = b.k EMIT EVERY :every",
        size=timedelta(minutes=1),
        slide="10 seconds",
        start=datetime(2025, 1, 1, tzinfo=UTC),
        rows=5,
        every="30s",
    )
    usual = bound(
        "SELECT COUNT(*) AS n FROM a [1 MINUTE SLIDE 10 SECOND START TIMESTAMP '2025-01-01'], b [ROWS 5] "
        "WHERE a.k = b.k EMIT EVERY 30 SECOND"
    )
    assert window == usual


@pytest.mark.parametrize("size", ["1 minute SLIDE 1 second", "1 minute] JOIN b [1 minute", "", "1", 5, True, -1, None])
def test_a_size_is_a_duration_and_nothing_else(size: object) -> None:
    with pytest.raises(QueryError) as caught:
        bound("SELECT COUNT(*) AS n FROM a [:size]", size=size)
    assert caught.value.at is not None and caught.value.at.words == ":size"


def test_a_parameter_needs_a_value_and_a_value_a_parameter() -> None:
    with pytest.raises(QueryError, match=r"the parameter ':limit' has no value") as caught:
        bound(f"SELECT COUNT(*) AS n FROM a {ONE} WHERE a.v > :limit", limits=5)
    assert caught.value.hint == "did you mean ':limits'?"
    with pytest.raises(UsageError, match="the query has no parameter ':limit'"):
        bound(f"SELECT COUNT(*) AS n FROM a {ONE}", limit=5)
    with pytest.raises(QueryError, match="the parameter ':limit' cannot be a list"):
        bound(f"SELECT COUNT(*) AS n FROM a {ONE} WHERE a.v > :limit", limit=[1])
    with pytest.raises(UsageError, match="the decimal NaN has no digits"):
        bound(f"SELECT COUNT(*) AS n FROM a {ONE} WHERE a.v > :limit", limit=Decimal("NaN"))


def test_a_text_in_quotes_has_no_parameters() -> None:
    query = bound(f"SELECT COUNT(*) AS n FROM a {ONE} WHERE a.s = ':key'")
    assert [node.value for node in walk(query.where[0]) if isinstance(node, Literal)] == [":key"]
