"""Warnings about queries, and similar queries without a warning."""

import pytest

from joinfold import Session


@pytest.mark.parametrize(
    ("written", "warning"),
    [
        (
            "smoke [1 MINUTE SLIDE 5 MINUTE]",
            "holds 1 MINUTE but slides by 5 MINUTE, so some rows are in no window",
        ),
        ("smoke [5 MINUTE SLIDE 5 MINUTE]", None),
        (
            "smoke [ROWS 2 SLIDE 3] SYNC ON WINDOW ID",
            "holds 2 ROWS but slides by 3 ROWS, so some rows are in no window",
        ),
        ("smoke [ROWS 3 SLIDE 3] SYNC ON WINDOW ID", None),
        ("tick [2 MICROSECOND SLIDE 6 MICROSECOND]", "holds 2 but slides by 6, so some rows are in no window"),
        ("smoke [RANGE 1 MINUTE SLIDE 100 ROWS]", None),  # it depends on the rows
    ],
)
def test_rows_between_two_windows(written: str, warning: str | None) -> None:
    session = Session()
    session.stream("smoke", "location STRING, ts TIMESTAMP", time="ts")
    session.stream("tick", "location STRING, seq INT", time="seq", unit="ticks")
    query = session.sql(f"SELECT COUNT(*) AS n FROM {written}")
    alias = written.split()[0]
    assert query.warnings == (() if warning is None else (f"the window of '{alias}' {warning}",))
    for stage in ("logical", "windows", "physical"):
        first = query.explain(stage).splitlines()[0]
        assert (first == f"Warning: {query.warnings[0]}") if warning else not first.startswith("Warning")
        assert not query.explain(stage, warn=False).startswith("Warning")
