"""Entries in the order of their cells, charges in that of leaving, against lists; and cells that enter together."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators.cells import Cells
from joinfold.operators.entries import Entries
from joinfold.operators.fused import Fused
from joinfold.operators.members import Members
from joinfold.operators.methods.tc import Charges
from joinfold.operators.timeline import BEGINNING, END
from joinfold.operators.worth import Worth
from joinfold.planner.folding import plan_fold
from joinfold.planner.forcing import Plan
from joinfold.reference.streaming import stream
from tests import refusals
from tests.operators.runs import Data, answer, answers_when_made_anew, check_batches, feed, plan_of
from tests.strategies import assert_same_answers

SCHEMA = "k INT, g INT, v BIGINT, d DOUBLE"


def entries(cells: list[int], first: int = 0, reals: list[float] | None = None) -> Entries:
    """Entries of one key, with numbers from ``first`` on for counts."""
    rows = len(cells)
    nothing = np.zeros(rows, np.int32)
    payload = np.zeros((rows, 0)) if reals is None else np.array([[real, 0.0] for real in reals])
    counts = np.arange(first, first + rows)[:, None]
    return Entries(np.array(cells, np.int64), nothing, nothing[:, None], nothing, nothing, counts, payload, [])


def pairs_of(some: Entries | None) -> list[tuple[int, int]]:
    return [] if some is None else list(zip(some.cells.tolist(), some.integers[:, 0].tolist(), strict=True))


batches = st.lists(st.integers(-5, 12), min_size=1, max_size=6)
steps = st.lists(st.tuples(batches, st.integers(-6, 13), st.integers(0, 8), st.integers(-6, 4)), max_size=25)


@given(steps=steps, many=st.sampled_from([2, 3, 8]))
def test_cells_are_a_list_that_is_sorted(steps: list[tuple[list[int], int, int, int]], many: int) -> None:
    """Entries of one cell stay in the order in which they came, however runs are put together."""
    cells, expected, number, dropped = Cells(), list[tuple[int, int]](), 0, BEGINNING
    cells.many = many  # type: ignore[misc]
    for come, first, length, drop in steps:
        cells.add(entries(come, number))
        expected += zip(come, range(number, number + len(come)), strict=True)
        expected = sorted(pair for pair in expected if pair[0] >= dropped or pair[1] >= number)
        number += len(come)
        end = first + length
        assert pairs_of(cells.between(first, end)) == [pair for pair in expected if first <= pair[0] < end]
        dropped = drop
        cells.drop_before(drop)
        expected = [pair for pair in expected if pair[0] >= drop]
        assert pairs_of(cells.between(BEGINNING, END)) == expected
        assert cells.held == len(expected) and len(cells) == len({cell for cell, _ in expected})
        assert sorted(pair for piece in cells.all() for pair in pairs_of(piece)) == expected
        cells.replace(cells.all())


def test_runs_are_few_and_entries_move_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand micro-batches leave a dozen runs, and of each entry three copies were made on the way."""
    moved: list[int] = []
    together = Cells.together
    monkeypatch.setattr(
        Cells, "together", lambda cells, parts: moved.append(sum(map(len, parts))) or together(cells, parts)
    )
    cells = Cells()
    for start in range(1000):
        cells.add(entries(list(range(start, start + 10))))
        assert len(cells.runs) <= 4 * Cells.many
    assert sum(moved) <= 3 * 10_000


def charged(rows: list[tuple[int, int]]) -> Worth:
    """Combinations, as groups with leaving times."""
    nothing, ones = np.zeros((len(rows), 0)), np.ones((len(rows), 1), np.int64)
    group, leaves = np.array(rows, np.int64).reshape(-1, 2).T
    flags = np.zeros((len(rows), 0), np.bool_)
    return Worth(group, leaves, ones, nothing, nothing, np.zeros((len(rows), 0), np.int64), flags)


@given(steps=st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)), min_size=1, max_size=8), max_size=20))
def test_charges_are_a_multiset_by_leaving_time(steps: list[list[tuple[int, int]]]) -> None:
    charges, expected = Charges(), Counter[tuple[int, int]]()
    for now, come in enumerate(steps):
        charges.add(charges.together([charged([(group, now + stay) for group, stay in come])]))
        expected.update((group, now + stay) for group, stay in come)
        gone = charges.between(BEGINNING, now + 1)
        left = Counter({pair: count for pair, count in expected.items() if pair[1] <= now})
        found = Counter[tuple[int, int]]()
        for row in range(0 if gone is None else len(gone)):
            assert gone is not None
            found[int(gone.group[row]), int(gone.leaves[row])] += int(gone.integers[row, 0])
        assert found == left
        charges.drop_before(now + 1)
        expected -= left
        assert charges.held <= 4 * max(1, len(expected))  # equal ones are put together


cuts = st.lists(st.integers(1, 4), min_size=12, max_size=12)


def pieces(everything: Entries, lengths: list[int]) -> list[Entries]:
    ends = [0, *np.cumsum(lengths).tolist()]
    parts = (everything.take(slice(start, end)) for start, end in pairwise(ends))
    return [part for part in parts if len(part)]


@given(values=st.lists(st.sampled_from([1e20, -1e20, 0.5, 3.0]), min_size=1, max_size=12), enter=cuts, leave=cuts)
def test_a_sum_weighs_what_its_entries_do(values: list[float], enter: list[int], leave: list[int]) -> None:
    """Whichever of them enter and leave together."""
    members = Members(1, 1, 1, 0, merged=True, by_leave=False)
    everything = entries(list(range(len(values))), 1, values)
    for part in pieces(everything, enter):
        members.enter(part, np.full(len(part), END))
    left = 0
    for part in pieces(everything, leave):
        weight, turnover = members.wear[0]
        assert abs(weight - np.abs(values[left:]).sum()) <= turnover * 2.0**-51
        left += len(part)
        assert len(members) == 1
        members.leave(part)
    assert len(members) == 0


@given(enter=cuts, leave=cuts, ahead=st.integers(1, 3))
def test_a_window_is_a_queue_however_entries_come_together(enter: list[int], leave: list[int], ahead: int) -> None:
    members = Members(1, 1, 0, 0, merged=False, by_leave=False)
    come, gone = (pieces(entries(list(range(12))), lengths) for lengths in (enter, leave))
    inside = 0
    for part in gone:
        while come and inside < len(part) + ahead:
            members.enter(come[0], come[0].cells + 5)
            inside += len(come.pop(0))
        slots = members.leave(part)
        assert members.cells[slots].tolist() == part.cells.tolist()
        assert (members.leaves[slots] == part.cells + 5).all()
        inside -= len(part)
    assert inside == len(members) == 0


# --- cells of a microsecond ---------------------------------------------------------------------------------------


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
    found = check_batches(InProcess(plan_fold(plan_of(text, SCHEMA).query, forced)), [first, *later])
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
        method = getattr(Fused, name)

        def call(*arguments: Any) -> None:
            calls[name] += 1
            method(*arguments)

        return call

    for name in ("enter", "leave"):
        monkeypatch.setattr(Fused, name, counted(name))
    machine = InProcess(plan_of(f"SELECT {select} FROM {windows} WHERE a.k = b.k {emit}", SCHEMA))
    for start in range(0, 1000, 100):
        rows = [{"ts": ts, "k": ts % 3, "g": 0, "v": ts, "d": 0.0} for ts in range(start, start + 100)]
        feed(machine, {"a": rows, "b": rows})
        assert answer(machine) or start == 0
    assert 15 <= calls["enter"] <= 24 and calls["leave"] <= 24
