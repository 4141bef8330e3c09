"""Pair values: for each combination its group, when its first entry leaves, and the products of its payloads."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from joinfold.kernels.grouping import sum_dds
from joinfold.numbers import double_double as dd
from joinfold.operators.entries import Doubles, Integers, Payload, Rows, joined_payloads
from joinfold.operators.wide_totals import WHOLE
from joinfold.operators.windows.group_totals import GroupTotals
from joinfold.operators.windows.side import Side
from joinfold.physical.stage import Body


@dataclass(slots=True)
class PairValues:
    """Payloads by group: of single combinations, or of several together."""

    group: Integers
    leaves: Integers
    payload: Payload

    def __len__(self) -> int:
        return len(self.group)

    @property
    def nbytes(self) -> int:
        """The memory of all columns."""
        return self.group.nbytes + self.leaves.nbytes + self.payload.nbytes

    def take(self, rows: Rows) -> "PairValues":
        """Some of the rows."""
        if isinstance(rows, np.ndarray) and rows.dtype == np.bool_ and rows.all():
            return self
        return PairValues(self.group[rows], self.leaves[rows], self.payload.take(rows))

    @property
    def negated(self) -> "PairValues":
        """What cancels these, if all payloads are integers."""
        assert not self.payload.reals.shape[1] and not self.payload.codes.shape[1]
        return PairValues(self.group, self.leaves, self.payload._replace(ints=-self.payload.ints))


def pair_values(body: Body, totals: GroupTotals, sides: Sequence[Side]) -> PairValues:
    """The values of combinations, one per row, from their sides: one for each input, then the pair."""
    rows = len(sides[0])
    groups = [sides[ordinal].group for ordinal in totals.grouped]
    leaves = np.minimum.reduce([side.leaves for side in sides])
    codes = np.zeros((rows, len(body.extremes)), np.int64)
    has = np.zeros((rows, len(body.extremes)), np.bool_)
    for number, extreme in enumerate(body.extremes):
        codes[:, number] = sides[extreme.ordinal].payload.codes[:, number]
        has[:, number] = sides[extreme.ordinal].payload.has[:, number]
        for ordinal, side in enumerate(sides):
            if ordinal != extreme.ordinal:
                has[:, number] &= side.payload.ints[:, extreme.partners[ordinal]] > 0
    reals, drift = _real_products(body, totals, sides)
    return PairValues(
        totals.group_of(groups) if groups else np.zeros(rows, np.int64),
        leaves,
        Payload(_integer_products(body, totals, sides), reals, drift, codes, has),
    )


def _integer_products(body: Body, totals: GroupTotals, sides: Sequence[Side]) -> Integers:
    found = np.empty((len(sides[0]), len(totals.products)), np.int64)
    for number, product in enumerate(totals.products):
        factors = [side.payload.ints[:, column] for side, column in zip(sides, product, strict=True)]
        if product[-1] == 0:  # the pair counts 1
            factors = factors[: len(body.inputs)]
        if not totals.is_wide and len(found) * math.prod(map(_largest, factors)) >= WHOLE:
            sizes = [np.abs(factor.astype(np.float64)) for factor in factors]
            totals.may_have_wrapped |= bool(reduce(np.multiply, sizes).sum() >= WHOLE)
        found[:, number] = reduce(np.multiply, factors)
    return found


def _largest(values: Integers) -> float:
    return max(float(values.max(initial=0)), -float(values.min(initial=0)))


def _real_products(body: Body, totals: GroupTotals, sides: Sequence[Side]) -> tuple[Doubles, Doubles]:
    rows = len(sides[0])
    found = np.empty((rows, 2 * len(body.real_products)))
    drift = np.zeros((rows, 2 * len(body.real_products)))
    sizes = [side.payload.sizes() for side in sides] if body.real_products else []
    for number, refs in enumerate(body.real_products):
        product = (np.ones(rows), np.zeros(rows))
        weight, turnover = np.ones(rows), np.ones(rows)
        for side, size, ref in zip(sides, sizes, refs, strict=True):
            if ref.is_integer:
                factor = dd.from_int64(side.payload.ints[:, ref.index])
                factor_weight = factor_turnover = np.abs(factor[0])
            else:
                hi = 2 * ref.index
                factor = (side.payload.reals[:, hi], side.payload.reals[:, hi + 1])
                factor_weight, factor_turnover = np.abs(size[:, hi]), size[:, hi + 1]
            with np.errstate(all="ignore"):
                product = dd.multiply(product, factor)
                weight, turnover = weight * factor_weight, turnover * factor_turnover
        found[:, 2 * number], found[:, 2 * number + 1] = product
        if number in totals.nonzero:
            drift[:, 2 * number], drift[:, 2 * number + 1] = weight, turnover
        totals.check_exact(number, np.abs(product[0]).max(initial=0.0))
    return found, drift


def joined_values(many: Sequence[PairValues]) -> PairValues:
    """The values of all parts, one part after another."""
    return PairValues(
        np.concatenate([values.group for values in many]),
        np.concatenate([values.leaves for values in many]),
        joined_payloads([values.payload for values in many]),
    )


def summed_reals(number: Integers, rows: int, reals: Doubles) -> Doubles:
    """The sums of double-doubles (hi, lo, hi, lo, …) over the rows that have the same number."""
    found = np.zeros((rows, reals.shape[1]))
    for hi in range(0, reals.shape[1], 2):
        high = sum_dds(number, rows, np.ascontiguousarray(reals[:, hi]))
        low = sum_dds(number, rows, np.ascontiguousarray(reals[:, hi + 1]))
        with np.errstate(all="ignore"):
            found[:, hi], found[:, hi + 1] = dd.add(high, low)
    return found
