"""What can be registered, which column is the time, and what is said about a doubtful one."""

from datetime import timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import joinfold as jf
from joinfold.registering import registered_stream, registered_table, rows_or_schema, schema_of
from joinfold.types import TIMESTAMP

READINGS = "location STRING, ts TIMESTAMP, celsius DOUBLE"
NO_NAME = "a valid name for a stream or relation\nHint: give a text, such as 'orders'."
FRAME = pd.DataFrame({"ts": pd.to_datetime([1, 2], unit="s", utc=True), "k": [1, 2], "name": ["x", None]})


class Capsule:
    """A frame of a library that hands its rows over as Arrow, as polars does."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested)


def source_of(source: Any, **options: Any) -> jf.Query:
    session = jf.Session()
    session.stream("s", source, **options)
    return session.sql("SELECT COUNT(*) AS n FROM s [UNBOUNDED] EMIT EVERY 1 SECOND")


@pytest.mark.parametrize(
    "make", [lambda: FRAME, lambda: Capsule(pa.Table.from_pandas(FRAME))], ids=["pandas", "polars"]
)
def test_frames_of_other_libraries_run(make: Any) -> None:
    answered = source_of(make()).run_in_process().answers
    assert answered.column("n").to_pylist() == [1, 2]
    assert str(schema_of(rows_or_schema("s", make(), is_stream=True))) == "ts TIMESTAMP, k BIGINT, name STRING"


@pytest.mark.parametrize(
    ("schema", "time", "found"),
    [
        ("ts TIMESTAMP, at TIMESTAMP", None, "ts"),
        ("x INT, at TIMESTAMP", None, "at"),
        ("x INT, at TIMESTAMP_NTZ", None, None),  # a time without a zone is no instant, unless told
        ("x INT, at TIMESTAMP_NTZ", "at", "at"),
        ("x INT", None, None),
        ("ts TIMESTAMP", jf.ARRIVAL, None),
        ("Ts TIMESTAMP, other TIMESTAMP", "TS", "Ts"),
    ],
)
def test_the_time_of_a_stream_is_found(schema: str, time: Any, found: str | None) -> None:
    assert registered_stream("s", schema, time, "0 seconds", None, None, None)[0].time == found


def test_one_of_several_times_has_to_be_chosen() -> None:
    with pytest.raises(jf.UsageError) as caught:
        jf.Session().stream("s", "x TIMESTAMP, at TIMESTAMP")
    assert caught.value.report() == (
        "UsageError: several columns of stream 's' could be its time: x, at\n"
        "Hint: choose one: time='x' in Python, --time s=x on the command line."
    )


@pytest.mark.parametrize(("unit", "factor"), [("seconds", 1_000_000), ("milliseconds", 1_000), ("microseconds", 1)])
def test_an_integer_time_with_a_unit_is_a_timestamp(unit: str, factor: int) -> None:
    table = pa.table({"at": pa.array([5, None], pa.int32()), "k": [1, 2]})
    source, data = registered_stream("s", table, "at", "0 seconds", None, None, unit)
    assert source.schema.type_of("at") == TIMESTAMP and source.ahead_us == 86_400_000_000
    assert data.column("at").cast(pa.int64()).to_pylist() == [5 * factor, None]
    assert registered_stream("s", table.schema, "at", "0 seconds", None, None, unit)[0].schema == source.schema


def test_an_integer_time_without_a_unit_is_warned_of() -> None:
    table = pa.table({"at": [1_700_000_000, 1_700_003_600]})
    with pytest.warns(jf.JoinfoldWarning) as caught:
        jf.Session().stream("s", table, time="at")
    (warning,) = caught
    assert warning.filename == __file__
    assert str(warning.message) == (
        "the time column 'at' of stream 's' is an integer, so it is a clock of its own, and a window of 1 SECOND holds "
        "1,000,000 of its steps. Its values from 1700000000 to 1700003600 would be "
        "2023-11-14 22:13:20 to 2023-11-14 23:13:20 in seconds; "
        "1970-01-20 16:13:20 to 1970-01-20 16:13:23.600000 in milliseconds; "
        "1970-01-01 00:28:20 to 1970-01-01 00:28:20.003600 in microseconds. "
        "If it is a time, give unit='seconds', 'milliseconds' or 'microseconds'; otherwise unit='ticks'"
    )
    with pytest.warns(jf.JoinfoldWarning, match="holds 1,000,000 of its steps. If it is a time"):
        jf.Session().stream("s", table.schema, time="at")
    jf.Session().stream("s", table, time="at", unit="ticks")  # warnings are errors here


def test_durations_may_be_timedeltas() -> None:
    five = timedelta(minutes=5)
    source, _ = registered_stream("s", "ts TIMESTAMP", None, timedelta(seconds=2), five, five, None)
    assert (source.delay_us, source.ahead_us, source.idle_us) == (2_000_000, 300_000_000, 300_000_000)


def test_a_name_is_registered_once_unless_it_replaces() -> None:
    session = jf.Session()
    session.stream("s", "k INT, ts TIMESTAMP")
    for again in (lambda: session.stream("s", "k INT"), lambda: session.table("s", "k STRING")):
        with pytest.raises(jf.UsageError, match="the session already has a stream or relation 's'"):
            again()
    session.table("s", "k STRING", replace=True)
    with pytest.raises(jf.QueryError, match="relation 's' cannot have a window"):
        session.sql("SELECT k FROM s [10 MINUTE]")


def test_a_query_keeps_the_rows_that_it_was_made_with() -> None:
    session, text = jf.Session(), "SELECT COUNT(*) AS n FROM s [UNBOUNDED] EMIT EVERY 1 SECOND"
    session.stream("s", FRAME)
    before = session.sql(text)
    session.stream("s", FRAME.iloc[:1], replace=True)
    counts = [query.run_in_process().answers.column("n").to_pylist() for query in (before, session.sql(text))]
    assert counts == [[1, 2], [1]]


def test_inputs_of_two_sessions_are_joined() -> None:
    sides = []
    for name in ("a", "b"):
        session = jf.Session()
        session.stream(name, FRAME)
        sides.append(session[name].window("10 seconds", slide="10 seconds"))
    joined = sides[0].join(sides[1], on="k").agg(n=jf.count())
    assert joined.run_in_process().answers.column("n").to_pylist() == [2, 0]


def test_relations_have_no_time() -> None:
    source, data = registered_table("r", FRAME)
    assert source.time is None and data.num_rows == 2


MISTAKES: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "no such time column": (
        ("s", READINGS),
        {"time": "tss"},
        "UsageError: stream 's' has no column 'tss' for its event time\n"
        "Hint: did you mean 'ts'? It has: location, ts, celsius.",
    ),
    "no such time column, nothing like it": (
        ("s", READINGS),
        {"time": "when"},
        "UsageError: stream 's' has no column 'when' for its event time\nHint: it has: location, ts, celsius.",
    ),
    "a time column of text": (
        ("s", READINGS),
        {"time": "location"},
        "UsageError: the time column 'location' of stream 's' is STRING, not TIMESTAMP or integer\n"
        "Hint: cast the column in the DataFrame. An integer column is a clock of its own, or has a unit.",
    ),
    "a delay that is no duration": (
        ("s", READINGS),
        {"delay": "late"},
        "UsageError: 'late' is not a duration\nHint: write numbers and units, such as '10 seconds'.",
    ),
    "a delay of a month": (
        ("s", READINGS),
        {"delay": "1 month"},
        "UsageError: '1 month': a MONTH has no fixed length\nHint: use days or weeks.",
    ),
    "a negative delay": (
        ("s", READINGS),
        {"delay": "-1 second"},
        "UsageError: a duration cannot be negative, but '-1 second' is\nHint: leave out the minus sign.",
    ),
    "no name": (("", READINGS), {}, f"UsageError: '' is not {NO_NAME}"),
    "half a name": (("house.", READINGS), {}, f"UsageError: 'house.' is not {NO_NAME}"),
    "a name that is no text": ((7, READINGS), {}, f"UsageError: 7 is not {NO_NAME}"),
    "something without columns": (
        ("s", [1, 2, 3]),
        {},
        "UsageError: 's' cannot be registered as an object of type list\n"
        "Hint: give a DataFrame of Spark, pandas or polars, a pyarrow Table "
        "or Schema, or a text such as 'location STRING, ts TIMESTAMP'.",
    ),
    "a path": (
        ("s", "/data/readings"),
        {},
        "UsageError: 's' is registered as '/data/readings', which looks like a path, not like a schema\n"
        "Hint: read it with Spark: session.stream('s', spark.readStream.schema(…).parquet('/data/readings')).",
    ),
    "an unknown unit": (
        ("s", "k INT, at BIGINT"),
        {"time": "at", "unit": "second"},
        "UsageError: unknown unit 'second' of stream 's'\n"
        "Hint: did you mean 'seconds'? The units are: seconds, milliseconds, microseconds, ticks.",
    ),
    "a unit of a timestamp": (
        ("s", READINGS),
        {"unit": "seconds"},
        "UsageError: stream 's' cannot have unit='seconds': its time column 'ts' is no integer\nHint: leave out unit.",
    ),
    "a unit without a time": (
        ("s", "k INT"),
        {"unit": "seconds"},
        "UsageError: stream 's' cannot have unit='seconds': it takes the time of its micro-batches\n"
        "Hint: leave out unit.",
    ),
    "a delay that is a number": (
        ("s", READINGS),
        {"delay": 10},
        "UsageError: delay of stream 's' cannot be 10\nHint: give a text such as '10 seconds', or a timedelta.",
    ),
    "a time column by its position": (
        ("s", READINGS),
        {"time": 0},
        "UsageError: the time of stream 's' cannot be 0\nHint: give the name of a column, as text.",
    ),
    "two columns of one name": (
        ("s", "a INT, a STRING"),
        {},
        "UsageError: the schema 'a INT, a STRING' has two columns 'a'\nHint: give each column its own name.",
    ),
    "two Arrow columns of one name": (
        ("s", pa.schema([("a", pa.int8()), ("a", pa.int8())])),
        {},
        "UsageError: 's' has 2 columns 'a'\nHint: give each column its own name.",
    ),
    "an Arrow type that Spark lacks": (
        ("s", pa.schema([("a", pa.uint64())])),
        {},
        "UsageError: column 'a' has the Arrow type uint64, which Spark does not have\n"
        "Hint: cast the column to another type.",
    ),
    "an Arrow decimal that Spark lacks": (
        ("s", pa.schema([("a", pa.decimal256(50, 2))])),
        {},
        "UsageError: column 'a' has the Arrow type decimal256(50, 2), which Spark does not have\n"
        "Hint: cast the column to another type.",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    arguments, options, report = MISTAKES[name]
    with pytest.raises(jf.UsageError) as caught:
        jf.Session().stream(*arguments, **options)
    assert caught.value.report() == report


def test_a_time_that_does_not_fit_its_unit() -> None:
    with pytest.raises(jf.UsageError, match="the times in 'at' do not fit its unit"):
        jf.Session().stream("s", pa.table({"at": [2**60]}), time="at", unit="seconds")
