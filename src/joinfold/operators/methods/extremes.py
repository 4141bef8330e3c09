"""The extremes of all groups from combinations: charged until they end, or counted until they are taken back."""

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
    """The extremes of all groups: each combination counts until its first entry leaves."""

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
        """Enters combinations into the staircases of their groups."""
        for number, stairs in enumerate(self.stairs):
            chosen = values.payload.has[:, number] & (values.leaves > now)
            group = values.group[chosen].astype(np.int32)
            key = np.zeros(len(group), np.int32)
            codes, leaves = values.payload.codes[chosen, number], values.leaves[chosen]
            order = np.argsort(leaves, kind="stable")
            charge_valued(key, group[order], leaves[order], codes[order], self.always, OF_DELTA, None, stairs, now)

    def subtract(self, values: PairValues) -> None:
        """What ends has gone by itself."""

    def heads(self, now: int) -> list[tuple[Integers, Flags]]:
        """For each extreme the codes of all groups, and where there is one."""
        found = [stairs.heads(now) for stairs in self.stairs]
        return [(codes, has) for has, codes in found]


class CountedExtremes:
    """How many combinations of each group have a value; what is added has to be subtracted some time."""

    def __init__(self, body: Body) -> None:
        self.counts = [Counts() for _ in body.extremes]

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return sum(counts.rows.nbytes for counts in self.counts)

    def add(self, values: PairValues, now: int) -> None:
        """Combinations that have come into being."""
        self._count(values, 1)

    def subtract(self, values: PairValues) -> None:
        """Combinations that end."""
        self._count(values, -1)

    def heads(self, now: int) -> list[tuple[Integers, Flags]]:
        """For each extreme the codes of all groups, and where there is one."""
        found = []
        for counts in self.counts:
            group, code, _ = counts.settled()
            found.append(largest(group, int(group.max(initial=-1)) + 1, code, np.ones(len(code), np.bool_)))
        return found

    def _count(self, values: PairValues, sign: int) -> None:
        for number, counts in enumerate(self.counts):
            has = values.payload.has[:, number]
            ones = np.full(int(has.sum()), sign, np.int64)
            counts.add(np.stack([values.group[has], values.payload.codes[has, number], ones]))


class Counts:
    """Groups, codes and how many combinations have them; those that came lately are added up when asked for."""

    def __init__(self) -> None:
        self.rows = np.zeros((3, 0), np.int64)
        self.lately: list[Integers] = []

    def add(self, rows: Integers) -> None:
        """Rows int64[3, n]: group, code, how many more or less."""
        self.lately.append(rows)

    def settled(self) -> Integers:
        """The rows that count something, each group and code once. Cost: O(rows)."""
        if self.lately:
            rows = np.concatenate([self.rows, *self.lately], axis=1)
            number, first = group_rows(rows[:2])
            counts = sum_ints(number, len(first), rows[2])
            there = counts != 0
            self.rows, self.lately = np.stack([rows[0, first], rows[1, first], counts])[:, there], []
        return self.rows
