"""Entries on their way through a window, by time against the definition and by replacement against a dictionary."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.logical.query import LogicalQuery
from joinfold.operators.calendars.calendar import BEGINNING, END, NOTHING, Content
from joinfold.operators.calendars.open_calendars import calendar_of
from joinfold.operators.calendars.position import StreamPosition
from joinfold.operators.entries import Entries
from joinfold.operators.stages.intake import TimedIntake, ViewIntake
from joinfold.physical.column_names import CELL, COPIES, EQUAL, MOVED, NUMBER
from joinfold.physical.timing import Timing
from joinfold.reference import contents as reference
from joinfold.reference.contents import Timed
from joinfold.window import Continuous, Landmark, Rows, Sliding
from tests.operators.made import entries, pairs_of
from tests.physical.timings import candidates_in_horizon, every, timing, timings

times = st.lists(st.integers(-25, 40), min_size=1, max_size=8)
steps = st.sets(st.integers(0, 60), max_size=8).map(sorted)


def intake_of(own: Timing, stream: int = 0) -> TimedIntake:
    return TimedIntake(stream, calendar_of(own, stream, StreamPosition()))


def adopted(pieces: list[Entries]) -> list[Entries]:
    """Entries as they are, since their ids stay the same."""
    return list(pieces)


def numbers(some: Entries | None) -> Counter[int]:
    return Counter(number for _, number in pairs_of(some))


@given(made=timings(), rows=times, chosen=steps, rebuilt=st.integers(0, 8), dropped=st.booleans())
def test_what_is_inside_is_what_the_definition_holds(
    made: tuple[Timing, LogicalQuery], rows: list[int], chosen: list[int], rebuilt: int, dropped: bool
) -> None:
    """At some of the candidates; entries leave when they were said to."""
    own, _ = made
    stream = own.streams - 1
    intake = intake_of(own, stream)
    calendar = intake.calendar
    ts = np.array(rows, np.int64)
    accepted = np.flatnonzero(calendar.accepts(ts))
    intake.cells.add(entries(calendar.cell_of(ts).tolist()).take(accepted))
    contents: list[Content] = [NOTHING] * own.streams
    inside, leaving = Counter[int](), dict[int, int]()
    candidates = candidates_in_horizon(own)
    for step, at in enumerate(sorted({candidates[ordinal % len(candidates)] for ordinal in chosen})):
        if step == rebuilt:  # all enter again
            intake.rebuild(adopted)
            contents, inside = [NOTHING] * own.streams, Counter[int]()
        before, contents = contents, [calendar.content(at)] * own.streams
        gone, new, leaves = intake.move(before, contents, at)
        assert numbers(gone) <= inside and all(leaving[number] <= at for number in numbers(gone))
        inside += numbers(new)
        inside -= numbers(gone)
        assert (leaves is None) == (new is None)
        if leaves is not None:
            leaving |= dict(zip(numbers(new), leaves.tolist(), strict=True))
        held = reference.held(own.windows[stream], [Timed(t, n, {}) for n, t in enumerate(sorted(rows), 1)], at)
        assert sorted(rows[number] for number in inside) == sorted(item.ts for item in held)
        assert all(leaving[number] > at for number in inside)
        if dropped:
            intake.drop_gone(contents)
            assert intake.held >= len(inside)
            if intake.held:
                assert not intake.is_done(int(intake.cells.occupied[0]), contents)


@pytest.mark.parametrize(
    ("own", "alike"),
    [
        (timing([Landmark()], every(4)), 3),
        (timing([Continuous(5)], every(4)), BEGINNING),
        (timing([Sliding(4, 4)]), BEGINNING),
    ],
)
def test_only_what_never_leaves_is_alike(own: Timing, alike: int) -> None:
    intake = intake_of(own)
    assert intake.alike_before([intake.calendar.content(12)]) == alike
    assert intake.is_done(0, [intake.calendar.content(12)]) == (alike == BEGINNING)


def rows_at(times: list[int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({CELL: times, "row": [f"row {ts}" for ts in times]})


def boundaries(numbers: list[int], times: list[int]) -> pa.RecordBatch:
    """Boundaries after rows of these numbers and times, each the last of its time."""
    return pa.RecordBatch.from_pydict(
        {CELL: times, NUMBER: numbers, COPIES: [0] * len(times), EQUAL: [0] * len(times), MOVED: [0] * len(times)}
    )


def test_rows_that_are_counted_wait_for_their_block() -> None:
    intake = intake_of(timing([Rows(4, 2)]))
    assert intake.ready() is None
    assert intake.admit(rows_at([5, 1])) is None and intake.admit(rows_at([2, 9])) is None
    assert intake.ready() is None and len(intake.waiting) == 1
    intake.calendar.learn(boundaries([2], [2]))
    found = intake.ready()
    assert found is not None
    assert found.to_pylist() == [{CELL: 0, "row": "row 1"}, {CELL: 0, "row": "row 2"}]
    assert intake.ready() is None
    intake.calendar.learn(boundaries([4], [9]))
    found = intake.ready()
    assert found is not None
    assert found.to_pylist() == [{CELL: 1, "row": "row 5"}, {CELL: 1, "row": "row 9"}]
    assert intake.ready() is None and not intake.waiting


def test_rows_in_time_need_not_wait() -> None:
    intake, batch = intake_of(timing([Sliding(4, 4)])), rows_at([1])
    assert intake.admit(batch) is batch and intake.ready() is None
    view = ViewIntake()
    assert view.admit(batch) is batch and view.ready() is None


Row = tuple[int, int]
views = st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=5), max_size=10)


def view_entries(rows: list[Row], instant: int) -> Entries:
    """Rows of a view at an instant, as keys and counts."""
    found = entries([instant] * len(rows))
    found.key = np.array([key for key, _ in rows], np.int32)
    found.payload.ints[:, 0] = [count for _, count in rows]
    return found


def counted(some: Entries | None) -> Counter[Row]:
    if some is None:
        return Counter()
    return Counter(zip(some.key.tolist(), some.payload.ints[:, 0].tolist(), strict=True))


@given(come=views, rebuilt=st.integers(0, 9), ahead=st.integers(0, 2))
def test_rows_of_a_view_replace_each_other(come: list[list[Row]], rebuilt: int, ahead: int) -> None:
    """Whether rows of later instants are there already or not."""
    intake, expected, inside = ViewIntake(), dict[int, Row](), Counter[Row]()
    fed = 0
    for instant, rows in enumerate(come):
        for later in range(fed, min(instant + ahead + 1, len(come))):
            intake.cells.add(view_entries(come[later], later))
            fed = later + 1
        if instant == rebuilt:  # those that are current come again, before all that wait
            intake.rebuild(adopted)
            inside = Counter()
        gone, new, leaves = intake.move([], [], instant)
        assert counted(gone) <= inside
        inside += counted(new)
        inside -= counted(gone)
        assert new is None or (leaves is not None and leaves.tolist() == [END] * len(new))
        expected = {key: row for key, row in (expected | {row[0]: row for row in rows}).items() if row[1]}
        assert inside == Counter(expected.values())
        waiting = sum(len(rows) for rows in come[instant + 1 : fed])
        assert intake.held == len(expected) + waiting
        assert intake.given >= len(expected)
        assert not intake.is_done(instant, []) and intake.alike_before([]) == END
