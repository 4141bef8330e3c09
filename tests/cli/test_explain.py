"""`joinfold explain` prints the same texts as the library, exits with 0 or 2, and never shows a traceback."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from joinfold import QueryError, Session
from tests.cli.commands import QUERY, STREAM, Mistakes, Run, check_refused

ROOT = Path(__file__).parent.parent.parent
QUERIES = ROOT / "examples" / "queries"
TREES = ROOT / "tests" / "golden" / "trees"
REFUSED = "SELECT COUNT(*) AS n FROM A [PARTITION BY location ROWS 5] EMIT ON ARRIVAL"
PAPERS = {
    "wang1": ["--stream=A=src STRING, dest STRING, ts TIMESTAMP", "--stream=B=src STRING, dest STRING, ts TIMESTAMP"],
    "wang2": [
        "--stream=A=location STRING, time TIMESTAMP, temperature DOUBLE",
        "--stream=B=location STRING, time TIMESTAMP, strength DOUBLE",
    ],
    "tran1": [
        "--stream=Auction=auctionID BIGINT, sellerID BIGINT, ts TIMESTAMP",
        "--stream=Bid=auctionID BIGINT, bidderID BIGINT, price DECIMAL(10, 2), ts TIMESTAMP",
        "--table=Person=personID BIGINT, name STRING, state STRING",
    ],
}


@pytest.mark.parametrize("name", PAPERS)
def test_explain_shows_the_papers_queries(run: Run, name: str) -> None:
    result = run("explain", QUERIES / f"{name}.sql", *PAPERS[name])
    golden = (TREES / f"{name}.txt").read_text(encoding="utf-8").replace(", delay 10 SECOND", "")
    assert result == (0, golden, "")


def test_explain_reads_a_file_standard_input_or_the_argument(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "query.sql"
    path.write_text(QUERY, encoding="utf-8")
    results = [run("explain", path, STREAM), run("explain", "-", STREAM, stdin=QUERY.encode())]
    assert results == [run("explain", QUERY, STREAM)] * 2
    assert results[0].status == 0


def test_explain_takes_the_values_of_parameters(run: Run) -> None:
    where = "celsius > :most AND celsius < :least AND location = :at"
    text = f"SELECT COUNT(*) AS n FROM A [:size SLIDE 1 MINUTE] WHERE {where}"
    values = ["--param=size=10 minutes", "--param", "most=30.5", "--param", "least=-5", "--param=at=a' = 'b"]
    explained = json.loads(run("explain", text, STREAM, *values, "--json").output)
    assert explained["sql"].splitlines()[1:] == [
        "FROM A [10 MINUTE SLIDE 1 MINUTE]",
        "WHERE A.celsius > 30.5 AND A.celsius < -5 AND A.location = 'a\\' = \\'b'",
    ]


def test_explain_prints_json(run: Run) -> None:
    printed = json.loads(run("explain", QUERY, STREAM, "--json").output)
    session = Session()
    session.stream("A", "location STRING, ts TIMESTAMP, celsius DOUBLE", time="ts")
    query = session.sql(QUERY)
    assert printed == {
        "sql": query.to_sql(),
        "schema": [
            {"name": "instant", "type": "TIMESTAMP"},
            {"name": "location", "type": "STRING"},
            {"name": "n", "type": "BIGINT"},
        ],
        "warnings": [],
        "tree": query.explain("logical"),
    }


def test_explain_shows_how_a_query_runs(run: Run) -> None:
    result = run("explain", QUERY, STREAM, "--stage=physical")
    session = Session()
    session.stream("A", "location STRING, ts TIMESTAMP, celsius DOUBLE", time="ts")
    assert result == (0, session.sql(QUERY).explain("physical") + "\n", "")
    refused = run("explain", REFUSED, STREAM, "--stage=physical")
    assert (refused.status, refused.output) == (2, "")
    assert refused.error.startswith("QueryError: no engine runs PARTITION BY windows with EMIT ON ARRIVAL yet\n")


def test_explain_shows_costs(run: Run, tmp_path: Path) -> None:
    result = run("explain", QUERY, STREAM, "--stage=cost")
    session = Session()
    session.stream("A", "location STRING, ts TIMESTAMP, celsius DOUBLE", time="ts")
    query = session.sql(QUERY)
    assert result == (0, query.explain("cost") + "\n", "")
    page = tmp_path / "page.html"
    assert run("explain", QUERY, STREAM, f"--html={page}") == (0, f"{page}\n", "")
    assert page.read_text(encoding="utf-8") == query.explain(format="html")
    refused = run("explain", REFUSED, STREAM, f"--html={tmp_path / 'no.html'}")
    assert refused.status == 2 and not (tmp_path / "no.html").exists()


def test_a_plan_that_cannot_keep_up_warns_on_standard_error(run: Run) -> None:
    text = QUERY + " OPTION (rate = 'A 10000000000')"
    warned = run("explain", text, STREAM, "--stage=cost")
    assert warned.error.startswith("Warning: the query cannot keep up") and "Warning" not in warned.output
    assert run("explain", text, STREAM, "--stage=physical").error == ""


def write_readings(path: Path, rows: int = 3000) -> pa.Table:
    times = pa.array([datetime(2025, 6, 1, tzinfo=UTC) + timedelta(seconds=second) for second in range(rows)])
    table = pa.table({"location": [f"room {n % 20}" for n in range(rows)], "ts": times, "celsius": [20.5] * rows})
    parquet.write_table(table, path)
    return table


def test_explain_reads_rows_from_parquet_for_costs(run: Run, tmp_path: Path) -> None:
    session = Session()
    session.stream("A", write_readings(tmp_path / "a.parquet"), time="ts")
    result = run("explain", QUERY, f"--stream=A={tmp_path / 'a.parquet'}", "--stage=cost")
    assert result.output == session.sql(QUERY).explain() + "\n"


@pytest.mark.slow
def test_explain_measures(run: Run, tmp_path: Path) -> None:
    write_readings(tmp_path / "a.parquet")
    (tmp_path / "parts").mkdir()
    table = write_readings(tmp_path / "parts" / "1.parquet")
    parquet.write_table(table, tmp_path / "parts" / "2.parquet", use_deprecated_int96_timestamps=True)
    printed = run("explain", QUERY, f"--stream=A={tmp_path / 'a.parquet'}", "--analyze")
    assert (printed.status, printed.error) == (0, "")
    title = "Costs per second of stream: 3,000 rows of 3,000 s of stream, in one process without Spark\n"
    assert printed.output.startswith(title) and "  CPU of FOLD  " in printed.output
    folder = run("explain", QUERY, f"--stream=A={tmp_path / 'parts'}", "--analyze", "--json")
    facts = json.loads(folder.output)
    assert (facts["rows"], facts["stream_seconds"], facts["warnings"]) == (6000, 2999.0, [])
    measured = {row["what"]: row["measured"] for row in facts["streams"]}
    assert measured["A: groups in a window"] == 20


def test_explain_draws_windows(run: Run) -> None:
    session = Session()
    session.stream("A", "location STRING, ts TIMESTAMP, celsius DOUBLE", time="ts")
    drawn = session.sql(QUERY).explain("windows") + "\n"
    assert run("explain", QUERY, STREAM, "--windows") == (0, drawn, "")
    assert run("explain", QUERY, STREAM, "--stage=windows") == (0, drawn, "")
    assert run("explain", REFUSED, STREAM, "--windows").status == 0  # drawn although no engine runs the query


def test_warnings_are_on_standard_error(run: Run) -> None:
    text = "SELECT COUNT(*) AS n FROM A [1 MINUTE SLIDE 5 MINUTE]"
    session = Session()
    session.stream("A", "location STRING, ts TIMESTAMP, celsius DOUBLE", time="ts")
    query = session.sql(text)
    warning = f"Warning: {query.warnings[0]}\n"
    tree = query.explain("logical").removeprefix(warning) + "\n"
    assert run("explain", text, STREAM) == (0, tree, warning)
    printed = run("explain", text, STREAM, "--json")
    assert (json.loads(printed.output)["warnings"], printed.error) == (list(query.warnings), warning)


def test_explain_takes_schemas_from_parquet(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "A"
    folder.mkdir()
    table = pa.schema([("location", pa.string()), ("ts", pa.timestamp("us", "UTC"))]).empty_table()
    parquet.write_table(table, folder / "part.parquet")
    for source in (folder, folder / "part.parquet"):
        result = run("explain", QUERY, f"--stream=A={source}")
        assert (result.status, "time ts" in result.output) == (0, True)


def test_explain_finds_the_time(run: Run) -> None:
    for schema, option, time in (
        ("location STRING, at TIMESTAMP", [], "time at"),
        ("location STRING, ts TIMESTAMP, at TIMESTAMP", [], "time ts"),
        ("location STRING, ts TIMESTAMP, at TIMESTAMP", ["--time=A=at"], "time at"),
        ("location STRING", [], "time of arrival"),
    ):
        assert time in run("explain", QUERY, f"--stream=A={schema}", *option).output


def test_explain_asks_which_column_is_the_time(run: Run) -> None:
    result = run("explain", QUERY, "--stream=A=location STRING, on TIMESTAMP, at TIMESTAMP")
    assert (result.status, "several columns of stream 'A' could be its time: on, at" in result.error) == (2, True)


def test_a_long_schema_is_not_taken_for_a_path(run: Run) -> None:
    columns = ", ".join(f"column_number_{i} INT" for i in range(500))
    assert run("explain", "SELECT COUNT(*) FROM A [ROWS 5]", f"--stream=A={columns}").status == 0


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*) FROM A [10 MINUTE] WHERE celcius > 40",
        "SELECT COUNT(*)\nFROM A [10 MINUTE\nWHERE celsius > 40",
        "SELECT COUNT(*) FROM A [10 MINUTE] WHERE location = '東京' AND celsius > 'hot'",
        " ",
    ],
)
def test_a_wrong_query_prints_the_report_of_the_library(run: Run, query: str) -> None:
    session = Session()
    session.stream("A", "location STRING, ts TIMESTAMP, celsius DOUBLE", time="ts")
    with pytest.raises(QueryError) as caught:
        session.sql(query)
    assert run("explain", query, STREAM) == (2, "", caught.value.report() + "\n")
    assert run("explain", "-", STREAM, stdin=query.encode()) == (2, "", caught.value.report() + "\n")


HINT = "Hint: give a file with a query, '-' for standard input, or the query itself in quotes.\n"

MISTAKES: Mistakes = {
    "no such file": (
        ["explain", "nothing.sql"],
        "UsageError: cannot read the query 'nothing.sql': No such file or directory\n" + HINT,
    ),
    "a folder": (["explain", "/"], "UsageError: cannot read the query '/': Is a directory\n" + HINT),
    "not an assignment": (
        ["explain", QUERY, "--stream=A"],
        "UsageError: --stream takes NAME=VALUE, not 'A'\n",
    ),
    "neither a file nor a schema": (
        ["explain", QUERY, "--stream=A=nothing.parquet"],
        "UsageError: 'nothing.parquet' is neither a file nor a schema\n"
        "Hint: write a schema as 'location STRING, ts TIMESTAMP'.\n",
    ),
    "unknown type": (
        ["explain", QUERY, "--table=A=a FOO"],
        "UsageError: unknown type 'FOO' of column 'a'\nHint: the types are BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, "
        "FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, DECIMAL(p, s).\n",
    ),
    "time of a stream that is not there": (
        ["explain", QUERY, STREAM, "--time=B=ts"],
        "UsageError: --time names 'B', but there is no such stream\nHint: add it with --stream.\n",
    ),
    "time that is no column": (
        ["explain", QUERY, STREAM, "--time=A=tss"],
        "UsageError: stream 'A' has no column 'tss' for its event time\n"
        "Hint: did you mean 'ts'? It has: location, ts, celsius.\n",
    ),
    "unknown stage": (
        ["explain", QUERY, STREAM, "--stage=logic"],
        "UsageError: unknown stage 'logic'\n",
    ),
    "two stages": (
        ["explain", QUERY, STREAM, "--windows", "--stage=physical"],
        "UsageError: --windows is --stage windows\nHint: give one of them.\n",
    ),
    "two pages": (
        ["explain", QUERY, STREAM, "--html=page.html", "--analyze"],
        "UsageError: --stage, --html and --analyze show different things\nHint: give one of them.\n",
    ),
    "a page as JSON": (
        ["explain", QUERY, STREAM, "--html=page.html", "--json"],
        "UsageError: --html writes a page and --json prints JSON\nHint: give one of them.\n",
    ),
    "a page where none can be": (
        ["explain", QUERY, STREAM, "--html=/nowhere/page.html"],
        "UsageError: cannot write '/nowhere/page.html': No such file or directory\n",
    ),
    "nothing to measure": (
        ["explain", QUERY, STREAM, "--analyze"],
        "UsageError: --analyze runs the query, but 'A' has only a schema and no rows\n"
        "Hint: give a Parquet file or folder: A=PATH.\n",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(run: Run, name: str) -> None:
    arguments, error = MISTAKES[name]
    check_refused(run(*arguments), error)


def test_files_that_are_not_what_they_should_be(run: Run, tmp_path: Path) -> None:
    binary = tmp_path / "query.sql"
    binary.write_bytes(b"\xff\xfe")
    assert run("explain", binary) == (2, "", f"UsageError: the query '{binary}' is not text in UTF-8\n")
    assert run("explain", "-", stdin=b"\xff") == (2, "", "UsageError: the query '-' is not text in UTF-8\n")
    error = f"UsageError: cannot read the columns of '{binary}': it is not a Parquet file\n"
    assert run("explain", QUERY, f"--stream=A={binary}") == (2, "", error)
    error = f"UsageError: the folder '{tmp_path}' contains no Parquet file\n"
    assert run("explain", QUERY, f"--stream=A={tmp_path}") == (2, "", error)
