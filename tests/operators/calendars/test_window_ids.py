"""Du's experiment, in process: a window of rows and one of time, joined by their numbers, one stream late."""

from typing import Any

import pytest

from joinfold.inprocess import InProcess
from joinfold.reference import duck
from tests.operators.runs import Answers, Data, answer, check_stream, feed, plan_of
from tests.strategies import assert_same_answers

SECOND = 1_000_000
MINUTE = 60 * SECOND
MINUTES = 12
ROWS_PER_MINUTE = 1_000
TEXT = (
    "SELECT COUNT(*) AS n, SUM(a.v) AS x, MAX(b.v) AS y FROM a {0}, b [5 MINUTE SLIDE 1 MINUTE] "
    "WHERE a.k = b.k SYNC ON WINDOW ID"
)
BY_ROWS, BY_TIME = TEXT.format("[ROWS 5000 SLIDE 1000]"), TEXT.format("[5 MINUTE SLIDE 1 MINUTE]")
SCHEMA = "k INT, v INT"


def evenly(rows_per_minute: int, start: int, keys: int) -> list[dict[str, Any]]:
    """Rows of some minutes, evenly spaced."""
    apart = MINUTE // rows_per_minute
    return [
        {"ts": start + number * apart, "k": number * number % keys, "v": number % 97}
        for number in range(MINUTES * rows_per_minute)
    ]


def streams(late_minutes: int) -> Data:
    """1,000 rows a minute, and 2 rows a second that begin so much later."""
    return {"a": evenly(ROWS_PER_MINUTE, 0, 101), "b": evenly(120, late_minutes * MINUTE, 101)}


def in_batches(text: str, data: Data) -> Answers:
    """The answers of a run whose rows come minute by minute, as they happen."""
    machine, found = InProcess(plan_of(text, SCHEMA), 2), []
    last = max(rows[-1]["ts"] for rows in data.values())
    for start in range(0, last + 1, MINUTE):
        due = {name: [row for row in rows if start <= row["ts"] < start + MINUTE] for name, rows in data.items()}
        feed(machine, due)
        found += answer(machine)
    assert set(machine.late.values()) == {0}
    return found + answer(machine, to_the_end=True)


@pytest.mark.parametrize("late_minutes", [0, 10])
def test_result_windows_are_those_of_the_definition(late_minutes: int) -> None:
    data = streams(late_minutes)
    found = in_batches(BY_ROWS, data)
    wids = [wid for wid, *_ in found]
    assert wids == list(range(MINUTES - 5 + 1))  # a window of rows is always full
    assert_same_answers(duck.answers(plan_of(BY_ROWS, SCHEMA).query, data), found)
    first = late_minutes * MINUTE
    assert [row[1:5] for row in found[:2]] == [
        (1, 5000, first, first + 5 * MINUTE),
        (1001, 6000, first + MINUTE, first + 6 * MINUTE),
    ]


def test_output_depends_neither_on_the_kind_of_a_window_nor_on_when_a_stream_begins() -> None:
    """The minutes of a stream are its blocks of 1,000 rows, so the sub-windows are the same."""
    counts = [
        {wid: rest for wid, _, _, _, _, *rest in in_batches(text, streams(late_minutes))}
        for text in (BY_ROWS, BY_TIME)
        for late_minutes in (0, 10)
    ]
    full = counts[0].keys()
    assert len(full) == MINUTES - 5 + 1 and all(n > 0 for n, *_ in counts[0].values())
    assert [{wid: own[wid] for wid in full} for own in counts] == [counts[0]] * 4


@pytest.mark.parametrize("method", ["ic", "tc", "pc"])
@pytest.mark.parametrize("modulus", [1, 2, 3])
def test_what_the_first_window_has_again_counts_once(method: str, modulus: int) -> None:
    """Windows of four rows that slide by one: the last of those that come again and the first have rows in common."""
    rows = [{"ts": ts, "k": 1, "v": ts} for ts in range(14)]
    text = (
        "SELECT COUNT(*) AS n, SUM(b.v) AS s FROM a [ROWS 4 SLIDE 1], b [6 MICROSECOND SLIDE 2 MICROSECOND] "
        f"WHERE a.k = b.k SYNC ON WINDOW ID MOD {modulus} OPTION (method = {method})"
    )
    batches: list[Data] = [{"a": rows[:7], "b": rows[:7]}, {"a": rows[7:], "b": rows[7:]}]
    assert len(check_stream(text, SCHEMA, batches)) == 4
