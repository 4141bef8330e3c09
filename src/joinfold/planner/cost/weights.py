"""The prices of operations on a machine: measured by ``joinfold calibrate``, or shipped with joinfold.

A price is the seconds of CPU that one operation of `engine` takes. ``joinfold calibrate`` writes the prices of this
machine to the user's cache directory. The shipped prices are used if there are none, or if they belong to a version of
joinfold with other operations.
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
    """The price of each operation in seconds, and where the prices come from: 'shipped' or 'calibrated'."""

    seconds: Mapping[str, float]
    origin: str = "shipped"

    def __post_init__(self) -> None:
        missing, unknown = set(OPERATIONS) - set(self.seconds), set(self.seconds) - set(OPERATIONS)
        assert not missing and not unknown, f"prices are missing: {missing}; of no operation: {unknown}"
        assert min(self.seconds.values()) >= 0, "prices are not negative"

    def cost(self, amounts: Amounts) -> float:
        """The seconds of CPU that these amounts take."""
        return sum(self.seconds[name] * amount for name, amount in amounts.items())

    def save(self) -> Path:
        """Writes the prices to the user's cache directory; returns the path of the file."""
        path = cache_directory() / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(dict(self.seconds), indent=1) + "\n")
        temporary.replace(path)
        usual_weights.cache_clear()
        return path


def cache_directory() -> Path:
    """The directory of what joinfold has measured on this machine."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "joinfold"


@cache
def usual_weights() -> Weights:
    """The prices of this machine if it was calibrated, else the shipped ones."""
    try:
        calibrated = _read(cache_directory() / FILE)
    except RuntimeError:  # there is no home directory
        calibrated = None
    return calibrated or shipped_weights()


def shipped_weights() -> Weights:
    """The prices on the machine that joinfold was developed on."""
    return Weights(json.loads(files(__package__).joinpath(FILE).read_text()))


def _read(path: Path) -> Weights | None:
    """The prices in a file; None if it cannot be read, has impossible prices, or is for other operations than ours."""
    try:
        seconds = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    if not isinstance(seconds, dict) or set(seconds) != set(OPERATIONS):
        return None
    if not all(isinstance(value, int | float) and 0 <= value < 1 for value in seconds.values()):
        return None
    return Weights(seconds, "calibrated")
