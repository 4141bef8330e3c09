"""TC (Wang): each combination is charged to its entry that leaves first, and goes with it.

Nothing is joined when an entry leaves. The charges of a leaving time are kept by group: one row for each, however many
combinations there are.
"""

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from joinfold.operators.added import by_group
from joinfold.operators.entries import Integers
from joinfold.operators.layout import FoldLayout
from joinfold.operators.methods.extremes import ChargedExtremes
from joinfold.operators.methods.method import Method
from joinfold.operators.timeline import END
from joinfold.operators.worth import Worth, joined_worth


class TimeCarrying(Method):
    """Totals, and the charges that will be taken from them, by leaving time."""

    joins_leaving = False
    by_leave = True

    def __init__(self, layout: FoldLayout) -> None:
        super().__init__(layout)
        self.extremes = ChargedExtremes(layout)
        self.charges: dict[int, Worth] = {}
        self.times: list[int] = []

    @property
    def bytes_held(self) -> int:
        """The memory of totals, staircases and charges."""
        return super().bytes_held + self.extremes.bytes_held + sum(worth.nbytes for worth in self.charges.values())

    def add(self, worth: Worth, now: int) -> None:
        """Combinations that have come into being, and are charged until their first entry leaves."""
        worth = worth.take(worth.leaves > now)
        self.totals.add(worth, 1)
        self.extremes.add(worth, now)
        ending = by_group(worth, np.stack([worth.leaves, worth.group])) if len(worth) else worth
        for time in np.unique(ending.leaves).tolist():
            if time == END:
                continue
            own = ending.take(ending.leaves == time)
            if time in self.charges:
                both = joined_worth([self.charges[time], own])
                self.charges[time] = by_group(both, both.group[None, :])
            else:
                self.charges[time] = own
                heappush(self.times, time)

    def settle(self, now: int) -> None:
        """What has left takes its charges with it."""
        while self.times and self.times[0] <= now:
            self.totals.add(self.charges.pop(heappop(self.times)), -1)

    def heads(self, now: int) -> list[tuple[Integers, NDArray[np.bool_]]]:
        """For each extreme the codes of all groups, and where there is one."""
        return self.extremes.heads(now)
