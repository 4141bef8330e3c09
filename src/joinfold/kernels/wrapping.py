"""Integers that wrap around, and whether they have."""

import numpy as np

from joinfold.kernels.compiling import part

LARGEST = np.iinfo(np.int64).max


@part
def added(value: int, change: int, sign: int) -> tuple[int, int]:
    """value + sign·change, which wraps around, and its magnitude, ``LARGEST`` if it did. Cost: O(1)."""
    if sign > 0:
        after = value + change
        wrapped = (value ^ after) & (change ^ after)
    else:
        after = value - change
        wrapped = (value ^ after) & (value ^ change)
    return after, LARGEST if wrapped < 0 else max(abs(after), -(abs(after) + 1))
