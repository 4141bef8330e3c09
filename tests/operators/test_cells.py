"""Entries in the order of their cells against a list that is sorted, and what comes and goes when a window moves."""

from hypothesis import assume, given
from hypothesis import strategies as st

from joinfold.operators.calendars.calendar import BEGINNING, END
from joinfold.operators.cells import Cells, cells_gone, cells_new
from tests.operators.made import entries, pairs_of

batches = st.lists(st.integers(-5, 12), min_size=1, max_size=6)
steps = st.lists(st.tuples(batches, st.integers(-6, 13), st.integers(0, 8), st.integers(-6, 4)), max_size=25)


@given(steps=steps, many=st.sampled_from([2, 3, 8]))
def test_cells_are_a_list_that_is_sorted(steps: list[tuple[list[int], int, int, int]], many: int) -> None:
    """Entries of one cell stay in the order in which they came, however runs are put together."""
    cells, expected, number, dropped = Cells(), list[tuple[int, int]](), 0, BEGINNING
    cells.many = many  # type: ignore[misc]
    for come, first, length, drop in steps:
        cells.add(entries(come, number))
        expected += zip(come, range(number, number + len(come)), strict=True)
        expected = sorted(pair for pair in expected if pair[0] >= dropped or pair[1] >= number)
        number += len(come)
        end = first + length
        assert pairs_of(cells.between(first, end)) == [pair for pair in expected if first <= pair[0] < end]
        dropped = drop
        cells.drop_before(drop)
        expected = [pair for pair in expected if pair[0] >= drop]
        assert pairs_of(cells.between(BEGINNING, END)) == expected
        assert cells.held == len(expected) and len(cells) == len({cell for cell, _ in expected})
        assert sorted(pair for piece in cells.all() for pair in pairs_of(piece)) == expected
        cells.replace(cells.all())


contents = st.tuples(st.integers(-5, 5), st.integers(0, 5)).map(lambda own: (own[0], own[0] + own[1]))


@given(before=contents, now=contents)
def test_a_window_that_moves_lets_go_what_it_does_not_hold(before: tuple[int, int], now: tuple[int, int]) -> None:
    """A window that goes back, as when first windows come again, lets all go and takes all that it holds in."""
    assume(now[0] < before[0] or now[1] >= before[1])  # no window shrinks at its end
    was, is_, gone, new = (set(range(*own)) for own in (before, now, cells_gone(before, now), cells_new(before, now)))
    goes_back = now[0] < before[0]
    assert gone == (was if goes_back else was - is_)
    assert new == (is_ if goes_back else is_ - was)
