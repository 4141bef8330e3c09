"""IC (Wang): combinations are added when they begin and subtracted when they end. None is kept.

Extremes cannot be subtracted, so they are charged, as in TC. Where later rows decide when an entry leaves, that is
impossible; there it counts the combinations of each group and value.
"""

import numpy as np
from numpy.typing import NDArray

from joinfold.operators.entries import Integers
from joinfold.operators.methods.extremes import ChargedExtremes, CountedExtremes
from joinfold.operators.methods.method import Method
from joinfold.operators.windows.pair_values import PairValues
from joinfold.physical.stage import Body


class Incremental(Method):
    """Adds the combinations of entries that enter to the totals, and subtracts those of entries that leave."""

    joins_leaving = True
    by_leave = False

    def __init__(self, body: Body, only_changed: bool) -> None:
        super().__init__(body, only_changed)
        self.extremes = CountedExtremes(body) if body.is_open_ended else ChargedExtremes(body)

    @property
    def bytes_held(self) -> int:
        """The memory of totals and extremes."""
        return super().bytes_held + self.extremes.bytes_held

    @classmethod
    def takes_back(cls, body: Body) -> bool:
        """Sums can be taken back, and extremes cannot."""
        return not body.extremes

    def add(self, values: PairValues, now: int) -> None:
        """Adds combinations that begin."""
        self.totals.add(values, 1)
        self.extremes.add(values, now)

    def subtract(self, values: PairValues) -> None:
        """Subtracts combinations that end."""
        self.totals.add(values, -1)
        self.extremes.subtract(values)

    def take_back(self, values: PairValues, now: int) -> None:
        """Subtracts combinations, as if they ended."""
        self.subtract(values)

    def advance(self, now: int) -> None:
        """Does nothing: the totals are up to date already."""

    def heads(self, now: int) -> list[tuple[Integers, NDArray[np.bool_]]]:
        """For each extreme, the code of its value in each group at ``now``, and whether the group has one."""
        return self.extremes.heads(now)
