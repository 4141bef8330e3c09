"""Bounds from replicates: the variance is right on average, intervals hold the truth as often as they say."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.shedding.intervals import (
    ENOUGH_KEYS,
    ENOUGH_TO_COUNT,
    bounds_about,
    count_bounds,
    effective_number,
    spread_of,
    t_quantile,
    total_bounds,
    variance_part,
)
from tests.shedding.simulation import Tally, pooled, simulate

MANY = 1e9  # more degrees of freedom than anyone needs: the normal distribution
units = st.lists(st.integers(-9, 9), min_size=1, max_size=3)


@pytest.mark.parametrize(
    ("confidence", "freedom", "expected"),
    [
        *((0.5, 4, 0.741), (0.8, 4, 1.533), (0.95, 4, 2.776), (0.99, 4, 4.604), (0.999, 4, 8.610), (0.95, 5, 2.571)),
        *((0.95, 7, 2.365), (0.95, 10, 2.228), (0.99, 10, 3.169), (0.95, 30, 2.042), (0.999, 30, 3.646)),
        *((0.95, 120, 1.980), (0.5, MANY, 0.674), (0.95, MANY, 1.960), (0.9999, MANY, 3.891)),
    ],
)
def test_quantiles_are_those_of_the_tables(confidence: float, freedom: float, expected: float) -> None:
    (found,) = t_quantile(confidence, np.array([freedom], np.float64))
    assert abs(found - expected) < 1e-3


# --- variance -----------------------------------------------------------------------------------------------------


def cells_of(terms: list[int], slots: tuple[int, ...], replicates: int, certain: int = 0) -> np.ndarray:
    table = np.zeros((1, replicates + 1))
    np.add.at(table[0], list(slots), terms)
    table[0, -1] += certain
    return table


@given(units, st.integers(2, 4), st.integers(0, 5), st.fractions(Fraction(1, 20), 1))
def test_the_variance_of_a_sample_of_keys_is_right_on_average(
    terms: list[int], replicates: int, certain: int, rate: Fraction
) -> None:
    """Over all ways in which keys can fall into replicates, it is (1 − p)·Σx². What is certain adds nothing."""
    every = list(itertools.product(range(replicates), repeat=len(terms)))
    found = [
        spread_of(cells_of(terms, slots, replicates, certain), np.array([float(rate)])).variance[0] for slots in every
    ]
    assert np.mean(found) == pytest.approx(float(1 - rate) * sum(term**2 for term in terms))


@given(st.lists(st.tuples(units, units), min_size=1, max_size=2).filter(lambda own: sum(map(len, sum(own, ()))) <= 5))
def test_the_variance_of_a_sample_of_rows_is_right_on_average(keys: list[tuple[list[int], list[int]]]) -> None:
    """Over all ways in which rows of two inputs can fall into replicates, it is Σ_k [ΠU² − Π(U² − Q)]."""
    replicates, rate = 2, 0.25
    rows = [(side, key, weight / rate) for key, own in enumerate(keys) for side in (0, 1) for weight in own[side]]
    parts = []
    for slots in itertools.product(range(replicates), repeat=len(rows)):
        sides = np.zeros((2, len(keys), replicates + 1))
        for (side, key, weight), slot in zip(rows, slots, strict=True):
            sides[side, key, slot] += weight
        cells = np.einsum("kr,ks->rs", *sides)[np.newaxis]
        parts.append([variance_part(cells, np.array([rate]), axes)[0] for axes in ((1,), (2,), (1, 2))])
    one, other, both = np.mean(parts, axis=0)
    expected = 0.0
    for own in keys:
        totals = [sum(side) / rate for side in own]
        spreads = [sum((1 - rate) * (weight / rate) ** 2 for weight in side) for side in own]
        expected += math.prod(total**2 for total in totals)
        expected -= math.prod(total**2 - spread for total, spread in zip(totals, spreads, strict=True))
    assert one + other - both == pytest.approx(expected, abs=1e-9)


def test_two_axes_have_the_freedom_of_both_and_at_least_the_variance_of_each() -> None:
    cells = np.zeros((3, 9, 9))
    cells[0, 0, 0] = 1  # one combination: both axes see it whole, and so does their interaction
    cells[1, :8, 8] = np.arange(8)  # the second axis is not sampled
    cells[2, range(8), range(8)] = [3, 2, 2, 2, 2, 2, 2, 2]  # the axes see little of what their interaction sees
    spread = spread_of(cells, np.array([0.5, 0.5, 0.25]))
    assert spread.variance == pytest.approx([0.75, 0.5 * 8 / 7 * 42, 0.75])
    assert spread.freedom == pytest.approx([14, 7, 14])


def test_the_effective_number_is_that_of_the_axis_that_has_the_fewest() -> None:
    keys = np.zeros((4, 33))
    keys[0, :32] = 1
    keys[1, 3] = 7
    keys[2, 32] = 5
    assert effective_number(keys).tolist() == [math.inf, pytest.approx(1), 0, 0]
    rows = np.zeros((2, 9, 9))
    rows[0, :8, 0] = 1  # each row of the first input meets the one row of the second
    rows[1, 2, 8] = 1  # the second input is not sampled
    assert effective_number(rows) == pytest.approx([1, 1])


# --- intervals ----------------------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 30), min_size=32, max_size=32).filter(any),
    st.integers(0, 50),
    st.fractions(Fraction(1, 50), Fraction(49, 50)),
)
def test_intervals_are_those_of_the_formulas(kept: list[int], certain: int, rate: Fraction) -> None:
    mean = Fraction(sum(kept), 32)
    squares = Fraction(32, 31) * sum((own - mean) ** 2 for own in kept)
    variance = float((1 - rate) / rate**2 * squares)
    estimate = float(certain + sum(kept) / rate)
    number = math.inf if squares == 0 else float(sum(kept) ** 2 / squares)
    cells = np.array([[*(own / float(rate) for own in kept), certain]])
    assert effective_number(cells)[0] == pytest.approx(number, rel=1e-6) or number > 1e9
    rates, seen, some = np.array([float(rate)]), np.array([certain + sum(kept)]), effective_number(cells)
    t = float(t_quantile(0.9, np.array([31.0]))[0])
    counted = count_bounds(cells, rates, seen, some, 0.9, ENOUGH_TO_COUNT)
    summed = total_bounds(cells, rates, some, 0.9, ENOUGH_KEYS)
    if number >= ENOUGH_TO_COUNT:
        slope = variance / (estimate - certain)
        middle, reach = estimate + t * t * slope / 2, t * math.sqrt(variance + (t * slope / 2) ** 2)
        assert counted.low[0] == pytest.approx(max(middle - reach, certain + sum(kept)))
        assert counted.high[0] == pytest.approx(middle + reach)
    else:
        assert counted.low[0] == certain + sum(kept) and math.isnan(counted.high[0])
    if number >= ENOUGH_KEYS:
        assert summed.low[0] == pytest.approx(estimate - t * math.sqrt(variance))
        assert summed.high[0] == pytest.approx(estimate + t * math.sqrt(variance))
    else:
        assert math.isnan(summed.low[0]) and math.isnan(summed.high[0])


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_there_are_no_bounds_where_a_number_is_not_finite(wrong: float) -> None:
    cells = np.tile(np.arange(33.0), (3, 1))
    cells[1, 5] = wrong
    estimate, rates, number = np.array([1.0, 1.0, wrong]), np.full(3, 0.5), np.full(3, 100.0)
    found = bounds_about(estimate, cells, rates, number, 0.95, ENOUGH_KEYS)
    assert np.isnan(found.low).tolist() == np.isnan(found.high).tolist() == [False, True, True]


# --- coverage -----------------------------------------------------------------------------------------------------


def check(tallies: dict[str, Tally], least: float, most: float) -> None:
    for sampler, what in itertools.product(("key", "row"), ("COUNT", "SUM", "AVG")):
        own = pooled(tallies, f"{sampler} {what}")
        assert own.given > own.answers / 5
        assert least < own.coverage < most, (sampler, what, own)
        if what != "AVG":
            assert abs(own.bias) < 3, (sampler, what, own.bias)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Keys with uniform and with zipf frequencies, few and many groups, rates from 0.05 to 0.8; always one seed."""
    check(simulate(samples=8), 0.93, 0.965)


@pytest.mark.slow
def test_intervals_hold_the_truth_in_many_samples() -> None:
    tallies = simulate(samples=60, seed=2)
    check(tallies, 0.935, 0.96)
    for name, own in tallies.items():
        assert own.given < 1_000 or 0.92 < own.coverage < 0.98, name
