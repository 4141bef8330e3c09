"""Instants against the definition, which goes candidate by candidate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.logical.query import LogicalQuery
from joinfold.operators.calendars.calendar import BEGINNING, END, NEVER
from joinfold.operators.calendars.emission import CandidateEmission, TriggerEmission, emission_of
from joinfold.operators.calendars.open_calendars import calendars_of
from joinfold.operators.calendars.position import Position
from joinfold.operators.entries import Integers
from joinfold.physical.timing import AtTriggers, Timing
from joinfold.reference import naive
from joinfold.reference.contents import Timed
from joinfold.window import Continuous, Landmark, Sliding
from tests.physical.timings import every, timing, timings

times = st.lists(st.integers(-25, 40), max_size=6)
steps = st.lists(st.integers(-30, 60), max_size=8).map(sorted)
Rows = list[list[int]]


def array(values: object) -> Integers:
    return np.array(values, dtype=np.int64)


class Run:
    """The calendars of all streams and the emission, as a bucket has them."""

    def __init__(self, own: Timing, rows: Rows | None = None, position: Position | None = None) -> None:
        self.timing = own
        self.position = Position.beginning(own.streams) if position is None else position
        self.calendars = calendars_of(own, self.position, {})
        self.emission = emission_of(own, self.calendars)
        assert isinstance(self.emission, CandidateEmission)
        for stream, times in enumerate(rows or []):
            self.add(stream, times)

    def add(self, stream: int, rows: list[int]) -> None:
        ts, calendar = array(rows), self.calendars[stream]
        calendar.see(calendar.cell_of(ts[calendar.accepts(ts)]))

    def due(self, stream: int, rows: list[int]) -> list[int]:
        ts, calendar = array(rows), self.calendars[stream]
        return np.where(calendar.accepts(ts), calendar.due(calendar.cell_of(ts)), NEVER).tolist()

    def instants(self, after: int | None, until: int) -> Integers:
        """All instants, which are the same in pieces of any size."""
        self.position.answered = after
        (whole,) = self.emission.instants(self.position, until, END)
        for most in (1, 2, 7):
            pieces = list(self.emission.instants(self.position, until, most))
            assert pieces and max(map(len, pieces)) <= most
            assert np.concatenate(pieces).tolist() == whole.tolist()
        return whole

    def resumed(self) -> "Run":
        """The same, as it was stored."""
        names = self.timing.names
        return Run(self.timing, position=Position.from_facts(self.position.facts(names), names))

    @property
    def occupied(self) -> list[list[int]]:
        return [stream.occupied.tolist() for stream in self.position.streams]


@st.composite
def histories(draw: st.DrawFn) -> tuple[Timing, LogicalQuery, Rows]:
    """A timing with event times for each of its streams."""
    own, query = draw(timings())
    return own, query, [draw(times) for _ in own.windows]


def defined_instants(query: LogicalQuery, rows: Rows) -> list[int]:
    contents = {
        input_.alias: [Timed(ts, number, {}) for number, ts in enumerate(sorted(rows[ordinal]), start=1)]
        for ordinal, input_ in enumerate(query.streams)
    }
    return list(naive.instants(query, contents))


@given(histories())
def test_instants_are_those_of_the_definition(history: tuple[Timing, LogicalQuery, Rows]) -> None:
    own, query, rows = history
    found = Run(own, rows).instants(None, END)
    assert found.dtype == np.int64
    assert found.tolist() == defined_instants(query, rows)


@given(histories(), steps, st.booleans())
def test_stopping_and_pruning_change_nothing(
    history: tuple[Timing, LogicalQuery, Rows], steps: list[int], prune: bool
) -> None:
    own, query, rows = history
    run = Run(own, rows)
    found: list[int] = []
    after = None
    for until in [*steps, END]:
        found += run.instants(after, until).tolist()
        if prune:
            run.emission.prune(until)
            run = run.resumed()
        after = until
    assert found == defined_instants(query, rows)
    if prune:
        run.emission.prune(END - 1)  # END is that of a bounded run, which needs no pruning
        assert run.occupied == [[]] * own.streams


@given(histories(), steps)
def test_rows_that_are_not_late_may_come_after_earlier_instants(
    history: tuple[Timing, LogicalQuery, Rows], steps: list[int]
) -> None:
    """Each row is added as late as it may be: in the last step that begins before its due time."""
    own, query, rows = history
    run = Run(own)
    found: list[int] = []
    after = BEGINNING
    for until in [*steps, END]:
        for stream, times in enumerate(rows):
            due = run.due(stream, times)
            run.add(stream, [ts for ts, first in zip(times, due, strict=True) if after < first <= until])
        found += run.instants(after, until).tolist()
        run.emission.prune(until)
        after = until
    assert found == defined_instants(query, rows)


@given(histories(), st.integers(-40, 80))
def test_pruning_keeps_no_more_than_is_needed(history: tuple[Timing, LogicalQuery, Rows], answered: int) -> None:
    """Each cell that is kept gives an instant by itself."""
    own, _, rows = history
    run = Run(own, rows)
    run.emission.prune(answered)
    for stream, cells in enumerate(run.occupied):
        for cell in cells:
            alone = Run(own)
            alone.calendars[stream].see(array([cell]))
            assert len(alone.instants(answered, END))


@given(st.lists(st.lists(st.integers(-5, 5))))
def test_adding_cells_keeps_each_once_and_in_order(batches: list[list[int]]) -> None:
    run = Run(timing([Sliding(1, 1)]))
    for cells in batches:
        run.calendars[0].see(array(cells))
    assert run.occupied == [sorted({cell for cells in batches for cell in cells})]


def test_what_was_held_before_the_last_answer_is_remembered() -> None:
    own = timing([Sliding(4, 4)])
    run = Run(own, [[1, 13]])
    assert run.instants(None, 4).tolist() == [4]
    run.emission.prune(6)
    assert run.instants(6, END).tolist() == [8, 16, 20]
    assert run.instants(8, 19).tolist() == [16]
    assert run.instants(END, END).tolist() == []
    assert Run(own, [[-13]]).instants(END, END).tolist() == []


def test_a_gain_is_answered_once() -> None:
    run = Run(timing([Landmark(), Landmark(from_us=6)], every(4)), [[2, 3, 13], [5, 9]])
    assert run.instants(None, END).tolist() == [4, 12, 16]
    assert run.instants(4, 12).tolist() == [12]
    run.emission.prune(11)
    assert run.occupied == [[3], [2]]
    run.emission.prune(12)
    assert run.occupied == [[3], []]


def test_a_short_stay_inside_a_long_one_ends_nothing() -> None:
    """a holds its row from 1 to 12, so that nothing ends at 4 or 9, when b is empty again."""
    found = Run(timing([Sliding(12, 1), Continuous(2)]), [[0], [1, 6]]).instants(None, END)
    assert found.tolist() == list(range(1, 14))


@pytest.mark.parametrize(
    "own",
    [
        timing([Sliding(2, 1)]),
        timing([Sliding(2, 1), Continuous(2), Landmark()]),
        timing([Sliding(2, 1), Sliding(3, 7, 2)]),
        timing([Continuous(2)], every(1)),
        timing([Landmark()], every(1)),
    ],
)
def test_gaps_cost_nothing(own: Timing) -> None:
    rows = [[-7 * 10**15, 0, 7 * 10**15]] * own.streams
    run = Run(own, rows)
    found = run.instants(None, END)
    run.emission.prune(10**15)
    near = [[ts // 10**13 for ts in times] for times in rows]  # still multiples of 7: the same picture
    assert len(found) == len(Run(own, near).instants(None, END))
    assert run.instants(10**15, END).tolist() == [at for at in found if at > 10**15]


def test_a_million_instants() -> None:
    run = Run(timing([Sliding(600, 1), Sliding(60, 7)]))
    generator = np.random.default_rng(7)
    for calendar in run.calendars:
        calendar.see(calendar.cell_of(generator.integers(0, 1_000_000, 500_000)))
    found = run.instants(None, END)
    assert len(found) > 1_000_000 and (np.diff(found) > 0).all()


@given(timings())
def test_no_rows_no_instants(made: tuple[Timing, LogicalQuery]) -> None:
    own, _ = made
    run = Run(own)
    run.emission.prune(0)
    assert run.instants(None, END).tolist() == []


def test_on_trigger_the_watermark_is_the_instant() -> None:
    own = timing([Continuous(5), Continuous(5)], AtTriggers())
    position = Position.beginning(2)
    emission = emission_of(own, calendars_of(own, position, {}))
    assert isinstance(emission, TriggerEmission)

    def instants(until: int) -> list[int]:
        return [instant for piece in emission.instants(position, until, 1) for instant in piece.tolist()]

    assert instants(END) == []
    assert instants(7) == [7]
    position.answered = 7
    position.streams[1].see(9)
    assert instants(7) == []
    assert instants(END) == [10]  # 1 µs after the last row
