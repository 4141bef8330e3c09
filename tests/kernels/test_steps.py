"""Staircases in a pool against a list of all elements, through growth, what has left, and moves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.steps import BLOCK, COLUMNS, GONE, NEVER, ROOM, STEPS, StepPool, Steps, drop, insert_step

from .test_staircase import leaves, staircase

ROWS = 2
codes = st.integers(-2, 2) | st.sampled_from([-(2**63), 2**63 - 1])
inserted = st.tuples(st.just("insert"), st.integers(0, ROWS - 1), leaves, codes)
dropped = st.tuples(st.just("drop"), st.integers(0, ROWS - 1), st.integers(0, 3), st.just(0))
moved = st.tuples(st.just("move"), st.just(0), st.just(0), st.just(0))


class Stairs:
    """Staircases by themselves, each a row."""

    def __init__(self) -> None:
        self.stairs, self.pool = np.zeros((ROWS, COLUMNS), np.int64), StepPool()
        self.moves = 0

    def make_room(self, now: int) -> None:
        self.pool.make_room(self.stairs, np.arange(ROWS), now)
        self.moves += 1

    def insert(self, row: int, leave: int, code: int, now: int) -> None:
        if not insert_step(self.stairs, Steps(*self.pool.arrays), row, leave, code):
            self.make_room(now)
            assert insert_step(self.stairs, Steps(*self.pool.arrays), row, leave, code), "there is room now"

    def steps(self, row: int) -> list[tuple[int, int]]:
        first = self.stairs[row, BLOCK] + self.stairs[row, GONE]
        where = slice(first, first + self.stairs[row, STEPS])
        return list(zip(self.pool.leaves[where].tolist(), self.pool.codes[where].tolist(), strict=True))


@given(st.lists(inserted | inserted | inserted | dropped | moved, min_size=10, max_size=60))
def test_a_staircase_has_what_no_other_element_outlives(changes: list[tuple[str, int, int, int]]) -> None:
    held, now = Stairs(), -1
    everything: list[list[tuple[int, int]]] = [[] for _ in range(ROWS)]
    for what, row, number, code in changes:
        if what == "insert" and number > now:
            held.insert(row, number, code, now)
            everything[row].append((number, code))
        elif what == "drop":
            now += number
            drop(held.stairs, Steps(*held.pool.arrays), row, now)
            assert held.steps(row) == staircase(everything[row], now)
        elif what == "move":
            held.make_room(now)
        for own in range(ROWS):
            alive = [step for step in held.steps(own) if step[0] > now]
            assert alive == staircase(everything[own], now)


def test_the_front_that_has_left_is_used_again() -> None:
    """A staircase that slides on stays in its block, of which at most half is empty for long."""
    held = Stairs()
    for time in range(1000):
        drop(held.stairs, Steps(*held.pool.arrays), 0, time)
        held.insert(0, time + 10, -time, time)
        if time == 100:
            moves, block = held.moves, held.stairs[0, BLOCK]
    assert held.steps(0) == [(time + 10, -time) for time in range(990, 1000)]
    assert (held.moves, held.stairs[0, BLOCK]) == (moves, block) and held.stairs[0, ROOM] == 32


def test_moving_gives_back_the_room_of_what_has_left() -> None:
    held = Stairs()
    for time in range(1000):
        held.insert(time % ROWS, time, -time, 0)
    held.insert(1, NEVER, -5000, 0)
    full = held.pool.bytes_held
    held.make_room(997)
    assert [held.steps(row) for row in range(ROWS)] == [[(998, -998)], [(999, -999), (NEVER, -5000)]]
    assert held.pool.bytes_held < full / 10 and held.pool.used[0] <= len(held.pool.leaves)
