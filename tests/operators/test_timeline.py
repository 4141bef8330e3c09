"""Cells and instants against the definition, which goes row by row and candidate by candidate."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import LogicalQuery, OnTrigger, Source
from joinfold.operators.timeline import BEGINNING, END, NEVER, Clock, Occupancy, Timeline
from joinfold.reference import naive, streaming
from joinfold.reference.naive import Timed
from joinfold.timetext import duration_text, timestamp_us
from joinfold.window import Continuous, Grid, Landmark, Sliding, Window, common

SCHEMA = read_schema("ts TIMESTAMP, k INT")
ALIASES = "abc"
HORIZON = range(-60, 130)

lengths = st.sampled_from([1, 2, 3, 4, 5, 6, 8, 9, 12, 15])
starts = st.none() | st.integers(-20, 20)
slidings = st.builds(Sliding, lengths, lengths, starts)
continuous = st.builds(Continuous, lengths)
landmarks = st.builds(Landmark, starts)
any_windows = st.lists(slidings | slidings | continuous | landmarks, min_size=1, max_size=3)
times = st.lists(st.integers(-25, 40), max_size=6)
cuts = st.lists(st.integers(-30, 60), max_size=8).map(sorted)


def array(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def bound(windows: list[Window], clause: str) -> LogicalQuery:
    aliases = ALIASES[: len(windows)]
    inputs = ", ".join(f"s {alias} {window.to_sql()}" for alias, window in zip(aliases, windows, strict=True))
    where = " AND ".join(f"{left}.k = {right}.k" for left, right in pairwise(aliases))
    text = f"SELECT COUNT(*) AS n FROM {inputs} {'WHERE ' + where if where else ''} {clause}"
    return bind(parse(text), {"s": Source("s", SCHEMA, True, "ts", 0)})


@st.composite
def timelines(draw: st.DrawFn, trigger: bool = False) -> tuple[Timeline, LogicalQuery]:
    """Windows of every kind under every rule, as a timeline and as a query for the reference."""
    rule = "trigger" if trigger else draw(st.sampled_from(["slide", "slide", "full", "every", "landmarks"]))
    windows: list[Window] = draw(any_windows)
    match rule:
        case "trigger":
            return Timeline.of(windows, trigger=True), bound(windows, "EMIT ON TRIGGER")
        case "every" | "landmarks":
            if rule == "landmarks":
                windows = draw(st.lists(landmarks, min_size=1, max_size=3))
            period = draw(lengths)
            return Timeline.of(windows, every_us=period), bound(windows, f"EMIT EVERY {duration_text(period)}")
    if not any(isinstance(window, Sliding) for window in windows):
        windows[draw(st.integers(0, len(windows) - 1))] = draw(slidings)
    if rule == "full" and common(window.moves for window in windows if isinstance(window, Sliding)) is not None:
        return Timeline.of(windows, full=True), bound(windows, "SYNC ON FULL")
    return Timeline.of(windows), bound(windows, "EMIT ON SLIDE")


@st.composite
def histories(draw: st.DrawFn) -> tuple[Timeline, LogicalQuery, list[list[int]]]:
    """A timeline with event times for each of its places."""
    timeline, query = draw(timelines())
    return timeline, query, [draw(times) for _ in timeline.windows]


def timed(rows: list[int]) -> list[Timed]:
    return [Timed(ts, number, {}) for number, ts in enumerate(sorted(rows), start=1)]


def defined_instants(query: LogicalQuery, rows: list[list[int]]) -> list[int]:
    contents = {input_.alias: timed(rows[place]) for place, input_ in enumerate(query.streams)}
    return list(naive.instants(query, contents))


def add(occupancy: Occupancy, timeline: Timeline, place: int, rows: list[int]) -> None:
    ts = array(rows)
    occupancy.add(place, timeline.cell_of(place, ts[timeline.accepts(place, ts)]))


def occupied(timeline: Timeline, rows: list[list[int]]) -> Occupancy:
    occupancy = Occupancy.empty(len(timeline.windows))
    for place, own in enumerate(rows):
        add(occupancy, timeline, place, own)
    return occupancy


def candidates_in_horizon(timeline: Timeline) -> list[int]:
    if timeline.on_trigger:
        return list(HORIZON)
    return sorted({at for grid in timeline.candidates for at in grid.between(HORIZON.start, HORIZON.stop)})


# --- Cells ----------------------------------------------------------------------------------------------------


def test_cells_are_as_coarse_as_the_drawing() -> None:
    timeline = Timeline.of([Continuous(6), Sliding(4, 4)])
    assert [timeline.cell_us(place) for place in (0, 1)] == [2, 4]
    cell = timeline.cell_of(0, array([4, 5, 6]))
    assert cell.tolist() == [2, 2, 3]
    assert timeline.first_instant(0, cell).tolist() == [8, 8, 8]
    assert timeline.leave(0, cell).tolist() == [12, 12, 14]
    assert [timeline.content(0, at) for at in (8, 12)] == [(1, 4), (3, 6)]


@pytest.mark.parametrize(
    ("timeline", "cells"),
    [
        (Timeline.of([Sliding(6, 4)]), [Grid(0, 2)]),
        (Timeline.of([Sliding(6, 4, start_us=7)]), [Grid(1, 2)]),
        (Timeline.of([Sliding(4, 10, start_us=-3)], every_us=1), [Grid(1, 2)]),
        (Timeline.of([Sliding(12, 6), Landmark()]), [Grid(0, 6), Grid(0, 6)]),
        (Timeline.of([Sliding(12, 6, 2), Sliding(8, 8, 4), Landmark()]), [Grid(2, 6), Grid(4, 8), Grid(0, 2)]),
        (Timeline.of([Sliding(12, 6, 2), Sliding(8, 8, 5), Continuous(10)]), [Grid(2, 6), Grid(5, 8), Grid(0, 1)]),
        (Timeline.of([Sliding(4, 4), Sliding(6, 6), Landmark(5)], full=True), [Grid(0, 4), Grid(0, 6), Grid(0, 12)]),
        (Timeline.of([Continuous(15), Landmark()], every_us=10), [Grid(0, 5), Grid(0, 10)]),
        (Timeline.of([Continuous(15), Landmark(), Sliding(6, 4)], trigger=True), [Grid(0, 1), Grid(0, 1), Grid(0, 1)]),
    ],
)
def test_cells(timeline: Timeline, cells: list[Grid]) -> None:
    assert list(timeline.cells) == cells
    assert [Grid(timeline.cell_phase_us(p), timeline.cell_us(p)) for p in range(len(cells))] == cells


@given(timelines())
def test_no_coarser_cells_would_do(made: tuple[Timeline, LogicalQuery]) -> None:
    """Between them, the boundaries of the contents at all candidates lie on no coarser grid."""
    timeline, _ = made
    for window, cells in zip(timeline.windows, timeline.cells, strict=True):
        read = candidates_in_horizon(timeline)
        if isinstance(window, Sliding):  # by its own moves, whichever of them the candidates read
            read = list(window.moves.between(-200, 200))
        bounds = [bound for at in read for bound in window.bounds(at)]
        if isinstance(window, Landmark):
            bounds = [window.bounds(at)[1] for at in read]
        if len(read) > 1:
            assert np.gcd.reduce(array(bounds) - bounds[0]) == cells.period_us
            assert cells.last(bounds[0]) == bounds[0]


def assert_contents(timeline: Timeline, place: int) -> None:
    """At every candidate the window's content is the accepted rows of the cells, by content, entry and leave alike."""
    window = timeline.windows[place]
    ts = array(HORIZON)
    cell = timeline.cell_of(place, ts)
    accepted = timeline.accepts(place, ts)
    first, leave = timeline.first_instant(place, cell), timeline.leave(place, cell)
    begins, ends = timeline.content(place, array(candidates_in_horizon(timeline)))
    for at, begin, end in zip(candidates_in_horizon(timeline), begins, ends, strict=True):
        held = [item.ts for item in naive.held(window, timed(list(HORIZON)), at)]
        assert timeline.content(place, at) == (begin, end)
        assert ts[(begin <= cell) & (cell < end) & accepted].tolist() == held
        assert ts[(first <= at) & (at < leave) & accepted].tolist() == held


@given(timelines(), timelines(trigger=True))
def test_content_by_cells_is_content_by_rows(
    made: tuple[Timeline, LogicalQuery], triggered: tuple[Timeline, LogicalQuery]
) -> None:
    for timeline, _ in (made, triggered):
        assert_contents(timeline, len(timeline.windows) - 1)


@given(timelines(), timelines(trigger=True))
def test_due_is_the_first_instant_of_the_definition(
    made: tuple[Timeline, LogicalQuery], triggered: tuple[Timeline, LogicalQuery]
) -> None:
    for timeline, query in (made, triggered):
        for place, window in enumerate(timeline.windows):
            ts = array(HORIZON)
            due = timeline.due(place, ts)
            defined = [streaming.first_instant(query, window, t) for t in HORIZON]
            assert due.tolist() == [NEVER if first is None else first for first in defined]
            if not isinstance(query.emit, OnTrigger):
                accepted = timeline.accepts(place, ts)
                first = timeline.first_instant(place, timeline.cell_of(place, ts))
                assert first[accepted].tolist() == due[accepted].tolist()


def test_a_landmark_has_no_first_cell_and_never_lets_go() -> None:
    timeline = Timeline.of([Landmark(from_us=3)], every_us=5)
    assert timeline.content(0, 10) == (BEGINNING, 2)
    assert [part.tolist() for part in timeline.content(0, array([0, 10]))] == [[BEGINNING, BEGINNING], [0, 2]]
    assert timeline.leave(0, array([-4, 4])).tolist() == [NEVER, NEVER]
    assert timeline.accepts(0, array([2, 3])).tolist() == [False, True]


def test_grids_that_lie_on_others_are_left_out() -> None:
    assert Timeline.of([Sliding(4, 4), Sliding(8, 8, 4), Sliding(9, 4, 8), Sliding(8, 8, 2)]).candidates == (
        Grid(0, 4),
        Grid(2, 8),
    )


@pytest.mark.parametrize("near", [timestamp_us("0001-01-01"), timestamp_us("9999-12-31 23:59:59.999999")])
def test_the_ends_of_the_calendar_are_exact(near: int) -> None:
    """Python's integers cannot overflow, so they check the arrays."""
    longest = timestamp_us("9999-12-31") - timestamp_us("0001-01-01")
    windows = [Sliding(longest, longest - 7, near), Sliding(longest, 3, near), Continuous(longest), Landmark(near)]
    for timeline in (Timeline.of(windows), Timeline.of(windows, every_us=longest), Timeline.of(windows, trigger=True)):
        for place, window in enumerate(windows):
            ts = array([near])
            cell = timeline.cell_of(place, ts)
            grid = timeline.cells[place]
            assert cell.tolist() == [timeline.cell_of(place, near)] == [(near - grid.phase_us) // grid.period_us]
            entry = window.entry(near)
            assert entry is not None
            if timeline.on_trigger:
                assert timeline.first_instant(place, cell).tolist() == [entry]
            else:
                first = timeline.next_candidate(entry - 1)
                assert timeline.next_candidate(array([entry - 1])).tolist() == [first]
                leave = window.leave(near)
                expected = first if leave is None or first < leave else NEVER
                assert timeline.first_instant(place, cell).tolist() == [expected]


# --- Instants -------------------------------------------------------------------------------------------------


@given(histories())
def test_instants_are_those_of_the_definition(history: tuple[Timeline, LogicalQuery, list[list[int]]]) -> None:
    timeline, query, rows = history
    found = occupied(timeline, rows).instants(timeline, None, END)
    assert found.dtype == np.int64
    assert found.tolist() == defined_instants(query, rows)


@given(histories(), cuts, st.booleans())
def test_cutting_and_pruning_change_nothing(
    history: tuple[Timeline, LogicalQuery, list[list[int]]], cuts: list[int], prune: bool
) -> None:
    timeline, query, rows = history
    occupancy = occupied(timeline, rows)
    found: list[int] = []
    after = None
    for until in [*cuts, END]:
        found += occupancy.instants(timeline, after, until).tolist()
        if prune:
            occupancy.prune(timeline, until)
            occupancy = Occupancy.from_arrays(occupancy.to_arrays())
        after = until
    assert found == defined_instants(query, rows)
    if prune:
        assert all(len(cells) == 0 for cells in occupancy.to_arrays())


@given(histories(), cuts)
def test_rows_that_are_not_late_may_come_after_earlier_instants(
    history: tuple[Timeline, LogicalQuery, list[list[int]]], cuts: list[int]
) -> None:
    """Each row is added as late as it may be: in the last step that begins before its due time."""
    timeline, query, rows = history
    occupancy = Occupancy.empty(len(timeline.windows))
    found: list[int] = []
    after = BEGINNING
    for until in [*cuts, END]:
        for place, own in enumerate(rows):
            due = timeline.due(place, array(own)).tolist()
            add(occupancy, timeline, place, [ts for ts, first in zip(own, due, strict=True) if after < first <= until])
        found += occupancy.instants(timeline, after, until).tolist()
        occupancy.prune(timeline, until)
        after = until
    assert found == defined_instants(query, rows)


@given(histories(), st.integers(-40, 80))
def test_pruning_keeps_no_more_than_is_needed(
    history: tuple[Timeline, LogicalQuery, list[list[int]]], answered: int
) -> None:
    """Each cell that is kept gives an instant by itself."""
    timeline, _, rows = history
    occupancy = occupied(timeline, rows)
    occupancy.prune(timeline, answered)
    for place, cells in enumerate(occupancy.to_arrays()):
        for cell in cells:
            alone = Occupancy.empty(len(timeline.windows))
            alone.add(place, array([cell]))
            assert len(alone.instants(timeline, answered, END))


@given(st.lists(st.lists(st.integers(-5, 5))))
def test_adding_cells_keeps_each_once_and_in_order(batches: list[list[int]]) -> None:
    occupancy = Occupancy.empty(1)
    for cells in batches:
        occupancy.add(0, array(cells))
    assert occupancy.to_arrays()[0].tolist() == sorted({cell for cells in batches for cell in cells})


def test_what_was_held_before_the_cut_is_remembered() -> None:
    timeline = Timeline.of([Sliding(4, 4)])
    occupancy = occupied(timeline, [[1, 13]])
    assert occupancy.instants(timeline, None, 4).tolist() == [4]
    occupancy.prune(timeline, 6)
    assert occupancy.instants(timeline, 6, END).tolist() == [8, 16, 20]
    assert occupancy.instants(timeline, 8, 19).tolist() == [16]
    assert occupancy.instants(timeline, END, END).tolist() == []
    assert occupied(timeline, [[-13]]).instants(timeline, END, END).tolist() == []


def test_a_gain_is_answered_once() -> None:
    timeline = Timeline.of([Landmark(), Landmark(from_us=6)], every_us=4)
    occupancy = occupied(timeline, [[2, 3, 13], [5, 9]])
    assert occupancy.instants(timeline, None, END).tolist() == [4, 12, 16]
    assert occupancy.instants(timeline, 4, 12).tolist() == [12]
    occupancy.prune(timeline, 11)
    assert [cells.tolist() for cells in occupancy.to_arrays()] == [[3], [2]]
    occupancy.prune(timeline, 12)
    assert [cells.tolist() for cells in occupancy.to_arrays()] == [[3], []]


def test_a_short_stay_inside_a_long_one_ends_nothing() -> None:
    """a holds its row from 1 to 12, so that nothing ends at 4 or 9, when b is empty again."""
    timeline = Timeline.of([Sliding(12, 1), Continuous(2)])
    found = occupied(timeline, [[0], [1, 6]]).instants(timeline, None, END)
    assert found.tolist() == list(range(1, 14))


@pytest.mark.parametrize(
    "timeline",
    [
        Timeline.of([Sliding(2, 1)]),
        Timeline.of([Sliding(2, 1), Continuous(2), Landmark()]),
        Timeline.of([Sliding(2, 1), Sliding(3, 7, 2)]),
        Timeline.of([Continuous(2)], every_us=1),
        Timeline.of([Landmark()], every_us=1),
    ],
)
def test_gaps_cost_nothing(timeline: Timeline) -> None:
    rows = [[-7 * 10**15, 0, 7 * 10**15]] * len(timeline.windows)
    occupancy = occupied(timeline, rows)
    found = occupancy.instants(timeline, None, END)
    occupancy.prune(timeline, 10**15)
    near = [[ts // 10**13 for ts in own] for own in rows]  # still multiples of 7: the same picture
    assert len(found) == len(occupied(timeline, near).instants(timeline, None, END))
    assert occupancy.instants(timeline, 10**15, END).tolist() == [at for at in found if at > 10**15]


def test_a_million_instants() -> None:
    timeline = Timeline.of([Sliding(600, 1), Sliding(60, 7)])
    generator = np.random.default_rng(7)
    occupancy = Occupancy.empty(2)
    for place in (0, 1):
        occupancy.add(place, timeline.cell_of(place, generator.integers(0, 1_000_000, 500_000)))
    found = occupancy.instants(timeline, None, END)
    assert len(found) > 1_000_000 and (np.diff(found) > 0).all()


@given(timelines())
def test_no_rows_no_instants(made: tuple[Timeline, LogicalQuery]) -> None:
    timeline, _ = made
    occupancy = Occupancy.empty(len(timeline.windows))
    occupancy.prune(timeline, 0)
    assert occupancy.instants(timeline, None, END).tolist() == []


# --- Watermark ------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(-9, 9)), max_size=6),
    st.tuples(st.integers(0, 5), st.integers(0, 5)),
)
def test_the_watermark_is_that_of_the_definition(seen: list[tuple[int, int]], delays: tuple[int, int]) -> None:
    catalog = {name: Source(name, SCHEMA, True, "ts", delay) for name, delay in zip("st", delays, strict=True)}
    query = bind(parse("SELECT a.k FROM s a [1 SECOND], t b [1 SECOND] WHERE a.k = b.k"), catalog)
    batches = [{"st"[place]: [{"ts": ts, "k": 0}]} for place, ts in seen]
    clock = Clock.unset(2)
    found = [clock.watermark(delays)]
    for place, ts in seen:
        clock.see(place, ts)
        clock = Clock.from_array(clock.to_array())
        found.append(clock.watermark(delays))
    assert found == streaming.watermark_history(query, batches, range(len(batches)))
    assert clock.latest() == max((ts for _, ts in seen), default=None)


def test_all_of_it_travels() -> None:
    timeline = Timeline.of([Sliding(6, 4), Continuous(5), Landmark(3)])
    travelled = pickle.loads(pickle.dumps(timeline))
    assert travelled == timeline and travelled.cells == timeline.cells
    occupancy = occupied(timeline, [[1, 2], [3], []])
    again = pickle.loads(pickle.dumps(occupancy))
    assert [cells.tolist() for cells in again.to_arrays()] == [cells.tolist() for cells in occupancy.to_arrays()]
    clock = Clock([4, None])
    assert pickle.loads(pickle.dumps(clock)) == clock
