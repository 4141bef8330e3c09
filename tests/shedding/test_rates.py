"""Every key of a sample is complete: none of its rows in the cells of the window was ever shed."""

from dataclasses import dataclass
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.physical.shedding import DRAWS, WHOLE
from joinfold.shedding.rates import BEGINNING, EVERYTHING, Rates, Sample, threshold

DRAWN = [int((number + 0.5) * DRAWS / 16) for number in range(16)]  # the draws of sixteen keys
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["keep", "lower", "raise", "choose"]),
        st.integers(1, 15),
        st.sets(st.sampled_from(DRAWN), max_size=4),
    ),
    max_size=12,
)


@dataclass
class Row:
    stream: int
    cell: int
    draw: int


class Slow:
    """Rows one by one: what was ever shed of them."""

    def __init__(self, rates: Rates) -> None:
        self.rates = rates
        self.rows: list[Row] = []
        self.held: list[Row] = []

    def take(self, rows: list[Row]) -> None:
        self.rows += rows
        self.held += [row for row in rows if self.holds(row)]

    def holds(self, row: Row) -> bool:
        return bool(self.rates.holds(row.stream, np.array([row.cell]), np.array([row.draw]))[0])

    def thin(self) -> None:
        self.held = [row for row in self.held if self.holds(row)]


def used(sample: Sample, row: Row) -> bool:
    return row.draw < threshold(sample.rate) or row.draw in sample.certain


@given(STEPS, st.integers(0, 2**32), st.integers(0, 3))
def test_every_key_of_a_sample_is_complete(steps: list[tuple[str, int, set[int]]], seed: int, disorder: int) -> None:
    random, rates = Random(seed), Rates.whole((0, 1))
    slow = Slow(rates)
    for batch, (step, sixteenths, certain) in enumerate(steps, start=1):
        last = {
            stream: max(row.cell for row in slow.rows if row.stream == stream)
            for stream in {row.stream for row in slow.rows}
        }
        rate = sixteenths * WHOLE // 16
        if step == "lower" and rate < rates.current:
            rates.lower(rate, batch, certain)
            slow.thin()
        elif step == "raise" and rate > rates.current:
            rates.go_on(random.choice([rate, WHOLE]), batch, certain, last)
        elif step == "choose" and not rates.is_whole:
            rates.go_on(rates.current, batch, certain, last)
        slow.take(
            [
                Row(stream, batch + random.randint(-disorder, 1), random.choice(DRAWN))
                for stream in (0, 1)
                for _ in range(random.randint(0, 8))
            ]
        )
        assert Rates.from_facts(rates.facts(("a", "b")), ("a", "b")) == rates
        for first in range(-3, batch + 2):
            sample = rates.sample({0: first, 1: first})
            window = [row for row in slow.rows if row.cell >= first]
            missing = [row for row in window if used(sample, row) and row not in slow.held]
            assert missing == [], (sample, rates)
            assert sample != EVERYTHING or all(row in slow.held for row in window)


def test_rates_never_fall_from_older_cells_to_newer_ones() -> None:
    rates = Rates.whole((0,))
    rates.lower(WHOLE // 4, 1, set())
    rates.go_on(WHOLE // 2, 2, set(), {0: 9})
    rates.go_on(WHOLE, 3, set(), {0: 19})
    assert [own.rate for own in rates.segments[0]] == [WHOLE // 4, WHOLE // 2, WHOLE]
    rates.lower(WHOLE // 3, 4, set())
    assert [(own.start, own.rate) for own in rates.segments[0]][-2:] == [(10, WHOLE // 3), (20, WHOLE // 3)]
    assert rates.current == WHOLE // 3


def test_answers_are_exact_again_a_window_later() -> None:
    rates = Rates.whole((0,))
    rates.lower(WHOLE // 4, 1, set())
    rates.go_on(WHOLE, 2, set(), {0: 9})
    assert rates.sample({0: 9}).rate == WHOLE // 4
    assert rates.sample({0: 10}) == EVERYTHING
    rates.forget({0: 10})
    assert rates.is_whole and len(rates.segments[0]) == 1


def test_a_key_is_certain_only_where_none_of_its_rows_was_shed() -> None:
    rates, heavy = Rates.whole((0,)), DRAWN[-1]
    rates.lower(WHOLE // 4, 1, {heavy})
    assert rates.sample({0: BEGINNING}).certain == {heavy}  # everything was held until now
    newcomer = DRAWN[-2]
    rates.go_on(WHOLE // 4, 2, {heavy, newcomer}, {0: 5})
    assert rates.sample({0: 5}).certain == {heavy}
    assert rates.sample({0: 6}).certain == {heavy, newcomer}
    rates.go_on(WHOLE // 4, 3, {newcomer}, {0: 7})
    rates.go_on(WHOLE // 4, 4, {heavy, newcomer}, {0: 8})
    assert rates.sample({0: 6}).certain == {newcomer}  # the rows of the other one were shed in between
