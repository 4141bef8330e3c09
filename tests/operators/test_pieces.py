"""Answers in pieces: many pieces give what one piece gives, which is the definition."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators.emitted import Emitted
from joinfold.operators.stages.fold import Fold
from joinfold.planner.planned_query import PlannedQuery
from joinfold.reference import naive
from joinfold.reference.streaming import stream
from tests import refusals
from tests.operators.chains import chain_of
from tests.operators.runs import (
    Answers,
    Data,
    answer,
    answers_when_made_anew,
    check_batches,
    feed,
    in_pieces,
    plan_of,
    rows,
    tables_of,
)
from tests.operators.test_chain import trees
from tests.operators.test_machine import scattered
from tests.strategies import Case, assert_same_answers, cases

SIZES = (1, 2, 7)
some_case = cases(inputs=(1, 3), most_rows=6)
sizes = st.sampled_from(SIZES)


def planned(case: Case, instants: int) -> PlannedQuery:
    plan = refusals.planned(case.bind(), case.text)
    assume(plan is not None)
    assert plan is not None
    return in_pieces(plan, instants)


@given(case=some_case, instants=sizes, buckets=st.integers(1, 3))
def test_bounded_runs_answer_as_defined(case: Case, instants: int, buckets: int) -> None:
    plan = planned(case, instants)
    machine = InProcess(plan, buckets)
    feed(machine, case.data)
    assert_same_answers(naive.answers(plan.query, case.data), answer(machine, to_the_end=True))


@given(case=st.one_of(some_case, trees), instants=sizes, buckets=st.integers(1, 3), data=st.data())
def test_streaming_runs_answer_as_defined(case: Case, instants: int, buckets: int, data: st.DataObject) -> None:
    plan = planned(case, instants)
    check_batches(InProcess(plan, buckets), scattered(case, data))


@given(case=st.one_of(some_case, trees), instants=sizes, data=st.data())
def test_a_bucket_made_anew_goes_on_as_before(case: Case, instants: int, data: st.DataObject) -> None:
    plan, batches = planned(case, instants), scattered(case, data)
    assert_same_answers(stream(plan.query, batches).answers, answers_when_made_anew(plan, batches))


JOIN = "FROM a [6 MICROSECOND SLIDE 1 MICROSECOND], b [9 MICROSECOND SLIDE 3 MICROSECOND] WHERE a.k = b.k"
TEXTS = (
    f"SELECT a.k, COUNT(*) AS n, MAX(b.v) AS most {JOIN} GROUP BY a.k",
    f"SELECT a.k, COUNT(*) AS n, SUM(b.v) AS s {JOIN} GROUP BY a.k CHANGES",
    f"SELECT COUNT(*) AS n {JOIN}",
    f"SELECT COUNT(*) AS n {JOIN} CHANGES",
    f"SELECT a.k, COUNT(*) AS n {JOIN} GROUP BY a.k CHANGES SYNC ON WINDOW ID",
    f"SELECT a.k, a.v, b.v AS w {JOIN} SYNC ON WINDOW ID",
    "SELECT a.k, COUNT(*) AS n FROM a [4 MICROSECOND], b [ROWS 3] WHERE a.k = b.k GROUP BY a.k CHANGES EMIT ON ARRIVAL",
    "SELECT a.k, a.v, b.v AS w FROM a [ROWS 3], b [4 MICROSECOND] WHERE a.k = b.k",
    f"SELECT a.k, COUNT(*) AS n, SUM(b.v) AS s {JOIN} GROUP BY a.k CHANGES SHED TO HOLD 14 ROWS SEED 3",
    f"SELECT COUNT(*) AS n {JOIN} AND a.v < b.v SHED TO HOLD 14 ROWS SEED 3",
    "SELECT a.k, COUNT(*) AS n FROM a [4 MICROSECOND], b [ROWS 3] WHERE a.k = b.k GROUP BY a.k CHANGES EMIT ON ARRIVAL "
    "SHED TO HOLD 4 ROWS SEED 3",
)


def batches_with_a_gap() -> list[Data]:
    """A row of each key and second, then nothing for a while, then rows that let the query catch up."""
    early = [{"ts": ts, "k": ts % 3, "v": ts * 7 % 5} for ts in range(12)]
    late = [{"ts": 400 + ts, "k": ts % 2, "v": ts} for ts in range(3)]
    return [{"a": early[:5], "b": early[:5]}, {"a": early[5:], "b": early[5:]}, {"a": late, "b": late}]


def answers_in(plan: PlannedQuery, batches: list[Data]) -> Answers:
    machine, found = InProcess(plan, 2), Answers()
    for batch in batches:
        feed(machine, batch)
        found += sorted(answer(machine), key=str)
    return found


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("instants", SIZES)
def test_many_pieces_are_one_piece(text: str, instants: int) -> None:
    plan, batches = plan_of(text, "k INT, v INT"), batches_with_a_gap()
    whole = answers_in(plan, batches)
    assert answers_in(in_pieces(plan, instants), batches) == whole and len(whole) > 7


def test_a_chain_passes_on_what_changed_and_answers_in_pieces() -> None:
    text = (
        "SELECT a.k, COUNT(*) AS n FROM a [6 MICROSECOND SLIDE 2 MICROSECOND], b [4 MICROSECOND SLIDE 2 MICROSECOND], "
        "c [UNBOUNDED] WHERE a.k = b.k AND b.j = c.j GROUP BY a.k CHANGES"
    )
    plan = chain_of(text, "k INT, j INT", "abc")
    own = [{"ts": ts, "k": ts % 2, "j": ts % 3} for ts in range(10)]
    later = [{"ts": 50, "k": 0, "j": 0}]
    batches = [dict.fromkeys("abc", own), dict.fromkeys("abc", later)]
    for instants in SIZES:
        check_batches(InProcess(in_pieces(plan, instants), 3), batches)


def emitted_pieces(plan: PlannedQuery, data: Data) -> list[list[Emitted]]:
    """The pieces of each bucket."""
    machine = InProcess(plan, 2)
    machine.feed(tables_of(plan, data))
    return [list(bucket.answer(to_the_end=True)) for bucket in machine.buckets]


@pytest.mark.parametrize("changes", ["", " CHANGES"])
def test_pieces_are_bounded_and_the_same_in_all_buckets(changes: str) -> None:
    """For CHANGES, each piece begins with the instant before it."""
    text = f"SELECT a.k, COUNT(*) AS n {JOIN} GROUP BY a.k{changes}"
    data = {"a": rows(range(20), "v", k=1), "b": rows(range(20), "v", k=1)}
    first, second = emitted_pieces(in_pieces(plan_of(text, "k INT, v INT"), 7), data)
    assert [piece.numbers for piece in first] == [piece.numbers for piece in second]
    assert [len(piece.numbers) for piece in first] == [7, 7, 7, 7, 2]
    before = [None, *(piece.numbers[-1] for piece in first[:-1])]
    assert [piece.before for piece in first] == (before if changes else [None] * 5)


@pytest.mark.parametrize("changes", ["", " CHANGES"])
@pytest.mark.parametrize("window", ["[4 MICROSECOND SLIDE 2 MICROSECOND]", "[TUMBLE 2 MICROSECOND]"])
def test_result_windows_without_rows_cost_no_move(window: str, changes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each bucket moves where it has rows, where it loses them, and to the end of each piece."""
    moved: list[int] = []
    move = Fold.move
    monkeypatch.setattr(Fold, "move", lambda fold, wid: (moved.append(wid), move(fold, wid))[1])
    text = (
        f"SELECT a.k, COUNT(*) AS n FROM a {window}, b {window} WHERE a.k = b.k GROUP BY a.k{changes} SYNC ON WINDOW ID"
    )
    plan = in_pieces(plan_of(text, "k INT, v INT"), 500)
    own = [{"ts": ts, "k": ts % 2, "v": 0} for ts in (0, 1, 3, 4_001, 4_002, 9_000)]
    machine = InProcess(plan, 2)
    feed(machine, {"a": own, "b": own})
    found = answer(machine, to_the_end=True)
    assert_same_answers(naive.answers(plan.query, {"a": own, "b": own}), found)
    assert found and len(moved) < 2 * (10 + 4 * 4)
