"""What operations cost on a machine: measured by ``joinfold calibrate``, or as shipped.

Weights are seconds of CPU for one operation of `engine`. Those of this machine lie in the user's cache directory, with
what they were measured by; where there are none, or they do not fit this joinfold, the shipped ones serve.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from joinfold.planner.cost.engine import OPERATIONS, Amounts

FILE = "weights.json"


@dataclass(frozen=True, slots=True)
class Weights:
    """Seconds for each operation, and where they come from: 'shipped' or 'calibrated'."""

    seconds: Mapping[str, float]
    origin: str = "shipped"

    def __post_init__(self) -> None:
        assert set(self.seconds) == set(OPERATIONS) and min(self.seconds.values()) >= 0

    def cost(self, amounts: Amounts) -> float:
        """Seconds of CPU."""
        return sum(self.seconds[name] * amount for name, amount in amounts.items())

    def save(self) -> Path:
        """Writes the weights to the user's cache directory; gives back the file."""
        path = cache_directory() / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_text(json.dumps(dict(self.seconds), indent=1) + "\n")
        beside.replace(path)
        usual_weights.cache_clear()
        return path


def cache_directory() -> Path:
    """Where joinfold keeps what it has found out about this machine."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "joinfold"


@cache
def usual_weights() -> Weights:
    """The weights of this machine if it was calibrated, else those that are shipped."""
    try:
        found = _read(cache_directory() / FILE)
    except RuntimeError:  # there is no home directory
        found = None
    return found or shipped_weights()


def shipped_weights() -> Weights:
    """The weights of the machine that joinfold was made on."""
    return Weights(json.loads(files(__package__).joinpath(FILE).read_text()))


def _read(path: Path) -> Weights | None:
    """Weights of a file; None where there are none for the operations of this joinfold."""
    try:
        seconds = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    if not isinstance(seconds, dict) or set(seconds) != set(OPERATIONS):
        return None
    if not all(isinstance(value, int | float) and 0 <= value < 1 for value in seconds.values()):
        return None
    return Weights(seconds, "calibrated")
