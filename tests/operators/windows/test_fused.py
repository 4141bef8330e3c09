"""Hashed aggregation sets that are multiplied: totals are those of the pairs, and idle products cost nothing."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import EvaluationError
from joinfold.operators.windows.fused import FusedTotals, FusedWindows
from joinfold.operators.windows.live import Live
from tests.operators.runs import Row, packed_entries, plan_of
from tests.operators.windows.moving import SCHEMA, WINDOW, Moving, Step, by_group, joined, rows, steps

EQUAL = "a.k = b.k"
GROUPED = {
    "": lambda left, right: (),
    "a.g": lambda left, right: (left["g"],),
    "b.g": lambda left, right: (right["g"],),
    "b.g, a.w": lambda left, right: (right["g"], left["w"]),
}
SELECT = "COUNT(*) AS n, SUM(a.v * b.w) AS s, SUM(a.d) AS d, MAX(b.v) AS x"
PLANS = {group: joined(SELECT, EQUAL, group) for group in GROUPED}


def combined(pairs: list[tuple[Row, ...]]) -> tuple[Any, ...]:
    each = [(1, left["v"] * right["w"], left["d"]) for left, right in pairs]
    return (*(sum(column) for column in zip(*each, strict=True)), max(right["v"] for _, right in pairs))


@pytest.mark.parametrize("group", GROUPED)
@given(steps=steps)
def test_totals_are_those_of_the_pairs_with_equal_keys(group: str, steps: list[Step]) -> None:
    moving = Moving(PLANS[group])
    assert isinstance(moving.live.windows, FusedWindows)
    for step in steps:
        assert moving.move(step) == by_group(
            moving.inside,
            lambda left, right: left["k"] == right["k"],
            GROUPED[group],
            combined,
        )
        keys = [{(row["k"], row["g"], row["w"]) for row in inside} for inside in moving.inside]
        assert moving.live.windows.live_entries <= sum(map(len, keys))


THREE = joined("COUNT(*) AS n, SUM(c.w) AS s", "a.k = b.k AND b.k = c.k", "b.g", inputs="abc")


@given(steps=st.lists(st.tuples(rows, rows, rows), max_size=5))
def test_three_inputs_are_multiplied_one_after_another(steps: list[Step]) -> None:
    moving = Moving(THREE, (2, 3, 1))
    assert isinstance(moving.live.windows, FusedWindows)
    for step in steps:
        found = moving.move(step)
        expected: dict[tuple[str | None], tuple[int, int]] = {}
        for one, two, three in product(*moving.inside):
            if one["k"] == two["k"] == three["k"]:
                count, total = expected.get((two["g"],), (0, 0))
                expected[two["g"],] = (count + 1, total + three["w"])
        assert found == expected


def row(v: int | None, w: int = 1, k: int = 0) -> Row:
    return {"ts": 0, "k": k, "g": "x", "v": v, "w": w, "d": 0.5}


def test_products_wake_up_with_the_totals_that_they_would_have_had() -> None:
    """Small numbers without NULLs need a count and a lower limb; a NULL, and a number of more than 32 bits, more."""
    moving = Moving(joined("COUNT(*) AS n, COUNT(a.v) AS c, SUM(a.v) AS s", EQUAL, "a.g"), (9, 9))
    totals = moving.live.windows.totals
    assert isinstance(totals, FusedTotals) and len(totals.awake) == 1
    assert moving.move(([row(0)], [row(1)])) == {("x",): (1, 1, 0)}
    awake = [len(totals.awake)]
    for own, expected in ((row(5), (2, 2, 5)), (row(None), (3, 2, 5)), (row(2**40), (4, 3, 5 + 2**40))):
        assert moving.move(([own], [])) == {("x",): expected}
        awake.append(len(totals.awake))
    assert awake == sorted(set(awake)) and awake[0] == 1
    assert len(totals.awake) <= len(totals.products)


def test_integers_that_might_have_wrapped_around_are_noticed() -> None:
    """The nearest that cannot have is answered. The rows of one key have no room beyond 64 bits."""
    plan = joined("COUNT(*) AS n, SUM(a.v) AS s", EQUAL, "")
    for count, fits in ((2**30, True), (2**32, False)):
        live = Live(plan.body, plan.choice)
        for ordinal in range(2):
            entries = live.vocabulary.entries_of(ordinal, packed_entries(plan, ordinal, [row(1)]))
            entries.payload = entries.payload._replace(ints=entries.payload.ints * count)
            live.windows.expect(ordinal, entries)
            live.windows.enter(ordinal, entries, np.array([9]), 0)
        assert live.windows.may_have_wrapped != fits
        live.emit(0, 0, always=True)
        assert live.windows.totals.totals.ints[0, 0] == (count**2 if fits else 0)
        for _ in range(2):
            entries.payload = entries.payload._replace(ints=entries.payload.ints * 0 + 2**62)
            live.windows.enter(1, entries, np.array([9]), 0)
        with pytest.raises(EvaluationError, match="too many combinations"):
            live.emit(0, 0, always=True)


@pytest.mark.parametrize(
    ("text", "has_tables"),
    [
        (f"SELECT a.g, COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE {EQUAL} GROUP BY a.g", True),
        (f"SELECT a.g, b.g AS h, COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE {EQUAL} GROUP BY a.g, b.g", False),
        (f"SELECT a.g, SUM(a.d) AS n FROM a {WINDOW}, b {WINDOW} WHERE {EQUAL} GROUP BY a.g", False),
        (f"SELECT a.g, COUNT(*) AS n FROM a {WINDOW} GROUP BY a.g", False),
    ],
    ids=["one group", "two groups", "floating", "one stream"],
)
def test_sets_are_tables_where_two_inputs_have_integers_and_one_group(text: str, has_tables: bool) -> None:
    plan = plan_of(text, SCHEMA)
    windows = FusedWindows(plan.body, False)
    assert windows.has_tables == has_tables
    assert windows.live_entries == int(plan.body.has_constant_row)
