"""Prices of operations from measured runs: amounts · prices ≈ seconds.

Runs differ by many orders of magnitude, and an estimate that is twice too high is as wrong as one that is twice too
low. So the fit minimises the sum of squares of log(estimated / measured). It repeats non-negative least squares, with
each run weighted by 1 / (estimated · measured).
"""

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

ROUNDS = 25
SWEEPS = 300
FAR_OFF = 0.02  # the weight of an estimate grows no further below this part of the measured time


def prices(amounts: Doubles, seconds: Doubles, usual: Doubles, trust: float) -> Doubles:
    """Prices float64[operations] from amounts float64[runs, operations] and seconds float64[runs].

    Prices that the runs do not determine stay near the ``usual`` ones, which count for ``trust`` runs.
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
    """The non-negative vector for which rows @ vector is nearest to ``wanted``, by coordinate descent."""
    norms = np.linalg.norm(rows, axis=0)
    norms[norms == 0] = 1.0
    rows = rows / norms
    products, targets = rows.T @ rows, rows.T @ wanted
    found = np.zeros(rows.shape[1])
    for _ in range(SWEEPS):
        for column in np.flatnonzero(np.diag(products)):
            step = (products[column] @ found - targets[column]) / products[column, column]
            found[column] = max(0.0, found[column] - step)
    return np.asarray(found / norms, np.float64)
