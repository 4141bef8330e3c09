"""TC (Wang): each combination is charged to the entry that leaves first, and is subtracted when that entry leaves.

So nothing is joined when an entry leaves. The charges of one leaving time are kept by group: one row for each group,
however many combinations there are.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from joinfold.operators.calendars.calendar import BEGINNING, END
from joinfold.operators.entries import Integers
from joinfold.operators.methods.extremes import ChargedExtremes
from joinfold.operators.methods.method import Method
from joinfold.operators.runs import Runs
from joinfold.operators.windows.added_totals import by_group
from joinfold.operators.windows.pair_values import PairValues, joined_values
from joinfold.physical.stage import Body


class Charges(Runs[PairValues]):
    """What will be subtracted from the totals, sorted by leaving time."""

    many = 2

    @property
    def bytes_held(self) -> int:
        """The memory of all charges."""
        return sum(run.rows.nbytes for run in self.runs)

    def numbers_of(self, rows: PairValues) -> Integers:
        """The leaving time of each charge."""
        return rows.leaves

    def together(self, parts: Sequence[PairValues]) -> PairValues:
        """All charges, with those of one leaving time and group added up."""
        values = joined_values(parts)
        return by_group(values, np.stack([values.leaves, values.group]))


class TimeCarrying(Method):
    """Totals, and the charges that will be subtracted from them."""

    joins_leaving = False
    by_leave = True

    def __init__(self, body: Body, only_changed: bool) -> None:
        super().__init__(body, only_changed)
        self.extremes = ChargedExtremes(body)
        self.charges = Charges()

    @property
    def bytes_held(self) -> int:
        """The memory of totals, extremes and charges."""
        return super().bytes_held + self.extremes.bytes_held + self.charges.bytes_held

    @classmethod
    def takes_back(cls, body: Body) -> bool:
        """Integers can be taken back. Charges of floating sums would not cancel to 0."""
        return not body.extremes and not body.real_products

    def add(self, values: PairValues, now: int) -> None:
        """Adds combinations that begin, and charges each until its first entry leaves."""
        values = values.take(values.leaves > now)
        self.totals.add(values, 1)
        self.extremes.add(values, now)
        ending = values.take(values.leaves < END)
        if len(ending):
            self.charges.add(self.charges.together([ending]))

    def take_back(self, values: PairValues, now: int) -> None:
        """Subtracts combinations now, and not when they end: charges of the opposite sign cancel theirs."""
        values = values.take(values.leaves > now)
        self.totals.add(values, -1)
        ending = values.take(values.leaves < END)
        if len(ending):
            self.charges.add(self.charges.together([ending.negated]))

    def advance(self, now: int) -> None:
        """Subtracts the charges of all entries that have left by ``now``."""
        gone = self.charges.between(BEGINNING, now + 1)
        if gone is not None:
            self.totals.add(gone, -1)
            self.charges.drop_before(now + 1)

    def heads(self, now: int) -> list[tuple[Integers, NDArray[np.bool_]]]:
        """For each extreme, the code of its value in each group at ``now``, and whether the group has one."""
        return self.extremes.heads(now)
