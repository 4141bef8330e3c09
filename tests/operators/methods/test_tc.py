"""Charges in the order of leaving times, against a multiset."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.calendars.calendar import BEGINNING
from joinfold.operators.entries import Payload
from joinfold.operators.methods.tc import Charges
from joinfold.operators.windows.pair_values import PairValues


def charged(rows: list[tuple[int, int]]) -> PairValues:
    """Combinations, as groups with leaving times."""
    group, leaves = np.array(rows, np.int64).reshape(-1, 2).T
    payload = Payload.zeros(len(rows), 1, 0, 0)
    payload.ints[:] = 1
    return PairValues(group, leaves, payload)


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
            found[int(gone.group[row]), int(gone.leaves[row])] += int(gone.payload.ints[row, 0])
        assert found == left
        charges.drop_before(now + 1)
        expected -= left
        assert charges.held <= 4 * max(1, len(expected))  # equal ones are put together
