"""The totals of every group, and the rows that are noted of them at each instant.

Most products need not be computed. A column that has been zero so far (the upper limbs of small numbers, counts of
NaN) makes its products zero; one that has equalled the count so far (the number of non-NULLs where there are no NULLs)
makes them equal to those of the count. Such a product is *idle*. When a column changes its ways, its products wake up
with the totals that they would have had: zero, or those of the count.

Floating sums are watched (see ``kernels.aggregation_set`` for their wear). An input has one more integer column for
each real one, which counts the rows of entries that are not zero: where none is left the sum is zero, exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from joinfold.errors import EvaluationError
from joinfold.kernels import products as kernel
from joinfold.kernels.aggregation_set import AggregationSet
from joinfold.kernels.identity import IdTable
from joinfold.operators.layout import ColumnRef, FoldLayout

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]
Ids = NDArray[np.int32]
Product = tuple[int, int]
WORN, WEIGHED = 2.0**-72, 2.0**-51
WHOLE = 2**63 - 1
EXACT = 2.0**100
Item = TypeVar("Item", np.int64, np.bool_)


@dataclass(slots=True)
class Notes:
    """Rows noted at some instants: which group, and its totals then."""

    instants: list[Integers] = field(default_factory=list)
    groups: list[Integers] = field(default_factory=list)
    integers: list[Integers] = field(default_factory=list)
    reals: list[Doubles] = field(default_factory=list)
    extremes: list[list[tuple[Integers, NDArray[np.bool_]]]] = field(default_factory=list)


class GroupTotals:
    """Running sums over all live combinations, by group."""

    def __init__(self, layout: FoldLayout) -> None:
        self.layout = layout
        self.pairs = IdTable()
        self.grouped = [bool(side.groups) for side in layout.inputs]
        self.idle_zero = [np.ones(len(side.integers) + len(side.reals), np.bool_) for side in layout.inputs]
        self.idle_count = [np.ones(len(side.integers) + len(side.reals), np.bool_) for side in layout.inputs]
        for zero in self.idle_zero:
            zero[0] = False
        self.awake: list[Product] = [(0, 0)]
        self.real_products = np.array(
            [(left.is_integer, left.index, right.is_integer, right.index) for left, right in layout.real_products],
            np.int64,
        ).reshape(-1, 4)
        self.nonzero = {
            number: (self._nonzero(0, left), self._nonzero(1, right))
            for number, (left, right) in enumerate(layout.real_products)
            if not (left.is_integer and right.is_integer)
        }
        self.exact = [number for number in range(len(layout.real_products)) if number not in self.nonzero]
        self.products = (*layout.integer_products, *self.nonzero.values())
        self.totals = kernel.Totals(1, len(self.real_products), 1 if layout.is_global else 0)
        self.notes = Notes()

    def add(
        self, place: int, key: Ids, group: Ids, integers: Integers, reals: Doubles, sign: int, other: AggregationSet
    ) -> None:
        """Adds the products of a delta of one input with the live window of the other."""
        self._watch(place, integers)
        integer_products, real_products = np.array(self.awake, np.int64), self.real_products
        if place == 1:  # a product is (first input, second input); the kernel wants (delta, slot)
            integer_products, real_products = integer_products[:, ::-1], real_products[:, [2, 3, 0, 1]]
        pairs = self.pairs if all(self.grouped) else None
        kernel.add_products(
            key,
            group,
            integers,
            reals,
            sign,
            other,
            self.mode(place),
            pairs,
            integer_products,
            real_products,
            self.totals,
        )

    def group_ids(self, groups: Integers) -> tuple[Ids, Ids]:
        """For totals' groups, the group ids of both inputs."""
        if all(self.grouped):
            left, right = self.pairs.pairs()
            return left[groups], right[groups]
        ids, nothing = groups.astype(np.int32), np.zeros(len(groups), np.int32)
        return (ids, nothing) if self.grouped[0] else (nothing, ids)

    def note(self, instant: int, heads: list[tuple[Integers, NDArray[np.bool_]]], always: bool) -> None:
        """Notes the groups that exist at an instant; with ``always`` also the one group of a query without groups."""
        self._settle()
        live = np.flatnonzero(self.totals.ints[:, 0])
        if always and not len(live):
            self.totals.cover(1)
            live = np.zeros(1, np.int64)
        if len(live):
            self.notes.instants.append(np.full(len(live), instant))
            self.notes.groups.append(live)
            self.notes.integers.append(self._all_products(live))
            self.notes.reals.append(self.totals.dds[live])
            self.notes.extremes.append([(_taken(codes, live), _taken(has, live)) for codes, has in heads])

    @property
    def is_worn(self) -> bool:
        """Whether a floating sum may be wrong by more than 1e-9 of its weight.

        It is wrong by at most 2^−103 of the turnover. Its weight is at least the sum itself, and at least what is known
        of the weight, to 2^−52 of the turnover. An overflow never leaves a sum by itself.
        """
        if not self.nonzero:
            return False
        self._settle()
        weight, turnover = self.totals.wear[:, 0::2], self.totals.wear[:, 1::2]
        with np.errstate(invalid="ignore"):
            least = np.maximum(np.abs(self.totals.dds[:, 0::2]), weight - WEIGHED * turnover)
            return not bool((np.isfinite(turnover) & (least >= WORN * turnover)).all())

    def refuse_wrapped(self, sets: Sequence[AggregationSet]) -> None:
        """Raises an error where an integer might have wrapped around: integers are exact or they are refused.

        A limb is at most 2^31 for each row, so few combinations cannot wrap; for many it is asked how large the limbs
        are. Sums of products of two integers are double-doubles, exact below 2^100.
        """
        pairs = int(self.totals.ints[:, 0].max(initial=0))
        most = [int(side.largest_magnitude[0]) * side.live_entries for side in sets]
        if most[0] * most[1] >= WHOLE:
            most = [int(_counts(side).sum(dtype=object)) for side in sets]
        if (
            max(int(side.largest_magnitude.max()) for side in sets) >= WHOLE
            or most[0] * most[1] >= WHOLE
            or (pairs >= WHOLE >> 32 and pairs * self._largest_factor(sets) >= WHOLE)
            or self.totals.largest[self.exact].max(initial=0.0) >= EXACT
        ):
            raise EvaluationError(
                f"a group has {pairs} combinations, too many to sum numbers of this size exactly",
                "use a smaller window, or group by more columns.",
            )

    def take_notes(self) -> Notes:
        """What was noted since the last time."""
        noted, self.notes = self.notes, Notes()
        return noted

    def mode(self, place: int) -> int:
        """Whose group a combination belongs to, as the kernels want it for a delta of this input."""
        if all(self.grouped):
            return kernel.OF_DELTA_AND_SLOT if place == 0 else kernel.OF_SLOT_AND_DELTA
        if not any(self.grouped):
            return kernel.OF_ALL
        return kernel.OF_DELTA if self.grouped[place] else kernel.OF_SLOT

    def _nonzero(self, place: int, ref: ColumnRef) -> int:
        """The column that counts what is not zero in a factor."""
        return ref.index if ref.is_integer else len(self.layout.inputs[place].integers) + ref.index

    def _largest_factor(self, sets: Sequence[AggregationSet]) -> float:
        """The largest product of limbs that a combination adds to an integer, on the average over a slot."""
        each = []
        for side in sets:
            integers = side.slots.ints[side.slots.live_positions()]
            each.append((np.abs(integers) / integers[:, :1]).max(axis=0, initial=0.0))
        return max(float(each[0][left] * each[1][right]) for left, right in self.layout.integer_products)

    def _settle(self) -> None:
        """Makes sums exactly zero where no combination, or none that is not zero, is left."""
        self.totals.take_touched()
        for number, product in self.nonzero.items():
            stands = self._represented(product)
            if stands == (0, 0):
                continue
            zero = ... if stands is None else self.totals.ints[:, self.awake.index(stands)] == 0
            self.totals.dds[zero, 2 * number : 2 * number + 2] = 0.0
            self.totals.wear[zero, 2 * number : 2 * number + 2] = 0.0

    def _watch(self, place: int, integers: Integers) -> None:
        """Wakes the products of columns that are no longer zero, or no longer the count."""
        zero, same = self.idle_zero[place], self.idle_count[place]
        if not (zero.any() or same[1:].any()):
            return
        still_zero = zero & ~integers.any(axis=0)
        still_same = same & (integers == integers[:, :1]).all(axis=0)
        if (still_zero == zero).all() and (still_same == same).all():
            return
        before = {product: self._represented(product) for product in self.products}
        self.idle_zero[place], self.idle_count[place] = still_zero, still_same
        for product in self.products:
            wanted, had = self._represented(product), before[product]
            if wanted is not None and wanted not in self.awake:
                source = None if had is None else self.totals.ints[:, self.awake.index(had)]
                self._wake(wanted, source)

    def _represented(self, product: Product) -> Product | None:
        """The product that stands for this one; None for zero."""
        if any(self.idle_zero[place][column] for place, column in enumerate(product)):
            return None
        left, right = (0 if self.idle_count[place][column] else column for place, column in enumerate(product))
        return left, right

    def _wake(self, product: Product, source: Integers | None) -> None:
        grown = kernel.Totals(len(self.awake) + 1, len(self.real_products), self.totals.groups)
        grown.ints[:, :-1] = self.totals.ints
        grown.ints[:, -1] = 0 if source is None else source
        grown.dds[:] = self.totals.dds
        grown.wear[:] = self.totals.wear
        grown.largest[:] = self.totals.largest
        grown.touched[:] = self.totals.touched
        self.totals = grown
        self.awake.append(product)

    def _all_products(self, groups: Integers) -> Integers:
        computed = self.totals.ints[groups]
        complete = np.zeros((len(groups), len(self.layout.integer_products)), np.int64)
        for column, product in enumerate(self.layout.integer_products):
            stands = self._represented(product)
            if stands is not None:
                complete[:, column] = computed[:, self.awake.index(stands)]
        return complete


def _counts(side: AggregationSet) -> Integers:
    return np.asarray(side.slots.ints[side.slots.live_positions(), 0])


def _taken(values: NDArray[Item], groups: Integers) -> NDArray[Item]:
    """The values of groups; zero for groups that the values do not reach."""
    found = np.zeros(len(groups), values.dtype)
    reached = groups < len(values)
    found[reached] = values[groups[reached]]
    return found
