"""Rows that windows count are numbered first; beside that the nearest queries whose rows are not."""

import pytest

from joinfold.physical.choice import NO_CHOICE
from joinfold.physical.stage import NumberRows
from joinfold.planner.passes.number_rows import number_rows
from tests.planner.known import (
    BY_ROWS,
    LAST,
    ROWS,
    WINDOW,
    context,
    joined,
)


@pytest.mark.parametrize(
    ("a", "b", "streams"),
    [(ROWS, WINDOW, (0,)), (WINDOW, BY_ROWS, (1,)), (ROWS, BY_ROWS, (0, 1))],
)
def test_rows_that_are_counted_are_numbered_first(a: str, b: str, streams: tuple[int, ...]) -> None:
    plan = joined(a, b)
    after = number_rows(plan, context())
    assert after.stages == (NumberRows(streams), *plan.stages)
    assert after.choices == (NO_CHOICE, *plan.choices)


@pytest.mark.parametrize(
    ("a", "b", "tail"),
    [
        (WINDOW, WINDOW, ""),
        (LAST, WINDOW, ""),  # each bucket counts the rows of its own keys
        ("[ROWS 9]", "[9 SECOND]", "EMIT ON ARRIVAL"),  # every bucket goes through all rows anyhow
    ],
)
def test_other_rows_are_not(a: str, b: str, tail: str) -> None:
    plan = joined(a, b, tail)
    assert number_rows(plan, context()) is plan
