"""Prices from bills: what operations cost, from what runs cost and what they did.

Runs differ by many orders of magnitude, and an estimate that is twice too high is as wrong as one that is twice too
low. So the sum of the squares of log(estimated / measured) is made small: least squares with prices that are not
negative, again and again, each run weighed by 1 / (estimated · measured).
"""

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

ROUNDS = 25
SWEEPS = 300
FAR_OFF = 0.02  # an estimate below this part of what was measured weighs no more than one at it


def prices(amounts: Doubles, seconds: Doubles, usual: Doubles, trust: float) -> Doubles:
    """Prices of operations, float64[operations], of amounts float64[runs, operations] and seconds float64[runs].

    What runs do not tell stays near the ``usual`` prices: ``trust`` is how many runs these count for.
    """
    assert amounts.shape == (len(seconds), len(usual)) and seconds.min() > 0 and usual.min() >= 0
    known = np.flatnonzero(usual > 0)
    found, scale = usual, seconds.copy()
    for _ in range(ROUNDS):
        rows = np.concatenate([amounts / scale[:, None], np.zeros((len(known), len(usual)))])
        wanted = np.concatenate([seconds / scale, np.full(len(known), np.sqrt(trust))])
        rows[len(seconds) + np.arange(len(known)), known] = np.sqrt(trust) / usual[known]
        found = least_squares(rows, wanted)
        scale = np.sqrt(np.maximum(amounts @ found, FAR_OFF * seconds) * seconds)
    return found


def least_squares(rows: Doubles, wanted: Doubles) -> Doubles:
    """The vector without negatives for which rows @ vector is nearest to what is wanted, one coordinate at a time."""
    norms = np.linalg.norm(rows, axis=0)
    norms[norms == 0] = 1.0
    rows = rows / norms
    products, targets = rows.T @ rows, rows.T @ wanted
    found = np.zeros(rows.shape[1])
    for _ in range(SWEEPS):
        for place in np.flatnonzero(np.diag(products)):
            step = (products[place] @ found - targets[place]) / products[place, place]
            found[place] = max(0.0, found[place] - step)
    return np.asarray(found / norms, np.float64)
