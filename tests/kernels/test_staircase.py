"""Sets of staircases against all elements that ever entered."""

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.staircase import LatestLeave, StairSet
from joinfold.kernels.steps import NEVER

Element = tuple[int, int, int, int]
"""key, group, leave, code"""

leaves = st.integers(0, 12) | st.just(NEVER)
codes = st.integers(-4, 4) | st.sampled_from([-(2**63), 2**63 - 1])
elements = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), leaves, codes), max_size=20)


def columns(batch: list[Element]) -> list[np.ndarray]:
    table = [list(column) for column in zip(*batch, strict=True)] or [[]] * 4
    return [np.array(column, dtype) for column, dtype in zip(table, ("i4", "i4", "i8", "i8"), strict=True)]


def staircase(steps: list[tuple[int, int]], now: int) -> list[tuple[int, int]]:
    """The elements after ``now`` that no other one outlives with a code as large, by leave."""
    alive = {step for step in steps if step[0] > now}
    return sorted(
        (leave, code)
        for leave, code in alive
        if not any((leave, code) != other and other[0] >= leave and other[1] >= code for other in alive)
    )


@given(st.lists(elements, max_size=6), st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_a_set_of_staircases_keeps_what_can_still_become_the_maximum(
    batches: list[list[Element]], advances: list[int]
) -> None:
    stairs, latest, now = StairSet(), LatestLeave(), -1
    kept: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for batch, advance in zip(batches, advances, strict=False):
        kid, gid, leave, code = columns(batch)
        stairs.insert(kid, gid, leave, code, now)
        latest.insert(kid, gid, leave, now)
        for key, group, *step in batch:
            kept[key, group].append((step[0], step[1]))
        now += advance
        for sweep in (False, True):
            if sweep:
                stairs.expire(now)
                latest.expire(now)
            for key in range(4):
                expected = {
                    group: steps
                    for (owner, group), all_steps in kept.items()
                    if owner == key and (steps := staircase(all_steps, now))
                }
                found = stairs.entries_of(key)
                alive = {group: [step for step in steps if step[0] > now] for group, steps in found.items()}
                assert {group: steps for group, steps in alive.items() if steps} == expected
                assert not sweep or found == expected
                until = latest.entries_of(key)
                assert {group: leave for group, leave in until.items() if leave > now} == {
                    group: steps[-1][0] for group, steps in expected.items()
                }
                assert not sweep or until.keys() == expected.keys()
    assert stairs.live_entries == sum(len(stairs.entries_of(key)) for key in range(4))


def test_memory_follows_the_window() -> None:
    stairs, latest, held = StairSet(), LatestLeave(), []
    for step in range(400):
        kid, gid, leave, code = columns([(key, step % 50, step + 5, -step) for key in range(20)])
        stairs.insert(kid, gid, leave, code, step)
        latest.insert(kid, gid, leave, step)
        held.append(stairs.bytes_held + latest.bytes_held)
    assert max(held[200:]) <= max(held[:200])
    stairs.expire(1000)
    latest.expire(1000)
    assert stairs.live_entries == latest.live_entries == 0


def test_a_falling_price_keeps_a_step_for_every_leave_and_a_rising_one_a_single_step() -> None:
    for direction, expected in ((-1, 500), (1, 1)):
        stairs = StairSet()
        for time in range(500):
            kid, gid, leave, code = columns([(0, 0, 1000 + time, direction * time)])
            stairs.insert(kid, gid, leave, code, 0)
        assert len(stairs.entries_of(0)[0]) == expected
