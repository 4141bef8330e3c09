"""What all methods offer."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from joinfold.operators.entries import Integers
from joinfold.operators.windows.added_totals import AddedTotals
from joinfold.operators.windows.pair_values import PairValues
from joinfold.physical.stage import Body

Flags = NDArray[np.bool_]


class Method(ABC):
    """Takes in what combinations come to and gives totals.

    ``joins_leaving``: combinations of entries that leave are wanted too. ``by_leave``: what happens to a combination
    depends on when it ends, so entries are merged only if they leave together.
    """

    joins_leaving: ClassVar[bool]
    by_leave: ClassVar[bool]

    def __init__(self, body: Body, only_changed: bool) -> None:
        self.body = body
        self.totals = AddedTotals(body, only_changed)

    @property
    def bytes_held(self) -> int:
        """The memory of totals and of what is kept of combinations."""
        return self.totals.totals.bytes_held

    @abstractmethod
    def add(self, values: PairValues, now: int) -> None:
        """Combinations that have come into being."""

    def subtract(self, values: PairValues) -> None:
        """Combinations that end, for methods that join what leaves."""
        raise AssertionError(f"{type(self).__name__} does not join what leaves")

    @abstractmethod
    def advance(self, now: int) -> None:
        """Brings the totals to ``now``."""

    @abstractmethod
    def heads(self, now: int) -> list[tuple[Integers, Flags]]:
        """For each extreme the codes of all groups, and where there is one."""
