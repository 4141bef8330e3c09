"""Totals that pair values are added to and subtracted from."""

import numpy as np

from joinfold.kernels.grouping import group_rows, sum_ints
from joinfold.numbers import double_double as dd
from joinfold.operators.entries import Integers, Payload
from joinfold.operators.windows.group_totals import GroupTotals
from joinfold.operators.windows.pair_values import PairValues, summed_reals
from joinfold.physical.stage import Body


class AddedTotals(GroupTotals):
    """Totals with a column for every product."""

    def __init__(self, body: Body, only_changed: bool) -> None:
        super().__init__(body, only_changed, 1)
        self.clear()

    def clear(self) -> None:
        """Makes all groups empty."""
        kernel = type(self.totals)
        groups = 1 if self.body.is_global else 0
        self.totals = kernel(len(self.products), len(self.body.real_products), groups)

    def add(self, values: PairValues, sign: int) -> None:
        """Adds pair values to the totals of their groups (sign 1), or subtracts them (sign −1)."""
        if not len(values):
            return
        summed = by_group(values, values.group[None, :])
        totals, groups, payload, drift = self.totals, summed.group, summed.payload, summed.payload.sizes()
        totals.cover(int(groups.max()) + 1)
        totals.touched[groups] = 1
        before, moved = totals.ints[groups], sign * payload.ints
        after = before + moved
        # two numbers of one sign gave the other sign: it has wrapped around
        self.may_have_wrapped |= not self.is_wide and bool(((before ^ after) & (moved ^ after) < 0).any())
        totals.ints[groups] = after
        for hi in range(0, payload.reals.shape[1], 2):
            held = (totals.dds[groups, hi], totals.dds[groups, hi + 1])
            with np.errstate(all="ignore"):
                high, low = dd.add(held, (sign * payload.reals[:, hi], sign * payload.reals[:, hi + 1]))
                totals.dds[groups, hi], totals.dds[groups, hi + 1] = high, low
                totals.drift[groups, hi] += sign * drift[:, hi]
                totals.drift[groups, hi + 1] += np.abs(totals.drift[groups, hi]) + drift[:, hi + 1]
            self.check_exact(hi // 2, np.abs(high).max())


def by_group(values: PairValues, codes: Integers) -> PairValues:
    """Pair values summed over rows with equal codes int64[columns, rows], without their extremes."""
    number, first = group_rows(codes)
    count, payload, drift = len(first), values.payload, values.payload.sizes()
    integers = [sum_ints(number, count, np.ascontiguousarray(column)) for column in payload.ints.T]
    summed = Payload(
        np.stack(integers, axis=1),
        summed_reals(number, count, payload.reals),
        np.stack([np.bincount(number, column, count) for column in drift.T], axis=1)
        if drift.shape[1]
        else np.zeros((count, 0)),
        np.zeros((count, 0), np.int64),
        np.zeros((count, 0), np.bool_),
    )
    return PairValues(values.group[first], values.leaves[first], summed)
