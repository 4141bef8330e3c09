"""The cells of windows: as coarse as they can be for the contents at all candidates."""

import pickle

import numpy as np
import pytest
from hypothesis import given

from joinfold.logical.query import LogicalQuery
from joinfold.physical.timing import AsFound, AtArrivals, AtTriggers, ByWindowId, Timing, full_rule, slide_rule
from joinfold.planner.drafting.draft import timing_of
from joinfold.window import Continuous, Grid, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window
from tests.physical.timings import EVERY_KIND, candidates_in_horizon, every, timing, timings

ANY = [Continuous(15), Landmark(), Sliding(6, 4)]
BESIDE_ROWS = [Sliding(6, 4), Continuous(15), Rows(4)]


@pytest.mark.parametrize(
    ("own", "cells"),
    [
        (timing([Sliding(6, 4)]), [Grid(0, 2)]),
        (timing([Sliding(6, 4, start_us=7)]), [Grid(1, 2)]),
        (timing([Sliding(4, 10, start_us=-3)], every(1)), [Grid(1, 2)]),
        (timing([Sliding(12, 6), Landmark()]), [Grid(0, 6), Grid(0, 6)]),
        (timing([Sliding(12, 6, 2), Sliding(8, 8, 4), Landmark()]), [Grid(2, 6), Grid(4, 8), Grid(0, 2)]),
        (timing([Sliding(12, 6, 2), Sliding(8, 8, 5), Continuous(10)]), [Grid(2, 6), Grid(5, 8), Grid(0, 1)]),
        (
            timing([Sliding(4, 4), Sliding(6, 6), Landmark(5)], full_rule([Sliding(4, 4), Sliding(6, 6)])),
            [Grid(0, 4), Grid(0, 6), Grid(0, 12)],
        ),
        (timing([Continuous(15), Landmark()], every(10)), [Grid(0, 5), Grid(0, 10)]),
        (timing(ANY, AtTriggers()), [Grid(0, 1)] * 3),
        (timing(ANY, AtArrivals()), [Grid(0, 1)] * 3),
        (timing(ANY, AsFound()), [Grid(0, 1)] * 3),
        (timing([Sliding(6, 4, 1), Rows(4)], ByWindowId()), [Grid(1, 2), Grid(0, 1)]),
        (timing(BESIDE_ROWS), [Grid(0, 2), Grid(0, 1), Grid(0, 1)]),
        (timing(BESIDE_ROWS, every(10)), [Grid(0, 2), Grid(0, 5), Grid(0, 1)]),
    ],
)
def test_cells(own: Timing, cells: list[Grid]) -> None:
    assert list(own.cells) == cells
    assert [own.cell_us(stream) for stream in range(own.streams)] == [grid.period_us for grid in cells]


@given(EVERY_KIND)
def test_the_planner_makes_the_timing_of_a_query(every_kind: tuple[tuple[Timing, LogicalQuery], ...]) -> None:
    for own, query in every_kind:
        assert timing_of(query) == own


@given(timings())
def test_no_coarser_cells_would_do(made: tuple[Timing, LogicalQuery]) -> None:
    """Between them, the boundaries of the contents at all candidates lie on no coarser grid."""
    own, _ = made
    for window, cells in zip(own.windows, own.cells, strict=True):
        assert isinstance(window, Sliding | Continuous | Landmark)
        read = candidates_in_horizon(own)
        if isinstance(window, Sliding):  # by its own moves, whichever of them the candidates read
            read = list(window.moves.between(-200, 200))
        bounds = [bound for at in read for bound in window.bounds(at)]
        if isinstance(window, Landmark):
            bounds = [window.bounds(at)[1] for at in read]
        if len(read) > 1:
            assert np.gcd.reduce(np.array(bounds, np.int64) - bounds[0]) == cells.period_us
            assert cells.last(bounds[0]) == bounds[0]


def test_grids_that_lie_on_others_are_left_out() -> None:
    rule = slide_rule([Sliding(4, 4), Sliding(8, 8, 4), Sliding(9, 4, 8), Sliding(8, 8, 2)])
    assert rule.grids == (Grid(0, 4), Grid(2, 8))


@pytest.mark.parametrize(
    ("window", "counts", "is_open_ended", "by_window_id"),
    [
        (Sliding(6, 4), False, False, False),
        (Continuous(6), False, False, False),
        (Landmark(), False, False, False),
        (Rows(4), True, True, False),
        (RangeByRows(6, 2), True, True, True),
        (PartitionedRows(("k",), 2), False, False, False),
    ],
)
def test_later_rows_decide_when_cells_leave(
    window: Window, counts: bool, is_open_ended: bool, by_window_id: bool
) -> None:
    """By window ids blocks of rows leave with their window. The last rows of a key are a view, not cells."""
    windows = [Sliding(6, 4), window]
    assert timing(windows).counting == ((1,) if counts else ())
    assert timing(windows).is_open_ended(1) == is_open_ended
    assert timing(windows, ByWindowId()).is_open_ended(1) == by_window_id
    assert not timing(windows).is_open_ended(0)


def test_a_timing_travels() -> None:
    own = timing([Sliding(6, 4), Continuous(5), Landmark(3)])
    travelled = pickle.loads(pickle.dumps(own))
    assert travelled == own and travelled.cells == own.cells
