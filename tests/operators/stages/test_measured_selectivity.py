"""The share of combinations that conditions let through: counted exactly, but seldom."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.entries import Entries
from joinfold.operators.stages.measured_selectivity import COUNTED_EVERY, SelectivityCount, equal_combinations
from tests.operators.made import entries
from tests.operators.runs import plan_of

W = "[TUMBLE 9 MICROSECOND]"
JOIN = f"SELECT COUNT(*) AS n FROM a {W}, b {W} WHERE "
SCHEMA = "k INT, j INT, v INT"
CHOSEN = plan_of(f"{JOIN} a.k = b.k AND a.v < b.v", SCHEMA).body
Keyed = list[tuple[tuple[int, int], int]]  # keys of two classes, and how many rows
inputs = st.lists(
    st.lists(st.tuples(st.tuples(st.integers(0, 1), st.integers(0, 1)), st.integers(1, 4)), min_size=1, max_size=5),
    min_size=2,
    max_size=3,
)


def held(rows: Keyed, keys: int = 2) -> Entries:
    found = entries([0] * len(rows))
    found.parts = np.array([key for key, _ in rows], np.int32)[:, :keys]
    found.payload.ints[:, 0] = [count for _, count in rows]
    return found


@given(many=inputs, keys=st.integers(0, 2))
def test_combinations_with_equal_keys_are_counted_by_rows(many: list[Keyed], keys: int) -> None:
    expected = 0
    for own in product(*many):
        if len({key[:keys] for key, _ in own}) == 1:
            expected += int(np.prod([count for _, count in own]))
    assert equal_combinations([held(rows, keys) for rows in many]) == expected


def test_the_drawing() -> None:
    left, right = [((1, 0), 2), ((2, 0), 5), ((3, 0), 1)], [((1, 0), 3), ((3, 0), 4)]
    assert equal_combinations([held(left, 1), held(right, 1)]) == 10


@pytest.mark.parametrize(
    ("live", "share"),
    [(0.0, 0.5 / 400), (100.0, 0.25), (400.0, 1.0), (800.0, 1.0)],
    ids=["none", "some", "all", "more"],
)
def test_a_share_is_never_nothing_and_never_more_than_all(live: float, share: float) -> None:
    twenty = [((0, 0), 20)]
    counted = SelectivityCount(CHOSEN)
    assert counted.share(lambda: [held(twenty), held(twenty)], lambda: live, 1) == share


@pytest.mark.parametrize(
    "windows", [[[((0, 0), 11)], [((0, 0), 9)]], [[((0, 0), 99)], None], [[((0, 0), 99)], [((1, 0), 99)]]]
)
def test_of_too_few_combinations_there_is_no_share(windows: list[Keyed | None]) -> None:
    counted = SelectivityCount(CHOSEN)
    assert counted.share(lambda: [own and held(own) for own in windows], lambda: 1.0, 1) is None  # type: ignore[misc]


def test_it_is_counted_now_and_then_and_at_first_more_often() -> None:
    counted, at = SelectivityCount(CHOSEN), list[int]()
    for batches in range(1, 20):

        def live(now: int = batches) -> float:
            at.append(now)
            return 100.0

        counted.share(lambda: [held([((0, 0), 20)])] * 2, live, batches)
    assert at == [1, 2, 4, *range(4 + COUNTED_EVERY, 20, COUNTED_EVERY)]


def test_where_keys_are_all_that_joins_it_is_certain_and_elsewhere_it_may_be_unknown() -> None:
    def nobody() -> float:
        raise AssertionError("nothing has to be counted")

    everything = plan_of(f"{JOIN} a.k = b.k", SCHEMA).body
    assert SelectivityCount(everything).share(list, nobody, 1) == 1.0
    alone = plan_of(f"SELECT COUNT(*) AS n FROM a {W} WHERE a.v < a.j", SCHEMA).body
    assert not SelectivityCount(alone).can_count and SelectivityCount(CHOSEN).can_count
