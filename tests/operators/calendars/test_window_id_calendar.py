"""Windows by number against the definition, and when their cells enter and leave, window by window."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from joinfold.operators.calendars.calendar import BEGINNING, END, NEVER
from joinfold.operators.calendars.emission import emission_of
from joinfold.operators.calendars.open_calendars import calendar_of, calendars_of
from joinfold.operators.calendars.position import Position, StreamPosition
from joinfold.operators.calendars.window_ids import WindowIdCalendar
from joinfold.operators.entries import Integers
from joinfold.physical.timing import ByWindowId
from joinfold.reference import contents as reference
from joinfold.reference import streaming
from joinfold.reference.contents import Timed
from joinfold.window import Rows, Sliding
from tests.physical.timings import HORIZON, bound, slidings, timing

WIDS = range(12)
moduli = st.none() | st.integers(1, 4)
times = st.lists(st.integers(-25, 40), min_size=1, max_size=6)
by_rows = st.builds(Rows, st.integers(1, 6), st.integers(1, 6))


def array(values: object) -> Integers:
    return np.array(values, np.int64)


def content(rows: list[int]) -> list[Timed]:
    return [Timed(ts, number, {}) for number, ts in enumerate(rows, 1)]


def calendar(window: Sliding | Rows, modulus: int | None, origin: int = 0) -> WindowIdCalendar:
    """The calendar of a first stream whose first row is at a time."""
    found = calendar_of(timing([window, Sliding(4, 4)], ByWindowId(modulus)), 0, StreamPosition())
    assert isinstance(found, WindowIdCalendar)
    if isinstance(window, Sliding):
        found.see(found.cell_of(array([origin])))
    return found


@given(slidings, moduli)
def test_rows_are_late_as_in_the_definition(window: Sliding, modulus: int | None) -> None:
    clause = "SYNC ON WINDOW ID" if modulus is None else f"SYNC ON WINDOW ID MOD {modulus}"
    query, found, ts = bound([window, Sliding(4, 4)], clause), calendar(window, modulus), array(HORIZON)
    due = np.where(found.accepts(ts), found.due(found.cell_of(ts)), NEVER)
    defined = [streaming.first_instant(query, window, t) for t in HORIZON]
    assert due.tolist() == [NEVER if first is None else first for first in defined]


@given(slidings, moduli, times)
def test_windows_in_time_are_those_of_the_definition(window: Sliding, modulus: int | None, rows: list[int]) -> None:
    """Row by row where there is a window, and all of one size, a slide apart, where there will be one."""
    rows = [ts for ts in sorted(rows) if window.start_us is None or ts >= window.start_us]
    assume(rows)
    found = calendar(window, modulus, rows[0])
    ts = array(rows)
    cells, first = found.cell_of(ts), found.edges(0)
    for wid in WIDS:
        own = wid if modulus is None else wid % modulus
        begin, end = found.edges(wid)
        assert (begin, end) == (first[0] + own * window.slide_us, first[1] + own * window.slide_us)
        low, high = found.content(wid)
        held = ts[(low <= cells) & (cells < high)].tolist()
        numbered = reference.window_number(window, content(rows), own, reference.NEVER)
        if numbered is None:
            assert held == []
        else:
            assert (begin, end, held) == (*numbered[:2], [item.ts for item in numbered[2]])


@given(by_rows, moduli)
def test_windows_of_rows_hold_the_rows_of_their_numbers(window: Rows, modulus: int | None) -> None:
    found = calendar(window, modulus)
    for wid in WIDS:
        own = wid if modulus is None else wid % modulus
        first, last = found.edges(wid)
        assert (first, last) == (own * window.slide + 1, own * window.slide + window.size)
        low, high = found.content(wid)
        assert (low * window.block + 1, high * window.block) == (first, last)


@given(slidings | by_rows, moduli, st.integers(-20, 20))
def test_a_cell_leaves_at_the_first_window_that_does_not_hold_it(
    window: Sliding | Rows, modulus: int | None, origin: int
) -> None:
    """Where windows come again the last one lets all go; a window that stands alone stays as it is."""
    assume(not isinstance(window, Sliding) or window.start_us is None or origin >= window.start_us)
    found = calendar(window, modulus, origin)
    for wid in WIDS:
        cells = np.arange(*found.content(wid))
        expected = []
        for cell in cells.tolist():
            after = wid + 1
            while (
                modulus != 1
                and after % (modulus or NEVER)
                and found.content(after)[0] <= cell < found.content(after)[1]
            ):
                after += 1
            expected.append(END if modulus == 1 else after)
        assert found.leave(cells, wid).tolist() == expected


@given(slidings, slidings, moduli, times, times, st.integers(-5, 90) | st.just(END))
def test_result_windows_are_complete_when_all_their_windows_are(
    first: Sliding, second: Sliding, modulus: int | None, left: list[int], right: list[int], watermark: int
) -> None:
    own, position = timing([first, second], ByWindowId(modulus)), Position.beginning(2)
    calendars = calendars_of(own, position, {})
    emission = emission_of(own, calendars)

    def answered(most: int) -> list[int]:
        pieces = [piece.tolist() for piece in emission.instants(position, watermark, most)]
        assert pieces and max(map(len, pieces)) <= most
        return [wid for piece in pieces for wid in piece]

    assert answered(END) == []
    contents = []
    for found, rows in zip(calendars, (left, right), strict=True):
        ts = array(sorted(rows))
        ts = ts[found.accepts(ts)]
        assume(len(ts))
        found.see(found.cell_of(ts))
        found.position.see(int(ts[-1]))
        contents.append(content(ts.tolist()))
    until, expected = reference.NEVER if watermark == END else watermark, list[list[int]]()
    while True:
        wid = len(expected)
        numbers = (wid if modulus is None else wid % modulus, wid)
        defined = [
            reference.window_number(window, rows, number, until)
            for window, rows, number in zip(own.windows, contents, numbers, strict=True)
        ]
        if None in defined:
            break
        expected.append([wid, *(edge for numbered in defined if numbered is not None for edge in numbered[:2])])
    wids = answered(END)
    assert wids == answered(1) == answered(7) == list(range(len(expected)))
    columns = emission.placed(wids)
    assert columns is not None and list(map(list, zip(*columns, strict=True))) == expected
    if wids:
        position.applied = wids[-1]
        assert answered(END) == []


def test_windows_that_come_again_keep_all_their_cells() -> None:
    for modulus, kept in ((None, 5), (2, BEGINNING)):
        found = calendar(Sliding(4, 2), modulus)
        assert found.keeps(5) == found.done_before(5) == kept
