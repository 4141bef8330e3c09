"""Products of integers are those of Python, or refused."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import EvaluationError
from joinfold.operators.added import AddedTotals
from joinfold.operators.side import Side
from joinfold.operators.worth import Worth, worth_of
from tests.operators.runs import plan_of

WINDOW = "[4 MICROSECOND SLIDE 1 MICROSECOND]"
LAYOUT = plan_of(
    f"SELECT SUM(a.v * b.v) AS s, SUM(a.v + b.v) AS t FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k", "k INT, v INT"
).layout
SIZES = st.sampled_from([1, 2**20, 2**31, 2**32, 2**33, 2**43]).flatmap(lambda size: st.integers(-size, size))


def side_of(integers: list[list[int]]) -> Side:
    rows, nothing = len(integers), np.zeros(len(integers), np.int32)
    return Side(
        nothing,
        nothing,
        np.zeros(rows, np.int64),
        np.array(integers, np.int64),
        np.zeros((rows, 0)),
        np.zeros((rows, 0)),
        np.zeros((rows, 0), np.int64),
        np.zeros((rows, 0), np.bool_),
    )


@given(data=st.data(), rows=st.integers(1, 4))
def test_integers_are_exact_or_refused(data: st.DataObject, rows: int) -> None:
    totals = AddedTotals(LAYOUT)
    columns = [len(place.integers) for place in LAYOUT.places]
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
    try:
        found = worth_of(LAYOUT, totals, [side_of([list(row) for row in side]) for side in sides]).integers
    except EvaluationError:
        assert size >= 2**62  # sizes are compared as floating numbers
    else:
        assert size < 2**63 and found.T.tolist() == expected


def test_all_rows_and_some_rows() -> None:
    rows = np.arange(3)
    worth = Worth(
        rows, rows, rows[:, None], np.zeros((3, 0)), np.zeros((3, 0)), np.zeros((3, 0), int), rows[:, None] > 0
    )
    assert worth.take(rows >= 0).integers.tolist() == [[0], [1], [2]]
    assert worth.take(rows != 1).integers.tolist() == [[0], [2]]
    assert worth.take(np.array([2, 0, 0])).has.tolist() == [[True], [False], [False]]
