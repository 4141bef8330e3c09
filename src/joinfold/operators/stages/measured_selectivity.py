"""The share of combinations that conditions let through, counted in a bucket.

It is the number of combinations in the totals, divided by the number with equal keys. Counting the latter reads every
entry, so it is done now and then, at first more often.

    key        1    2    3
    rows of a  2    5    1          combinations with equal keys: 2·3 + 5·0 + 1·4 = 10
    rows of b  3    0    4          of which 4 are in the totals ──▶ 0.4
"""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from joinfold.kernels.grouping import group_rows
from joinfold.operators.entries import Entries
from joinfold.physical.stage import Body

COUNTED_EVERY = 4  # micro-batches
ENOUGH = 100.0  # combinations; of fewer, a share means nothing


class SelectivityCount:
    """The share as it was counted last, and the number of micro-batches then."""

    def __init__(self, body: Body) -> None:
        self.is_certain = not (body.combining.ranges or body.combining.conditions)
        self.can_count = body.has_one_key and not body.views and not body.has_constant_row
        self.counted: float | None = None
        self.counted_at = 0

    def share(
        self, inside: Callable[[], Sequence[Entries | None]], live: Callable[[], float], batches: int
    ) -> float | None:
        """The share. ``inside`` gives the entries of each window, ``live`` the number of combinations in the totals."""
        if self.is_certain:
            return 1.0
        if batches >= self.counted_at + min(self.counted_at, COUNTED_EVERY):
            self.counted, self.counted_at = self._count(inside, live), batches
        return self.counted

    def _count(self, inside: Callable[[], Sequence[Entries | None]], live: Callable[[], float]) -> float | None:
        if not self.can_count:
            return None
        windows = inside()
        entries = [window for window in windows if window is not None]
        possible = equal_combinations(entries) if len(entries) == len(windows) else 0.0
        return None if possible < ENOUGH else min(max(live(), 0.5) / possible, 1.0)


def equal_combinations(inputs: list[Entries]) -> float:
    """How many combinations of rows have equal keys; without keys, how many there are."""
    counts = [entries.payload.ints[:, 0].astype(np.float64) for entries in inputs]
    if not inputs[0].parts.shape[1]:
        return prod(float(rows.sum()) for rows in counts)
    keys, _ = group_rows(np.concatenate([entries.parts for entries in inputs]).T.astype(np.int64))
    ends = np.cumsum([len(rows) for rows in counts])
    sums = [
        np.bincount(keys[end - len(rows) : end], rows, minlength=int(keys.max()) + 1)
        for rows, end in zip(counts, ends.tolist(), strict=True)
    ]
    return float(np.prod(sums, axis=0).sum())
