"""Totals to which rows of worth are added and from which they are taken."""

import numpy as np

from joinfold.kernels.grouping import group_rows, sum_ints
from joinfold.numbers import double_double as dd
from joinfold.operators.entries import Integers
from joinfold.operators.groups import GroupTotals
from joinfold.operators.layout import FoldLayout
from joinfold.operators.rows import summed_reals
from joinfold.operators.worth import EXACT, Worth, too_many


class AddedTotals(GroupTotals):
    """Totals with a column for every product."""

    def __init__(self, layout: FoldLayout) -> None:
        super().__init__(layout, 1)
        self.clear()

    def clear(self) -> None:
        """Nothing is in any group."""
        kernel = type(self.totals)
        groups = 1 if self.layout.is_global else 0
        self.totals = kernel(len(self.products), len(self.layout.real_products), groups)

    def add(self, worth: Worth, sign: int) -> None:
        """Adds rows to the totals of their groups, or takes them away."""
        if not len(worth):
            return
        summed = by_group(worth, worth.group[None, :])
        totals, groups = self.totals, summed.group
        totals.cover(int(groups.max()) + 1)
        totals.touched[groups] = 1
        before, moved = totals.ints[groups], sign * summed.integers
        after = before + moved
        if ((before ^ after) & (moved ^ after) < 0).any():  # equal signs gave another one: it has wrapped around
            raise too_many()
        totals.ints[groups] = after
        for hi in range(0, summed.reals.shape[1], 2):
            held = (totals.dds[groups, hi], totals.dds[groups, hi + 1])
            with np.errstate(all="ignore"):
                high, low = dd.add(held, (sign * summed.reals[:, hi], sign * summed.reals[:, hi + 1]))
                totals.dds[groups, hi], totals.dds[groups, hi + 1] = high, low
                totals.wear[groups, hi] += sign * summed.wear[:, hi]
                totals.wear[groups, hi + 1] += np.abs(totals.wear[groups, hi]) + summed.wear[:, hi + 1]
            if hi // 2 in self.exact and np.abs(high).max() >= EXACT:
                raise too_many()


def by_group(worth: Worth, codes: Integers) -> Worth:
    """Rows with equal codes, int64[columns, rows], together; their extremes are left away."""
    number, first = group_rows(codes)
    count = len(first)
    integers = [sum_ints(number, count, np.ascontiguousarray(column)) for column in worth.integers.T]
    return Worth(
        worth.group[first],
        worth.leaves[first],
        np.stack(integers, axis=1),
        summed_reals(number, count, worth.reals),
        np.stack([np.bincount(number, column, count) for column in worth.wear.T], axis=1)
        if worth.wear.shape[1]
        else np.zeros((count, 0)),
        np.zeros((count, 0), np.int64),
        np.zeros((count, 0), np.bool_),
    )
