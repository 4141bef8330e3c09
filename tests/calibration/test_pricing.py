"""Prices of operations from bills, and the trials that give the bills, on very little data."""

from math import exp

import pytest

from joinfold.calibration import Calibration
from joinfold.calibration import pricing as module
from joinfold.calibration.pricing import Bill, calibrate, crossing_prices, fitted
from joinfold.calibration.queries import plans
from joinfold.calibration.trial import Measured
from joinfold.planner.cost.engine import OPERATIONS, Amounts
from joinfold.planner.cost.weights import Weights, shipped_weights
from tests.calibration.tiny import TINY

# --- bills --------------------------------------------------------------------------------------------------------


def bill(pack: dict[str, float], fold: dict[str, float], seconds: tuple[float, float]) -> Bill:
    return Bill(Measured("trial", "plan", *seconds, 0), Amounts(pack), Amounts(fold))


def test_pack_and_fold_are_fitted_separately_and_other_prices_are_the_shipped_ones() -> None:
    usual = shipped_weights()
    packed, probed = 2 * usual.seconds["entry packed"], 3 * usual.seconds["hash probe"]
    bills = [
        bill({"entry packed": 1e6 * n}, {"hash probe": 1e6 * n, "instant": 0.0}, (1e6 * n * packed, 1e6 * n * probed))
        for n in range(1, 30)
    ]
    weights = fitted(bills, usual)
    assert weights.origin == "calibrated"
    assert weights.seconds["entry packed"] == pytest.approx(packed, rel=0.1)
    assert weights.seconds["hash probe"] == pytest.approx(probed, rel=0.1)
    others = set(OPERATIONS) - {"entry packed", "hash probe"}
    assert {name: weights.seconds[name] for name in others} == {name: usual.seconds[name] for name in others}


def test_the_error_is_the_median_over_all_runs() -> None:
    weights = Weights(dict.fromkeys(OPERATIONS, 1e-6))
    bills = [bill({}, {"hash probe": 1e6}, (0.0, seconds)) for seconds in (1.0, 1.25, 0.8, 2.0, 1e9)]
    assert Calibration(weights, bills).error == pytest.approx(0.25)
    assert Calibration(weights, [bill({}, {"hash probe": 1e6}, (0.0, exp(-0.1)))]).error == pytest.approx(exp(0.1) - 1)


# --- trials -------------------------------------------------------------------------------------------------------


def test_calibration_without_spark_on_two_small_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "trials", lambda: iter(TINY))
    done: list[int] = []
    found = calibrate(None, done.append)
    usual = shipped_weights()
    assert done == [1, 1] and found.weights.origin == "calibrated"
    assert {bill.measured.trial for bill in found.bills} == {"sets", "condition"}
    assert len(found.bills) == sum(len(list(plans(trial))) for trial in TINY)
    for name in ("row crossed into Python", "byte shuffled", "row numbered", "group merged", "level of sums asked"):
        assert found.weights.seconds[name] == usual.seconds[name]
    assert found.weights.seconds != usual.seconds
    assert all(0 <= seconds < 1 for seconds in found.weights.seconds.values())
    assert 0 <= found.error < 2


def test_runs_that_would_take_too_long_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "trials", lambda: iter(TINY[1:]))
    every = {name for name, _ in plans(TINY[1])}
    monkeypatch.setattr(
        module, "shipped_weights", lambda: Weights(dict.fromkeys(OPERATIONS, 0.0) | {"hash probe": 1.0})
    )
    found = {bill.measured.plan for bill in calibrate(None).bills}
    assert found == {name for name in every if "hash" not in name and name != "usual"}


class Cores:
    """The part of a Spark session that knows the number of cores."""

    class sparkContext:  # noqa: N801
        defaultParallelism = 4  # noqa: N815


def test_crossing_into_python_has_a_price_per_row_and_per_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "crossing_seconds", lambda spark, rows, columns: rows * (3e-7 + columns * 1e-7))
    found = crossing_prices(Cores)  # type: ignore[arg-type]
    assert found == pytest.approx(
        {"row crossed into Python": 4 * 3e-7, "column of a row crossed into Python": 4 * 1e-7}
    )
    monkeypatch.setattr(module, "crossing_seconds", lambda spark, rows, columns: rows * (3e-7 - columns * 1e-8))
    assert min(crossing_prices(Cores).values()) == 0  # type: ignore[arg-type]
