"""What all methods offer, and extremes as charges, which serve IC and TC alike."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.charging import charge_valued
from joinfold.kernels.products import OF_DELTA
from joinfold.kernels.staircase import GroupStairs, LatestLeave
from joinfold.operators.added import AddedTotals
from joinfold.operators.entries import Integers
from joinfold.operators.layout import FoldLayout
from joinfold.operators.timeline import BEGINNING, END
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


class ChargedExtremes:
    """The extremes of all groups: each combination counts until its first entry leaves."""

    def __init__(self, layout: FoldLayout) -> None:
        self.stairs = [GroupStairs() for _ in layout.extremes]
        self.always = LatestLeave()
        nothing = np.zeros(1, np.int32)
        self.always.insert(nothing, nothing, np.array([END]), BEGINNING)

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return sum(stairs.bytes_held for stairs in self.stairs)

    def charge(self, worth: Worth, now: int) -> None:
        """Enters combinations into the staircases of their groups."""
        for number, stairs in enumerate(self.stairs):
            chosen = worth.has[:, number] & (worth.leaves > now)
            group = worth.group[chosen].astype(np.int32)
            key = np.zeros(len(group), np.int32)
            codes, leaves = worth.codes[chosen, number], worth.leaves[chosen]
            order = np.argsort(leaves, kind="stable")
            charge_valued(key, group[order], leaves[order], codes[order], self.always, OF_DELTA, None, stairs, now)

    def heads(self, now: int) -> list[tuple[Integers, Flags]]:
        """For each extreme the codes of all groups, and where there is one."""
        found = [stairs.heads(now) for stairs in self.stairs]
        return [(codes, has) for has, codes in found]
