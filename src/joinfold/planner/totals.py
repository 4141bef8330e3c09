"""Which sums and extremes each place keeps for the aggregates, and which products of them make an answer.

SUM(a.x * b.y) FILTER (WHERE a.ok)     a: sum of x where ok      b: sum of y       their product is the total
"""

from itertools import product as every_choice

from joinfold.algebra import AGGREGATES, ExtremumAggregate, MomentAggregate, Monomial
from joinfold.logical.expressions import Aggregate, Expression
from joinfold.physical.payload import (
    LIMB_BITS,
    AggregateSpec,
    ColumnRef,
    ExtremeFold,
    Factor,
    IntegerSum,
    Limb,
    MomentSum,
    RealSum,
    Special,
)
from joinfold.planner.factors import conditions_of
from joinfold.planner.places import Places
from joinfold.planner.specials import any_special, special_products

_EXACT = ("count", "sum", "avg")


class ProductColumns:
    """The products and extremes of all aggregates, each once; the first product counts combinations."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.integers: list[tuple[int, ...]] = [(0,) * len(places.all)]
        self.reals: list[tuple[ColumnRef, ...]] = []
        self.extremes: list[ExtremeFold] = []

    def aggregate(self, aggregate: Aggregate) -> AggregateSpec:
        """Where the parts of an aggregate are in the totals."""
        spec = AGGREGATES[aggregate.function]
        conditions: list[list[Factor]] = [[] for _ in self.places.all]
        where = conditions_of(aggregate.condition)
        for part in where:
            place = self.places.place_of(part)
            conditions[place].append(self.places.all[place].condition(self.places.at(place, part)))
        if isinstance(spec, ExtremumAggregate):
            (argument,) = aggregate.arguments
            return self._extreme(aggregate, argument, spec.largest, conditions, where)
        assert isinstance(spec, MomentAggregate)
        filters = tuple(factor.name for factors in conditions for factor in factors)
        return self._moments(aggregate, spec, filters, where)

    def _extreme(
        self,
        aggregate: Aggregate,
        argument: Expression,
        largest: bool,
        conditions: list[list[Factor]],
        where: tuple[Expression, ...],
    ) -> AggregateSpec:
        places, place = self.places, self.places.place_of(argument)
        computed, guards = places.at(place, argument), places.guards(place, where)
        index = places.all[place].extreme(computed, largest, conditions[place], guards)
        partners = []
        for other, own in enumerate(places.all):
            present = Monomial.of((factor.name, 0) for factor in conditions[other]) if other != place else Monomial()
            partners.append(own.integer(IntegerSum(present)))
        self.extremes.append(ExtremeFold(place, index, tuple(partners)))
        return AggregateSpec(aggregate.function, aggregate.type, extreme=len(self.extremes) - 1)

    def _moments(
        self, aggregate: Aggregate, spec: MomentAggregate, filters: tuple[str, ...], where: tuple[Expression, ...]
    ) -> AggregateSpec:
        counted = aggregate.function == "count"
        arguments = []
        for argument in aggregate.arguments:
            names = []
            for place, own in self.places.factors_of(argument).items():
                columns = self.places.all[place]
                computed, guards = self.places.at(place, own), self.places.guards(place, where)
                factor = columns.presence(computed, guards) if counted else columns.number(computed, guards)
                names.append(factor.name)
            arguments.append(tuple(names))
        kinds = {self._factor(name).kind for names in arguments for name in names}
        exact = aggregate.function in _EXACT and "floating" not in kinds
        scale = aggregate.arguments[0].type.scale or 0 if aggregate.arguments else 0
        moments = []
        for monomial in spec.monomials(tuple(arguments), filters):
            limbs = self._exact_sum(monomial) if exact else ((self._real_sum(monomial), 0),)
            moments.append(MomentSum(limbs, scale if _is_valued(monomial) else 0))
        specials = () if exact else self._specials(aggregate, tuple(arguments), filters)
        return AggregateSpec(aggregate.function, aggregate.type, exact, tuple(moments), specials)

    def _factor(self, name: str) -> Factor:
        return next(factor for own in self.places.all if (factor := own.factor(name)) is not None)

    def _exact_sum(self, monomial: Monomial) -> tuple[tuple[ColumnRef, int], ...]:
        """Limb by limb: with numbers at one place in int64, with numbers at several in double-double."""
        parts = [own.part(monomial) for own in self.places.all]
        limbs = [
            range(max((self._factor(name).limbs for name, power in part.powers if power), default=1)) for part in parts
        ]
        valued = sum(map(_is_valued, parts))
        found = []
        for chosen in every_choice(*limbs):
            columns = tuple(
                own.integer(IntegerSum(part, Limb(limb)))
                for own, part, limb in zip(self.places.all, parts, chosen, strict=True)
            )
            if valued > 1:
                ref = self._real_product(tuple(ColumnRef(True, column) for column in columns))
            else:
                ref = self._integer_product(columns)
            found.append((ref, LIMB_BITS * sum(chosen)))
        return tuple(found)

    def _real_sum(self, monomial: Monomial) -> ColumnRef:
        refs = []
        for own in self.places.all:
            part = own.part(monomial)
            if _is_valued(part):
                refs.append(ColumnRef(False, own.real(RealSum(part))))
            else:
                refs.append(ColumnRef(True, own.integer(IntegerSum(part))))
        if all(ref.is_integer for ref in refs):
            return self._integer_product(tuple(ref.index for ref in refs))
        return self._real_product(tuple(refs))

    def _specials(
        self, aggregate: Aggregate, arguments: tuple[tuple[str, ...], ...], filters: tuple[str, ...]
    ) -> tuple[tuple[str, ColumnRef], ...]:
        """Counts of combinations whose value is nan, inf or -inf, by kind."""
        names = [name for argument in arguments for name in argument]
        everything = Monomial.of((name, 0) for name in (*filters, *names))
        parts = [own.part(everything) for own in self.places.all]
        valued = [place for place, part in enumerate(parts) if any(name in part.factors for name in names)]
        is_linear = aggregate.function in ("sum", "avg")
        found: list[tuple[str, ColumnRef]] = []
        for kind, wanted in special_products(len(valued)) if is_linear else any_special(len(valued)):
            special = {place: Special(own) for place, own in zip(valued, wanted, strict=True) if own is not None}
            columns = tuple(
                own.integer(IntegerSum(part, special.get(place, Limb())))
                for place, (own, part) in enumerate(zip(self.places.all, parts, strict=True))
            )
            found.append((kind, self._integer_product(columns)))
        return tuple(found)

    def _integer_product(self, columns: tuple[int, ...]) -> ColumnRef:
        if columns not in self.integers:
            self.integers.append(columns)
        return ColumnRef(True, self.integers.index(columns))

    def _real_product(self, columns: tuple[ColumnRef, ...]) -> ColumnRef:
        if columns not in self.reals:
            self.reals.append(columns)
        return ColumnRef(False, self.reals.index(columns))


def _is_valued(monomial: Monomial) -> bool:
    return any(power for _, power in monomial.powers)
