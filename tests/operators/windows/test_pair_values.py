"""Products of integers are those of Python, or refused."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.entries import Payload
from joinfold.operators.windows.added_totals import AddedTotals
from joinfold.operators.windows.pair_values import PairValues, pair_values
from joinfold.operators.windows.side import Side
from tests.operators.runs import plan_of

WINDOW = "[4 MICROSECOND SLIDE 1 MICROSECOND]"
BODY = plan_of(
    f"SELECT SUM(a.v * b.v) AS s, SUM(a.v + b.v) AS t FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k", "k INT, v INT"
).body
SIZES = st.sampled_from([1, 2**20, 2**31, 2**32, 2**33, 2**43]).flatmap(lambda size: st.integers(-size, size))


def side_of(integers: list[list[int]]) -> Side:
    rows, nothing = len(integers), np.zeros(len(integers), np.int32)
    payload = Payload.zeros(rows, 0, 0, 0)._replace(ints=np.array(integers, np.int64))
    return Side(nothing, nothing, np.zeros(rows, np.int64), payload)


@given(data=st.data(), rows=st.integers(1, 4))
def test_integers_are_exact_or_noticed(data: st.DataObject, rows: int) -> None:
    totals = AddedTotals(BODY, only_changed=False)
    columns = [len(sums.integers) for sums in BODY.all_sums]
    sides = [data.draw(st.lists(st.tuples(*[SIZES] * width), min_size=rows, max_size=rows)) for width in columns]
    pair = [(1, *rest) for _, *rest in sides[-1]]  # a pair is one row
    sides = [*sides[:-1], pair]
    expected = [
        [
            np.prod([side[row][own] for side, own in zip(sides, product, strict=True)], dtype=object)
            for row in range(rows)
        ]
        for product in totals.products
    ]
    size = max(sum(map(abs, column)) for column in expected)
    found = pair_values(BODY, totals, [side_of([list(row) for row in side]) for side in sides]).payload.ints
    assert found.T.tolist() == [[(value + 2**63) % 2**64 - 2**63 for value in column] for column in expected]
    if totals.may_have_wrapped:
        assert size >= 2**62  # sizes are compared as floating numbers
    else:
        assert size < 2**63


def test_all_rows_and_some_rows() -> None:
    rows = np.arange(3)
    payload = Payload.zeros(3, 0, 0, 1)._replace(ints=rows[:, None], has=rows[:, None] > 0)
    values = PairValues(rows, rows, payload)
    assert values.take(rows >= 0).payload.ints.tolist() == [[0], [1], [2]]
    assert values.take(rows != 1).payload.ints.tolist() == [[0], [2]]
    assert values.take(np.array([2, 0, 0])).payload.has.tolist() == [[True], [False], [False]]
