"""`joinfold calibrate`: what it saves and prints. The calibration itself is replaced by fixed prices."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from joinfold import calibration, cli
from joinfold.calibration import Calibration
from joinfold.planner.cost.engine import OPERATIONS
from joinfold.planner.cost.weights import FILE, Weights, usual_weights
from tests.calibration.test_pricing import bill


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache folder, and a calibration that returns fixed prices at once."""
    weights = Weights(dict.fromkeys(OPERATIONS, 1e-7), "calibrated")
    bills = [bill({}, {"hash probe": 1e6}, (0.0, seconds)) for seconds in (0.1, 0.125, 0.05)]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(calibration, "calibrate", lambda spark, advance: Calibration(weights, bills))
    monkeypatch.setattr("joinfold.cli.calibrate.Session", lambda: type("Sparkless", (), {"spark": None})())
    monkeypatch.setattr(sys, "argv", ["joinfold", "calibrate"])
    yield tmp_path
    usual_weights.cache_clear()


def test_the_command_saves_prices_and_prints_their_error(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert not exit_.value.code
    path = home / "joinfold" / FILE
    assert json.loads(path.read_text()) == dict.fromkeys(OPERATIONS, 1e-7)
    assert capsys.readouterr().out == (
        f"{path}: prices of {len(OPERATIONS)} operations, from 3 runs\n"
        "half of the estimates are within 25% of the measured times\n"
    )
    assert usual_weights().origin == "calibrated"


def test_the_command_as_json(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["joinfold", "calibrate", "--json"])
    with pytest.raises(SystemExit):
        cli.main()
    printed = json.loads(capsys.readouterr().out)
    assert printed["file"] == str(home / "joinfold" / FILE)
    assert printed["error"] == pytest.approx(0.25) and printed["seconds"] == dict.fromkeys(OPERATIONS, 1e-7)
