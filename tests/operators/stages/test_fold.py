"""Cells that enter and leave together, as when they are of a microsecond, are answered as if by themselves."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators.cells import Cells
from joinfold.operators.windows.fused import FusedWindows
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import plan_query
from joinfold.reference.streaming import stream
from tests import refusals
from tests.operators.runs import Data, answer, answers_when_made_anew, check_batches, feed, plan_of
from tests.strategies import assert_same_answers

SCHEMA = "k INT, g INT, v BIGINT, d DOUBLE"

row = st.fixed_dictionaries(
    {
        "k": st.integers(0, 1),
        "g": st.integers(0, 1),
        "v": st.integers(-2, 3),
        "d": st.sampled_from([-1e18, 0.25, 1.0, 1e18]),
    }
)
WINDOWS = {
    "EMIT ON TRIGGER": [
        ("[RANGE 9 MICROSECOND]", "[RANGE 4 MICROSECOND]"),
        ("[UNBOUNDED]", "[6 MICROSECOND SLIDE 3 MICROSECOND]"),
        ("[RANGE 9 MICROSECOND]", "[UNBOUNDED]"),
    ],
    "": [
        ("[UNBOUNDED]", "[ROWS 4 SLIDE 2]"),
        ("[RANGE 9 MICROSECOND]", "[ROWS 3]"),
        ("[RANGE 9 MICROSECOND]", "[RANGE 6 MICROSECOND SLIDE 4 ROWS]"),
        ("[ROWS 5 SLIDE 2]", "[RANGE 5 MICROSECOND]"),
        ("[12 MICROSECOND SLIDE 3 MICROSECOND]", "[6 MICROSECOND SLIDE 2 MICROSECOND]"),
    ],
    "SYNC ON WINDOW ID": [
        ("[ROWS 4 SLIDE 1]", "[6 MICROSECOND SLIDE 2 MICROSECOND]"),
        ("[ROWS 4 SLIDE 2]", "[ROWS 3 SLIDE 1]"),
    ],
    "SYNC ON WINDOW ID MOD 3": [("[ROWS 4 SLIDE 1]", "[6 MICROSECOND SLIDE 2 MICROSECOND]")],
}
CLAUSES = [(clause, *windows) for clause, many in WINDOWS.items() for windows in many]
PLANS = [Plan(), Plan("ic", ("a", "b"), {"a": "hash"}), Plan("ic", (), {"b": "btree"}), Plan("tc"), Plan("pc")]
SELECTS = [
    "COUNT(*) AS n, SUM(b.v) AS s, SUM(a.d) AS d",
    "MAX(b.v) AS m, MIN(a.d) AS d",
    "COUNT(*) AS n, MAX(a.v) AS m",
]


@st.composite
def streams(draw: st.DrawFn) -> list[Data]:
    """Micro-batches of many rows, some of them out of order."""
    found: list[Data] = []
    for number in range(draw(st.integers(1, 12))):
        times = st.lists(st.integers(3 * number, 3 * number + 5), max_size=8)
        found.append({name: [{"ts": ts, **draw(row)} for ts in draw(times)] for name in ("a", "b")})
    return found


@given(
    batches=streams(),
    clause=st.sampled_from(CLAUSES),
    select=st.sampled_from(SELECTS),
    where=st.sampled_from(["a.k = b.k", "a.k = b.k AND a.v <= b.v", "a.v BETWEEN b.v - 1 AND b.v"]),
    group=st.sampled_from(["", "a.g", "a.g, b.g"]),
    forced=st.sampled_from(PLANS),
    delay_us=st.sampled_from([0, 4]),
)
def test_what_enters_together_is_answered_as_if_by_itself(
    batches: list[Data],
    clause: tuple[str, str, str],
    select: str,
    where: str,
    group: str,
    forced: Plan,
    delay_us: int,
) -> None:
    """Any plan, also made anew from its entries, with runs that are put together as soon as there are two."""
    emit, left, right = clause
    shown, grouped = (f"{group.replace('a.g, b.g', 'a.g, b.g AS h')}, ", f" GROUP BY {group}") if group else ("", "")
    text = f"SELECT {shown}{select} FROM a {left}, b {right} WHERE {where}{grouped} {emit}"
    plan = refusals.planned(plan_of(text, SCHEMA, delay_us).query, text, forced)
    assert plan is not None
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Cells, "many", 2)
        check_batches(InProcess(plan, 2), batches)
        assert_same_answers(stream(plan.query, batches).answers, answers_when_made_anew(plan, batches))


def at(*times: int, k: int = 0) -> list[dict[str, Any]]:
    """Rows of a key whose values fall with time: the first that leaves is the largest."""
    return [{"ts": ts, "k": k, "g": 0, "v": -ts, "d": 0.0} for ts in times]


@pytest.mark.parametrize("forced", PLANS)
@pytest.mark.parametrize("select", ["MAX(b.v) AS m", "MAX(a.v) AS m, COUNT(*) AS n"])
def test_rows_of_a_key_that_enter_together_leave_one_by_one(forced: Plan, select: str) -> None:
    """Of a key and group each input has several rows, and time stops between any two of them as they leave."""
    text = f"SELECT {select} FROM a [RANGE 6 MICROSECOND], b [RANGE 9 MICROSECOND] WHERE a.k = b.k EMIT ON TRIGGER"
    if forced.method == "ic":
        text = text.replace("MAX", "SUM")  # IC cannot take back an extreme
    first = {"a": [*at(0, 2, 3), *at(5, k=1)], "b": [*at(1, 2, 4, 0), *at(5, k=1)]}
    later: list[Data] = [{"a": at(ts, k=1), "b": at(ts, k=1)} for ts in range(6, 16)]
    found = check_batches(InProcess(plan_query(plan_of(text, SCHEMA).query, forced)), [first, *later])
    assert len(found) == 11


@pytest.mark.parametrize(
    ("select", "windows", "emit"),
    [
        ("COUNT(*) AS n", "a [RANGE 400 MICROSECOND], b [RANGE 300 MICROSECOND]", "EMIT ON TRIGGER"),
        ("MAX(b.v) AS n", "a [RANGE 400 MICROSECOND], b [RANGE 300 MICROSECOND]", "EMIT ON TRIGGER"),
        ("COUNT(*) AS n", "a [RANGE 400 MICROSECOND], b [RANGE 300 MICROSECOND]", "EMIT EVERY 100 MICROSECONDS"),
        ("COUNT(*) AS n", "a [UNBOUNDED], b [RANGE 400 MICROSECOND SLIDE 100 ROWS]", ""),
        ("COUNT(*) AS n", "a [UNBOUNDED], b [ROWS 400 SLIDE 100]", ""),
    ],
)
def test_a_move_is_one_step_for_each_window(
    select: str, windows: str, emit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand cells enter in ten moves: ten times at most for each window, and so they leave."""
    calls: Counter[str] = Counter()

    def counted(name: str) -> Callable[..., None]:
        method = getattr(FusedWindows, name)

        def call(*arguments: Any) -> None:
            calls[name] += 1
            method(*arguments)

        return call

    for name in ("enter", "leave"):
        monkeypatch.setattr(FusedWindows, name, counted(name))
    machine = InProcess(plan_of(f"SELECT {select} FROM {windows} WHERE a.k = b.k {emit}", SCHEMA))
    for start in range(0, 1000, 100):
        rows = [{"ts": ts, "k": ts % 3, "g": 0, "v": ts, "d": 0.0} for ts in range(start, start + 100)]
        feed(machine, {"a": rows, "b": rows})
        assert answer(machine) or start == 0
    assert 15 <= calls["enter"] <= 24 and calls["leave"] <= 24


def test_a_bucket_without_rows_lacks_no_groups() -> None:
    text = "SELECT a.k, COUNT(*) AS n FROM a [UNBOUNDED], b [UNBOUNDED] WHERE a.k = b.k GROUP BY a.k"
    machine = InProcess(plan_of(f"{text} EMIT EVERY 4 MICROSECONDS SHED TO HOLD 2 ROWS", SCHEMA), 3)
    feed(machine, {"a": [{"ts": 1, "k": 1, "g": 0, "v": 0, "d": 0.0}]})
    answer(machine)
    assert [bucket.missing_groups for bucket in machine.buckets] == [0, 0, 0]
