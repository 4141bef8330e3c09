"""Bands of one width, and those whose width differs: an index has one end in order, and the other is compared."""

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators.stages.fold import Fold
from joinfold.operators.windows.ranges import LEAST, MOST, RangeCodes
from joinfold.operators.windows.summed import SummedWindows, _ascending
from joinfold.physical.combining import Bound, RangeJoin
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import plan_query
from joinfold.reference import naive
from tests.operators.runs import Data, answer, check_batches, feed, plan_of
from tests.strategies import assert_same_answers

SCHEMA = "k INT, g INT, v BIGINT, w BIGINT"
WINDOWS = "FROM a [12 MICROSECOND SLIDE 4 MICROSECOND], b [6 MICROSECOND SLIDE 3 MICROSECOND]"
BANDS = {
    "closed": "a.v BETWEEN b.v - b.w AND b.v + b.w",
    "open": "a.v > b.v - b.w AND a.v < b.v + b.w",
    "half open": "a.v >= b.v AND a.v < b.w",
    "of the first": "b.v BETWEEN a.w AND a.v",
    "beside a key": "a.k = b.k AND a.v BETWEEN b.v - b.w AND b.v + b.w",
    "one end": "a.v <= b.w",
    "of one width": "a.v BETWEEN b.v - 2 AND b.v + 2",
    "of one width, half open": "a.v >= b.v - 1 AND a.v < b.v + 3",
    "of one width, open": "a.v > b.v AND a.v < b.v + 4",
    "of no width": "a.v > b.v AND a.v <= b.v",
    "of no width, half open": "a.v >= b.v AND a.v < b.v",
    "of one width beside a key": "b.v BETWEEN a.v AND a.v + 3 AND a.k = b.k",
}
STRUCTURES = ("list", "hash", "btree", "ttree", "sums")


def bands_of(seed: int) -> Data:
    chance = random.Random(seed)

    def number() -> int | None:
        return None if chance.random() < 0.08 else chance.randrange(-6, 7)

    columns = ("k", "g", "v", "w")
    return {
        name: [
            {"ts": chance.randrange(24), **{column: number() for column in columns}, "k": chance.randrange(2)}
            for _ in range(chance.randrange(5, 25))
        ]
        for name in ("a", "b")
    }


@pytest.mark.parametrize("structure", STRUCTURES)
@given(band=st.sampled_from(list(BANDS)), seed=st.integers(0, 10**6), by_row=st.booleans())
def test_bands_of_any_width_are_answered_as_defined(structure: str, band: str, seed: int, by_row: bool) -> None:
    if structure == "hash" and "beside a key" not in band:
        band = "beside a key"
    text = f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s {WINDOWS} WHERE {BANDS[band]} GROUP BY a.g"
    forced = Plan("ic", None if structure == "sums" else (), dict.fromkeys("ab", structure))
    plan, data = plan_query(plan_of(text, SCHEMA).query, forced), bands_of(seed)
    machine = InProcess(plan, 1 + seed % 2, by_row)
    feed(machine, data)
    assert_same_answers(naive.answers(plan.query, data), answer(machine, to_the_end=True))


@given(band=st.sampled_from(list(BANDS)), seed=st.integers(0, 10**6), batches=st.integers(1, 5))
def test_sums_of_bands_that_come_little_by_little(band: str, seed: int, batches: int) -> None:
    """The width that the first of them have need not be that of those that follow."""
    text = f"SELECT b.g, COUNT(*) AS n, SUM(a.v) AS s {WINDOWS} WHERE {BANDS[band]} GROUP BY b.g"
    plan, data = plan_of(text, SCHEMA), bands_of(seed)
    chance = random.Random(seed)
    cuts = {name: [chance.randrange(batches) for _ in rows] for name, rows in data.items()}
    parts = [
        {name: [row for row, own in zip(rows, cuts[name], strict=True) if own == part] for name, rows in data.items()}
        for part in range(batches)
    ]
    check_batches(InProcess(plan, 1 + seed % 2), parts)


def places_held(machine: InProcess, side: int) -> list[int]:
    """How many places each order of an input has."""
    (fold,) = machine.buckets
    assert isinstance(fold, Fold) and isinstance(fold.live.windows, SummedWindows)
    return [order.sums.live_entries for order in fold.live.windows.orders[side]]


def test_bands_of_one_width_are_held_once_and_others_twice() -> None:
    """Most of the first ones have the width 4, one has not, and one is upside down."""
    text = "SELECT COUNT(*) AS n FROM a [9 MICROSECOND], b [9 MICROSECOND] WHERE a.v BETWEEN b.v AND b.w"
    machine = InProcess(plan_of(text, SCHEMA), 1)
    ends = [(0, 7), (1, 5), (2, 6), (3, 7), (9, 8)]
    bands = [{"ts": 0, "k": 0, "g": 0, "v": low, "w": high} for low, high in ends]
    values = [{"ts": 0, "k": 0, "g": 0, "v": value, "w": 0} for value in (0, 3, 6, 9)]
    feed(machine, {"a": values, "b": bands})
    feed(machine, {name: [{"ts": 1, "k": 0, "g": 0, "v": None, "w": None}] for name in ("a", "b")})
    answer(machine)
    assert places_held(machine, 0) == [4] and places_held(machine, 1) == [3, 1, 1]


@pytest.mark.parametrize("high_inclusive", [False, True])
def test_a_band_without_width_holds_its_value_if_both_ends_are_its_own(high_inclusive: bool) -> None:
    codes = RangeCodes(RangeJoin(0, "x", 1, Bound("low", True), Bound("high", high_inclusive)))
    codes.learn(0, {"x": pa.array([LEAST, 3, MOST])})
    codes.learn(1, {"low": pa.array([3]), "high": pa.array([3])})
    lows, highs, can = codes.beginnings(np.arange(3), codes.width)
    assert (can & (lows <= 3) & (highs >= 3)).tolist() == [False, high_inclusive, False]


edges = st.integers(-5, 5) | st.integers(LEAST, LEAST + 5) | st.integers(MOST - 5, MOST)


@given(
    values=st.lists(edges | st.none(), min_size=1, max_size=6),
    bands=st.lists(st.lists(st.tuples(edges | st.none(), edges | st.none()), max_size=6), min_size=1, max_size=3),
    low_inclusive=st.booleans(),
    high_inclusive=st.booleans(),
)
def test_where_bands_begin_that_hold_a_value(
    values: list[int | None],
    bands: list[list[tuple[int | None, int | None]]],
    low_inclusive: bool,
    high_inclusive: bool,
) -> None:
    """Those of one width are just the ones that begin there, and no other one that holds the value begins elsewhere."""
    codes = RangeCodes(RangeJoin(0, "x", 1, Bound("low", low_inclusive), Bound("high", high_inclusive)))
    codes.learn(0, {"x": pa.array(values, pa.int64())})
    for some in bands:
        ends = ([band[ordinal] for band in some] for ordinal in range(2))
        codes.learn(1, {name: pa.array(end, pa.int64()) for name, end in zip(("low", "high"), ends, strict=True)})
    all_values, all_bands = np.arange(len(values)), np.arange(sum(map(len, bands)))
    begins, can_match = codes.index_codes(1, all_bands)
    for width, held in ((codes.width, codes.level), (codes.longest, can_match)):
        lows, highs, can = codes.beginnings(all_values, width)
        for value in all_values:
            holds = codes.check(np.full(len(all_bands), value), all_bands)
            found = held & can_match & can[value] & (lows[value] <= begins) & (begins <= highs[value])
            assert (holds <= found)[held].all()
            if held is codes.level:
                assert (found == holds)[held].all()
    assert codes.level.any() == any(None not in band and band[0] <= band[1] for some in bands for band in some)


@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 2**31 - 1]), st.sampled_from([0, 3, 2**31 - 1]), edges | st.just(2**40)),
        max_size=20,
    )
)
def test_entries_are_in_order_whether_or_not_they_fit_into_a_number(entries: list[tuple[int, int, int]]) -> None:
    key, group, codes = (np.array([entry[ordinal] for entry in entries], np.int64) for ordinal in range(3))
    order = _ascending(key.astype(np.int32), group.astype(np.int32), codes)
    assert sorted(order.tolist()) == list(range(len(entries)))
    assert [entries[ordinal] for ordinal in order] == sorted(entries)
