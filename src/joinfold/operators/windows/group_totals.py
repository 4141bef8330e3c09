"""The totals of every group, and the rows that are noted of them at each instant.

A group is that of one input, or a combination of groups of several, which are paired into one id. Columns of integers
are products over all places, the number of combinations first; then double-doubles.

Floating sums are watched (see ``kernels.aggregation_set`` for their drift). An input has one more integer column for
each real one, which counts the rows of entries that are not zero: where none is left the sum is zero, exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.identity import IdTable
from joinfold.kernels.totals import Totals
from joinfold.physical.payload import ColumnRef, Sums
from joinfold.physical.stage import Body

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ids = NDArray[np.int32]
Product = tuple[int, ...]
DRIFTED, WEIGHED = 2.0**-72, 2.0**-51
Item = TypeVar("Item", np.int64, np.bool_)


@dataclass(slots=True)
class Notes:
    """The groups noted at some instants, and the rows of their totals then."""

    instants: list[int] = field(default_factory=list)
    groups: list[Integers] = field(default_factory=list)
    integers: list[Integers] = field(default_factory=list)
    reals: list[Doubles] = field(default_factory=list)
    extremes: list[list[tuple[Integers, Flags]]] = field(default_factory=list)


class GroupTotals:
    """Running sums over all live combinations, by group; ``only_changed``: a view wants the groups that changed."""

    def __init__(self, body: Body, only_changed: bool, integer_columns: int) -> None:
        self.body = body
        self.only_changed = only_changed
        self.grouped = [place for place, spec in enumerate(body.places) if spec.groups]
        self.pairs = [IdTable() for _ in self.grouped[1:]]
        self.nonzero: dict[int, Product] = {
            number: tuple(_nonzero(spec, ref) for spec, ref in zip(body.places, refs, strict=True))
            for number, refs in enumerate(body.real_products)
            if not all(ref.is_integer for ref in refs)
        }
        self.exact = [
            number
            for number, refs in enumerate(body.real_products)
            if all(ref.is_integer or ref.index in spec.exact for spec, ref in zip(body.places, refs, strict=True))
        ]
        self.products: tuple[Product, ...] = (*body.integer_products, *self.nonzero.values())
        groups = 1 if body.is_global else 0
        self.totals = Totals(integer_columns, len(body.real_products), groups)
        self.notes = Notes()
        self.touched: list[Integers] = []  # of a view: the groups whose totals have changed since they were noted
        self.heads_noted: list[tuple[Integers, Flags]] = []

    @property
    def given(self) -> int:
        """How many combinations of groups have an id."""
        return max(map(len, self.pairs), default=0)

    def group_of(self, ids: Sequence[Ids]) -> Integers:
        """The group of combinations, from the group ids at all places that have groups; at least one has."""
        found = ids[0]
        for table, own in zip(self.pairs, ids[1:], strict=True):
            found = table.intern_pairs(found, own)
        return found.astype(np.int64)

    def group_ids(self, groups: Integers) -> dict[int, Ids]:
        """For totals' groups, the group ids at all places that have groups."""
        ids = groups.astype(np.int32)
        found: dict[int, Ids] = {}
        for place, table in zip(reversed(self.grouped[1:]), reversed(self.pairs), strict=True):
            before, own = table.pairs()
            found[place], ids = own[ids], before[ids]
        return {self.grouped[0]: ids, **dict(reversed(found.items()))} if self.grouped else {}

    def note(self, instant: int, heads: list[tuple[Integers, Flags]], always: bool) -> None:
        """Notes the groups that exist at an instant, of a view those that have changed since the last.

        With ``always`` also the one group of a query without groups.
        """
        self.settle()
        live = self._changed(heads) if self.only_changed else np.flatnonzero(self.totals.ints[:, 0])
        if always and not len(live):
            self.totals.cover(1)
            live = np.zeros(1, np.int64)
        if len(live):
            self.notes.instants.append(instant)
            self.notes.groups.append(live)
            self.notes.integers.append(self.totals.ints[live])
            self.notes.reals.append(self.totals.dds[live])
            self.notes.extremes.append([(_taken(codes, live), _taken(has, live)) for codes, has in heads])

    def _changed(self, heads: list[tuple[Integers, Flags]]) -> Integers:
        changed = np.zeros(self.totals.groups, np.bool_)
        for groups in self.touched:
            changed[groups] = True
        everything = np.arange(self.totals.groups)
        before = self.heads_noted or [(np.zeros(0, np.int64), np.zeros(0, np.bool_)) for _ in heads]
        for (codes, has), (old_codes, had) in zip(heads, before, strict=True):
            has, had = _taken(has, everything), _taken(had, everything)
            changed |= (has != had) | (has & (_taken(codes, everything) != _taken(old_codes, everything)))
        self.touched, self.heads_noted = [], [(codes.copy(), has.copy()) for codes, has in heads]
        return np.flatnonzero(changed)

    def take_notes(self) -> Notes:
        """What was noted since the last time."""
        noted, self.notes = self.notes, Notes()
        return noted

    @property
    def has_drifted(self) -> bool:
        """Whether a floating sum may be wrong by more than 1e-9 of its weight.

        It is wrong by at most 2^−103 of the turnover. Its weight is at least the sum itself, and at least what is known
        of the weight, to 2^−52 of the turnover. An overflow never leaves a sum by itself.
        """
        if not self.nonzero:
            return False
        self.settle()
        weight, turnover = self.totals.drift[:, 0::2], self.totals.drift[:, 1::2]
        with np.errstate(invalid="ignore"):
            least = np.maximum(np.abs(self.totals.dds[:, 0::2]), weight - WEIGHED * turnover)
            return not bool((np.isfinite(turnover) & (least >= DRIFTED * turnover)).all())

    def settle(self) -> None:
        """Makes floating sums exactly zero where no combination is left, or none that is not zero.

        Of a view it also remembers which groups may have changed.
        """
        if not (self.only_changed or self.body.real_products):
            return
        touched = self.totals.take_touched()
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
        """The integer products in the body's order, of rows of the totals' integers."""
        return computed[:, : len(self.body.integer_products)]


def _nonzero(spec: Sums, ref: ColumnRef) -> int:
    """The column that counts what is not zero in a factor."""
    return ref.index if ref.is_integer else len(spec.integers) + ref.index


def _taken(values: NDArray[Item], groups: Integers) -> NDArray[Item]:
    """The values of groups; zero for groups that the values do not reach."""
    found = np.zeros(len(groups), values.dtype)
    reached = groups < len(values)
    found[reached] = values[groups[reached]]
    return found
