"""Fused windows: IC over hashed aggregation sets of all inputs, as one compiled step. Most queries run this plan.

The window of each input is kept as an aggregation set: one payload, in a *slot*, for each key and group. An entry that
enters or leaves is multiplied with the slots of the other input that have its key, and the products go to the totals.
Combinations are never enumerated, and nothing is kept of them:

    entry of a     key 7    count 2    Σx  9                            enters
    slot of b      key 7    count 3    Σy  5                            in the window of b
    totals         count += 2·3    Σx += 9·3    Σy += 2·5    Σx·y += 9·5

With more than two inputs an entry is first multiplied with all other inputs but one. An input without groups has one
slot per key. So the cost of an entry grows with the number of inputs and of the groups that it touches, not with the
number of combinations.

With two inputs there may be extremes, which are charged until the first member of a combination leaves (TC). A set may
then also be a table (see ``kernels.aggregation_table``); that is decided anew at every instant.

Most products need not be computed. A column that has been zero so far (the upper limbs of small numbers, counts of NaN)
makes its products zero. A column that has equalled the count so far (the number of non-NULLs where there are no NULLs)
makes its products equal to those of the count. Such a product is *idle*. When the column first has another value, its
products *wake up*: each gets a column in the totals, with the values that it would have had: zero, or the count's.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels import aggregation_table
from joinfold.kernels.aggregation_set import AggregationSet
from joinfold.kernels.aggregation_table import Aggregated, AggregationTable, laid_out
from joinfold.kernels.arrivals import ArrivalLoop, Queue, Settling
from joinfold.kernels.compiling import count_of_ids, readable
from joinfold.kernels.products import add_products
from joinfold.kernels.totals import OF_ALL, OF_DELTA, OF_DELTA_AND_SLOT, OF_SLOT, OF_SLOT_AND_DELTA, Totals
from joinfold.operators.calendars.calendar import BEGINNING, END
from joinfold.operators.entries import Entries
from joinfold.operators.wide_totals import EXACT, WIDEST, too_many
from joinfold.operators.windows.group_totals import DRIFTED, WEIGHED, GroupTotals, Product
from joinfold.operators.windows.multiplying import multiplied
from joinfold.operators.windows.stairs import ExtremeStairs
from joinfold.physical.stage import Body

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]
WHOLE = 2**63 - 1
SAFE = 2.0**62  # a bound of sums of integers, in doubles, below which none wraps around


class FusedWindows:
    """All windows as aggregation sets or tables, and the totals over their combinations."""

    def __init__(self, body: Body, only_changed: bool) -> None:
        self.body = body
        self.sets: list[Aggregated] = [AggregationSet(spec.integer_columns, len(spec.reals)) for spec in body.inputs]
        self.totals = FusedTotals(body, only_changed)
        self.has_tables = (
            len(body.inputs) == 2 and not (body.has_constant_row or body.real_products) and len(self.totals.grouped) < 2
        )
        self.known = [(0, 0)] * len(body.inputs)  # how many keys and groups the entries of each input have
        self.stairs = [ExtremeStairs(extreme) for extreme in body.extremes]
        if body.has_constant_row:
            self._add_constant_row()

    @property
    def has_drifted(self) -> bool:
        """Whether the rounding error of a floating sum may be too large; the bucket is then rebuilt."""
        return self.totals.has_drifted

    @property
    def may_have_wrapped(self) -> bool:
        """Whether an integer of the totals may have wrapped around.

        A limb is at most 2^31 per row, so few combinations cannot wrap around; for many, the actual size of the limbs
        decides.
        """
        totals = self.totals.totals
        for number in self.totals.exact:
            self.totals.check_exact(number, float(totals.largest[number]))
        if self.totals.is_wide or self.totals.may_have_wrapped:
            return self.totals.may_have_wrapped
        most = [int(side.largest_magnitude[0]) * side.live_entries for side in self.sets]
        if prod(most) >= WHOLE:
            most = [int(side.members()[2][:, 0].sum(dtype=object)) for side in self.sets]
            if prod(most) >= WHOLE:
                return True
        pairs = int(totals.ints[:, 0].max(initial=0))
        return pairs >= WHOLE >> 32 and pairs * self._largest_factor() >= WHOLE

    @property
    def live_entries(self) -> int:
        """How many (key, group) have rows."""
        return sum(side.live_entries for side in self.sets)

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        held = sum(side.bytes_held for side in self.sets) + sum(stairs.bytes_held for stairs in self.stairs)
        return held + self.totals.totals.bytes_held

    def expect(self, ordinal: int, entries: Entries) -> None:
        """Wakes the products that these entries will need, and makes room for their keys and groups in tables."""
        self.totals.watch(ordinal, entries.payload.ints)
        if self.has_tables:
            keys, groups = self.known[ordinal]
            keys = max(keys, count_of_ids(readable(entries.key, np.int32)))
            groups = max(groups, count_of_ids(readable(entries.group, np.int32)))
            self.known[ordinal] = keys, groups
            self.sets[ordinal] = laid_out(self.sets[ordinal], keys, groups)

    def enter(self, ordinal: int, entries: Entries, leaves: Integers, now: int) -> None:
        """Lets entries enter their window; each stays until its time in ``leaves``."""
        self._apply(ordinal, entries, 1)
        mode, pairs = self.totals.mode([ordinal], 1 - ordinal), self.totals.table
        for number, stairs in enumerate(self.stairs):
            if stairs.extreme.ordinal == ordinal:
                has = entries.payload.has[:, number]
                codes = entries.payload.codes[has, number]
                stairs.enter_values(entries.key[has], entries.group[has], leaves[has], codes, mode, pairs, now)
            else:
                there = entries.payload.ints[:, stairs.extreme.partners[ordinal]] > 0
                stairs.enter_partners(entries.key[there], entries.group[there], leaves[there], mode, pairs, now)

    def leave(self, ordinal: int, entries: Entries, now: int) -> None:
        """Lets entries leave their window. Their extremes expire without this."""
        self._apply(ordinal, entries, -1)

    @property
    def given(self) -> int:
        """How many combinations of groups have an id. All other ids are in the vocabulary."""
        return self.totals.given

    def advance(self, now: int) -> None:
        """Lays sets out as slabs or tables, as fits what they hold now. The totals are up to date already."""
        if self.has_tables:
            self.sets = [laid_out(held, *known) for held, known in zip(self.sets, self.known, strict=True)]

    def stay_sets(self) -> None:
        """Never lays sets out as tables: a loop over arrivals cannot."""
        self.has_tables = False

    def loop(
        self, queues: tuple[Queue, Queue], inside: tuple[tuple[int, int], tuple[int, int]], start: int
    ) -> ArrivalLoop:
        """A loop over arrivals on these windows and totals, from the arrival ``start`` on."""
        first, second = self.sets
        assert isinstance(first, AggregationSet) and isinstance(second, AggregationSet)
        (ints, reals), (other_ints, other_reals) = self.totals.factors_of(0, 1), self.totals.factors_of(1, 0)
        return ArrivalLoop(
            queues,
            (first, second),
            (self.totals.mode([0], 1), self.totals.mode([1], 0)),
            (ints, other_ints),
            (reals, other_reals),
            self.totals.totals,
            self.totals.table,
            self.totals.settling(),
            inside,
            start,
        )

    def cannot_wrap(self, queues: Sequence[Entries]) -> bool:
        """Whether no integer can wrap around while all these entries are inside, whichever others have left."""
        if self.totals.is_wide:
            return True
        keys = 1 + max(int(entries.key.max(initial=0)) for entries in queues)
        sums = [
            {column: _sizes(entries, column, keys) for column in {product[ordinal] for product in self.totals.awake}}
            for ordinal, entries in enumerate(queues)
        ]
        if self.body.has_constant_row:
            sums.append({product[1]: np.ones(keys) for product in self.totals.awake})
        first, second = sums
        return all(float(first[own] @ second[other]) < SAFE for own, other in self.totals.awake)

    def heads(self, now: int) -> list[tuple[Integers, Flags]]:
        """For each extreme, the code of its value in each group at ``now``, and whether the group has one.

        Raises an error first if an integer of a set might have wrapped around.
        """
        if max(int(side.largest_magnitude.max()) for side in self.sets) >= WHOLE:
            raise too_many()
        return [stairs.heads(now) for stairs in self.stairs]

    def expire(self, now: int) -> None:
        """Frees the memory of extremes that have left."""
        for stairs in self.stairs:
            stairs.expire(now)

    def _apply(self, ordinal: int, entries: Entries, sign: int) -> None:
        self.totals.add(ordinal, entries, sign, self.sets)
        self.sets[ordinal].update(entries.key, entries.group, entries.payload.ints, entries.payload.reals, sign)

    def _add_constant_row(self) -> None:
        ones = np.ones((1, len(self.body.inputs[1].integers)), np.int64)
        assert not self.body.inputs[1].reals
        nothing = np.zeros(1, np.int32)
        self.sets[1].update(nothing, nothing, ones, np.zeros((1, 0)), 1)
        for stairs in self.stairs:
            stairs.enter_partners(nothing, nothing, np.array([END]), self.totals.mode([1], 0), None, BEGINNING)

    def _largest_factor(self) -> float:
        """The largest product of limbs that a combination adds to an integer, as an average over a slot."""
        each = []
        for side in self.sets:
            _, _, integers = side.members()
            each.append((np.abs(integers) / integers[:, :1]).max(axis=0, initial=0.0))
        products = (zip(each, product, strict=False) for product in self.body.integer_products)
        return max(prod(float(factors[column]) for factors, column in product) for product in products)


class FusedTotals(GroupTotals):
    """Totals that have a column only for products that are not idle."""

    def __init__(self, body: Body, only_changed: bool) -> None:
        super().__init__(body, only_changed, 1)
        self.table = self.pairs[0] if self.pairs else None
        self.idle_zero = [np.ones(spec.integer_columns, np.bool_) for spec in body.inputs]
        self.idle_count = [np.ones(spec.integer_columns, np.bool_) for spec in body.inputs]
        for zero in self.idle_zero:
            zero[0] = False
        self.awake: list[Product] = [(0,) * len(body.inputs)]
        self.factors: dict[tuple[int, int], tuple[Integers, Integers]] = {}
        self.path = [self._path(ordinal) for ordinal in range(len(body.inputs))]
        self.real_products = np.array(
            [[(ref.is_integer, ref.index) for ref in refs[:-1]] for refs in body.real_products], np.int64
        ).reshape(-1, len(body.inputs), 2)

    def add(self, ordinal: int, entries: Entries, sign: int, sets: Sequence[Aggregated]) -> None:
        """Adds the products of a delta of one input with the live windows of the others."""
        between, last = self.path[ordinal]
        key, group, integers, reals = entries.key, entries.group, entries.payload.ints, entries.payload.reals
        columns, real_columns = self.factors_of(ordinal, last)
        other = sets[last]
        if isinstance(other, AggregationTable):  # of two inputs
            aggregation_table.add_products(
                key, group, integers, sign, other, self.mode([ordinal], last), columns, self.totals
            )
            return
        if between:
            products = np.array(self.awake, np.int64)
            # all sets are slabs: there are tables only with two inputs
            slabs = [held for held in sets if isinstance(held, AggregationSet)]
            others = [(number, slabs[number], number in self.grouped) for number in between]
            delta = multiplied(entries, products, ordinal, others, self)
            key, group, integers, reals = delta.key, delta.group, delta.integers, delta.reals
            columns = np.stack([delta.columns, products[:, last]], axis=1)
            real_columns = np.concatenate([delta.real_columns, self.real_products[:, last]], axis=1)
        add_products(
            key,
            group,
            integers,
            reals,
            sign,
            other,
            self.mode([ordinal, *between], last),
            self.table,
            columns,
            real_columns,
            self.totals,
        )

    def _path(self, ordinal: int) -> tuple[list[int], int]:
        """The inputs that a delta is multiplied with first, and the last one, which is grouped if any of them is."""
        others = [other for other in range(len(self.body.inputs)) if other != ordinal]
        last = next((other for other in reversed(others) if other in self.grouped), others[-1])
        return [other for other in others if other != last], last

    def factors_of(self, ordinal: int, other: int) -> tuple[Integers, Integers]:
        """For each product, the columns of two inputs: of integers and of reals, in the format of the kernels."""
        found = self.factors.get((ordinal, other))
        if found is None:
            integers = np.array(self.awake, np.int64)[:, [ordinal, other]]
            reals = self.real_products[:, [ordinal, other]].reshape(-1, 4)
            found = readable(integers, np.int64), readable(reals, np.int64)
            self.factors[ordinal, other] = found
        return found

    def settling(self) -> Settling:
        """What a loop over arrivals has to know of floating sums."""
        products = len(self.body.real_products)
        nonzero, limits = np.full(products, -2), np.full(products, np.inf)
        for number, product in self.nonzero.items():
            representative = self._representative(product)
            nonzero[number] = -1 if representative is None else self.awake.index(representative)
        for number in self.exact:
            limits[number] = WIDEST if self.is_wide and number in self.whole else EXACT
        wide_count, watched = self.reals if self.is_wide else -1, self.reals if self.nonzero else 0
        return Settling(nonzero, wide_count, watched, DRIFTED, WEIGHED, limits)

    def mode(self, delta: Sequence[int], slot: int) -> int:
        """Whose group a combination belongs to, as a mode of the kernels: that of the delta, of the slot, or both."""
        of_delta = next((ordinal for ordinal in delta if ordinal in self.grouped), None)
        if of_delta is None:
            return OF_SLOT if slot in self.grouped else OF_ALL
        if slot not in self.grouped:
            return OF_DELTA
        return OF_DELTA_AND_SLOT if of_delta < slot else OF_SLOT_AND_DELTA

    def counts_of(self, product: Product) -> Integers | None:
        """A column of all groups; None where it is zero in all of them."""
        representative = self._representative(product)
        return None if representative is None else self.totals.ints[:, self.awake.index(representative)]

    def integer_products(self, computed: Integers) -> Integers:
        """The integer products in the body's order, from rows of the totals' integers."""
        complete = np.zeros((len(computed), len(self.body.integer_products)), np.int64)
        for column, product in enumerate(self.body.integer_products):
            representative = self._representative(product)
            if representative is not None:
                complete[:, column] = computed[:, self.awake.index(representative)]
        return complete

    def watch(self, ordinal: int, integers: Integers) -> None:
        """Wakes the products of columns that are no longer zero, or no longer equal to the count."""
        zero, same = self.idle_zero[ordinal], self.idle_count[ordinal]
        not_zero = [column for column in zero.nonzero()[0] if integers[:, column].any()]
        others = same.nonzero()[0][1:]  # without the first, which is the count
        not_same = [column for column in others if (integers[:, column] != integers[:, 0]).any()]
        if not (not_zero or not_same):
            return
        before = {product: self._representative(product) for product in self.products}
        zero[not_zero] = False
        same[not_same] = False
        for product in self.products:
            wanted, had = self._representative(product), before[product]
            if wanted is not None and wanted not in self.awake:
                source = None if had is None else self.totals.ints[:, self.awake.index(had)]
                self._wake(wanted, source)

    def _representative(self, product: Product) -> Product | None:
        """The product whose column has the values of this one; None if they are zero."""
        columns = list(enumerate(product[:-1]))
        if any(self.idle_zero[ordinal][column] for ordinal, column in columns):
            return None
        return tuple(0 if self.idle_count[ordinal][column] else column for ordinal, column in columns)

    def _wake(self, product: Product, source: Integers | None) -> None:
        assert not self.emitted_totals.instants, "emitted rows have a column for each product that is awake"
        grown = Totals(len(self.awake) + 1, len(self.real_products), self.totals.groups)
        grown.ints[:, :-1] = self.totals.ints
        grown.ints[:, -1] = 0 if source is None else source
        grown.dds[:] = self.totals.dds
        grown.drift[:] = self.totals.drift
        grown.largest[:] = self.totals.largest
        grown.touched[:] = self.totals.touched
        self.totals = grown
        self.awake.append(product)
        self.factors.clear()


def _sizes(entries: Entries, column: int, keys: int) -> Doubles:
    """The sum of the absolute values of an integer column, by key."""
    sizes = np.abs(entries.payload.ints[:, column].astype(np.float64))
    return np.asarray(np.bincount(entries.key, sizes, keys), np.float64)
