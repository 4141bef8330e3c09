"""The content of windows: rows in order, the rows in a window at an instant, the stay of a row, windows by number.

This is the part of the definition (`reference.naive`) that concerns a single input.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from joinfold.logical.expressions import Value
from joinfold.logical.query import Input, LogicalQuery
from joinfold.reference.rows import Row
from joinfold.reference.values import order_key
from joinfold.window import Continuous, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window

NEVER = 2**63


@dataclass(frozen=True, slots=True)
class Timed:
    """A row of an input, with its event time and its number in the order of the stream, from 1."""

    ts: int
    number: int
    row: Row


Content = list[Timed]
Contents = Mapping[str, Content]


def event_time(input_: Input, row: Row, arrival: int) -> int | None:
    """The event time in microseconds, or ``arrival`` without a time column (for a relation it has no meaning)."""
    value = arrival if input_.source.time is None else row[input_.source.time]
    assert value is None or isinstance(value, int)
    return value


def arrange(query: LogicalQuery, input_: Input, rows: Iterable[tuple[int | None, Row]]) -> Content:
    """The rows that have an event time, sorted by time, then by the values of the columns read, NULL first."""
    columns = query.columns_read(input_.alias)
    known = [(ts, row) for ts, row in rows if ts is not None]
    known.sort(key=lambda item: (item[0], *(order_key(item[1][column]) for column in columns)))
    return [Timed(ts, number, row) for number, (ts, row) in enumerate(known, start=1)]


def held(window: Window | None, rows: Content, instant: int) -> Content:
    """The content of a window at an instant, before WHERE."""
    past = [item for item in rows if item.ts < instant]
    match window:
        case None:
            return rows
        case Sliding(size_us=size, slide_us=slide, start_us=start):
            end = instant - (instant - (start or 0)) % slide
            return [item for item in rows if end - size <= item.ts < end]
        case Continuous(size_us=size):
            return [item for item in past if instant - size <= item.ts]
        case Landmark(from_us=mark):
            return [item for item in past if mark is None or mark <= item.ts]
        case Rows(size=size, slide=slide):
            last = slide * (len(past) // slide)
            return [item for item in past if last - size < item.number <= last]
        case PartitionedRows(by=by, size=size):
            parts = partition(past, lambda item: [item.row[column] for column in by])
            return [item for part in parts for item in part[-size:]]
        case RangeByRows(size_us=size, slide=slide):
            end = max((move for move in row_moves(rows, slide) if move <= instant), default=-NEVER)
            return [item for item in rows if end - size <= item.ts < end]


def row_moves(rows: Content, slide: int) -> list[int]:
    """The moves: 1 µs after every row whose number is a multiple of the slide; one move for rows of the same time."""
    return sorted({item.ts + 1 for item in rows if item.number % slide == 0})


def partition(items: Iterable[Any], key: Callable[[Any], Sequence[Value]]) -> list[list[Any]]:
    """The items grouped by key, in the order in which keys first appear; NULL is one key."""
    parts: dict[tuple[Any, ...], list[Any]] = {}
    for item in items:
        parts.setdefault(tuple(order_key(value) for value in key(item)), []).append(item)
    return list(parts.values())


def stay(window: Window | None, rows: Content, item: Timed) -> tuple[int, int]:
    """The half-open interval of instants at which the window holds the row; empty if there is none."""
    ts = item.ts
    match window:
        case None:
            return -NEVER, NEVER
        case Sliding(size_us=size, slide_us=slide, start_us=start):
            phase = start or 0
            return ts + slide - (ts - phase) % slide, ts + size + slide - (ts + size - phase) % slide
        case Continuous(size_us=size):
            return ts + 1, ts + size + 1
        case Landmark():
            moves = [ts + 1]
        case Rows(slide=slide) | RangeByRows(slide=slide):
            moves = row_moves(rows, slide)
        case PartitionedRows():
            moves = row_moves(rows, 1)
        case _:
            assert_never(window)
    holding = [move for move in moves if item in held(window, rows, move)]
    after = [move for move in moves if holding and move > holding[-1]]
    return (holding[0], min(after, default=NEVER)) if holding else (NEVER, NEVER)


def window_number(window: Window | None, rows: Content, wid: int, until: int) -> tuple[int, int, Content] | None:
    """Start, end and content of window ``wid`` of an input; None if it does not exist or is not complete."""
    if not rows:
        return None
    match window:
        case Sliding(size_us=size, slide_us=slide, start_us=start):
            origin = rows[0].ts - rows[0].ts % slide if start is None else start
            begin = origin + wid * slide
            exists = begin <= rows[-1].ts and (until == NEVER or begin + size <= until)
            return (begin, begin + size, [item for item in rows if begin <= item.ts < begin + size]) if exists else None
        case Rows(size=size, slide=slide):
            first, last = wid * slide + 1, wid * slide + size
            exists = last <= len(rows) and rows[last - 1].ts < until
            return (first, last, rows[first - 1 : last]) if exists else None
        case RangeByRows(size_us=size, slide=slide):
            moves = [move for move in row_moves(rows, slide) if move <= until]
            if wid >= len(moves):
                return None
            end = moves[wid]
            return end - size, end, [item for item in rows if end - size <= item.ts < end]
        case _:
            raise AssertionError(f"{window} has no numbers")
