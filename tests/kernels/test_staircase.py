"""Staircases against all elements that ever entered, and charges against the join that they replace."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.charging import charge_leaves, charge_valued
from joinfold.kernels.identity import IdTable
from joinfold.kernels.staircase import GroupStairs, LatestLeave, StairSet
from joinfold.kernels.steps import NEVER
from joinfold.kernels.totals import OF_ALL, OF_DELTA, OF_DELTA_AND_SLOT, OF_SLOT, OF_SLOT_AND_DELTA, PAIRED

from .test_products import MODES

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


def check_heads(
    groups: GroupStairs, pairs: IdTable | None, charged: dict[object, list[tuple[int, int]]], now: int
) -> None:
    present, found = groups.heads(now)
    assert present.shape == found.shape == (groups.groups,)
    names = list(zip(*(half.tolist() for half in pairs.pairs()), strict=True)) if pairs else range(groups.groups)
    assert {name: code for name, there, code in zip(names, present, found.tolist(), strict=True) if there} == {
        group: max(alive)
        for group, steps in charged.items()
        if (alive := [code for leave, code in steps if leave > now])
    }
    assert not found[~present].any()


def join(mode: int, valued: list[Element], others: list[Element]) -> dict[object, list[tuple[int, int]]]:
    """Every combination: its group, the earlier leave and the code."""
    charged: dict[object, list[tuple[int, int]]] = defaultdict(list)
    for key, group, leave, code in valued:
        for other_key, other_group, other_leave, _ in others:
            if key == other_key:
                charged[MODES[mode](group, other_group)].append((min(leave, other_leave), code))
    return charged


REVERSED = {
    OF_DELTA: OF_SLOT,
    OF_SLOT: OF_DELTA,
    OF_DELTA_AND_SLOT: OF_SLOT_AND_DELTA,
    OF_SLOT_AND_DELTA: OF_DELTA_AND_SLOT,
    OF_ALL: OF_ALL,
}


def run(mode: int, batches: list[tuple[list[Element], list[Element]]], advances: list[int]) -> None:
    """Both sides enter, batch by batch; the heads are those of the join of all that has entered."""
    stairs, latest, groups, now = StairSet(), LatestLeave(), GroupStairs(), -1
    pairs = IdTable(1) if mode in PAIRED else None
    all_valued: list[Element] = []
    all_others: list[Element] = []
    for (valued, others), advance in zip(batches, advances, strict=False):
        kid, gid, leave, code = columns(valued)
        charge_valued(kid, gid, leave, code, latest, mode, pairs, groups, now)
        stairs.insert(kid, gid, leave, code, now)
        kid, gid, leave, _ = columns(others)
        charge_leaves(kid, gid, leave, latest, stairs, REVERSED[mode], pairs, groups, now)
        latest.insert(kid, gid, leave, now)
        all_valued += [element for element in valued if element[2] > now]
        all_others += [element for element in others if element[2] > now]
        now += advance
        check_heads(groups, pairs, join(mode, all_valued, all_others), now)
    assert groups.bytes_held > 0 and stairs.bytes_held > 0 and latest.bytes_held > 0


@pytest.mark.parametrize("mode", MODES)
@given(
    batches=st.lists(st.tuples(elements, elements), max_size=5),
    advances=st.lists(st.integers(0, 4), min_size=5, max_size=5),
)
def test_heads_are_the_maxima_of_the_join(
    batches: list[tuple[list[Element], list[Element]]], advances: list[int], mode: int
) -> None:
    run(mode, batches, advances)


def random_elements(seed: int, many: int, now: int, falling: bool) -> list[Element]:
    rng = np.random.default_rng(seed)
    table = [rng.integers(0, 12, many), rng.integers(0, 80, many), now + 1 + rng.integers(0, 30, many)]
    code = rng.integers(-50, 50, many) - (3 * now if falling else 0)
    return list(zip(*(column.tolist() for column in (*table, code)), strict=True))


@pytest.mark.parametrize("mode", MODES)
def test_a_sliding_window_with_long_staircases_and_slabs(mode: int) -> None:
    batches = [
        (random_elements(step, 60, 2 * step, True), random_elements(100 + step, 10, 2 * step, False))
        for step in range(25)
    ]
    run(mode, batches, [2] * 25)


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


def test_groups_that_empty_give_memory_back() -> None:
    latest, groups = LatestLeave(), GroupStairs()
    latest.insert(np.zeros(1, np.int32), np.zeros(1, np.int32), np.array([NEVER]), 0)
    kid, gid, leave, code = columns([(0, group, 10 + step, -step) for group in range(50) for step in range(100)])
    charge_valued(kid, gid, leave, code, latest, OF_DELTA, None, groups, 0)
    full = groups.steps.bytes_held
    present, codes = groups.heads(12)
    assert present.all() and codes.tolist() == [-3] * 50
    assert groups.steps.bytes_held == full
    assert not groups.heads(10 + 99)[0].any()
    assert groups.steps.bytes_held < full / 10


def test_a_falling_price_keeps_a_step_for_every_leave_and_a_rising_one_a_single_step() -> None:
    for direction, expected in ((-1, 500), (1, 1)):
        stairs = StairSet()
        for time in range(500):
            kid, gid, leave, code = columns([(0, 0, 1000 + time, direction * time)])
            stairs.insert(kid, gid, leave, code, 0)
        assert len(stairs.entries_of(0)[0]) == expected
