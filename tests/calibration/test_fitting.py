"""Fits prices to amounts and seconds."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.calibration.fitting import FAR_OFF, least_squares, prices

RUNS, KINDS = 60, 5


def bills_of(seed: int, noise: float = 0.0) -> tuple[Any, Any, Any]:
    """The amounts of random runs, their seconds, and the true prices."""
    draw = np.random.default_rng(seed)
    true = 10 ** draw.uniform(-8, -5, KINDS)
    amounts = 10 ** draw.uniform(0, 5, (RUNS, KINDS)) * (draw.random((RUNS, KINDS)) < 0.7)
    amounts[np.arange(RUNS), np.arange(RUNS) % KINDS] += 1e5  # every operation dominates some runs
    return amounts, amounts @ true * np.exp(draw.normal(0, noise, RUNS)), true


@given(seed=st.integers(0, 10**6))
def test_prices_that_the_runs_determine_are_found(seed: int) -> None:
    amounts, seconds, true = bills_of(seed)
    usual = true * 10 ** np.random.default_rng(seed).uniform(-0.5, 0.5, KINDS)
    assert prices(amounts, seconds, usual, trust=1e-6) == pytest.approx(true, rel=0.05)


def test_noise_is_averaged_out() -> None:
    """Every run is off by about a fifth, but the median error of the prices is below a tenth."""
    errors = []
    for seed in range(8):
        amounts, seconds, true = bills_of(seed, noise=0.2)
        errors += list(np.abs(np.log(prices(amounts, seconds, true, trust=0.01) / true)))
    assert np.median(errors) < 0.1 and max(errors) < 0.7


def test_long_and_short_runs_have_the_same_weight() -> None:
    """Long runs and short runs contradict each other. The fitted price lies in the middle."""
    amounts = np.array([[1e9, 0.0], [1e9, 1e9], [1e3, 0.0], [1e3, 1e3]])
    seconds = np.array([1_000.0, 3_000.0, 0.004, 0.012])  # the short runs pay four times the price
    first, second = prices(amounts, seconds, np.array([1e-6, 2e-6]), trust=1e-9)
    assert 1.5e-6 < first < 2.5e-6 and second == pytest.approx(2 * first)


def test_an_operation_that_no_run_uses_keeps_its_usual_price() -> None:
    amounts, _, true = bills_of(1)
    amounts[:, 3] = 0
    amounts, usual = amounts[amounts.any(axis=1)], true * 2
    found = prices(amounts, amounts @ true, usual, trust=0.2)
    assert found[3] == pytest.approx(usual[3])
    assert np.delete(found, 3) == pytest.approx(np.delete(true, 3), rel=0.1)


def test_trust_decides_between_the_runs_and_the_usual_prices() -> None:
    amounts, seconds, usual = np.array([[100.0]]), np.array([3.0]), np.array([0.01])
    far, near = (prices(amounts, seconds, usual, trust)[0] for trust in (1e-6, 1e6))
    assert far == pytest.approx(0.03, rel=0.01) and near == pytest.approx(0.01, rel=0.01)
    assert near < prices(amounts, seconds, usual, 1.0)[0] < far


def test_free_operations_may_get_a_price_and_no_price_is_negative() -> None:
    amounts = np.array([[10.0, 5.0], [10.0, 10.0], [1.0, 8.0]])
    found = prices(amounts, amounts @ np.array([0.0, 0.2]), np.array([0.1, 0.0]), trust=1e-6)
    assert found == pytest.approx([0.0, 0.2], abs=1e-3) and found.min() >= 0
    opposed = prices(np.array([[10.0, 0.0], [10.0, 10.0]]), np.array([3.0, 1.0]), np.array([0.1, 0.1]), 1e-3)
    assert opposed.min() >= 0  # the second price would fit only if it were negative


@given(seed=st.integers(0, 10**6))
def test_least_squares_without_negative_solutions(seed: int) -> None:
    """No change of a coordinate makes the sum of squares smaller."""
    draw = np.random.default_rng(seed)
    rows, wanted = draw.normal(size=(12, 4)), draw.normal(size=12)
    found = least_squares(rows, wanted)
    slope = rows.T @ (rows @ found - wanted)
    assert (found >= 0).all()
    assert np.abs(slope[found > 0]).max(initial=0) < 1e-6 and slope[found == 0].min(initial=0) > -1e-6


def test_the_weight_of_an_estimate_that_is_far_off_is_bounded() -> None:
    assert 0 < FAR_OFF < 1
    amounts, seconds = np.array([[1e-12, 1.0], [1.0, 1.0]]), np.array([1.0, 1.0])
    assert np.isfinite(prices(amounts, seconds, np.array([1.0, 1e-9]), 0.1)).all()
