"""Answers are compared in any order, on the instants that both engines have reached. No answers are never equal."""

import pyarrow as pa
import pytest

from joinfold_bench.data import R0
from joinfold_bench.engines.answers import compare, last_instant
from joinfold_bench.engines.measurements import Measurement, Run
from joinfold_bench.engines.rates import Rate

Row = tuple[int, int, int, int]
ROWS: list[Row] = [(10, 0, 1, 1), (10, 1, 2, 2), (20, 0, 3, 3), (30, 0, 4, 4)]


def answered(*tables: list[Row]) -> Measurement:
    made = []
    for rows in tables:
        instant, g, n, s = zip(*rows, strict=True) if rows else ((), (), (), ())
        times = pa.array(instant, pa.timestamp("us", tz="UTC"))
        made.append(pa.table({"instant": times, "g": g, "n": n, "s": pa.array(s, pa.int64())}))
    return Measurement("engine", R0, 10, answers=made)


def test_order_and_later_instants_do_not_matter() -> None:
    check = compare(answered(ROWS), answered(ROWS[2::-1]))
    assert (check.verdict, check.instants, check.rows) == ("equal", 2, 3)


@pytest.mark.parametrize(
    "other",
    [
        [(10, 0, 1, 1), (10, 1, 2, 9), *ROWS[2:]],  # a value differs
        [*ROWS, ROWS[0]],  # a row occurs twice
        ROWS[1:],  # a row is missing
        [*ROWS[:2], ROWS[3]],  # an instant is missing between others
        [],
    ],
)
def test_differences_are_found(other: list[Row]) -> None:
    assert compare(answered(ROWS), answered(other)).verdict == "different"
    assert compare(answered(other), answered(ROWS)).verdict == "different"
    assert compare(answered(ROWS, other), answered(ROWS)).verdict == "different"


def test_answers_are_compared_at_some_instants_only() -> None:
    theirs = answered([ROWS[2]])
    assert compare(answered(ROWS), theirs, at_theirs=True).verdict == "equal"
    assert compare(answered(ROWS), theirs).verdict == "different"
    assert compare(answered(ROWS[:2]), theirs, at_theirs=True).verdict == "different"


def test_an_engine_that_was_stopped_before_it_answered() -> None:
    theirs = answered([])
    theirs.runs.append(Run(Rate(1.0, "cap"), 60.0, capped=True))
    check = compare(answered(ROWS), theirs)
    assert (check.verdict, check.rows) == ("stopped before an answer", 0)


def test_groups_may_be_texts_and_values_fractions() -> None:
    def averages(*values: float, order: tuple[int, ...] = (0, 1)) -> Measurement:
        times = pa.array([10, 10], pa.timestamp("us", tz="UTC"))
        rows = pa.table({"instant": times, "state": ["AZ", "WY"], "a": list(values)}).take(list(order))
        return Measurement("engine", R0, 10, answers=[rows])

    assert compare(averages(0.1, 0.2), averages(0.2, 0.1, order=(1, 0))).verdict == "different"
    assert compare(averages(0.1, 0.2), averages(0.1, 0.2, order=(1, 0))).verdict == "equal"
    assert compare(averages(0.1, 0.3), averages(0.1, 0.1 + 0.2)).verdict == "different"


def test_last_instant() -> None:
    assert last_instant(answered(ROWS).answers[0]) == 30
