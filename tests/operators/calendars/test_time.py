"""Cells of windows in time against the definition, which goes row by row and candidate by candidate."""

import numpy as np
import pytest
from hypothesis import given

from joinfold.logical.query import LogicalQuery
from joinfold.operators.calendars.calendar import BEGINNING, NEVER
from joinfold.operators.calendars.open_calendars import calendar_of
from joinfold.operators.calendars.position import StreamPosition
from joinfold.operators.calendars.time import Candidates, TimeCalendar
from joinfold.operators.entries import Integers
from joinfold.physical.timing import AtCandidates, AtTriggers, Timing
from joinfold.reference import contents as reference
from joinfold.reference import streaming
from joinfold.reference.contents import Timed
from joinfold.timetext import timestamp_us
from joinfold.window import Continuous, Landmark, Rows, Sliding, Window
from tests.physical.timings import (
    EVERY_KIND,
    HORIZON,
    any_windows,
    bound,
    candidates_in_horizon,
    every,
    timing,
)


def array(values: object) -> Integers:
    return np.array(values, dtype=np.int64)


def calendar(own: Timing, stream: int = 0) -> TimeCalendar:
    found = calendar_of(own, stream, StreamPosition())
    assert isinstance(found, TimeCalendar)
    return found


def due(own: Timing, stream: int, ts: Integers) -> Integers:
    """From which watermark on rows are late, NEVER for those that are not packed."""
    found, when = calendar(own, stream), calendar(own, stream).due(calendar(own, stream).cell_of(ts))
    return when if own.any_instant else np.where(found.accepts(ts), when, NEVER)


def test_cells_are_as_coarse_as_the_drawing() -> None:
    own = timing([Continuous(6), Sliding(4, 4)])
    assert [own.cell_us(stream) for stream in (0, 1)] == [2, 4]
    drawn = calendar(own)
    cell = drawn.cell_of(array([4, 5, 6]))
    assert cell.tolist() == [2, 2, 3]
    assert drawn.first_instant(cell).tolist() == [8, 8, 8]
    assert drawn.leave_at(cell).tolist() == [12, 12, 14]
    assert [drawn.content(at) for at in (8, 12)] == [(1, 4), (3, 6)]


def assert_contents(own: Timing, stream: int) -> None:
    """At every candidate the window's content is the accepted rows of the cells, by content, entry and leave alike."""
    window, found = own.windows[stream], calendar(own, stream)
    ts = array(HORIZON)
    cell = found.cell_of(ts)
    accepted = found.accepts(ts)
    first, leave = found.first_instant(cell), found.leave_at(cell)
    assert found.leave(cell, 0).tolist() == leave.tolist()
    assert [found.leave(cell[at : at + 1], 0).tolist() for at in range(len(ts))] == leave[:, None].tolist()
    for at in candidates_in_horizon(own):
        begin, end = found.content(at)
        held = [item.ts for item in reference.held(window, [Timed(t, n, {}) for n, t in enumerate(HORIZON, 1)], at)]
        assert ts[(begin <= cell) & (cell < end) & accepted].tolist() == held
        assert ts[(first <= at) & (at < leave) & accepted].tolist() == held


@given(EVERY_KIND)
def test_content_by_cells_is_content_by_rows(every_kind: tuple[tuple[Timing, LogicalQuery], ...]) -> None:
    for own, _ in every_kind:
        assert_contents(own, own.streams - 1)


@given(EVERY_KIND)
def test_due_is_the_first_instant_of_the_definition(every_kind: tuple[tuple[Timing, LogicalQuery], ...]) -> None:
    for own, query in every_kind:
        for stream, window in enumerate(own.windows):
            ts, found = array(HORIZON), calendar(own, stream)
            defined = [streaming.first_instant(query, window, t) for t in HORIZON]
            assert due(own, stream, ts).tolist() == [NEVER if first is None else first for first in defined]
            if not isinstance(own.rule, AtTriggers):
                accepted = found.accepts(ts)
                first = found.first_instant(found.cell_of(ts))
                assert first[accepted].tolist() == due(own, stream, ts)[accepted].tolist()


@pytest.mark.parametrize(("clause", "rule"), [("EMIT ON SLIDE", None), ("EMIT EVERY 4 MICROSECONDS", every(4))])
@given(windows=any_windows)
def test_beside_a_window_that_counts_rows_any_instant_may_be_one(
    clause: str, rule: AtCandidates | None, windows: list[Window]
) -> None:
    windows = [*windows[:2], Rows(3)]
    own, query = timing(windows, rule), bound(windows, clause)
    for stream, window in enumerate(windows[:-1]):
        defined = [streaming.first_instant(query, window, t) for t in HORIZON]
        found = due(own, stream, array(HORIZON))
        assert found.tolist() == [NEVER if first is None else first for first in defined]
    by_rows = calendar_of(own, len(windows) - 1, StreamPosition())
    assert by_rows.due(array(HORIZON)).tolist() == [streaming.first_instant(query, Rows(3), t) for t in HORIZON]


def test_a_landmark_has_no_first_cell_and_never_lets_go() -> None:
    found = calendar(timing([Landmark(from_us=3)], every(5)))
    assert [found.content(at) for at in (0, 10)] == [(BEGINNING, 0), (BEGINNING, 2)]
    assert found.leave_at(array([-4, 4])).tolist() == [NEVER, NEVER]
    assert found.leave(array([-4, 4]), 10).tolist() == [NEVER, NEVER]
    assert found.accepts(array([2, 3])).tolist() == [False, True]


@pytest.mark.parametrize("near", [timestamp_us("0001-01-01"), timestamp_us("9999-12-31 23:59:59.999999")])
def test_the_ends_of_the_calendar_are_exact(near: int) -> None:
    """Python's integers cannot overflow, so they check the arrays."""
    longest = timestamp_us("9999-12-31") - timestamp_us("0001-01-01")
    windows = [Sliding(longest, longest - 7, near), Sliding(longest, 3, near), Continuous(longest), Landmark(near)]
    for own in (timing(windows, rule) for rule in (None, every(longest), AtTriggers())):
        for stream, window in enumerate(own.windows):
            assert isinstance(window, Sliding | Continuous | Landmark)
            found, grid = calendar(own, stream), own.cells[stream]
            cell = found.cell_of(array([near]))
            assert cell.tolist() == [(near - grid.phase_us) // grid.period_us]
            entry = window.entry(near)
            assert entry is not None
            if isinstance(own.rule, AtCandidates):
                first = min(candidates.next(entry - 1) for candidates in own.rule.grids)
                assert Candidates(own.rule).after(array([entry - 1])).tolist() == [first]
                leave = window.leave(near)
                expected = first if leave is None or first < leave else NEVER
                assert found.first_instant(cell).tolist() == [expected]
            else:
                assert found.first_instant(cell).tolist() == [entry]
