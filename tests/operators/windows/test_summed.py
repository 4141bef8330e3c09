"""Sums over ranges: what matches is summed without being gone through, whatever the width of bands."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators.stages.fold import Fold
from joinfold.operators.windows.ranges import LEAST, MOST
from joinfold.operators.windows.summed import SummedWindows, _ascending
from tests.operators.runs import Row, answer, check_batches, feed, plan_of
from tests.operators.windows.bands import BANDS, SCHEMA, WINDOWS, bands_of
from tests.operators.windows.moving import Moving, Step, by_group, joined, steps

edges = st.integers(-5, 5) | st.integers(LEAST, LEAST + 5) | st.integers(MOST - 5, MOST)
WHERE = {
    "one end": ("a.v <= b.v", lambda a, b: a["v"] <= b["v"]),
    "one end, open, beside a key": ("a.k = b.k AND a.v > b.v", lambda a, b: a["k"] == b["k"] and a["v"] > b["v"]),
    "of one width": ("a.v BETWEEN b.v - 1 AND b.v + 1", lambda a, b: abs(a["v"] - b["v"]) <= 1),
    "of any width": ("a.v >= b.v AND a.v < b.v + b.w", lambda a, b: b["v"] <= a["v"] < b["v"] + b["w"]),
    "of the first": ("b.v BETWEEN a.v AND a.v + a.w", lambda a, b: a["v"] <= b["v"] <= a["v"] + a["w"]),
}
PLANS = {name: joined("COUNT(*) AS n, SUM(a.v) AS s, SUM(b.w) AS t", where) for name, (where, _) in WHERE.items()}


def combined(pairs: list[tuple[Row, ...]]) -> tuple[Any, ...]:
    return len(pairs), sum(left["v"] for left, _ in pairs), sum(right["w"] for _, right in pairs)


@pytest.mark.parametrize("name", WHERE)
@given(steps=steps)
def test_totals_are_those_of_the_pairs_that_match(name: str, steps: list[Step]) -> None:
    moving = Moving(PLANS[name])
    assert isinstance(moving.live.windows, SummedWindows)
    for step in steps:
        found = moving.move(step)
        assert found == by_group(moving.inside, WHERE[name][1], lambda left, right: (left["g"],), combined)


def test_what_has_left_has_no_place() -> None:
    moving = Moving(PLANS["of any width"], (1, 1))
    row = {"ts": 0, "k": 1, "g": "x", "v": 2, "w": 3, "d": 0.0}
    moving.move(([row], [row, row | {"w": 1}]))
    assert moving.live.windows.live_entries > 2
    moving.move(([], []))
    assert moving.live.windows.live_entries == 0


@given(band=st.sampled_from(list(BANDS)), seed=st.integers(0, 10**6), batches=st.integers(1, 5))
def test_sums_of_bands_that_come_little_by_little(band: str, seed: int, batches: int) -> None:
    """The width that the first of them have need not be that of those that follow."""
    text = f"SELECT b.g, COUNT(*) AS n, SUM(a.v) AS s {WINDOWS} WHERE {BANDS[band]} GROUP BY b.g"
    plan, data = plan_of(text, SCHEMA), bands_of(seed)
    chance = random.Random(seed)
    cuts = {name: [chance.randrange(batches) for _ in rows] for name, rows in data.items()}
    parts = [
        {name: [row for row, own in zip(rows, cuts[name], strict=True) if own == part] for name, rows in data.items()}
        for part in range(batches)
    ]
    check_batches(InProcess(plan, 1 + seed % 2), parts)


def places_held(machine: InProcess, side: int) -> list[int]:
    """How many places each order of an input has."""
    (fold,) = machine.buckets
    assert isinstance(fold, Fold) and isinstance(fold.live.windows, SummedWindows)
    return [order.sums.live_entries for order in fold.live.windows.orders[side]]


def test_bands_of_one_width_are_held_once_and_others_twice() -> None:
    """Most of the first ones have the width 4, one has not, and one is upside down."""
    text = "SELECT COUNT(*) AS n FROM a [9 MICROSECOND], b [9 MICROSECOND] WHERE a.v BETWEEN b.v AND b.w"
    machine = InProcess(plan_of(text, SCHEMA), 1)
    ends = [(0, 7), (1, 5), (2, 6), (3, 7), (9, 8)]
    bands = [{"ts": 0, "k": 0, "g": 0, "v": low, "w": high} for low, high in ends]
    values = [{"ts": 0, "k": 0, "g": 0, "v": value, "w": 0} for value in (0, 3, 6, 9)]
    feed(machine, {"a": values, "b": bands})
    feed(machine, {name: [{"ts": 1, "k": 0, "g": 0, "v": None, "w": None}] for name in ("a", "b")})
    answer(machine)
    assert places_held(machine, 0) == [4] and places_held(machine, 1) == [3, 1, 1]


@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 2**31 - 1]), st.sampled_from([0, 3, 2**31 - 1]), edges | st.just(2**40)),
        max_size=20,
    )
)
def test_entries_are_in_order_whether_or_not_they_fit_into_a_number(entries: list[tuple[int, int, int]]) -> None:
    key, group, codes = (np.array([entry[ordinal] for entry in entries], np.int64) for ordinal in range(3))
    order = _ascending(key.astype(np.int32), group.astype(np.int32), codes)
    assert sorted(order.tolist()) == list(range(len(entries)))
    assert [entries[ordinal] for ordinal in order] == sorted(entries)
