"""The calendars of all streams of a query."""

from collections.abc import Mapping
from typing import assert_never

from joinfold.operators.calendars.calendar import Calendar
from joinfold.operators.calendars.position import Position, StreamPosition
from joinfold.operators.calendars.rows import CountingCalendar, RowsCalendar
from joinfold.operators.calendars.time import KeyedCalendar, TimeCalendar
from joinfold.operators.calendars.window_ids import WindowIdCalendar
from joinfold.physical.timing import ByWindowId, Timing
from joinfold.window import Continuous, Landmark, PartitionedRows, RangeByRows, Rows, Sliding


def calendar_of(timing: Timing, stream: int, position: StreamPosition, order: tuple[str, ...] = ()) -> Calendar:
    """The calendar of a stream; ``order`` are the columns that order its rows, in stages that have them."""
    if isinstance(timing.rule, ByWindowId):
        return WindowIdCalendar(timing, stream, position, order)
    window = timing.windows[stream]
    match window:
        case Sliding() | Continuous() | Landmark():
            return TimeCalendar(timing, stream, position)
        case Rows():
            return RowsCalendar(timing, stream, position, order)
        case RangeByRows():
            return CountingCalendar(timing, stream, position, order)
        case PartitionedRows():
            return KeyedCalendar(timing, stream, position)
        case _:
            assert_never(window)


def calendars_of(timing: Timing, position: Position, orders: Mapping[int, tuple[str, ...]]) -> list[Calendar]:
    """The calendars of all streams at a position; ``orders`` has the ordering columns of streams by number."""
    return [
        calendar_of(timing, stream, stream_position, orders.get(stream, ()))
        for stream, stream_position in enumerate(position.streams)
    ]
