"""Extremes that are counted, against a multiset."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.entries import Payload
from joinfold.operators.methods.extremes import CountedExtremes
from joinfold.operators.windows.pair_values import PairValues

Combination = tuple[int, tuple[int, int], bool]
few = st.integers(0, 2)


@dataclass(frozen=True)
class Extremes:
    """As much of a body as counting asks for."""

    extremes: tuple[str, ...] = ("first", "second")


combinations = st.lists(st.tuples(few, st.tuples(st.integers(-3, 3), st.integers(-3, 3)), st.booleans()), max_size=8)


def values(rows: list[Combination]) -> PairValues:
    """Combinations of a group with two extremes, of which the second may be missing."""
    payload = Payload.zeros(len(rows), 1, 0, 2)
    payload.ints[:] = 1
    for row, (_, codes, has_second) in enumerate(rows):
        payload.codes[row], payload.has[row] = codes, (True, has_second)
    group = np.array([group for group, _, _ in rows], np.int64)
    return PairValues(group, np.zeros(len(rows), np.int64), payload)


@given(steps=st.lists(st.tuples(combinations, st.integers(0, 8), st.booleans()), max_size=10))
def test_counted_extremes_are_those_of_a_multiset(steps: list[tuple[list[Any], int, bool]]) -> None:
    counted, there = CountedExtremes(Extremes()), list[Any]()  # type: ignore[arg-type]
    for come, leaving, is_asked in steps:
        gone, there = there[:leaving], there[leaving:] + come
        counted.subtract(values(gone))
        counted.add(values(come), 0)
        if not is_asked:
            continue
        for number, (codes, has) in enumerate(counted.heads(0)):
            expected: dict[int, int] = {}
            for group, own, has_second in there:
                if number == 0 or has_second:
                    expected[group] = max(own[number], expected.get(group, own[number]))
            assert {group: int(codes[group]) for group in np.flatnonzero(has).tolist()} == expected
    counted.subtract(values(there))
    assert not any(has.any() for _, has in counted.heads(0))
    assert counted.bytes_held == 0  # what is subtracted leaves nothing behind
