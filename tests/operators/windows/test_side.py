"""A side is the entries of an input as combinations see them, taken from together."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.windows.side import Side, side_of
from tests.operators.made import entries, payload


@given(seed=st.integers(0, 99), rows=st.integers(1, 5), chosen=st.lists(st.integers(0, 4), max_size=8))
def test_a_row_may_be_in_many_combinations_or_in_none(seed: int, rows: int, chosen: list[int]) -> None:
    chance = np.random.default_rng(seed)
    group, carried = chance.integers(0, 9, (2, rows)).astype(np.int32)
    whole = Side(group, carried, chance.integers(0, 9, rows), payload(seed, rows, 2, 1, 1))
    numbers = np.array([own % rows for own in chosen], np.int64)
    found = whole.take(numbers)
    assert len(found) == len(numbers) and len(whole) == rows
    for at, row in enumerate(numbers.tolist()):
        assert (found.group[at], found.carried[at], found.leaves[at]) == (group[row], carried[row], whole.leaves[row])
        for own, taken in zip(whole.payload, found.payload, strict=True):
            assert (own is None) == (taken is None)
            if own is not None and taken is not None:
                assert taken[at].tolist() == own[row].tolist()


def test_what_enters_is_its_own_side_until_it_leaves() -> None:
    come = entries([3, 1, 2])
    come.group, come.carried = np.array([5, 6, 7], np.int32), np.array([2, 1, 0], np.int32)
    found = side_of(come, come.cells + 10)
    assert found.group is come.group and found.carried is come.carried and found.payload is come.payload
    assert found.leaves.tolist() == [13, 11, 12]
