"""The extreme of every group is that of the combinations that are live, whichever input's entries enter."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.identity import IdTable
from joinfold.kernels.totals import OF_ALL, OF_DELTA, OF_DELTA_AND_SLOT, OF_SLOT, OF_SLOT_AND_DELTA
from joinfold.operators.windows.stairs import ExtremeStairs
from joinfold.physical.payload import ExtremeFold

MODES = {  # for entries of the valued input, and for those of the other
    "all": (OF_ALL, OF_ALL),
    "value": (OF_DELTA, OF_SLOT),
    "partner": (OF_SLOT, OF_DELTA),
    "both": (OF_DELTA_AND_SLOT, OF_SLOT_AND_DELTA),
}
few = st.integers(0, 2)
values = st.lists(st.tuples(few, few, st.integers(1, 5), st.integers(-4, 4)), max_size=5)
partners = st.lists(st.tuples(few, few, st.integers(1, 5)), max_size=5)
Entry = tuple[int, ...]  # key, group, when it leaves, code


def column(rows: list[Entry], at: int, type_: Any = np.int32) -> Any:
    return np.array([row[at] for row in rows], type_)


def entering(rows: list[Entry], now: int) -> list[Entry]:
    """Entries that stay for a while from now on, in the order in which they leave."""
    return sorted(((key, group, now + stay, *rest) for key, group, stay, *rest in rows), key=lambda row: row[2])


@pytest.mark.parametrize("grouped", MODES)
@given(steps=st.lists(st.tuples(values, partners), max_size=6))
def test_extremes_are_those_of_live_combinations(grouped: str, steps: list[tuple[list[Entry], list[Entry]]]) -> None:
    stairs, pairs = ExtremeStairs(ExtremeFold(0, 0, (0, 0))), IdTable()
    valued, others = list[Entry](), list[Entry]()
    of_values, of_partners = MODES[grouped]
    for now, (come, met) in enumerate(steps):
        come, met = entering(come, now), entering(met, now)
        codes = column(come, 3, np.int64)
        stairs.enter_values(column(come, 0), column(come, 1), column(come, 2, np.int64), codes, of_values, pairs, now)
        stairs.enter_partners(column(met, 0), column(met, 1), column(met, 2, np.int64), of_partners, pairs, now)
        valued, others = [*valued, *come], [*others, *met]
        for instant in (now, now + 1):
            expected: dict[Any, int] = {}
            for key, group, leave, code in valued:
                for other, group_too, until in others:
                    if key == other and min(leave, until) > instant:
                        own = {"all": 0, "value": group, "partner": group_too, "both": (group, group_too)}[grouped]
                        expected[own] = max(code, expected.get(own, code))
            found, has = stairs.heads(instant)
            named = list(zip(*(own.tolist() for own in pairs.pairs()), strict=True))
            groups = np.flatnonzero(has).tolist()
            assert {named[own] if grouped == "both" else own: found[own] for own in groups} == expected
        if now % 2:
            stairs.expire(now)


def test_what_has_left_is_forgotten() -> None:
    stairs = ExtremeStairs(ExtremeFold(0, 0, (0, 0)))
    keys, leaves = np.arange(100, dtype=np.int32), np.full(100, 5)
    stairs.enter_values(keys, keys, leaves, np.arange(100), OF_DELTA, None, 0)
    stairs.enter_partners(keys, keys, leaves, OF_SLOT, None, 0)
    assert (stairs.valued.live_entries, stairs.partners.live_entries) == (100, 100)
    held = stairs.bytes_held
    stairs.expire(4)
    assert (stairs.valued.live_entries, stairs.partners.live_entries) == (100, 100)
    stairs.expire(5)
    assert (stairs.valued.live_entries, stairs.partners.live_entries) == (0, 0) and stairs.bytes_held <= held
    assert not stairs.heads(5)[1].any()


def test_of_equal_partners_the_last_to_leave_will_do() -> None:
    """Whatever their order: the key is there until 7."""
    stairs = ExtremeStairs(ExtremeFold(0, 0, (0, 0)))
    nothing = np.zeros(2, np.int32)
    stairs.enter_partners(nothing, nothing, np.array([7, 3]), OF_ALL, None, 0)
    stairs.enter_values(nothing[:1], nothing[:1], np.array([9]), np.array([4]), OF_ALL, None, 0)
    assert [stairs.heads(now)[1].any() for now in (3, 6, 7)] == [True, True, False]
