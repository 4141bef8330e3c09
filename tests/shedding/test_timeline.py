"""Rates by time against their definition, time by time."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.physical.shedding import DRAWS, WHOLE
from joinfold.shedding.rates import BEGINNING, threshold
from joinfold.shedding.timeline import CLOSE, NEVER, Timeline

LAST = 30
rates = st.sampled_from([0, 1, WHOLE // 4, WHOLE // 2, 3 * WHOLE // 4, WHOLE])
changes = st.lists(st.tuples(st.integers(0, LAST), rates), max_size=6).map(sorted)
draws = st.one_of(st.integers(0, DRAWS - 1), rates.map(lambda rate: min(threshold(rate), DRAWS - 1)))


def timeline_of(some: list[tuple[int, int]], first: int = WHOLE) -> Timeline:
    timeline = Timeline(rates=[first])
    for start, rate in some:
        timeline.change(start, rate)
    return timeline


def rate_at(some: list[tuple[int, int]], first: int, time: int) -> int:
    return ([first] + [rate for start, rate in some if start <= time])[-1]


@given(changes, rates, st.lists(st.tuples(st.integers(-2, LAST + 2), draws), max_size=5))
def test_a_row_is_held_while_its_draw_is_below_all_rates_since_it_entered(
    some: list[tuple[int, int]], first: int, rows: list[tuple[int, int]]
) -> None:
    timeline = timeline_of(some, first)
    times, drawn = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    allowed = timeline.thresholds(times)
    until = timeline.until(times, drawn)
    for (time, draw), may_probe, end in zip(rows, drawn < allowed, until.tolist(), strict=True):
        assert may_probe == (draw < threshold(rate_at(some, first, time)))
        fails = [at for at in range(time, LAST + 3) if draw >= threshold(rate_at(some, first, at))]
        assert end == (fails[0] if fails else NEVER)


@given(changes, st.integers(0, LAST), st.lists(st.tuples(st.integers(0, LAST), draws), max_size=5))
def test_what_is_forgotten_is_not_needed(some: list[tuple[int, int]], before: int, rows: list[tuple[int, int]]) -> None:
    timeline = timeline_of(some)
    again = Timeline.from_facts(json.loads(json.dumps(timeline.facts())))
    assert again == timeline
    again.forget(before)
    times = np.array([max(time, before) for time, _ in rows], np.int64)
    drawn = np.array([draw for _, draw in rows], np.int64)
    assert again.until(times, drawn).tolist() == timeline.until(times, drawn).tolist()
    assert again.thresholds(times).tolist() == timeline.thresholds(times).tolist()
    assert len(again.rates) == 1 + sum(start > before for start in {start for start, _ in some})


def test_small_changes_are_not_taken() -> None:
    timeline = timeline_of([(1, 1000)])
    assert [timeline.accepts(rate) for rate in (1000, 985, 1015, 975, 1030, 0, WHOLE)] == [False] * 3 + [True] * 4


@given(st.lists(st.integers(0, WHOLE), min_size=700, max_size=700))
def test_there_are_never_many_rates(wanted: list[int]) -> None:
    """Much lower ones are always taken, so that a budget holds."""
    timeline = Timeline()
    for number, rate in enumerate(wanted):
        if timeline.accepts(rate):
            timeline.change(number, rate)
        assert timeline.current <= rate / (1 - CLOSE[-1][1]) + 1
    assert timeline.starts[0] == BEGINNING
    assert len(timeline.rates) < CLOSE[-1][0] + 64
