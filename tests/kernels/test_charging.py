"""Charges against the join that they replace, in every mode."""

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
from .test_staircase import Element, columns, elements


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
