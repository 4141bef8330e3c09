"""What combinations come to: their group, when the first of their entries leaves, the products of their payloads."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from joinfold.errors import EvaluationError
from joinfold.numbers import double_double as dd
from joinfold.operators.entries import Doubles, Integers
from joinfold.operators.groups import GroupTotals
from joinfold.operators.layout import FoldLayout
from joinfold.operators.rows import rows_of
from joinfold.operators.side import Side

Flags = NDArray[np.bool_]
WHOLE = 2.0**63
EXACT = 2.0**100


@dataclass(slots=True)
class Worth:
    """Rows of payloads by group: of combinations, or of several of them together.

    ``reals`` and ``wear`` are as in `Side`; an extreme is a code and whether there is one.
    """

    group: Integers
    leaves: Integers
    integers: Integers
    reals: Doubles
    wear: Doubles
    codes: Integers
    has: Flags

    def __len__(self) -> int:
        return len(self.group)

    @property
    def nbytes(self) -> int:
        """The memory of all columns."""
        columns = (self.group, self.leaves, self.integers, self.reals, self.wear, self.codes, self.has)
        return sum(column.nbytes for column in columns)

    def take(self, rows: Integers | Flags | slice) -> "Worth":
        """Some of the rows."""
        if isinstance(rows, np.ndarray) and rows.dtype == np.bool_ and rows.all():
            return self
        places = np.arange(len(self))[rows]
        return Worth(
            self.group[places],
            self.leaves[places],
            rows_of(self.integers, places),
            rows_of(self.reals, places),
            rows_of(self.wear, places),
            rows_of(self.codes, places),
            rows_of(self.has, places),
        )


def worth_of(layout: FoldLayout, totals: GroupTotals, sides: Sequence[Side]) -> Worth:
    """Combinations, one a row, from their side at each place."""
    rows = len(sides[0])
    groups = [sides[place].group for place in totals.grouped]
    leaves = np.minimum.reduce([side.leaves for side in sides])
    codes = np.zeros((rows, len(layout.extremes)), np.int64)
    has = np.zeros((rows, len(layout.extremes)), np.bool_)
    for number, extreme in enumerate(layout.extremes):
        codes[:, number] = sides[extreme.place].codes[:, number]
        has[:, number] = sides[extreme.place].has[:, number]
        for place, side in enumerate(sides):
            if place != extreme.place:
                has[:, number] &= side.integers[:, extreme.partners[place]] > 0
    reals, wear = _real_products(layout, totals, sides)
    return Worth(
        totals.group_of(groups) if groups else np.zeros(rows, np.int64),
        leaves,
        _integer_products(layout, totals, sides),
        reals,
        wear,
        codes,
        has,
    )


def _integer_products(layout: FoldLayout, totals: GroupTotals, sides: Sequence[Side]) -> Integers:
    found = np.empty((len(sides[0]), len(totals.products)), np.int64)
    for number, product in enumerate(totals.products):
        factors = [side.integers[:, own] for side, own in zip(sides, product, strict=True)]
        if product[-1] == 0:  # a pair is one row
            factors = factors[: len(layout.inputs)]
        if len(found) * math.prod(map(_largest, factors)) >= WHOLE:
            sizes = [np.abs(factor.astype(np.float64)) for factor in factors]
            if reduce(np.multiply, sizes).sum() >= WHOLE:
                raise too_many()
        found[:, number] = reduce(np.multiply, factors)
    return found


def _largest(values: Integers) -> float:
    return max(float(values.max(initial=0)), -float(values.min(initial=0)))


def _real_products(layout: FoldLayout, totals: GroupTotals, sides: Sequence[Side]) -> tuple[Doubles, Doubles]:
    rows = len(sides[0])
    found = np.empty((rows, 2 * len(layout.real_products)))
    wear = np.zeros((rows, 2 * len(layout.real_products)))
    for number, refs in enumerate(layout.real_products):
        product = (np.ones(rows), np.zeros(rows))
        weight, turnover = np.ones(rows), np.ones(rows)
        for side, ref in zip(sides, refs, strict=True):
            if ref.is_integer:
                factor = dd.from_int64(side.integers[:, ref.index])
                own = own_turnover = np.abs(factor[0])
            else:
                hi = 2 * ref.index
                factor = (side.reals[:, hi], side.reals[:, hi + 1])
                own, own_turnover = np.abs(side.wear[:, hi]), side.wear[:, hi + 1]
            with np.errstate(all="ignore"):
                product = dd.multiply(product, factor)
                weight, turnover = weight * own, turnover * own_turnover
        found[:, 2 * number], found[:, 2 * number + 1] = product
        if number in totals.nonzero:
            wear[:, 2 * number], wear[:, 2 * number + 1] = weight, turnover
        if number in totals.exact and np.abs(product[0]).max(initial=0.0) >= EXACT:
            raise too_many()
    return found, wear


def too_many() -> EvaluationError:
    """Integers are exact, or refused."""
    return EvaluationError(
        "a group has too many combinations to sum numbers of this size exactly",
        "use a smaller window, or group by more columns.",
    )


def joined_worth(many: Sequence[Worth]) -> Worth:
    """Rows one after another."""
    return Worth(
        np.concatenate([worth.group for worth in many]),
        np.concatenate([worth.leaves for worth in many]),
        np.concatenate([worth.integers for worth in many]),
        np.concatenate([worth.reals for worth in many]),
        np.concatenate([worth.wear for worth in many]),
        np.concatenate([worth.codes for worth in many]),
        np.concatenate([worth.has for worth in many]),
    )
