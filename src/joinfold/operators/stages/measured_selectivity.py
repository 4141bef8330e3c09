"""How many combinations conditions let through, counted in a bucket: those that its totals are made of, among all with
equal keys. To count these takes a look at every entry, so it is done now and then, at first more often.

    key        1    2    3
    rows of a  2    5    1          combinations with equal keys: 2·3 + 5·0 + 1·4 = 10
    rows of b  3    0    4          of which live in the totals: 4 ──▶ 0.4
"""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from joinfold.kernels.grouping import group_rows
from joinfold.operators.entries import Entries
from joinfold.physical.stage import Body

COUNTED_EVERY = 4  # micro-batches
ENOUGH = 100.0  # combinations, for a share of them


class SelectivityCount:
    """The share as it was counted last, and after how many micro-batches that was."""

    def __init__(self, body: Body) -> None:
        self.is_certain = not (body.combining.ranges or body.combining.conditions)
        self.can_count = body.has_one_key and not body.views and not body.has_constant_row
        self.counted: float | None = None
        self.counted_at = 0

    def share(
        self, inside: Callable[[], Sequence[Entries | None]], live: Callable[[], float], batches: int
    ) -> float | None:
        """The share; ``inside`` is what each window holds, and ``live`` the combinations that totals are made of."""
        if self.is_certain:
            return 1.0
        if batches >= self.counted_at + min(self.counted_at, COUNTED_EVERY):
            self.counted, self.counted_at = self._count(inside, live), batches
        return self.counted

    def _count(self, inside: Callable[[], Sequence[Entries | None]], live: Callable[[], float]) -> float | None:
        if not self.can_count:
            return None
        held = inside()
        entries = [own for own in held if own is not None]
        possible = equal_combinations(entries) if len(entries) == len(held) else 0.0
        return None if possible < ENOUGH else min(max(live(), 0.5) / possible, 1.0)


def equal_combinations(inputs: list[Entries]) -> float:
    """How many combinations of rows have equal keys, or how many there are without any."""
    rows = [entries.payload.ints[:, 0].astype(np.float64) for entries in inputs]
    if not inputs[0].parts.shape[1]:
        return prod(float(own.sum()) for own in rows)
    keys, _ = group_rows(np.concatenate([entries.parts for entries in inputs]).T.astype(np.int64))
    ends = np.cumsum([len(own) for own in rows])
    sums = [
        np.bincount(keys[end - len(own) : end], own, minlength=int(keys.max()) + 1)
        for own, end in zip(rows, ends.tolist(), strict=True)
    ]
    return float(np.prod(sums, axis=0).sum())
