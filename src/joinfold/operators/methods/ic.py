"""IC (Wang): what enters is added, what leaves is subtracted; nothing is kept of combinations.

Extremes cannot be subtracted: they are charged, as TC does. Where later rows decide when an entry
leaves, the combinations of each group and value are counted.
"""

import numpy as np
from numpy.typing import NDArray

from joinfold.operators.entries import Integers
from joinfold.operators.methods.extremes import ChargedExtremes, CountedExtremes
from joinfold.operators.methods.method import Method
from joinfold.operators.windows.pair_values import PairValues
from joinfold.physical.stage import Body


class Incremental(Method):
    """Totals move by the combinations of what enters and of what leaves."""

    joins_leaving = True
    by_leave = False

    def __init__(self, body: Body, only_changed: bool) -> None:
        super().__init__(body, only_changed)
        self.extremes = CountedExtremes(body) if body.is_open_ended else ChargedExtremes(body)

    @property
    def bytes_held(self) -> int:
        """The memory of totals and staircases."""
        return super().bytes_held + self.extremes.bytes_held

    def add(self, values: PairValues, now: int) -> None:
        """Combinations that have come into being."""
        self.totals.add(values, 1)
        self.extremes.add(values, now)

    def subtract(self, values: PairValues) -> None:
        """Combinations that end."""
        self.totals.add(values, -1)
        self.extremes.subtract(values)

    def advance(self, now: int) -> None:
        """The totals are where they are."""

    def heads(self, now: int) -> list[tuple[Integers, NDArray[np.bool_]]]:
        """For each extreme the codes of all groups, and where there is one."""
        return self.extremes.heads(now)
