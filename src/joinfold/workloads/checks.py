"""Checks of the parameters of workloads. An error names the parameter and its value.

The parameters of a workload are a frozen dataclass whose ``__post_init__`` calls these functions, so a generator never
gets a value that it cannot use.
"""

import math

import numpy as np

from joinfold.errors import UsageError

LARGEST_WHOLE_NUMBER = 2**62


def require_whole_number(name: str, value: object, minimum: int = 1) -> None:
    """Refuses anything but an integer from ``minimum`` to 2**62, so that sums of two fit 64 bits."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise UsageError(f"{name} must be a whole number, not {value!r}")
    if value < minimum:
        raise UsageError(f"{name} must be at least {minimum}, not {value}", "give a larger number.")
    if value > LARGEST_WHOLE_NUMBER:
        raise UsageError(f"{name} must be at most 2**62, not {value}")


def require_positive(name: str, value: object) -> None:
    """Refuses anything but a finite number > 0."""
    if not _number(name, value) > 0:
        raise UsageError(f"{name} must be above 0, not {value}")


def require_not_negative(name: str, value: object) -> None:
    """Refuses anything but a finite number ≥ 0."""
    if not _number(name, value) >= 0:
        raise UsageError(f"{name} must not be negative, but it is {value}")


def require_share(name: str, value: object) -> None:
    """Refuses anything but a number from 0 to 1."""
    if not 0 <= _number(name, value) <= 1:
        raise UsageError(f"{name} must be between 0 and 1, not {value}", "write one half as 0.5.")


def require_disorder(share: object, depth_seconds: object) -> None:
    """Refuses an invalid share or depth, and one of them without the other."""
    require_share("disorder_share", share)
    require_not_negative("disorder_depth_seconds", depth_seconds)
    if bool(share) != bool(depth_seconds):
        given, missing = ("disorder_share", "disorder_depth_seconds")
        if depth_seconds:
            given, missing = missing, given
        raise UsageError(
            f"{given} has no effect without {missing}",
            f"give {missing} too: disorder_share of the rows arrive up to disorder_depth_seconds late.",
        )


def _number(name: str, value: object) -> float:
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
        raise UsageError(f"{name} must be a number, not {value!r}")
    if not math.isfinite(value):
        raise UsageError(f"{name} must be finite, not {value}")
    return float(value)
