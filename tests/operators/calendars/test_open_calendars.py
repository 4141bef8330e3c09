"""Every kind of window has its calendar, which stands where its stream does."""

import numpy as np
import pytest

from joinfold.operators.calendars.calendar import BEGINNING, END, NEVER, NOTHING, Calendar
from joinfold.operators.calendars.open_calendars import calendar_of, calendars_of
from joinfold.operators.calendars.position import Position, StreamPosition
from joinfold.operators.calendars.rows import CountingCalendar, RowsCalendar
from joinfold.operators.calendars.time import KeyedCalendar, TimeCalendar
from joinfold.operators.calendars.window_ids import WindowIdCalendar
from joinfold.physical.timing import AtTriggers, ByWindowId
from joinfold.window import Continuous, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window
from tests.physical.timings import timing

KINDS: list[tuple[Window, type[Calendar]]] = [
    (Sliding(4, 2), TimeCalendar),
    (Continuous(4), TimeCalendar),
    (Landmark(), TimeCalendar),
    (Rows(4, 2), RowsCalendar),
    (RangeByRows(4, 2), CountingCalendar),
    (PartitionedRows(("k",), 2), KeyedCalendar),
]


@pytest.mark.parametrize(("window", "kind"), KINDS)
def test_a_calendar_is_of_the_kind_of_its_window(window: Window, kind: type[Calendar]) -> None:
    position = StreamPosition()
    found = calendar_of(timing([window], AtTriggers()), 0, position)
    assert type(found) is kind and found.window == window and found.position is position


@pytest.mark.parametrize("window", [Sliding(4, 2), Rows(4, 2), RangeByRows(4, 2)])
def test_by_window_ids_all_are_of_one_kind(window: Window) -> None:
    own = timing([window, window], ByWindowId(3))
    first, second = calendars_of(own, Position.beginning(2), {})
    assert isinstance(first, WindowIdCalendar) and isinstance(second, WindowIdCalendar)
    assert (first.modulus, second.modulus) == (3, None)  # only the windows of the first stream come again


def test_each_stream_has_its_position_and_its_order() -> None:
    position = Position.beginning(3)
    own = timing([Rows(4, 2), Continuous(4), Rows(2)], AtTriggers())
    found = calendars_of(own, position, {2: ("x", "y")})
    assert [calendar.position for calendar in found] == position.streams
    assert all(calendar.position is stream for calendar, stream in zip(found, position.streams, strict=True))
    assert [calendar.boundaries.order for calendar in found if isinstance(calendar, RowsCalendar)] == [(), ("x", "y")]


def test_nothing_is_before_the_beginning_or_after_the_end() -> None:
    """They are the ends of int64, so that arrays can hold them; a window that holds nothing holds no cell."""
    assert (np.iinfo(np.int64).min, np.iinfo(np.int64).max, np.iinfo(np.int64).max) == (BEGINNING, NEVER, END)
    assert not range(*NOTHING)
