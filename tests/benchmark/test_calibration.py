"""Prices of operations from bills, and `joinfold calibrate` on very little."""

import json
import sys
from collections.abc import Iterator
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold import benchmark, cli
from joinfold.benchmark import Calibration
from joinfold.benchmark import calibration as module
from joinfold.benchmark.calibration import Bill, calibrate, crossing_prices, fitted, plans, trials
from joinfold.benchmark.fitting import FAR_OFF, least_squares, prices
from joinfold.benchmark.trials import Measured, Streams, Trial
from joinfold.planner.cost.engine import OPERATIONS, Amounts
from joinfold.planner.cost.weights import FILE, Weights, shipped_weights, usual_weights

TINY = (
    Trial("sets", module.SETS, Streams((40, 40), keys=5, groups=2, size=2), measured=2),
    Trial("condition", module.CONDITION, Streams((30, 30), keys=5, groups=2, size=2), measured=2),
)
RUNS, KINDS = 60, 5


def bills_of(seed: int, noise: float = 0.0) -> tuple[Any, Any, Any]:
    """Amounts of random runs, what they took, and the prices by which they took it."""
    draw = np.random.default_rng(seed)
    true = 10 ** draw.uniform(-8, -5, KINDS)
    amounts = 10 ** draw.uniform(0, 5, (RUNS, KINDS)) * (draw.random((RUNS, KINDS)) < 0.7)
    amounts[np.arange(RUNS), np.arange(RUNS) % KINDS] += 1e5  # every operation is much of some runs
    return amounts, amounts @ true * np.exp(draw.normal(0, noise, RUNS)), true


# --- fitting ------------------------------------------------------------------------------------------------------


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


# --- bills --------------------------------------------------------------------------------------------------------


def bill(pack: dict[str, float], fold: dict[str, float], seconds: tuple[float, float]) -> Bill:
    return Bill(Measured("trial", "plan", *seconds, 0), Amounts(pack), Amounts(fold))


def test_pack_and_fold_are_fitted_each_for_itself_and_the_rest_is_as_shipped() -> None:
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


def test_the_error_is_that_in_the_middle_of_all_runs() -> None:
    weights = Weights(dict.fromkeys(OPERATIONS, 1e-6))
    bills = [bill({}, {"hash probe": 1e6}, (0.0, seconds)) for seconds in (1.0, 1.25, 0.8, 2.0, 1e9)]
    assert Calibration(weights, bills).error == pytest.approx(0.25)
    assert Calibration(weights, [bill({}, {"hash probe": 1e6}, (0.0, exp(-0.1)))]).error == pytest.approx(exp(0.1) - 1)


# --- trials -------------------------------------------------------------------------------------------------------


def test_trials_have_names_of_their_own_and_are_run_under_many_plans() -> None:
    found = list(trials())
    assert len({trial.name for trial in found}) == len(found) > 20
    names = [name for name, _ in plans(TINY[1])]
    assert names[0] == "usual" and len(set(names)) == len(names)
    assert {name.split()[0] for name in names[1:]} == {"ic", "tc", "pc"}
    assert {name.split()[1] for name in names[1:]} == {"hash", "btree", "ttree", "list"}


def test_a_trial_is_measured_when_its_windows_are_full() -> None:
    trial = TINY[0]
    (_, usual), *_ = plans(trial)
    slides = list(trial.slides(usual))
    assert len(slides) == trial.measured and all(slide.fold > 0 and slide.bytes_held > 0 for slide in slides)
    assert trial.tables["a"].num_rows == 40 * (2 + (2 + 2 + 1))
    first, second = trial.statistics.streams
    assert (first.rate, second.keys) == pytest.approx((40, 5), rel=0.3)


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
    """As much of a Spark session as is asked for its cores."""

    class sparkContext:  # noqa: N801
        defaultParallelism = 4  # noqa: N815


def test_what_crosses_into_python_is_priced_by_row_and_by_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "crossing_seconds", lambda spark, rows, columns: rows * (3e-7 + columns * 1e-7))
    found = crossing_prices(Cores)  # type: ignore[arg-type]
    assert found == pytest.approx(
        {"row crossed into Python": 4 * 3e-7, "column of a row crossed into Python": 4 * 1e-7}
    )
    monkeypatch.setattr(module, "crossing_seconds", lambda spark, rows, columns: rows * (3e-7 - columns * 1e-8))
    assert min(crossing_prices(Cores).values()) == 0  # type: ignore[arg-type]


# --- the command --------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, and a calibration that is done already."""
    weights = Weights(dict.fromkeys(OPERATIONS, 1e-7), "calibrated")
    bills = [bill({}, {"hash probe": 1e6}, (0.0, seconds)) for seconds in (0.1, 0.125, 0.05)]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(benchmark, "calibrate", lambda spark, advance: Calibration(weights, bills))
    monkeypatch.setattr("joinfold.cli.Session", lambda: type("Sparkless", (), {"spark": None})())
    monkeypatch.setattr(sys, "argv", ["joinfold", "calibrate"])
    yield tmp_path
    usual_weights.cache_clear()


def test_the_command_saves_and_says_how_good_it_is(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert not exit_.value.code
    path = home / "joinfold" / FILE
    assert json.loads(path.read_text()) == dict.fromkeys(OPERATIONS, 1e-7)
    assert capsys.readouterr().out == (
        f"{path}: the prices of {len(OPERATIONS)} operations, by 3 runs\n"
        "estimates of half of them are within 25% of what was measured\n"
    )
    assert usual_weights().origin == "calibrated"


def test_the_command_as_json(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["joinfold", "calibrate", "--json"])
    with pytest.raises(SystemExit):
        cli.main()
    printed = json.loads(capsys.readouterr().out)
    assert printed["file"] == str(home / "joinfold" / FILE)
    assert printed["error"] == pytest.approx(0.25) and printed["seconds"] == dict.fromkeys(OPERATIONS, 1e-7)
