"""PC (Wang), the plan that the others are measured against: all combinations are kept, and summed for each answer."""

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.grouping import largest
from joinfold.operators.entries import Integers
from joinfold.operators.layout import FoldLayout
from joinfold.operators.methods.method import Method
from joinfold.operators.worth import Worth, joined_worth


class Pipelined(Method):
    """A queue of the combinations that are live, each with its leaving time, group and payload."""

    joins_leaving = False
    by_leave = True

    def __init__(self, layout: FoldLayout) -> None:
        super().__init__(layout)
        self.queue: list[Worth] = []

    @property
    def bytes_held(self) -> int:
        """The memory of totals and of all combinations."""
        return super().bytes_held + sum(worth.nbytes for worth in self.queue)

    def add(self, worth: Worth, now: int) -> None:
        """Combinations that have come into being."""
        self.queue.append(worth)

    def settle(self, now: int) -> None:
        """Drops what has ended and sums what is left."""
        self.totals.clear()
        live = []
        for worth in self.queue:
            worth = worth.take(worth.leaves > now)
            if len(worth):
                live.append(worth)
                self.totals.add(worth, 1)
        self.queue = live

    def heads(self, now: int) -> list[tuple[Integers, NDArray[np.bool_]]]:
        """For each extreme the codes of all groups, and where there is one."""
        extremes = range(len(self.layout.extremes))
        if not self.queue:
            return [(np.zeros(0, np.int64), np.zeros(0, np.bool_)) for _ in extremes]
        worth = joined_worth(self.queue)
        groups = int(worth.group.max()) + 1
        return [
            largest(worth.group, groups, worth.codes[:, number].copy(), worth.has[:, number].copy())
            for number in extremes
        ]
