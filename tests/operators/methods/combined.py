"""Combinations as methods take them in, and what is live of them by the definition."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from joinfold.operators.entries import Payload
from joinfold.operators.methods.method import Method
from joinfold.operators.windows.added_totals import AddedTotals
from joinfold.operators.windows.pair_values import PairValues
from joinfold.physical.stage import Body
from tests.operators.runs import plan_of

TEXT = "SELECT a.g, COUNT(*) AS n, SUM(a.d) AS s, MAX(a.v) AS x FROM a {}, b {} WHERE a.k = b.k GROUP BY a.g"
SCHEMA = "k INT, g INT, v BIGINT, d DOUBLE"
TIMED = plan_of(TEXT.format(*["[9 MICROSECOND SLIDE 1 MICROSECOND]"] * 2), SCHEMA).body
COUNTED = plan_of(TEXT.format("[ROWS 3]", "[UNBOUNDED]"), SCHEMA).body


class Combination(NamedTuple):
    """A group, when the first entry leaves, how many rows, a value, and whether there is one for the extreme."""

    group: int
    leave: int
    rows: int
    value: int
    has: bool


combinations = st.lists(
    st.builds(Combination, st.integers(0, 3), st.integers(1, 6), st.integers(1, 3), st.integers(-4, 4), st.booleans()),
    max_size=6,
)


def values_of(body: Body, some: Iterable[Combination]) -> PairValues:
    """What combinations come to: integers are their rows, the real is a half of their value."""
    many = list(some)
    payload = Payload.zeros(len(many), len(AddedTotals(body, False).products), len(body.real_products), 1, True)
    for row, own in enumerate(many):
        payload.ints[row] = own.rows
        payload.reals[row, 0] = own.value / 2
        payload.codes[row, 0], payload.has[row, 0] = own.value, own.has
    group, leaves = (np.array([own[at] for own in many], np.int64) for at in range(2))
    return PairValues(group, leaves, payload)


def totals_of(method: Method) -> dict[int, tuple[int, float]]:
    """The rows and the sum of each group that has any."""
    totals = method.totals.totals
    there = np.flatnonzero(totals.ints[:, 0]).tolist()
    assert (totals.ints == totals.ints[:, :1]).all()
    return {group: (int(totals.ints[group, 0]), float(totals.dds[group, 0])) for group in there}


def heads_of(method: Method, now: int) -> dict[int, int]:
    """The extreme of each group that has one."""
    ((codes, has),) = method.heads(now)
    return {group: int(codes[group]) for group in np.flatnonzero(has).tolist()}


def defined(live: Iterable[Combination]) -> tuple[dict[int, Any], dict[int, int]]:
    """Totals and extremes of combinations that are live, by the definition."""
    totals, heads = dict[int, Any](), dict[int, int]()
    for own in live:
        rows, total = totals.get(own.group, (0, 0.0))
        totals[own.group] = (rows + own.rows, total + own.value / 2)
        if own.has:
            heads[own.group] = max(own.value, heads.get(own.group, own.value))
    return totals, heads
