"""What all methods offer."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from joinfold.operators.added import AddedTotals
from joinfold.operators.entries import Integers
from joinfold.operators.layout import FoldLayout
from joinfold.operators.worth import Worth

Flags = NDArray[np.bool_]


class Method(ABC):
    """Takes in the worth of combinations and gives totals.

    ``joins_leaving``: combinations of entries that leave are wanted too. ``by_leave``: what happens to a combination
    depends on when it ends, so entries are merged only if they leave together.
    """

    joins_leaving: ClassVar[bool]
    by_leave: ClassVar[bool]

    def __init__(self, layout: FoldLayout) -> None:
        self.layout = layout
        self.totals = AddedTotals(layout)

    @property
    def bytes_held(self) -> int:
        """The memory of totals and of what is kept of combinations."""
        return self.totals.totals.bytes_held

    @abstractmethod
    def add(self, worth: Worth, now: int) -> None:
        """Combinations that have come into being."""

    def subtract(self, worth: Worth) -> None:
        """Combinations that end, for methods that join what leaves."""
        raise AssertionError(f"{type(self).__name__} does not join what leaves")

    @abstractmethod
    def settle(self, now: int) -> None:
        """Brings the totals to ``now``."""

    @abstractmethod
    def heads(self, now: int) -> list[tuple[Integers, Flags]]:
        """For each extreme the codes of all groups, and where there is one."""
