"""Groups of several inputs as one id, what is noted of them, and floating sums that are watched."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.windows.added_totals import AddedTotals
from joinfold.operators.windows.group_totals import DRIFTED, GroupTotals
from tests.operators.methods.combined import TIMED, Combination, values_of
from tests.operators.runs import plan_of

W = "[TUMBLE 9 MICROSECOND]"
SCHEMA = "k INT, g INT, v INT"
THREE = plan_of(
    f"SELECT a.g, b.g AS h, a.v + b.v AS i, COUNT(*) AS n FROM a {W}, b {W} WHERE a.k = b.k "
    "GROUP BY a.g, b.g, a.v + b.v",
    SCHEMA,
).body
ids = st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=8)
Head = tuple[Any, Any]


def add(totals: AddedTotals, group: int, value: int, sign: int = 1) -> None:
    totals.add(values_of(TIMED, [Combination(group, 9, 1, value, False)]), sign)


def heads(*codes: int | None) -> list[Head]:
    """The extreme of each group, from the first on."""
    return [(np.array([code or 0 for code in codes], np.int64), np.array([code is not None for code in codes]))]


@given(batches=st.lists(ids, max_size=4))
def test_groups_of_all_places_are_one_id_and_back(batches: list[list[tuple[int, int, int]]]) -> None:
    totals, known = GroupTotals(THREE, False, 1), dict[tuple[int, ...], int]()
    assert totals.grouped == [0, 1, 2]
    for rows in batches:
        found = totals.group_of([np.array(column, np.int32) for column in zip(*rows, strict=True)])
        for row, group in zip(rows, found.tolist(), strict=True):
            assert known.setdefault(row, len(known)) == group
        again = totals.group_ids(found)
        assert list(again) == [0, 1, 2]
        assert list(zip(*(own.tolist() for own in again.values()), strict=True)) == rows
    assert totals.given == len(known)


def test_without_groups_there_is_one_that_always_is() -> None:
    body = plan_of(f"SELECT COUNT(*) AS n FROM a {W}, b {W} WHERE a.k = b.k", SCHEMA).body
    for always, instants in ((False, []), (True, [7])):
        totals = AddedTotals(body, False)
        totals.emit(7, [], always)
        taken = totals.take_emitted()
        assert taken.instants == instants and [own.tolist() for own in taken.groups] == [[0]] * always
        assert totals.take_emitted().instants == []
    assert totals.group_ids(np.zeros(1, np.int64)) == {}


def test_groups_are_noted_that_have_a_combination() -> None:
    totals = AddedTotals(TIMED, False)
    for group in (0, 2, 3):
        add(totals, group, 4)
    add(totals, 2, 4, -1)
    totals.emit(5, heads(1, 1, 1, None), always=False)
    add(totals, 0, 4)
    taken = totals.take_emitted()  # as it was at the instant
    assert taken.instants[0].tolist() == [5, 5] and taken.groups[0].tolist() == [0, 3]
    assert taken.integers[0][:, 0].tolist() == [1, 1] and taken.reals[0][:, 0].tolist() == [2.0, 2.0]
    ((codes, has),) = taken.extremes[0]
    assert codes[has].tolist() == [1] and has.tolist() == [True, False]


def changed(totals: GroupTotals, instant: int, own: list[Head]) -> list[int]:
    totals.emit(instant, own, always=False)
    taken = totals.take_emitted()
    return taken.groups[0].tolist() if taken.groups else []


def test_of_a_view_groups_are_noted_that_have_changed() -> None:
    """By their sums or by their extremes, also when they have gone; what has not changed is not said again."""
    totals = AddedTotals(TIMED, only_changed=True)
    for group in range(3):
        add(totals, group, 1)
    assert changed(totals, 1, heads(5, 5, None)) == [0, 1, 2]
    assert changed(totals, 2, heads(5, 5, None)) == []
    assert changed(totals, 3, heads(5, 6, 0)) == [1, 2]
    assert changed(totals, 4, heads(5, 6, None)) == [2]
    add(totals, 0, 1, -1)
    assert changed(totals, 5, heads(5, 6)) == [0]


def test_a_sum_of_nothing_is_exactly_zero() -> None:
    """Whatever rounding has left of it: there is no combination, or none whose value is not zero."""
    totals = AddedTotals(TIMED, False)
    for group in range(3):
        add(totals, group, 1)
    (product,) = totals.nonzero.values()
    totals.totals.ints[0] = 0
    totals.totals.ints[1, totals.products.index(product)] = 0
    totals.totals.dds[:2, 0] = 1e-30
    totals.finish_updates()
    assert totals.totals.dds[:, 0].tolist() == [0.0, 0.0, 0.5]


@pytest.mark.parametrize(("left", "drifted"), [(1.0, False), (2 * DRIFTED, False), (DRIFTED / 2, True), (np.inf, True)])
def test_a_sum_has_drifted_where_it_is_small_against_what_went_through_it(left: float, drifted: bool) -> None:
    totals = AddedTotals(TIMED, False)
    add(totals, 0, 1)
    totals.totals.dds[0, 0] = left
    totals.totals.drift[0] = [0.0, 1.0 if np.isfinite(left) else np.inf]
    assert totals.has_drifted == drifted
    totals.totals.drift[0] = [1.0, 1.0]  # beside rows that are as large it does not show
    assert not totals.has_drifted


def test_integers_do_not_drift() -> None:
    totals = AddedTotals(THREE, False)
    assert not totals.nonzero and not totals.has_drifted
