"""Warnings about queries, and the nearest queries without a warning."""

import pytest

from joinfold import Session


@pytest.mark.parametrize(
    ("written", "warning"),
    [
        (
            "smoke [1 MINUTE SLIDE 5 MINUTE]",
            "holds 1 MINUTE and slides by 5 MINUTE: rows fall between windows",
        ),
        ("smoke [5 MINUTE SLIDE 5 MINUTE]", None),
        (
            "smoke [ROWS 2 SLIDE 3] SYNC ON WINDOW ID",
            "holds 2 ROWS and slides by 3 ROWS: rows fall between windows",
        ),
        ("smoke [ROWS 3 SLIDE 3] SYNC ON WINDOW ID", None),
        ("tick [2 MICROSECOND SLIDE 6 MICROSECOND]", "holds 2 and slides by 6: rows fall between windows"),
        ("smoke [RANGE 1 MINUTE SLIDE 100 ROWS]", None),  # the rows tell
    ],
)
def test_rows_between_two_windows(written: str, warning: str | None) -> None:
    session = Session()
    session.stream("smoke", "location STRING, ts TIMESTAMP", time="ts")
    session.stream("tick", "location STRING, seq INT", time="seq")
    query = session.sql(f"SELECT COUNT(*) AS n FROM {written}")
    alias = written.split()[0]
    assert query.warnings == (() if warning is None else (f"the window of '{alias}' {warning}",))
    for stage in ("logical", "windows", "physical"):
        first = query.explain(stage).splitlines()[0]
        assert (first == f"Warning: {query.warnings[0]}") if warning else not first.startswith("Warning")
        assert not query.explain(stage, warn=False).startswith("Warning")
