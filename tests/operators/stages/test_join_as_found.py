"""Plain joins: each combination goes out once, with the micro-batch that brings its last row, and then is forgotten."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators.stages.join_as_found import AsFoundJoin
from joinfold.operators.windows import live
from joinfold.physical.stored import EntriesOf
from tests.operators.runs import Data, Row, answer, answers_when_made_anew, feed, plan_of

A_US, B_US = 6, 4
PLAN = plan_of(
    f"SELECT a.v, b.v AS w FROM a [{A_US} MICROSECOND], b [{B_US} MICROSECOND] WHERE a.k = b.k", "k INT, v INT", 20
)
rows = st.lists(
    st.fixed_dictionaries({"ts": st.integers(0, 14), "k": st.integers(0, 1), "v": st.integers(0, 2)}), max_size=4
)
micro_batches = st.lists(st.fixed_dictionaries({"a": rows, "b": rows}), max_size=5)


def meeting(left: Row, right: Row) -> int | None:
    """The first instant at which both are in their windows: stays are (ts, ts + size]."""
    instant = max(left["ts"], right["ts"]) + 1
    return instant if left["k"] == right["k"] and instant <= min(left["ts"] + A_US, right["ts"] + B_US) else None


def combinations(lefts: list[Row], rights: list[Row]) -> Counter[tuple[Any, ...]]:
    return Counter(
        (instant, left["v"], right["v"]) for left in lefts for right in rights if (instant := meeting(left, right))
    )


@given(batches=micro_batches)
def test_combinations_go_out_with_their_last_row(batches: list[Data]) -> None:
    """The watermark is far behind: nothing waits for it, and nothing is late."""
    machine, seen = InProcess(PLAN, 2), {"a": list[Row](), "b": list[Row]()}
    gone_out = combinations([], [])
    for batch in batches:
        feed(machine, batch)
        seen = {name: seen[name] + batch[name] for name in "ab"}
        now = combinations(seen["a"], seen["b"])
        assert Counter(answer(machine)) == now - gone_out
        gone_out = now
    assert Counter(answers_when_made_anew(PLAN, batches)) == gone_out


def row(ts: int, k: int = 0) -> Row:
    return {"ts": ts, "k": k, "v": ts}


def test_the_drawing() -> None:
    """A row of b meets the one of a before it when it enters, and one after it when that does."""
    text = f"SELECT a.v, b.v AS w FROM a [{A_US} MICROSECOND], b [{A_US} MICROSECOND] WHERE a.k = b.k"
    machine = InProcess(plan_of(text, "k INT, v INT"))
    feed(machine, {"a": [row(0), row(9)], "b": [row(4)]})
    assert sorted(answer(machine)) == [(5, 0, 4), (10, 9, 4)]


def test_what_has_left_by_the_watermark_is_forgotten() -> None:
    plan = plan_of(
        f"SELECT a.v, b.v AS w FROM a [{A_US} MICROSECOND], b [{B_US} MICROSECOND] WHERE a.k = b.k", "k INT, v INT"
    )
    machine = InProcess(plan)
    (bucket,) = machine.buckets
    assert isinstance(bucket, AsFoundJoin)
    held = []
    for ts in range(0, 60, 3):
        feed(machine, {"a": [row(ts)], "b": [row(ts)]})
        answer(machine)
        held.append((bucket.entries_held, bucket.cells_held))
    assert max(held) == (4, 4)
    answered = bucket.position.answered
    assert answered == 57
    for name, size in (("a", A_US), ("b", B_US)):
        last = answered - size
        assert [bucket.is_done(EntriesOf(name), cell) for cell in (last, last + 1)] == [True, False]


@pytest.mark.parametrize("many", [4, 2**16])
def test_ids_that_nobody_uses_are_given_anew(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """New keys in every batch; what was touched before counts on."""
    monkeypatch.setattr("joinfold.operators.stages.join_as_found.MANY", many)
    assert live.MANY == 2**16
    plan = plan_of("SELECT a.v, b.v AS w FROM a [5 MICROSECOND], b [5 MICROSECOND] WHERE a.k = b.k", "k INT, v INT")
    machine, found, touched = InProcess(plan), list[Any](), list[int]()
    (bucket,) = machine.buckets
    assert isinstance(bucket, AsFoundJoin)
    for ts in range(0, 80, 2):
        feed(machine, {"a": [row(ts, ts)], "b": [row(ts, ts)]})
        found += answer(machine)
        touched.append(bucket.touched)
    assert found == [(ts + 1, ts, ts) for ts in range(0, 80, 2)]
    assert touched == sorted(touched)
    assert (bucket.vocabulary.given < 30) == (many == 4)
