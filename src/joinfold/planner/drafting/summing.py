"""From the components of aggregates to columns: which sums the inputs and the pair keep, and which products they make.

A sum over combinations is a sum of products of one column of each input and of the pair. The component of the aggregate
decides which columns:

    Moment        exact numbers limb by limb in integers, others in double-double
    TruthCount    the number of rows whose argument is true
    BitCounts     for each bit, the number of rows in which it is set; of one input or the pair: bits do not factor
    Extremum      a value of one input or the pair, and the counts of all others, which must not be 0

Equal columns and equal products are kept once, for all aggregates.
"""

from itertools import product as every_choice
from typing import assert_never

from joinfold.algebra import AGGREGATES, AggregateFunction, BitCounts, Extremum, Moment, Monomial, Summed, TruthCount
from joinfold.logical.expressions import Aggregate, Expression
from joinfold.physical.payload import (
    LIMB_BITS,
    AggregateSpec,
    Bit,
    ColumnRef,
    ExtremeFold,
    Factor,
    IntegerSum,
    Limb,
    MomentSum,
    RealSum,
    Special,
)
from joinfold.planner.drafting.factors import conditions_of
from joinfold.planner.drafting.gathered_columns import GatheredColumns
from joinfold.planner.drafting.input_columns import InputColumns
from joinfold.planner.drafting.specials import any_special, special_products
from joinfold.types import INTEGER_BITS


class Summing:
    """Gathers the products and extremes that the aggregates of a query need."""

    def __init__(self, gathered: GatheredColumns) -> None:
        self.gathered = gathered
        self.integers: list[tuple[int, ...]] = [(0,) * len(gathered.all)]
        self.reals: list[tuple[ColumnRef, ...]] = []
        self.extremes: list[ExtremeFold] = []

    def spec_of(self, aggregate: Aggregate) -> AggregateSpec:
        """The products or the extreme from which an aggregate is computed."""
        entry = AGGREGATES[aggregate.function]
        conditions: list[list[Factor]] = [[] for _ in self.gathered.all]
        where = conditions_of(aggregate.condition)
        for part in where:
            ordinal = self.gathered.ordinal_of(part)
            conditions[ordinal].append(self.gathered.all[ordinal].condition(self.gathered.at(ordinal, part)))
        if entry.extremum is not None:
            return self._extreme(aggregate, entry.extremum, conditions, where)
        filters = tuple(factor.name for factors in conditions for factor in factors)
        return self._sums(aggregate, entry, filters, where)

    def _extreme(
        self,
        aggregate: Aggregate,
        extremum: Extremum,
        conditions: list[list[Factor]],
        where: tuple[Expression, ...],
    ) -> AggregateSpec:
        ordinal = self.gathered.ordinal_of(*aggregate.arguments)
        value, *by = (self.gathered.at(ordinal, argument) for argument in aggregate.arguments)
        guards = self.gathered.guards(ordinal, where)
        index = self.gathered.all[ordinal].extreme(
            value, extremum.largest, conditions[ordinal], guards, by[0] if by else None
        )
        partners = []
        for other, side in enumerate(self.gathered.all):
            names = [factor.name for factor in conditions[other]] if other != ordinal else []
            partners.append(side.integer(IntegerSum(Monomial.presence(names))))
        self.extremes.append(ExtremeFold(ordinal, index, tuple(partners)))
        return AggregateSpec(aggregate.function, aggregate.type, extreme=len(self.extremes) - 1)

    def _sums(
        self, aggregate: Aggregate, entry: AggregateFunction, filters: tuple[str, ...], where: tuple[Expression, ...]
    ) -> AggregateSpec:
        factorable = not any(isinstance(component, BitCounts | TruthCount) for component in entry.components)
        arguments = tuple(
            self._argument(argument, factorable, entry.is_number(number), where)
            for number, argument in enumerate(aggregate.arguments)
        )
        kinds = {self._factor(name).kind for names in arguments for name in names}
        exact = entry.is_exact and "floating" not in kinds
        scale = aggregate.arguments[0].type.scale or 0 if aggregate.arguments else 0
        moments: list[MomentSum] = []
        for component in entry.summed:
            moments += self._component(component, aggregate, arguments, filters, where, exact, scale)
        specials = () if exact else self._specials(entry, arguments, filters)
        return AggregateSpec(aggregate.function, aggregate.type, exact, tuple(moments), specials)

    def _argument(
        self, argument: Expression, factorable: bool, is_number: bool, where: tuple[Expression, ...]
    ) -> tuple[str, ...]:
        """The names of the factors of an argument: numbers, or the conditions that values are not NULL."""
        names = []
        for ordinal, own in self.gathered.factors_of(argument, factorable).items():
            side = self.gathered.all[ordinal]
            computed, guards = self.gathered.at(ordinal, own), self.gathered.guards(ordinal, where)
            if not is_number:
                factor = side.presence(computed, guards)
            elif factorable:
                factor = side.number(computed, guards)
            else:
                factor = side.integer_number(computed, guards)
            names.append(factor.name)
        return tuple(names)

    def _component(
        self,
        component: Summed,
        aggregate: Aggregate,
        arguments: tuple[tuple[str, ...], ...],
        filters: tuple[str, ...],
        where: tuple[Expression, ...],
        exact: bool,
        scale: int,
    ) -> list[MomentSum]:
        match component:
            case Moment():
                monomial = component.monomial(arguments, filters)
                limbs = self._exact_sum(monomial) if exact else ((self._real_sum(monomial), 0),)
                return [MomentSum(limbs, 0 if monomial.is_count else scale)]
            case TruthCount():
                (argument,) = aggregate.arguments
                ordinal = self.gathered.ordinal_of(argument)
                computed, guards = self.gathered.at(ordinal, argument), self.gathered.guards(ordinal, where)
                is_true = self.gathered.all[ordinal].truth(computed, guards)
                return [MomentSum(self._exact_sum(Monomial.presence((*filters, is_true.name))))]
            case BitCounts():
                (argument,), (names,) = aggregate.arguments, arguments
                return [
                    MomentSum(((self._bit_count(Bit(number), names, filters), 0),))
                    for number in range(INTEGER_BITS[argument.type.name])
                ]
            case _:
                assert_never(component)

    def _factor(self, name: str) -> Factor:
        return next(factor for side in self.gathered.all if (factor := side.factor(name)) is not None)

    # --- products -------------------------------------------------------------------------------------------

    def _exact_sum(self, monomial: Monomial) -> tuple[tuple[ColumnRef, int], ...]:
        """An exact sum limb by limb, each limb with its shift in bits.

        The products are int64 if only one input has numbers, else double-double.
        """
        parts = [side.part(monomial) for side in self.gathered.all]
        limbs = [
            range(max((self._factor(name).limbs for name, power in part.powers if power), default=1)) for part in parts
        ]
        valued = sum(not part.is_count for part in parts)
        found = []
        for chosen in every_choice(*limbs):
            columns = tuple(
                side.integer(IntegerSum(part, Limb(limb)))
                for side, part, limb in zip(self.gathered.all, parts, chosen, strict=True)
            )
            if valued > 1:
                ref = self._real_product(tuple(ColumnRef(True, column) for column in columns))
            else:
                ref = self._integer_product(columns)
            found.append((ref, LIMB_BITS * sum(chosen)))
        return tuple(found)

    def _real_sum(self, monomial: Monomial) -> ColumnRef:
        refs = [_real_column(side, side.part(monomial)) for side in self.gathered.all]
        if all(ref.is_integer for ref in refs):
            return self._integer_product(tuple(ref.index for ref in refs))
        return self._real_product(tuple(refs))

    def _bit_count(self, bit: Bit, names: tuple[str, ...], filters: tuple[str, ...]) -> ColumnRef:
        everything = Monomial.presence((*filters, *names))
        parts = [side.part(everything) for side in self.gathered.all]
        columns = tuple(
            side.integer(IntegerSum(part, bit if part.factors & set(names) else Limb()))
            for side, part in zip(self.gathered.all, parts, strict=True)
        )
        return self._integer_product(columns)

    def _specials(
        self, entry: AggregateFunction, arguments: tuple[tuple[str, ...], ...], filters: tuple[str, ...]
    ) -> tuple[tuple[str, ColumnRef], ...]:
        """The counts of combinations whose value is nan, inf or -inf, by kind."""
        everything = Monomial.presence((*filters, *(name for argument in arguments for name in argument)))
        parts = [side.part(everything) for side in self.gathered.all]
        computed = [argument for number, argument in enumerate(arguments) if entry.is_number(number)]
        names = [name for argument in computed for name in argument]
        valued = [ordinal for ordinal, part in enumerate(parts) if any(name in part.factors for name in names)]
        found: list[tuple[str, ColumnRef]] = []
        for kind, wanted in special_products(len(valued)) if entry.is_linear else any_special(len(valued)):
            special = dict(zip(valued, wanted, strict=True))
            columns = []
            for ordinal, (side, part) in enumerate(zip(self.gathered.all, parts, strict=True)):
                own = special.get(ordinal)
                columns.append(side.integer(IntegerSum(part, Limb() if own is None else Special(own))))
            found.append((kind, self._integer_product(tuple(columns))))
        return tuple(found)

    def _integer_product(self, columns: tuple[int, ...]) -> ColumnRef:
        if columns not in self.integers:
            self.integers.append(columns)
        return ColumnRef(True, self.integers.index(columns))

    def _real_product(self, columns: tuple[ColumnRef, ...]) -> ColumnRef:
        if columns not in self.reals:
            self.reals.append(columns)
        return ColumnRef(False, self.reals.index(columns))


def _real_column(side: InputColumns, part: Monomial) -> ColumnRef:
    """The column of a sum: an integer column for a count, else a double-double column."""
    return (
        ColumnRef(True, side.integer(IntegerSum(part))) if part.is_count else ColumnRef(False, side.real(RealSum(part)))
    )
