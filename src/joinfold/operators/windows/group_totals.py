"""The totals of every group, and the rows that are emitted of them at each instant.

A group is a group of one input, or a combination of groups of several inputs, which are paired into one id. Totals have
integer columns and double-doubles. An integer column is a product of one column of each input and of the pair; the
first counts combinations.

Floating sums have their drift watched (see ``kernels.aggregation_set``). Each input has one more integer column for
each real, which counts the rows in which it is not zero. Where no combination of such rows is left, the sum is set to
zero.

Integers wrap around. As soon as one might have, ``may_have_wrapped`` says so, and the bucket is widened (see
`operators.wide_totals`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.arrivals import Changed
from joinfold.kernels.identity import IdTable
from joinfold.kernels.totals import Totals
from joinfold.operators.wide_totals import EXACT, WIDEST, too_many
from joinfold.physical.payload import ColumnRef, Sums
from joinfold.physical.stage import Body

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ids = NDArray[np.int32]
Product = tuple[int, ...]
DRIFTED, WEIGHED = 2.0**-72, 2.0**-51
PACKED, STEP = 2.0**-76, 2.0**-103  # errors: of sums that entries come with, by weight; of every step, by turnover
Item = TypeVar("Item", np.int64, np.bool_)


@dataclass(slots=True)
class EmittedTotals:
    """The groups that were emitted at some instants, and the rows of their totals then. All columns are alike long."""

    instants: list[Integers] = field(default_factory=list)
    groups: list[Integers] = field(default_factory=list)
    integers: list[Integers] = field(default_factory=list)
    reals: list[Doubles] = field(default_factory=list)
    errors: list[Doubles] = field(default_factory=list)
    extremes: list[list[tuple[Integers, Flags]]] = field(default_factory=list)


class GroupTotals:
    """Running sums over all live combinations, by group; ``only_changed``: emits only the groups that have changed."""

    def __init__(self, body: Body, only_changed: bool, integer_columns: int) -> None:
        self.body = body
        self.only_changed = only_changed
        self.grouped = [ordinal for ordinal, spec in enumerate(body.all_sums) if spec.groups]
        self.pairs = [IdTable() for _ in self.grouped[1:]]
        self.nonzero: dict[int, Product] = {
            number: tuple(_nonzero(spec, ref) for spec, ref in zip(body.all_sums, refs, strict=True))
            for number, refs in enumerate(body.real_products)
            if not all(ref.is_integer for ref in refs)
        }
        self.exact = [
            number
            for number, refs in enumerate(body.real_products)
            if all(ref.is_integer or ref.index in spec.exact for spec, ref in zip(body.all_sums, refs, strict=True))
        ]
        self.whole = frozenset(body.whole_reals)
        self.is_wide = body.narrow is not None
        self.reals = len(body.real_products if body.narrow is None else body.narrow.real_products)
        self.may_have_wrapped = False
        self.products: tuple[Product, ...] = (*body.integer_products, *self.nonzero.values())
        if body.is_global:  # the one group of the query has the id 0, also if it is divided by replicates
            for table in self.pairs:
                table.intern_pairs(np.zeros(1, np.int32), np.zeros(1, np.int32))
        groups = 1 if body.is_global else 0
        self.totals = Totals(integer_columns, len(body.real_products), groups)
        self.emitted_totals = EmittedTotals()
        # for a view, the groups whose totals may have changed since they were last emitted
        self.touched: list[Integers] = []
        self.heads_emitted: list[tuple[Integers, Flags]] = []

    @property
    def given(self) -> int:
        """How many combinations of groups have an id."""
        return max(map(len, self.pairs), default=0)

    def group_of(self, ids: Sequence[Ids]) -> Integers:
        """The group of each combination, from the group ids of all inputs that have groups; at least one has."""
        found = ids[0]
        for table, own in zip(self.pairs, ids[1:], strict=True):
            found = table.intern_pairs(found, own)
        return found.astype(np.int64)

    def group_ids(self, groups: Integers) -> dict[int, Ids]:
        """The group ids of each input that has groups, from the groups of totals."""
        ids = groups.astype(np.int32)
        found: dict[int, Ids] = {}
        for ordinal, table in zip(reversed(self.grouped[1:]), reversed(self.pairs), strict=True):
            earlier, last = table.pairs()
            found[ordinal], ids = last[ids], earlier[ids]
        return {self.grouped[0]: ids, **dict(reversed(found.items()))} if self.grouped else {}

    def emit(self, instant: int, heads: list[tuple[Integers, Flags]], always: bool) -> None:
        """Emits the groups that exist at an instant; for a view, those that have changed since they were last emitted.

        ``heads`` has, for each extreme, its code in each group. With ``always`` the one group of a query without groups
        is emitted even if it is empty.
        """
        self.finish_updates()
        live = self._changed(heads) if self.only_changed else self.existing()
        if always and not len(live):
            self.totals.cover(1)
            live = np.zeros(1, np.int64)
        if len(live):
            self.emitted_totals.instants.append(np.full(len(live), instant))
            self.emitted_totals.groups.append(live)
            self.emitted_totals.integers.append(self.totals.ints[live])
            self.emitted_totals.reals.append(self.totals.dds[live])
            if self.reals:
                self.emitted_totals.errors.append(self._errors(self.totals.drift[live]))
            self.emitted_totals.extremes.append([(_taken(codes, live), _taken(has, live)) for codes, has in heads])

    def existing(self) -> Integers:
        """The groups that have a combination. In wide totals their number may be 0 modulo 2^64."""
        there = self.totals.ints[:, 0] != 0
        return np.flatnonzero(there | (self.totals.dds[:, 2 * self.reals] != 0) if self.is_wide else there)

    def add_emitted(self, changed: Changed) -> None:
        """Adds rows that a loop over arrivals has written."""
        if not len(changed.number):
            return
        emitted = self.emitted_totals
        emitted.instants.append(changed.number)
        emitted.groups.append(changed.group)
        emitted.integers.append(changed.ints)
        emitted.reals.append(changed.dds)
        if self.reals:
            emitted.errors.append(self._errors(changed.drift))
        emitted.extremes.append([])

    def _errors(self, drift: Doubles) -> Doubles:
        """Bounds of the errors of floating sums, float64[rows, reals], from their drift; 0 for sums of integers.

        An entry may have many rows, and their sum is as exact as up to 2^27 steps leave it.
        """
        errors = PACKED * np.abs(drift[:, 0::2]) + STEP * drift[:, 1::2]
        errors[:, self.exact] = 0.0
        return errors[:, : self.reals]

    def touch(self, groups: Integers) -> None:
        """Counts groups as changed, whether they have totals yet or not."""
        self.totals.cover(int(groups.max()) + 1)
        self.touched.append(groups)

    def changed_so_far(self) -> Integers:
        """The groups that may have changed since they were last emitted."""
        self.finish_updates()
        return np.unique(np.concatenate(self.touched)) if self.touched else np.empty(0, np.int64)

    def _changed(self, heads: list[tuple[Integers, Flags]]) -> Integers:
        changed = np.zeros(self.totals.groups, np.bool_)
        for groups in self.touched:
            changed[groups] = True
        everything = np.arange(self.totals.groups)
        before = self.heads_emitted or [(np.zeros(0, np.int64), np.zeros(0, np.bool_)) for _ in heads]
        for (codes, has), (old_codes, had) in zip(heads, before, strict=True):
            has, had = _taken(has, everything), _taken(had, everything)
            changed |= (has != had) | (has & (_taken(codes, everything) != _taken(old_codes, everything)))
        self.touched, self.heads_emitted = [], [(codes.copy(), has.copy()) for codes, has in heads]
        return np.flatnonzero(changed)

    def take_emitted(self) -> EmittedTotals:
        """What was emitted since the last call."""
        emitted, self.emitted_totals = self.emitted_totals, EmittedTotals()
        return emitted

    def check_exact(self, number: int, largest: float) -> None:
        """Checks the largest value of a real product, if it must be exact; raises an error if no width is enough."""
        if number not in self.exact or largest < EXACT:
            return
        if number not in self.whole or largest >= (WIDEST if self.is_wide else np.inf):
            raise too_many()
        self.may_have_wrapped = not self.is_wide

    @property
    def has_drifted(self) -> bool:
        """Whether the error of a floating sum may exceed 1e-9 of its weight.

        The error is at most 2^−103 of the turnover. The weight is at least the sum itself. It is also known directly,
        with an error of 2^−52 of the turnover. A sum that has overflowed counts as drifted: it never recovers by
        itself.
        """
        if not self.nonzero:
            return False
        self.finish_updates()
        drift, dds = self.totals.drift[:, : 2 * self.reals], self.totals.dds[:, : 2 * self.reals]
        weight, turnover = drift[:, 0::2], drift[:, 1::2]
        with np.errstate(invalid="ignore"):
            least = np.maximum(np.abs(dds[:, 0::2]), weight - WEIGHED * turnover)
            return not bool((np.isfinite(turnover) & (least >= DRIFTED * turnover)).all())

    def finish_updates(self) -> None:
        """Sets floating sums to exactly zero where no combination is left, or none that is not zero.

        For a view it also remembers which groups may have changed.
        """
        if not (self.only_changed or self.body.real_products):
            return
        touched = self.totals.take_touched(self.reals if self.is_wide else None)
        if self.only_changed:
            self.touched.append(touched)
        for number, product in self.nonzero.items():
            counts = self.counts_of(product)
            zero = ... if counts is None else counts == 0
            self.totals.dds[zero, 2 * number : 2 * number + 2] = 0.0
            self.totals.drift[zero, 2 * number : 2 * number + 2] = 0.0

    def counts_of(self, product: Product) -> Integers | None:
        """A column of all groups; None where it is zero in all of them."""
        return self.totals.ints[:, self.products.index(product)]

    def integer_products(self, computed: Integers) -> Integers:
        """The integer products in the body's order, from rows of the totals' integers."""
        return computed[:, : len(self.body.integer_products)]


def _nonzero(spec: Sums, ref: ColumnRef) -> int:
    """The column that counts the rows in which a factor is not zero."""
    return ref.index if ref.is_integer else len(spec.integers) + ref.index


def _taken(values: NDArray[Item], groups: Integers) -> NDArray[Item]:
    """The values of groups; zero for groups beyond the end of ``values``."""
    found = np.zeros(len(groups), values.dtype)
    reached = groups < len(values)
    found[reached] = values[groups[reached]]
    return found
