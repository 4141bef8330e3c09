"""From a logical query to PACK, FOLD and FINISH: which sums each input keeps, and which products make an answer.

The query must be one that sums answer: one or two streams, joined by equality alone, windows in time, groups and
arguments that factor over the inputs. Everything else is refused here, with what is missing.
"""

from joinfold.algebra import AGGREGATES, ExtremumAggregate, MomentAggregate, Monomial
from joinfold.errors import QueryError
from joinfold.logical.expressions import Aggregate, Call, Column, Expression, inputs_read
from joinfold.logical.query import (
    Every,
    LogicalQuery,
    OnArrival,
    OnFull,
    OnTrigger,
    OnWindowId,
)
from joinfold.operators.layout import AggregateLayout, ColumnRef, ExtremeFold, Factor, FoldLayout, IntegerSum, MomentSum
from joinfold.operators.timeline import Timeline
from joinfold.planner.columns import InputColumns, converted
from joinfold.planner.factors import conditions_by_input, factors_by_input, needs_combinations
from joinfold.planner.plan import Frame, GroupColumn, PhysicalPlan
from joinfold.window import Continuous, Landmark, Sliding

_EXACT = ("count", "sum", "avg")
_SIGNS = {
    "inf": ("inf positive", "-inf negative", "positive inf", "negative -inf", "inf inf", "-inf -inf"),
    "-inf": ("inf negative", "-inf positive", "positive -inf", "negative inf", "inf -inf", "-inf inf"),
    "nan": ("inf zero", "-inf zero", "zero inf", "zero -inf"),
}
_NOT_FINITE = ("nan", "inf", "-inf")


def plan_fold(query: LogicalQuery) -> PhysicalPlan:
    """The plan; raises `QueryError` for what no engine runs yet."""
    refuse_unsupported(query)
    return _Folding(query).plan()


def refuse_unsupported(query: LogicalQuery) -> None:
    """Says what a query asks for that no engine runs yet."""
    reasons = [
        (query.is_plain_join, "a plain join"),
        (isinstance(query.sync, OnWindowId), "SYNC ON WINDOW ID"),
        (len(query.streams) != len(query.inputs), "a relation"),
        (len(query.inputs) > 2, "a join of more than two inputs"),
        (bool(query.graph.bands or query.graph.inequalities), "an inequality between inputs"),
        (bool(query.graph.residual), "a condition that reads both inputs and is not an equality of keys"),
    ]
    for input_ in query.streams:
        reasons.append((not isinstance(input_.window, Sliding | Continuous | Landmark), "a window that counts rows"))
        reasons.append((input_.source.time is None, f"the arrival time of stream '{input_.source.name}'"))
    reasons += [(group.type.is_nested, f"a group of type {group.type}") for group in query.groups]
    for applies, what in reasons:
        if applies:
            raise QueryError(f"no engine runs {what} yet", hint="the reference answers it on small data.")


class _Folding:
    """One query on its way to a plan."""

    def __init__(self, query: LogicalQuery) -> None:
        self.query = query
        aliases = [input_.alias for input_ in query.inputs]
        self.sides = [InputColumns(place, alias) for place, alias in enumerate([*aliases, ""][:2])]
        self.integers: list[tuple[int, int]] = [(0, 0)]
        self.reals: list[tuple[ColumnRef, ColumnRef]] = []
        self.extremes: list[ExtremeFold] = []

    def plan(self) -> PhysicalPlan:
        query = self.query
        for key in query.graph.keys:
            for side in self.sides[: len(query.inputs)]:
                side.key([converted(member, key.type) for member in key.of(side.alias)])
        groups = tuple(self._group(expression) for expression in query.groups)
        aggregates = tuple(self._aggregate(aggregate) for aggregate in query.aggregates)
        for side in self.sides[: len(query.streams)] if isinstance(query.emit, OnArrival) else ():
            schema = query.input(side.alias).source.schema
            for name in query.columns_read(side.alias):
                side.order(Column(side.alias, name, schema.type_of(name)))
        layout = FoldLayout(
            timeline=Timeline.of(
                tuple(input_.window for input_ in query.streams),  # type: ignore[misc]
                every_us=query.emit.period_us if isinstance(query.emit, Every) else None,
                full=isinstance(query.sync, OnFull),
                trigger=isinstance(query.emit, OnTrigger | OnArrival),
            ),
            delays_us=tuple(input_.source.delay_us for input_ in query.streams),
            inputs=(self.sides[0].layout(), self.sides[1].layout()),
            integer_products=tuple(self.integers),
            real_products=tuple(self.reals),
            extremes=tuple(self.extremes),
            aggregates=aggregates,
            changes=query.changes,
            on_arrival=isinstance(query.emit, OnArrival),
        )
        return PhysicalPlan(query, self._frames(), layout, groups, self._merges())

    def _frames(self) -> tuple[Frame, ...]:
        frames = []
        for input_, side in zip(self.query.inputs, self.sides, strict=False):
            kept = self.query.filters(input_.alias)
            keep = None if not kept else kept[0] if len(kept) == 1 else Call("and", kept)
            frames.append(Frame(input_, keep, tuple(side.frame.items())))
        return tuple(frames)

    def _merges(self) -> bool:
        """Groups cross buckets unless GROUP BY determines every key that rows are distributed by."""
        grouped = set(self.query.groups)
        return not all(grouped & set(key.members) for key in self.query.graph.keys) or not self.query.graph.keys

    def _side(self, expression: Expression) -> int:
        """The input that an expression reads; the first for a constant."""
        reads = inputs_read(expression)
        if len(reads) > 1:
            raise needs_combinations(expression)
        return next((place for place, side in enumerate(self.sides) if side.alias in reads), 0)

    def _group(self, expression: Expression) -> GroupColumn:
        place = self._side(expression)
        return GroupColumn(place, self.sides[place].group(expression), expression.type)

    # --- aggregates -----------------------------------------------------------------------------------------

    def _aggregate(self, aggregate: Aggregate) -> AggregateLayout:
        spec = AGGREGATES[aggregate.function]
        conditions = {
            place: [side.condition(part) for part in conditions_by_input(aggregate.condition).get(side.alias, [])]
            for place, side in enumerate(self.sides)
        }
        if isinstance(spec, ExtremumAggregate):
            (argument,) = aggregate.arguments
            return self._extreme(aggregate, argument, spec.largest, conditions)
        assert isinstance(spec, MomentAggregate)
        filters = tuple(factor.name for factors in conditions.values() for factor in factors)
        return self._moments(aggregate, spec, filters)

    def _extreme(
        self,
        aggregate: Aggregate,
        argument: Expression,
        largest: bool,
        conditions: dict[int, list[Factor]],
    ) -> AggregateLayout:
        place = self._side(argument)
        index = self.sides[place].extreme(argument, largest, conditions[place])
        present = Monomial(tuple(sorted((factor.name, 0) for factor in conditions[1 - place])))
        partner = self.sides[1 - place].integer(IntegerSum(present))
        self.extremes.append(ExtremeFold(place, index, partner))
        return AggregateLayout(aggregate.function, aggregate.type, extreme=len(self.extremes) - 1)

    def _moments(self, aggregate: Aggregate, spec: MomentAggregate, filters: tuple[str, ...]) -> AggregateLayout:
        counted = aggregate.function == "count"
        arguments = []
        for argument in aggregate.arguments:
            split = factors_by_input(argument) if inputs_read(argument) else {self.sides[0].alias: argument}
            names = []
            for place, side in enumerate(self.sides):
                if side.alias in split:
                    expression = split[side.alias]
                    factor = side.presence(expression) if counted else self.sides[place].number(expression)
                    names.append(factor.name)
            arguments.append(tuple(names))
        kinds = {self._factor(name).kind for names in arguments for name in names}
        exact = aggregate.function in _EXACT and "floating" not in kinds
        scale = aggregate.arguments[0].type.scale or 0 if aggregate.arguments else 0
        moments = []
        for monomial in spec.monomials(tuple(arguments), filters):
            limbs = self._exact_sum(monomial) if exact else ((self._real_sum(monomial), 0),)
            moments.append(MomentSum(limbs, scale if any(power for _, power in monomial.powers) else 0))
        specials = () if exact else self._specials(aggregate, tuple(arguments), filters)
        return AggregateLayout(aggregate.function, aggregate.type, exact, tuple(moments), specials)

    def _factor(self, name: str) -> Factor:
        return next(factor for side in self.sides if (factor := side.factor(name)) is not None)

    def _exact_sum(self, monomial: Monomial) -> tuple[tuple[ColumnRef, int], ...]:
        """Limb by limb: with a count on one side in int64, with numbers on both in double-double."""
        parts = [side.part(monomial) for side in self.sides]
        limbs = [
            range(max((self._factor(name).limbs for name, power in part.powers if power), default=1)) for part in parts
        ]
        valued = [any(power for _, power in part.powers) for part in parts]
        found = []
        for low in limbs[0]:
            for high in limbs[1]:
                columns = [
                    side.integer(IntegerSum(part, limb))
                    for side, part, limb in zip(self.sides, parts, (low, high), strict=True)
                ]
                if all(valued):
                    ref = self._real_product(ColumnRef(True, columns[0]), ColumnRef(True, columns[1]))
                else:
                    ref = self._integer_product(columns[0], columns[1])
                found.append((ref, 32 * (low + high)))
        return tuple(found)

    def _real_sum(self, monomial: Monomial) -> ColumnRef:
        refs = []
        for side in self.sides:
            part = side.part(monomial)
            counts = not any(power for _, power in part.powers)
            refs.append(
                ColumnRef(True, side.integer(IntegerSum(part))) if counts else ColumnRef(False, side.real(part))
            )
        if all(ref.is_integer for ref in refs):
            return self._integer_product(refs[0].index, refs[1].index)
        return self._real_product(*refs)

    def _specials(
        self, aggregate: Aggregate, arguments: tuple[tuple[str, ...], ...], filters: tuple[str, ...]
    ) -> tuple[tuple[str, ColumnRef], ...]:
        """Counts of combinations whose value is nan, inf or -inf, by kind."""
        names = [name for argument in arguments for name in argument]
        everything = Monomial.of((name, 0) for name in (*filters, *names))
        parts = [side.part(everything) for side in self.sides]
        by_side = [[name for name in names if name in part.factors] for part in parts]
        found: list[tuple[str, ColumnRef]] = []

        def product(kind: str, left: str | None, right: str | None) -> None:
            columns = [
                side.integer(IntegerSum(part, special=special))
                for side, part, special in zip(self.sides, parts, (left, right), strict=True)
            ]
            found.append((kind, self._integer_product(columns[0], columns[1])))

        linear = aggregate.function in ("sum", "avg")
        for place, own in enumerate(by_side):
            for kind in _NOT_FINITE if own else ():
                plain = linear and not by_side[1 - place]
                if plain or kind == "nan" or not linear:
                    shown = kind if plain else "nan"
                    product(shown, kind if place == 0 else None, kind if place == 1 else None)
        if linear and all(by_side):
            for kind, pairs in _SIGNS.items():
                for pair in pairs:
                    product(kind, *pair.split())
        return tuple(found)

    def _integer_product(self, left: int, right: int) -> ColumnRef:
        if (left, right) not in self.integers:
            self.integers.append((left, right))
        return ColumnRef(True, self.integers.index((left, right)))

    def _real_product(self, left: ColumnRef, right: ColumnRef) -> ColumnRef:
        if (left, right) not in self.reals:
            self.reals.append((left, right))
        return ColumnRef(False, self.reals.index((left, right)))
