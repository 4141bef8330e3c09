"""Bands of one width, and those whose width differs: an index has one end in order, and the other is compared."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators.windows.ranges import LEAST, MOST, RangeCodes
from joinfold.physical.combining import Bound, RangeJoin
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import plan_query
from joinfold.reference import naive
from tests.operators.runs import answer, feed, plan_of
from tests.operators.windows.bands import BANDS, SCHEMA, WINDOWS, bands_of
from tests.strategies import assert_same_answers

STRUCTURES = ("list", "hash", "btree", "ttree", "sums")


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
