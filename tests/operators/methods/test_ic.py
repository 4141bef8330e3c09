"""IC keeps nothing of combinations: what leaves is subtracted, whenever that is."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.calendars.calendar import END
from joinfold.operators.methods.extremes import ChargedExtremes, CountedExtremes
from joinfold.operators.methods.ic import Incremental
from tests.operators.methods.combined import (
    COUNTED,
    TIMED,
    Combination,
    combinations,
    defined,
    heads_of,
    totals_of,
    values_of,
)


@given(steps=st.lists(st.tuples(combinations, st.integers(0, 6)), max_size=8))
def test_where_later_rows_decide_what_leaves_is_subtracted_in_any_order(
    steps: list[tuple[list[Combination], int]],
) -> None:
    """Nobody knows when, so extremes are counted."""
    method, live = Incremental(COUNTED, False), Counter[Combination]()
    assert isinstance(method.extremes, CountedExtremes)
    for now, (come, leaving) in enumerate(steps):
        gone = list(live.elements())[::-1][:leaving]
        method.subtract(values_of(COUNTED, gone))
        live.subtract(gone)
        come = [own._replace(leave=END) for own in come]
        method.add(values_of(COUNTED, come), now)
        live.update(come)
        method.advance(now)
        assert (totals_of(method), heads_of(method, now)) == defined(live.elements())


def test_where_it_is_known_when_rows_leave_extremes_are_charged() -> None:
    """So an extreme goes with time, although nothing was subtracted; a sum does not."""
    method = Incremental(TIMED, False)
    assert isinstance(method.extremes, ChargedExtremes)
    first, second = Combination(0, 3, 1, 9, True), Combination(0, 5, 1, 4, True)
    method.add(values_of(TIMED, [first, second]), 0)
    assert [heads_of(method, now) for now in (2, 3, 4, 5)] == [{0: 9}, {0: 4}, {0: 4}, {}]
    method.advance(9)
    assert totals_of(method) == {0: (2, 6.5)}


def test_memory_does_not_grow_with_combinations() -> None:
    method = Incremental(TIMED, False)
    held = []
    for _ in range(50):
        method.add(values_of(TIMED, [Combination(group, 7, 1, 1, True) for group in range(4)] * 10), 0)
        held.append(method.bytes_held)
    assert held[-1] == held[0] and totals_of(method)[0] == (500, 250.0)
