"""`joinfold run`: refusals and warnings before Spark starts. `live/test_running.py` runs it for real."""

from pathlib import Path

import pytest

from joinfold import Session
from tests.cli.commands import QUERY, Mistakes, Run, check_refused

MISTAKES: Mistakes = {
    "unknown sink": (
        ["run", QUERY, "--stream=A=rate:1", "--sink=kafka"],
        "UsageError: unknown sink 'kafka'\nHint: the sinks are: console, parquet, memory.\n",
    ),
    "unknown format": (
        ["run", QUERY, "--stream=A=rate:1", "--format=xml"],
        "UsageError: unknown format 'xml'\nHint: the formats are: table, csv, json.\n",
    ),
    "two formats": (
        ["run", QUERY, "--stream=A=rate:1", "--format=csv", "--json"],
        "UsageError: --json is --format json\nHint: give one of them.\n",
    ),
    "a sink without its folder": (
        ["run", QUERY, "--stream=A=rate:1", "--sink=parquet"],
        "UsageError: --sink parquet and its folder --output belong together\nHint: give both or neither.\n",
    ),
    "a stream that is nowhere": (
        ["run", QUERY, "--stream=A=nowhere"],
        "UsageError: stream 'A': there is no folder 'nowhere'\nHint: a stream is a folder, parquet:PATH, csv:PATH, ",
    ),
    "schema of a stream that is not there": (
        ["run", QUERY, "--stream=A=rate:1", "--schema=B=k INT"],
        "UsageError: --schema names 'B', which is neither a stream nor a table\n"
        "Hint: add it with --stream or --table.\n",
    ),
    "delay of a stream that is not there": (
        ["run", QUERY, "--stream=A=rate:1", "--delay=B=1 second"],
        "UsageError: --delay names 'B', but there is no such stream\nHint: add it with --stream.\n",
    ),
    "two triggers": (
        ["run", QUERY, "--stream=A=rate:1", "--once", "--trigger=5 seconds"],
        "UsageError: --once is --trigger available\nHint: give one of them.\n",
    ),
    "a trigger that is no duration": (
        ["run", QUERY, "--stream=A=rate:1", "--trigger=often"],
        "UsageError: 'often' is not a duration\n",
    ),
    "a query that has no meaning, before Spark starts": (
        ["run", "SELECT COUNT(*) AS n FROM A [TUMBLE 1 MINUTE] WHERE valu > 1", "--stream=A=rate:1"],
        "QueryError: unknown column 'valu'\n",
    ),
    "a query that no engine runs, before Spark starts": (
        ["run", "SELECT COUNT(*) AS n FROM A [PARTITION BY value ROWS 5] EMIT ON ARRIVAL", "--stream=A=rate:1"],
        "QueryError: no engine runs PARTITION BY windows with EMIT ON ARRIVAL yet\n",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(run: Run, name: str) -> None:
    arguments, error = MISTAKES[name]
    check_refused(run(*arguments), error)


def test_warnings_are_on_standard_error(run: Run, tmp_path: Path) -> None:
    text = "SELECT COUNT(*) AS n FROM A [1 MINUTE SLIDE 5 MINUTE]"
    session = Session()
    session.stream("A", "location STRING, ts TIMESTAMP, celsius DOUBLE", time="ts")
    warning = f"Warning: {session.sql(text).warnings[0]}\n"
    (tmp_path / "_spark_metadata").mkdir()  # refused before Spark starts
    refused = run("run", text, "--stream=A=rate:1", "--sink=parquet", "-o", tmp_path)
    assert refused.status == 2 and refused.error.startswith(warning)


@pytest.mark.parametrize("arguments", [[], ["--safe"]])
def test_a_safe_run_asks_for_it(run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    asked: list[bool] = []
    monkeypatch.setattr("joinfold.live.run.run", lambda settings, console, line: asked.append(settings.is_safe))
    assert run("run", QUERY, "--stream=A=rate:1", *arguments).status == 0
    assert asked == [bool(arguments)]
