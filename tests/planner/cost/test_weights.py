"""Prices of operations: shipped with joinfold, or those of this machine where they fit."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from joinfold.planner.cost.engine import OPERATIONS, Amounts
from joinfold.planner.cost.weights import FILE, Weights, cache_directory, shipped_weights, usual_weights

OWN = Weights({name: (ordinal + 1) * 1e-9 for ordinal, name in enumerate(OPERATIONS)}, "calibrated")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, and no price that is remembered from before or afterwards."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    usual_weights.cache_clear()
    yield tmp_path
    usual_weights.cache_clear()


def write(text: str) -> None:
    cache_directory().mkdir(parents=True, exist_ok=True)
    (cache_directory() / FILE).write_text(text)


def test_every_operation_has_a_shipped_price() -> None:
    weights = shipped_weights()
    assert set(weights.seconds) == set(OPERATIONS) and weights.origin == "shipped"
    assert all(0 <= seconds < 0.01 for seconds in weights.seconds.values())
    assert usual_weights() == weights


def test_what_is_saved_is_read_again(home: Path) -> None:
    path = OWN.save()
    assert path == home / "joinfold" / FILE and usual_weights() == OWN
    assert [file.name for file in path.parent.iterdir()] == [FILE]  # nothing is left beside it


def test_saving_takes_the_place_of_what_is_remembered() -> None:
    assert usual_weights().origin == "shipped"
    OWN.save()
    assert usual_weights() == OWN
    dearer = Weights({name: 2 * seconds for name, seconds in OWN.seconds.items()}, "calibrated")
    dearer.save()
    assert usual_weights() == dearer


def test_what_is_remembered_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = usual_weights()
    write(json.dumps(dict(OWN.seconds)))
    assert usual_weights() is first


@pytest.mark.parametrize(
    "changed",
    [
        {"hash probe": -1e-9},
        {"hash probe": 1.5},  # no operation takes that long
        {"hash probe": float("nan")},
        {"hash probe": float("inf")},
        {"hash probe": "fast"},
        {"hash probe": None},
        {"hash probe": True},
        {"row painted": 1e-9},
    ],
)
def test_prices_that_cannot_be_are_ignored(changed: dict[str, Any]) -> None:
    write(json.dumps({**OWN.seconds, **changed}))
    assert usual_weights() == shipped_weights()


@pytest.mark.parametrize("text", ["", "{", "[]", "17", "null", "[1, 2]", '{"hash probe": 1e-9}', "\x00\xff not JSON"])
def test_files_that_are_no_prices_are_ignored(text: str) -> None:
    write(text)
    assert usual_weights() == shipped_weights()


def test_a_price_that_is_missing_or_bytes_that_are_no_text() -> None:
    write(json.dumps({name: seconds for name, seconds in OWN.seconds.items() if name != "hash probe"}))
    assert usual_weights() == shipped_weights()
    usual_weights.cache_clear()
    (cache_directory() / FILE).write_bytes(b"\xff\xfe\x00")
    assert usual_weights() == shipped_weights()


def test_a_folder_in_the_place_of_the_file() -> None:
    (cache_directory() / FILE).mkdir(parents=True)
    assert usual_weights() == shipped_weights()


def test_the_cache_is_that_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_directory() == tmp_path / "joinfold"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_directory() == tmp_path / "home" / ".cache" / "joinfold"


def test_weights_travel_to_workers() -> None:
    assert pickle.loads(pickle.dumps(OWN)) == OWN
    assert pickle.loads(pickle.dumps(shipped_weights())) == shipped_weights()


@pytest.mark.parametrize("seconds", [{}, {"hash probe": 1.0}, {**OWN.seconds, "hash probe": -1.0}])
def test_weights_are_complete_and_not_negative(seconds: dict[str, float]) -> None:
    with pytest.raises(AssertionError):
        Weights(seconds)


def test_costs_are_amounts_times_prices() -> None:
    weights = Weights(dict.fromkeys(OPERATIONS, 0.5) | {"instant": 2.0})
    assert weights.cost(Amounts({"instant": 3.0, "hash probe": 4.0})) == 8.0
    assert weights.cost(Amounts()) == 0.0
