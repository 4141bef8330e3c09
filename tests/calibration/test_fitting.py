"""Prices from amounts and seconds alone."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.calibration.fitting import FAR_OFF, least_squares, prices

RUNS, KINDS = 60, 5


def bills_of(seed: int, noise: float = 0.0) -> tuple[Any, Any, Any]:
    """Amounts of random runs, what they took, and the prices by which they took it."""
    draw = np.random.default_rng(seed)
    true = 10 ** draw.uniform(-8, -5, KINDS)
    amounts = 10 ** draw.uniform(0, 5, (RUNS, KINDS)) * (draw.random((RUNS, KINDS)) < 0.7)
    amounts[np.arange(RUNS), np.arange(RUNS) % KINDS] += 1e5  # every operation is much of some runs
    return amounts, amounts @ true * np.exp(draw.normal(0, noise, RUNS)), true


@given(seed=st.integers(0, 10**6))
def test_prices_that_runs_tell_are_found(seed: int) -> None:
    amounts, seconds, true = bills_of(seed)
    usual = true * 10 ** np.random.default_rng(seed).uniform(-0.5, 0.5, KINDS)
    assert prices(amounts, seconds, usual, trust=1e-6) == pytest.approx(true, rel=0.05)


def test_noise_is_averaged_out() -> None:
    """A fifth up or down in every run, and the middle of all errors is far less."""
    errors = []
    for seed in range(8):
        amounts, seconds, true = bills_of(seed, noise=0.2)
        errors += list(np.abs(np.log(prices(amounts, seconds, true, trust=0.01) / true)))
    assert np.median(errors) < 0.1 and max(errors) < 0.7


def test_runs_count_alike_however_long_they_took() -> None:
    """A run of a thousand seconds and one of a thousandth that contradict each other meet in the middle."""
    amounts = np.array([[1e9, 0.0], [1e9, 1e9], [1e3, 0.0], [1e3, 1e3]])
    seconds = np.array([1_000.0, 3_000.0, 0.004, 0.012])  # four times as dear in small
    first, second = prices(amounts, seconds, np.array([1e-6, 2e-6]), trust=1e-9)
    assert 1.5e-6 < first < 2.5e-6 and second == pytest.approx(2 * first)


def test_what_no_run_does_stays_as_usual() -> None:
    amounts, _, true = bills_of(1)
    amounts[:, 3] = 0
    amounts, usual = amounts[amounts.any(axis=1)], true * 2
    found = prices(amounts, amounts @ true, usual, trust=0.2)
    assert found[3] == pytest.approx(usual[3])
    assert np.delete(found, 3) == pytest.approx(np.delete(true, 3), rel=0.1)


def test_trust_decides_between_the_runs_and_what_is_usual() -> None:
    amounts, seconds, usual = np.array([[100.0]]), np.array([3.0]), np.array([0.01])
    far, near = (prices(amounts, seconds, usual, trust)[0] for trust in (1e-6, 1e6))
    assert far == pytest.approx(0.03, rel=0.01) and near == pytest.approx(0.01, rel=0.01)
    assert near < prices(amounts, seconds, usual, 1.0)[0] < far


def test_operations_that_were_free_may_get_a_price_and_none_is_negative() -> None:
    amounts = np.array([[10.0, 5.0], [10.0, 10.0], [1.0, 8.0]])
    found = prices(amounts, amounts @ np.array([0.0, 0.2]), np.array([0.1, 0.0]), trust=1e-6)
    assert found == pytest.approx([0.0, 0.2], abs=1e-3) and found.min() >= 0
    opposed = prices(np.array([[10.0, 0.0], [10.0, 10.0]]), np.array([3.0, 1.0]), np.array([0.1, 0.1]), 1e-3)
    assert opposed.min() >= 0  # the second would have to be negative to fit


@given(seed=st.integers(0, 10**6))
def test_least_squares_without_negatives(seed: int) -> None:
    """No coordinate can be moved to make the sum of squares smaller."""
    draw = np.random.default_rng(seed)
    rows, wanted = draw.normal(size=(12, 4)), draw.normal(size=12)
    found = least_squares(rows, wanted)
    slope = rows.T @ (rows @ found - wanted)
    assert (found >= 0).all()
    assert np.abs(slope[found > 0]).max(initial=0) < 1e-6 and slope[found == 0].min(initial=0) > -1e-6


def test_an_estimate_that_is_far_off_does_not_weigh_without_end() -> None:
    assert 0 < FAR_OFF < 1
    amounts, seconds = np.array([[1e-12, 1.0], [1.0, 1.0]]), np.array([1.0, 1.0])
    assert np.isfinite(prices(amounts, seconds, np.array([1.0, 1e-9]), 0.1)).all()
