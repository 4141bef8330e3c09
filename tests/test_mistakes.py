"""Mistakes in Python and on the command line, as golden files under tests/golden/mistakes.

A case is Python code, or a command that begins with `$ `. Its report is the error or the warning that a user sees.
The code may use what `names` below has. `runtime/test_mistakes_on_spark.py` has those that need Spark.
"""

import contextlib
import io
import re
import shlex
import sys
import warnings
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import joinfold as jf
from joinfold import cli
from tests.golden_cases import Case, cases_in

ON_SPARK = "on_spark.txt"
EVERY = cases_in("mistakes")
CASES = [case for case in EVERY if case.path.name != ON_SPARK]
FOLD = "SELECT COUNT(*) AS n FROM a [TUMBLE 1 MINUTE]"


def session() -> jf.Session:
    """A session with two streams and a relation."""
    made = jf.Session()
    made.stream("a", "k INT, ts TIMESTAMP, v DOUBLE, name STRING", time="ts")
    made.stream("b", "k INT, ts TIMESTAMP, price DECIMAL(10, 2)", time="ts")
    made.table("t", "k INT, city STRING")
    return made


@cache
def unchanged() -> dict[str, Any]:
    """What no case changes: modules, rows, and queries."""
    times = pa.array([datetime(2025, 1, 1, tzinfo=UTC)] * 2, pa.timestamp("us", "UTC"))
    own = session()
    return {
        "jf": jf,
        "pa": pa,
        "pd": pd,
        "np": np,
        "datetime": datetime,
        "timedelta": timedelta,
        "Path": Path,
        "rows": pa.table({"k": [1, 2], "ts": times}),
        "full": pa.table({"k": [1, 2], "ts": times, "v": [1.0, 2.0], "name": ["x", "y"]}),
        "query": own.sql(FOLD),
        "a": own["a"].window("1 hour", slide="1 minute"),
        "b": own["b"].window("1 hour", slide="1 minute"),
    }


def names() -> dict[str, Any]:
    """What the code of a case may use."""
    return unchanged() | {"session": session()}


def report_of(text: str, known: dict[str, Any]) -> str:
    """What a user sees of a mistake: warnings, and the error."""
    if text.startswith("$ "):
        return _of_command(text.removeprefix("$ "))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(text, "<case>", "exec"), known)
            told = []
        except jf.JoinfoldError as error:
            told = [error.report()]
    return "\n".join([*(f"{own.category.__name__}: {own.message}" for own in caught), *told])


def _of_command(command: str) -> str:
    errors = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        patch.setenv("COLUMNS", "80")
        patch.setattr(sys, "argv", shlex.split(command))
        with contextlib.redirect_stderr(errors), contextlib.suppress(SystemExit):
            cli.main()
    return errors.getvalue().rstrip("\n")


def check_for_people(report: str) -> None:
    """A report has a message of one sentence without a full stop, and hints that are sentences; no internals."""
    assert report, "nothing was reported"
    assert not re.search(r"sqlglot|<class|<function|Traceback|joinfold\.\w+\.\w+|py4j|JVM|0x[0-9a-f]{6}", report)
    lines = report.split("\n")
    for line in lines:
        if re.match(r"\w+Error: ", line):
            assert not line.endswith("."), line
        if line.startswith("Hint: "):
            assert line.endswith((".", "?", "…", ":")), line
    shows_place = any(line.strip() and set(line.strip()) == {"^"} for line in lines)
    assert shows_place or "Hint: " in report or "Warning: " in report, "it says neither where nor what to do"


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake is found before Spark starts."""

    def refuse(**_: object) -> None:
        raise AssertionError("this starts Spark")

    monkeypatch.setattr("joinfold.runtime.sessions.local.start_local_spark", refuse)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_mistake_explains_itself(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = report_of(case.text, names())
    case.check(report)
    check_for_people(report)


def test_there_are_many_and_each_is_there_once() -> None:
    assert len({(case.path, case.title) for case in EVERY}) == len(EVERY)
    assert len({case.text for case in EVERY}) == len(EVERY) >= 200
