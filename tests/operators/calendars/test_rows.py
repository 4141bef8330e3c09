"""Windows that count rows: contents by row boundaries are those of the definition, which counts."""

from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.calendars.calendar import BEGINNING, NEVER
from joinfold.operators.calendars.open_calendars import calendar_of
from joinfold.operators.calendars.position import StreamPosition
from joinfold.operators.calendars.rows import Boundaries, CountingCalendar, RowsCalendar
from joinfold.physical.column_names import CELL, COPIES, NUMBER
from joinfold.reference import contents as reference
from joinfold.reference.contents import Timed
from joinfold.window import RangeByRows, Rows
from tests.operators.calendars.numbered import VALUE, Row, boundaries_batch, boundaries_of, rows_batch
from tests.physical.timings import timing

by_rows = st.builds(Rows, st.integers(1, 6), st.integers(1, 6))
by_time = st.builds(RangeByRows, st.integers(1, 6), st.integers(1, 4))
streams = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), max_size=14)
INSTANTS = range(9)


def calendar(window: Rows | RangeByRows) -> CountingCalendar:
    found = calendar_of(timing([window]), 0, StreamPosition(), (VALUE,))
    assert isinstance(found, CountingCalendar)
    return found


def held(window: Rows | RangeByRows, rows: list[Row], instant: int) -> Counter[Row]:
    """What the definition says that the window holds."""
    ordered = sorted(rows)
    timed = [Timed(ts, number, {}) for number, (ts, _) in enumerate(ordered, 1)]
    return Counter(ordered[item.number - 1] for item in reference.held(window, timed, instant))


@given(window=by_rows, rows=streams, parts=st.integers(1, 3), order=st.randoms(use_true_random=False))
def test_blocks_of_rows_are_those_that_the_definition_holds(
    window: Rows, rows: list[Row], parts: int, order: Random
) -> None:
    """Whichever boundaries are learnt first; rows of one time, and equal ones, are divided as they are counted."""
    found, boundaries = calendar(window), boundaries_of(rows, window)
    order.shuffle(boundaries)
    for part in range(parts):
        found.learn(boundaries_batch(boundaries[part::parts]))
    order.shuffle(rows)
    cells = found.cells_of(rows_batch(rows)).tolist()
    in_blocks = len(boundaries) * window.block
    assert sorted(cells, key=lambda cell: cell % NEVER) == [
        *(number // window.block for number in range(in_blocks)),
        *[-1] * (len(rows) - in_blocks),
    ]
    for instant in INSTANTS:
        first, end = found.content(instant)
        inside = Counter(row for row, cell in zip(rows, cells, strict=True) if first <= cell < end)
        assert inside == held(window, rows, instant)
    assert found.boundaries.moves.tolist() == [
        own[CELL] + 1 for own in boundaries_of(rows, window) if own[NUMBER] % window.slide == 0
    ]


@given(window=by_time, rows=streams)
def test_a_stretch_of_time_moves_as_rows_are_counted(window: RangeByRows, rows: list[Row]) -> None:
    found = calendar(window)
    found.learn(boundaries_batch(boundaries_of(rows, window)))
    for instant in INSTANTS:
        first, end = found.content(instant)
        assert Counter(row for row in rows if first <= row[0] < end) == held(window, rows, instant)
    moves = sorted({own[CELL] + 1 for own in boundaries_of(rows, window)})
    assert found.boundaries.moved == len(moves)
    assert [found.boundaries.move(number) for number in range(len(moves))] == moves


small = st.builds(Rows, st.integers(1, 3), st.integers(1, 3)) | by_time
long = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=8, max_size=14)


@given(window=small, rows=long, now=st.integers(3, 8))
def test_what_is_forgotten_is_of_no_more_use(window: Rows | RangeByRows, rows: list[Row], now: int) -> None:
    found, whole = calendar(window), calendar(window)
    for own in (found, whole):
        own.learn(boundaries_batch(boundaries_of(rows, window)))
    first, _ = found.content(now)
    done_before = found.done_before(first)
    inside = held(window, rows, now)
    assert all(ts >= done_before for ts, _ in inside)
    found.forget(first)
    assert found.boundaries.times.tolist() == [ts for ts in whole.boundaries.times.tolist() if ts >= done_before]
    assert [found.content(at) for at in range(now, 9)] == [whole.content(at) for at in range(now, 9)]
    assert found.leave(rows_batch(rows).column(CELL).to_numpy(), now).tolist() == [NEVER] * len(rows)


@given(window=by_rows | by_time, rows=streams)
def test_cells_enter_at_the_first_move_that_holds_them(window: Rows | RangeByRows, rows: list[Row]) -> None:
    found = calendar(window)
    found.learn(boundaries_batch(boundaries_of(rows, window)))
    entered: dict[int, int] = {}
    for instant in INSTANTS:
        first, end = found.content(instant)
        for cell in range(max(first, 0), end):
            entered.setdefault(cell, instant)
    cells = np.array(sorted(entered), np.int64)
    assert found.entry(cells).tolist() == [entered[cell] for cell in cells.tolist()]
    now = max(INSTANTS)
    found.forget(found.content(now)[0])
    inside = cells[cells >= found.content(now)[0]]
    assert found.entry(inside).tolist() == [entered[cell] for cell in inside.tolist()]


def test_before_the_first_boundary_nothing_is_inside_or_done() -> None:
    for window, content in ((Rows(4, 2), (0, 0)), (RangeByRows(4, 2), (BEGINNING, BEGINNING))):
        found = calendar(window)
        assert (
            found.content(5) == content and found.moves(5) is found.boundaries.moves and not len(found.boundaries.moves)
        )
        assert found.done_before(content[0]) == BEGINNING
    boundaries = Boundaries(Rows(4, 2))
    assert (boundaries.last, boundaries.moved, boundaries.after(2)) == (0, 0, NEVER)
    boundaries.add(boundaries_batch(boundaries_of([(3, 0), (5, 0)], Rows(4, 2))))
    assert (boundaries.last, boundaries.after(2), boundaries.after(3)) == (2, 6, NEVER)


def test_boundaries_that_were_applied_are_before_all_rows_that_come() -> None:
    """Of three equal rows two were before the first: the one that waits is not taken for one of them."""
    window, rows = Rows(2, 2), [(1, 0), (1, 0), (1, 0), (2, 0)]
    found, boundaries = calendar(window), boundaries_of(rows, window)
    assert isinstance(found, RowsCalendar) and [own[COPIES] for own in boundaries] == [2, 0]
    found.learn(boundaries_batch(boundaries[:1]))
    assert found.cells_of(rows_batch(rows)).tolist() == [0, 0, -1, -1]
    found.learn(boundaries_batch(boundaries[1:]))
    assert found.cells_of(rows_batch(rows[2:])).tolist() == [1, 1]


def test_rows_that_match_several_of_a_relation_are_divided_with_their_matches() -> None:
    """Of two rows that are equal the boundary is between them; each is there twice."""
    window = Rows(1, 1)
    found = calendar(window)
    found.learn(boundaries_batch(boundaries_of([(1, 7), (1, 7)], window)))
    rows = pa.concat_batches([rows_batch([(1, 7)] * 2), rows_batch([(1, 7)] * 2)])
    assert sorted(found.cells_of(rows).tolist()) == [0, 0, 1, 1]
