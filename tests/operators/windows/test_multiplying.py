"""A delta times the windows of other inputs, against loops over all combinations."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.aggregation_set import AggregationSet
from joinfold.operators.entries import Entries, Payload
from joinfold.operators.windows.fused import FusedTotals
from joinfold.operators.windows.multiplying import multiplied
from tests.operators.runs import plan_of

COLUMNS = 2
W = "[TUMBLE 9 MICROSECOND]"
BODY = plan_of(
    f"SELECT COUNT(a.v) AS x, COUNT(b.v) AS y FROM a {W}, b {W}, a AS c {W} WHERE a.k = b.k AND b.k = c.k",
    "k INT, v INT",
).body
TOTALS = FusedTotals(BODY, False)
few = st.integers(0, 2)
slots = st.dictionaries(st.tuples(few, few), st.tuples(st.integers(1, 3), st.integers(-5, 5)), max_size=6)
Slots = dict[tuple[int, int], tuple[int, int]]


def set_of(held: Slots) -> AggregationSet:
    """A window that has these integers by key and group."""
    window = AggregationSet(COLUMNS, 0)
    key, group = (np.array([own[at] for own in held], np.int32) for at in range(2))
    integers = np.array(list(held.values()), np.int64).reshape(-1, COLUMNS)
    window.update(key, group, integers, np.zeros((len(held), 0)), 1)
    return window


def delta_of(rows: Slots) -> Entries:
    key, group = (np.array([own[at] for own in rows], np.int32) for at in range(2))
    payload = Payload.zeros(len(rows), COLUMNS, 0, 0)
    payload.ints[:] = np.array(list(rows.values()), np.int64).reshape(-1, COLUMNS)
    return Entries(np.zeros(len(rows), np.int64), key, np.zeros((len(rows), 0), np.int32), group, key, payload)


def ungrouped(held: Slots) -> Slots:
    """Without groups a key has one slot."""
    return {(key, 0): own for (key, _), own in held.items()}


@given(
    delta=slots,
    windows=st.lists(slots, min_size=1, max_size=2),
    grouped=st.sampled_from([None, 0, 1]),
    drawn=st.lists(st.tuples(*[st.integers(0, 1)] * 4), min_size=1, max_size=5),
)
def test_products_are_those_of_all_combinations(
    delta: Slots, windows: list[Slots], grouped: int | None, drawn: list[tuple[int, ...]]
) -> None:
    """The delta is input 1, and windows are 0 and 2; of these at most one is grouped, and then the delta is not."""
    delta = delta if grouped is None else ungrouped(delta)
    windows = [held if number == grouped else ungrouped(held) for number, held in enumerate(windows)]
    products = np.array(drawn, np.int64)
    others = [(2 * number, set_of(held), number == grouped) for number, held in enumerate(windows)]
    found = multiplied(delta_of(delta), products, 1, others, TOTALS)
    expected: Counter[tuple[int, int, tuple[int, ...]]] = Counter()
    for ((key, group), own), *each in product(delta.items(), *(held.items() for held in windows)):
        if all(other == key for (other, _), _ in each):
            group = group if grouped is None or grouped >= len(each) else each[grouped][0][1]
            factors = {1: own} | {2 * number: integers for number, (_, integers) in enumerate(each)}
            values = [
                int(np.prod([integers[wanted[ordinal]] for ordinal, integers in factors.items()])) for wanted in drawn
            ]
            expected[key, group, tuple(values)] += 1
    rows = zip(found.key.tolist(), found.group.tolist(), found.integers[:, found.columns].tolist(), strict=True)
    assert Counter((key, group, tuple(values)) for key, group, values in rows) == expected


def test_products_that_begin_alike_share_a_column() -> None:
    delta, window = delta_of({(0, 0): (2, 3)}), set_of({(0, 0): (5, 7)})
    products = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 1, 0]], np.int64)
    found = multiplied(delta, products, 0, [(1, window, False)], TOTALS)
    assert found.integers.shape == (1, 3)
    assert found.integers[0, found.columns].tolist() == [10, 10, 15, 21]


@pytest.mark.parametrize("factor", [2**31, -(2**31)])
def test_what_may_wrap_around_is_noticed(factor: int) -> None:
    products, totals = np.array([[1, 1, 0]], np.int64), FusedTotals(BODY, False)
    others = [(1, set_of({(0, 0): (1, factor)}), False)]
    fits = multiplied(delta_of({(0, 0): (1, 2**31)}), products, 0, others, totals)
    assert fits.integers.tolist() == [[factor * 2**31]] and not totals.may_have_wrapped
    multiplied(delta_of({(0, 0): (1, 2**32)}), products, 0, others, totals)
    assert totals.may_have_wrapped


def test_wide_totals_have_the_same_products_in_double_double() -> None:
    totals = FusedTotals(BODY.widened, False)
    delta, others = delta_of({(0, 0): (3, 2**40)}), [(1, set_of({(0, 0): (5, 2**41 + 1)}), False)]
    found = multiplied(delta, np.array([[1, 1, 0]], np.int64), 0, others, totals)
    assert not totals.may_have_wrapped and len(found.real_columns) == len(BODY.integer_products)
    for (is_integer, column), wanted in zip(found.real_columns.tolist(), BODY.integer_products, strict=True):
        high, low = found.reals[0, 2 * column : 2 * column + 2].tolist()
        assert not is_integer and int(high) + int(low) == (3, 2**40)[wanted[0]] * (5, 2**41 + 1)[wanted[1]]
