"""PC (Wang), the plan that the others are measured against: all combinations are kept, and summed for each answer."""

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.grouping import largest
from joinfold.operators.entries import Integers
from joinfold.operators.methods.method import Method
from joinfold.operators.windows.pair_values import PairValues, joined_values
from joinfold.physical.stage import Body


class Pipelined(Method):
    """A queue of the combinations that are live, each with its leaving time, group and payload."""

    joins_leaving = False
    by_leave = True

    def __init__(self, body: Body, only_changed: bool) -> None:
        super().__init__(body, only_changed)
        self.queue: list[PairValues] = []

    @property
    def bytes_held(self) -> int:
        """The memory of totals and of all combinations."""
        return super().bytes_held + sum(values.nbytes for values in self.queue)

    def add(self, values: PairValues, now: int) -> None:
        """Combinations that have come into being."""
        self.queue.append(values)

    def advance(self, now: int) -> None:
        """Drops what has ended and sums what is left."""
        self.totals.clear()
        live = []
        for values in self.queue:
            values = values.take(values.leaves > now)
            if len(values):
                live.append(values)
                self.totals.add(values, 1)
        self.queue = live

    def heads(self, now: int) -> list[tuple[Integers, NDArray[np.bool_]]]:
        """For each extreme the codes of all groups, and where there is one."""
        extremes = range(len(self.body.extremes))
        if not self.queue:
            return [(np.zeros(0, np.int64), np.zeros(0, np.bool_)) for _ in extremes]
        values = joined_values(self.queue)
        groups = int(values.group.max()) + 1
        return [
            largest(values.group, groups, values.payload.codes[:, number].copy(), values.payload.has[:, number].copy())
            for number in extremes
        ]
