"""PC (Wang): keeps all combinations, and sums them anew for each answer. The other methods are compared with it."""

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.grouping import largest
from joinfold.operators.entries import Integers
from joinfold.operators.methods.method import Method
from joinfold.operators.windows.pair_values import PairValues, joined_values
from joinfold.physical.stage import Body


class Pipelined(Method):
    """A queue of the live combinations, each with its group, its payload and the time at which it ends."""

    joins_leaving = False
    by_leave = True

    def __init__(self, body: Body, only_changed: bool) -> None:
        super().__init__(body, only_changed)
        self.queue: list[PairValues] = []

    @property
    def bytes_held(self) -> int:
        """The memory of totals and of all combinations."""
        return super().bytes_held + sum(values.nbytes for values in self.queue)

    @classmethod
    def takes_back(cls, body: Body) -> bool:
        """Nothing can be taken back: combinations are kept without the entries that they are made of."""
        return False

    def add(self, values: PairValues, now: int) -> None:
        """Adds combinations that begin."""
        self.queue.append(values)

    def advance(self, now: int) -> None:
        """Drops combinations that have ended, and sums the others."""
        self.totals.clear()
        live = []
        for values in self.queue:
            values = values.take(values.leaves > now)
            if len(values):
                live.append(values)
                self.totals.add(values, 1)
        self.queue = live

    def heads(self, now: int) -> list[tuple[Integers, NDArray[np.bool_]]]:
        """For each extreme, the code of its value in each group at ``now``, and whether the group has one."""
        extremes = range(len(self.body.extremes))
        if not self.queue:
            return [(np.zeros(0, np.int64), np.zeros(0, np.bool_)) for _ in extremes]
        values = joined_values(self.queue)
        groups = int(values.group.max()) + 1
        return [
            largest(values.group, groups, values.payload.codes[:, number].copy(), values.payload.has[:, number].copy())
            for number in extremes
        ]
