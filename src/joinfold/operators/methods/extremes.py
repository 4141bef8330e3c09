"""The extremes of all groups. A combination is either charged until it ends, or counted until it is subtracted."""

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.charging import charge_valued
from joinfold.kernels.grouping import group_rows, largest, sum_ints
from joinfold.kernels.staircase import GroupStairs, LatestLeave
from joinfold.kernels.totals import OF_DELTA
from joinfold.operators.calendars.calendar import BEGINNING, END
from joinfold.operators.entries import Integers
from joinfold.operators.windows.pair_values import PairValues
from joinfold.physical.stage import Body

Flags = NDArray[np.bool_]


class ChargedExtremes:
    """Staircases of all groups: each combination counts until the first of its entries leaves."""

    def __init__(self, body: Body) -> None:
        self.stairs = [GroupStairs() for _ in body.extremes]
        self.always = LatestLeave()
        nothing = np.zeros(1, np.int32)
        self.always.insert(nothing, nothing, np.array([END]), BEGINNING)

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return sum(stairs.bytes_held for stairs in self.stairs)

    def add(self, values: PairValues, now: int) -> None:
        """Adds combinations to the staircases of their groups."""
        for number, stairs in enumerate(self.stairs):
            chosen = values.payload.has[:, number] & (values.leaves > now)
            group = values.group[chosen].astype(np.int32)
            key = np.zeros(len(group), np.int32)
            codes, leaves = values.payload.codes[chosen, number], values.leaves[chosen]
            order = np.argsort(leaves, kind="stable")
            charge_valued(key, group[order], leaves[order], codes[order], self.always, OF_DELTA, None, stairs, now)

    def subtract(self, values: PairValues) -> None:
        """Does nothing: a combination leaves the staircase by itself when it ends."""

    def heads(self, now: int) -> list[tuple[Integers, Flags]]:
        """For each extreme, the code of its value in each group at ``now``, and whether the group has one."""
        found = [stairs.heads(now) for stairs in self.stairs]
        return [(codes, has) for has, codes in found]


class CountedExtremes:
    """For each group and value, how many combinations have it. What is added must be subtracted later."""

    def __init__(self, body: Body) -> None:
        self.counts = [Counts() for _ in body.extremes]

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return sum(counts.rows.nbytes for counts in self.counts)

    def add(self, values: PairValues, now: int) -> None:
        """Adds combinations that begin."""
        self._count(values, 1)

    def subtract(self, values: PairValues) -> None:
        """Subtracts combinations that end."""
        self._count(values, -1)

    def heads(self, now: int) -> list[tuple[Integers, Flags]]:
        """For each extreme, the code of its value in each group at ``now``, and whether the group has one."""
        found = []
        for counts in self.counts:
            group, code, _ = counts.summed()
            found.append(largest(group, int(group.max(initial=-1)) + 1, code, np.ones(len(code), np.bool_)))
        return found

    def _count(self, values: PairValues, sign: int) -> None:
        for number, counts in enumerate(self.counts):
            has = values.payload.has[:, number]
            ones = np.full(int(has.sum()), sign, np.int64)
            counts.add(np.stack([values.group[has], values.payload.codes[has, number], ones]))


class Counts:
    """How many combinations each group and code has. Changes are collected, and added up only when they are read."""

    def __init__(self) -> None:
        self.rows = np.zeros((3, 0), np.int64)
        self.changes: list[Integers] = []

    def add(self, rows: Integers) -> None:
        """Adds changes int64[3, n]: group, code, and how many combinations more (or, negative, fewer)."""
        self.changes.append(rows)

    def summed(self) -> Integers:
        """Group, code and count, int64[3, n], each group and code once and where the count is not 0. Cost: O(rows)."""
        if self.changes:
            rows = np.concatenate([self.rows, *self.changes], axis=1)
            number, first = group_rows(rows[:2])
            counts = sum_ints(number, len(first), rows[2])
            there = counts != 0
            self.rows, self.changes = np.stack([rows[0, first], rows[1, first], counts])[:, there], []
        return self.rows
