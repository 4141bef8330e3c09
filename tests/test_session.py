"""Sessions: streams and relations registered from text and Arrow, and mistakes."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from joinfold import JoinfoldError, Query, QueryError, Session, UsageError
from joinfold.dialect import parse
from joinfold.registered import SAMPLED_ROWS
from joinfold.registering import schema_of
from joinfold.types import Schema

READINGS = "location STRING, ts TIMESTAMP, celsius DOUBLE"


def test_a_stream_from_text() -> None:
    session = Session()
    session.stream("temperature", READINGS, time="TS", delay="10 seconds")
    (input_,) = session.sql("SELECT COUNT(*) FROM Temperature [10 MINUTE]").logical.inputs
    assert str(input_.source.schema) == READINGS
    assert (input_.source.time, input_.source.delay_us, input_.source.is_stream) == ("ts", 10_000_000, True)


def test_a_stream_without_a_time_column_takes_the_time_of_arrival() -> None:
    session = Session()
    session.stream("s", "k INT")
    query = session.sql("SELECT COUNT(*) FROM s [10 MINUTE]")
    assert query.logical.inputs[0].source.time is None
    assert "time of arrival" in query.explain("logical")


def test_a_stream_with_a_clock_of_its_own() -> None:
    session = Session()
    session.stream("s", "k INT, tick BIGINT", time="tick", unit="ticks")
    assert session.sql("SELECT k FROM s [5 MICROSECONDS]").logical.inputs[0].source.time == "tick"


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        (READINGS, READINGS),
        ("a INTEGER, b LONG, c SHORT, d BYTE, e REAL", "a INT, b BIGINT, c SMALLINT, d TINYINT, e FLOAT"),
        ("a decimal(10,2), b Decimal, c DECIMAL(5)", "a DECIMAL(10, 2), b DECIMAL(10, 0), c DECIMAL(5, 0)"),
        ("a TIMESTAMP_NTZ, b DATE, c BINARY, d BOOLEAN", "a TIMESTAMP_NTZ, b DATE, c BINARY, d BOOLEAN"),
        ("a VARCHAR(10), b TIMESTAMP_LTZ", "a STRING, b TIMESTAMP"),
        ("`a b` INT, `c``d` INT, select INT, 東 INT", "a b INT, c`d INT, select INT, 東 INT"),
        ("  a   INT ,\n\tb STRING -- the name\n", "a INT, b STRING"),
        ("v INT, V STRING", "v INT, V STRING"),
    ],
)
def test_schemas_as_text(text: str, schema: str) -> None:
    assert str(schema_of(text)) == schema


ARROW = pa.schema(
    [
        ("flag", pa.bool_()),
        ("tiny", pa.int8()),
        ("small", pa.int16()),
        ("plain", pa.int32()),
        ("big", pa.int64()),
        ("single", pa.float32()),
        ("double", pa.float64()),
        ("text", pa.string()),
        ("long_text", pa.large_string()),
        ("word", pa.dictionary(pa.int32(), pa.string())),
        ("bytes", pa.binary()),
        ("day", pa.date32()),
        ("instant", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("ms")),
        ("price", pa.decimal128(10, 2)),
    ]
)


@pytest.mark.parametrize("source", [ARROW, ARROW.empty_table()], ids=["schema", "table"])
def test_schemas_from_arrow(source: Any) -> None:
    assert str(schema_of(source)) == (
        "flag BOOLEAN, tiny TINYINT, small SMALLINT, plain INT, big BIGINT, single FLOAT, double DOUBLE, text STRING, "
        "long_text STRING, word STRING, bytes BINARY, day DATE, instant TIMESTAMP, local TIMESTAMP_NTZ, "
        "price DECIMAL(10, 2)"
    )


def test_nested_columns_are_compared_and_nothing_else() -> None:
    session = Session()
    session.stream("s", pa.schema([("tags", pa.list_(pa.string())), ("ts", pa.timestamp("us", "UTC"))]), time="ts")
    session.sql("SELECT COUNT(*) FROM s a [1 HOUR], s b [1 HOUR] WHERE a.tags = b.tags")
    with pytest.raises(QueryError, match="MAX is not defined"):
        session.sql("SELECT MAX(tags) FROM s [1 HOUR]")


def test_a_schema_stands_for_itself() -> None:
    schema = schema_of(READINGS)
    assert isinstance(schema, Schema)
    assert schema_of(schema) is schema


TYPES = (
    "the types are BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, "
    "TIMESTAMP_NTZ, DECIMAL(p, s)."
)


@pytest.mark.parametrize(
    ("text", "report"),
    [
        ("", "UsageError: '' is not a schema\nHint: write it as 'location STRING, ts TIMESTAMP, celsius DOUBLE'."),
        ("a", "UsageError: 'a' is not a schema\nHint: write it as 'location STRING, ts TIMESTAMP, celsius DOUBLE'."),
        ("a FOO", f"UsageError: unknown type 'FOO' of column 'a'\nHint: {TYPES}"),
        ("a INT b INT", f"UsageError: unknown type 'INT b INT' of column 'a'\nHint: {TYPES}"),
        ("a INT)", f"UsageError: unknown type 'INT)' of column 'a'\nHint: {TYPES}"),
        ("a DECIMAL(99, 1)", "UsageError: DECIMAL(99, 1) is not a valid type\n"
         "Hint: the precision is 1 to 38, and the scale is 0 to the precision."),
        ("a DECIMAL(x)", "UsageError: DECIMAL takes a precision and a scale\nHint: write it as DECIMAL(10, 2)."),
        ("`a INT", "QueryError: a string or quoted name is not closed\n  `a INT\n  ^^^^^^\n"
         "Hint: add the closing quote."),
    ],
)  # fmt: skip
def test_texts_that_are_no_schema(text: str, report: str) -> None:
    with pytest.raises(JoinfoldError) as caught:
        schema_of(text)
    assert caught.value.report() == report


def test_an_empty_session_says_so() -> None:
    with pytest.raises(QueryError) as caught:
        Session().sql("SELECT COUNT(*) FROM s [1 HOUR]")
    assert caught.value.hint == "the session has none yet."


def test_explain_knows_its_stages() -> None:
    session = Session()
    session.stream("s", READINGS, time="ts")
    query = session.sql("SELECT COUNT(*) FROM s [1 HOUR]")
    assert query.explain() == query.explain(stage="cost")
    assert repr(query) == "<joinfold.Query SELECT COUNT(*) FROM s [RANGE 1 HOUR]>"
    with pytest.raises(UsageError, match="unknown stage 'logic'"):
        query.explain(stage="logic")


def test_explain_as_a_page() -> None:
    session = Session()
    session.stream("s", READINGS, time="ts")
    query = session.sql("SELECT COUNT(*) FROM s [1 MINUTE SLIDE 1 HOUR] WHERE s.celsius < 5")
    page = query.explain(format="html")
    assert "s.celsius &lt; 5" in page and "Warning: the window of" in page
    assert "Warning" not in query.explain(format="html", warn=False)
    with pytest.raises(UsageError, match="unknown format 'pdf'"):
        query.explain(format="pdf")
    with pytest.raises(UsageError, match="the stage 'logical' has no HTML page"):
        query.explain("logical", format="html")


def test_a_plan_that_cannot_keep_up_warns_where_costs_are_shown() -> None:
    session = Session()
    session.stream("s", READINGS, time="ts", rate=1e10)
    query = session.sql("SELECT COUNT(*) FROM s [1 HOUR]")
    (warning,) = query.plan_warnings
    assert warning.startswith("the query cannot keep up with its streams")
    assert query.explain().startswith(f"Warning: {warning}\nSELECT in Spark")
    assert warning in query.explain(format="html")
    assert not any("Warning" in query.explain(stage) for stage in ("physical", "logical", "windows"))


def test_analyze_runs_what_the_session_has() -> None:
    session = Session()
    session.stream("s", READINGS, time="ts")
    query = session.sql("SELECT COUNT(*) FROM s [1 HOUR]")
    with pytest.raises(UsageError, match="running in process needs an Arrow table"):
        query.analyze()


def test_a_dataframe_is_looked_at_only_where_plans_have_rivals() -> None:
    rows = pa.table({"k": [1, 2, 3], "v": [1, 2, 3], "ts": pa.array([0, 10, 20], pa.timestamp("us", "UTC"))})
    jobs: list[int] = []

    class Frame:
        isStreaming = False  # noqa: N815

        def limit(self, count: int) -> "Frame":
            jobs.append(count)
            return self

        def toArrow(self) -> pa.Table:  # noqa: N802
            return rows

    registered = Session()
    for name in ("a", "b"):
        registered.stream(name, "k INT, v INT, ts TIMESTAMP", time="ts")
    frames = {name: replace(own, data=Frame()) for name, own in registered.inputs.items()}  # DataFrames without a JVM
    joined = "SELECT COUNT(*) AS n FROM a [1 HOUR SLIDE 1 HOUR], b [1 HOUR SLIDE 1 HOUR] WHERE a.k = b.k"

    def origin(text: str) -> str:
        return Query(parse(text), frames, registered).statistics.streams[0].origin

    assert (origin(joined), jobs) == ("assumed", [])
    assert (origin(f"{joined} AND a.v < b.v"), jobs) == ("sampled", [SAMPLED_ROWS] * 2)
    Frame.isStreaming = True
    assert origin(f"{joined} AND a.v < b.v") == "assumed"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"sink": 5}, "sink cannot be 5\nHint: give the name of a sink of Spark, or a function."),
        ({"checkpoint": ""}, "checkpoint cannot be ''\nHint: give a directory, as text or as a path."),
        ({"checkpoint": None}, "checkpoint cannot be None\nHint: give a directory, as text or as a path."),
        ({"trigger": 5}, "trigger cannot be 5\nHint: give a text such as '5 seconds' or 'available'."),
        ({"partitions": 0}, "partitions cannot be 0\nHint: give a whole number of at least 1."),
        ({"partitions": "2"}, "partitions cannot be '2'\nHint: give a whole number of at least 1."),
        ({"name": 5}, "name cannot be 5\nHint: give a text."),
    ],
)
def test_wrong_arguments_of_start_are_refused_before_spark_is_needed(arguments: dict[str, Any], told: str) -> None:
    session = Session()
    session.stream("a", "k INT, ts TIMESTAMP", time="ts")
    query = session.sql("SELECT COUNT(*) AS n FROM a [TUMBLE 1 MINUTE]")
    with pytest.raises(UsageError) as refused:
        query.start(**{"sink": "console", "checkpoint": "state", **arguments})
    assert str(refused.value) == told
