"""Sums of int64 that wrap around, and whether they have."""

import numpy as np

from joinfold.kernels.compiling import part

LARGEST = np.iinfo(np.int64).max


@part
def added(value: int, change: int, sign: int) -> tuple[int, int]:
    """value + sign·change modulo 2^64, and its magnitude: ``LARGEST`` if it has wrapped around. Cost: O(1)."""
    if sign > 0:
        after = value + change
        wrapped = (value ^ after) & (change ^ after)
    else:
        after = value - change
        wrapped = (value ^ after) & (value ^ change)
    return after, LARGEST if wrapped < 0 else max(abs(after), -(abs(after) + 1))
