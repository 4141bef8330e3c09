"""From a logical query to PACK, FOLD and FINISH: which sums each place keeps, and which products make an answer.

Relations are joined to streams first, so that all inputs are streams (`planner.relations`). What reads one input is
computed there, by Spark. What reads several is computed for every combination, from the columns that their entries
carry. Everything that no engine runs yet is refused here, with what is missing.
"""

import os
from itertools import product as every_choice

from joinfold.algebra import AGGREGATES, ExtremumAggregate, MomentAggregate, Monomial
from joinfold.errors import QueryError
from joinfold.logical.expressions import Aggregate, Call, Column, Expression, inputs_read, rewrite, walk
from joinfold.logical.graph import Band, Inequality
from joinfold.logical.query import (
    Every,
    LogicalQuery,
    OnArrival,
    OnFull,
    OnTrigger,
    OnWindowId,
)
from joinfold.operators.layout import (
    AggregateLayout,
    Bound,
    ColumnRef,
    Combining,
    ExtremeFold,
    Factor,
    FoldLayout,
    IntegerSum,
    MomentSum,
    PairCondition,
    RangeJoin,
)
from joinfold.operators.timeline import Timeline
from joinfold.operators.window_ids import WindowIds
from joinfold.planner.adapting import Following, has_choice
from joinfold.planner.columns import InputColumns
from joinfold.planner.cost.weights import Weights, usual_weights
from joinfold.planner.deciding import Question, decide
from joinfold.planner.estimating import Setting
from joinfold.planner.factors import conditions_of, factors_by_input
from joinfold.planner.forcing import Plan, choose
from joinfold.planner.plan import Frame, GroupColumn, PhysicalPlan
from joinfold.planner.relations import with_homes
from joinfold.planner.specials import any_special, special_products
from joinfold.planner.statistics import Statistics
from joinfold.planner.widening import converted
from joinfold.types import BOOLEAN, DataType
from joinfold.window import PartitionedRows, RangeByRows, Rows

CONSTANT = "\0constant"  # the input of one row that a query over one stream is joined with
PAIR = "\0pair"  # what is computed for every combination
_EXACT = ("count", "sum", "avg")


def plan_fold(
    query: LogicalQuery,
    forced: Plan | None = None,
    statistics: Statistics | None = None,
    weights: Weights | None = None,
    roots: frozenset[str | None] | None = None,
) -> PhysicalPlan:
    """The plan, with what is forced besides OPTION; raises `QueryError` for what cannot be, or no engine runs yet.

    With ``statistics`` it is chosen by cost, with the weights of this machine unless others are given, among plans with
    one of the ``roots``, if these are given.
    """
    refuse_unsupported(query)
    plan = Plan.wanted(query.options, forced)
    windows = [input_.alias for input_ in query.streams]
    for alias in plan.inputs_named:
        if alias not in windows and any(input_.alias == alias for input_ in query.inputs):
            hint = f"it is joined before anything is kept; the inputs with a window are: {', '.join(windows)}."
            raise QueryError(f"the plan speaks of '{alias}', which is a relation", hint=hint)
    return _Folding(query).plan(plan, statistics, weights, roots)


def refuse_unsupported(query: LogicalQuery) -> None:
    """Says what a query asks for that no engine runs yet."""
    reasons = []
    for input_ in query.streams:
        keyed = isinstance(input_.window, PartitionedRows) and isinstance(query.emit, OnArrival)
        reasons.append((keyed, "the last rows of each key EMIT ON ARRIVAL"))
    reasons += [(group.type.is_nested, f"a group of type {group.type}") for group in query.groups]
    for applies, what in reasons:
        if applies:
            raise QueryError(f"no engine runs {what} yet", hint="the reference answers it on small data.")


class _Folding:
    """One query on its way to a plan."""

    def __init__(self, query: LogicalQuery) -> None:
        self.asked = query
        self.homes = with_homes(query)
        self.query = query = self.homes.query
        aliases = [input_.alias for input_ in query.inputs]
        aliases += [CONSTANT] if len(aliases) == 1 else []
        self.inputs = [InputColumns(place, alias) for place, alias in enumerate(aliases)]
        self.pair = InputColumns(len(aliases), PAIR)
        self.places = [*self.inputs, self.pair]
        self.integers: list[tuple[int, ...]] = [(0,) * len(self.places)]
        self.reals: list[tuple[ColumnRef, ...]] = []
        self.extremes: list[ExtremeFold] = []

    def plan(
        self,
        forced: Plan,
        statistics: Statistics | None,
        weights: Weights | None,
        roots: frozenset[str | None] | None,
    ) -> PhysicalPlan:
        query = self.query
        for number, key in enumerate(query.graph.keys):
            for side in self.inputs:
                members = [converted(member, key.type) for member in key.of(side.alias)]
                if members:
                    side.key(members, number)
        ranges = tuple(join for link in self._links() for join in link)
        conditions = tuple(self._condition(part) for part in query.graph.residual)
        groups = tuple(self._group(expression) for expression in query.groups)
        aggregates = tuple(self._aggregate(aggregate) for aggregate in query.aggregates)
        shown = self._shown() if query.is_plain_join else ()
        partitions = {}
        for place, (input_, side) in enumerate(zip(query.streams, self.inputs, strict=False)):
            window, schema = input_.window, input_.source.schema
            if isinstance(query.emit, OnArrival) or isinstance(window, Rows | RangeByRows | PartitionedRows):
                read = self.asked.columns_read(side.alias)
                names = {name: side.order(Column(side.alias, name, schema.type_of(name))) for name in read}
                if isinstance(window, PartitionedRows):
                    partitions[place] = tuple(names[name] for name in window.by)
        layout = FoldLayout(
            timeline=_timeline(query),
            delays_us=tuple(input_.source.delay_us for input_ in query.streams),
            inputs=tuple(side.layout() for side in self.inputs),
            pair=self.pair.layout(),
            integer_products=tuple(self.integers),
            real_products=tuple(self.reals),
            extremes=tuple(self.extremes),
            aggregates=aggregates,
            changes=query.changes,
            on_arrival=isinstance(query.emit, OnArrival),
            is_plain=query.is_plain_join,
            combining=Combining(ranges, conditions, tuple(self.pair.frame.items())),
        )
        frames, decision, following = self._frames(), None, None
        if statistics is None:
            folds, choices, root = choose(query, layout, partitions, forced)
        else:
            setting = Setting(
                tuple(frame.column_bytes for frame in frames),
                statistics,
                weights or usual_weights(),
                os.cpu_count() or 1,
            )
            decision = decide(Question(query, layout, partitions, forced, self._merges, roots), setting)
            folds, choices, root = decision.chosen.folds, decision.chosen.choices, decision.chosen.root
            if not forced.forces and forced.adapt != "off" and has_choice(folds[-1]):
                following = Following(setting.weights, tuple(input_.alias for input_ in query.streams))
        groups, merges = tuple(_grouped_at(group, layout, folds[-1]) for group in groups), self._merges(folds[-1])
        keys = tuple(tuple(map(self.homes.written, key.members)) for key in query.graph.keys)
        return PhysicalPlan(self.asked, frames, folds, groups, merges, choices, keys, shown, root, decision, following)

    def _frames(self) -> tuple[Frame, ...]:
        frames = []
        for input_, side in zip(self.query.inputs, self.inputs, strict=False):
            kept = tuple(converted(part, BOOLEAN) for part in self.query.filters(input_.alias))
            keep = None if not kept else kept[0] if len(kept) == 1 else Call("and", kept)
            columns = tuple((name, self.homes.written(expression)) for name, expression in side.frame.items())
            attached = self.homes.attached.get(input_.alias, ())
            frames.append(Frame(input_, keep, columns, attached, self.homes.matching.get(input_.alias, ())))
        return tuple(frames)

    def _merges(self, layout: FoldLayout) -> bool:
        """Groups cross buckets unless GROUP BY determines every key that rows are distributed by."""
        if layout.is_plain:
            return False
        grouped, classes = set(self.query.groups), layout.bucket_classes
        return not classes or not all(grouped & set(self.query.graph.keys[number].members) for number in classes)

    def _place(self, expression: Expression) -> int:
        """Where an expression is computed: the input that it reads, the first for a constant, or the pair."""
        reads = inputs_read(expression)
        if len(reads) > 1:
            return len(self.inputs)
        return next((place for place, side in enumerate(self.inputs) if side.alias in reads), 0)

    def _group(self, expression: Expression) -> GroupColumn:
        place = self._place(expression)
        return GroupColumn(place, self.places[place].group(self._at(place, expression)), expression.type)

    def _shown(self) -> tuple[tuple[Column, str], ...]:
        """The columns that a plain join shows, which its entries carry."""
        read = [node for output in self.query.outputs for node in walk(output.expression)]
        columns = dict.fromkeys(node for node in read if isinstance(node, Column))
        carried = ((column, self.inputs[self._place(column)].carry(column)) for column in columns)
        return tuple((self.homes.written(column), name) for column, name in carried)

    # --- what looks at combinations -------------------------------------------------------------------------

    def _at(self, place: int, expression: Expression) -> Expression:
        """The expression as a place computes it: the pair from carried columns, an input from its own."""
        if place < len(self.inputs):
            return expression

        def carried(node: Expression) -> Expression | None:
            if not isinstance(node, Column):
                return None
            own = self._place(node)
            return Column(str(own), self.inputs[own].carry(node), node.type)

        return rewrite(expression, carried)

    def _condition(self, condition: Expression) -> PairCondition:
        reads = inputs_read(condition)
        places = tuple(place for place, side in enumerate(self.inputs) if side.alias in reads)
        return PairCondition(self._at(len(self.inputs), condition), places)

    def _links(self) -> list[list[RangeJoin]]:
        graph = self.query.graph
        return [*map(self._band, graph.bands), *([self._inequality(part)] for part in graph.inequalities)]

    def _band(self, band: Band) -> list[RangeJoin]:
        """One range where both bounds are compared in one type; else two with a bound each."""
        low, high = (_compared(band.value, bound) for bound in (band.low, band.high))
        below = Inequality(band.value, ">=" if band.low_inclusive else ">", band.low)
        above = Inequality(band.value, "<=" if band.high_inclusive else "<", band.high)
        if low != high:
            return [self._inequality(below), self._inequality(above)]
        lower, upper = self._inequality(below), self._inequality(above)
        return [RangeJoin(lower.value_place, lower.value, lower.bound_place, lower.low, upper.high)]

    def _inequality(self, part: Inequality) -> RangeJoin:
        type_ = _compared(part.left, part.right)
        value_place, bound_place = self._place(part.left), self._place(part.right)
        value = self.inputs[value_place].carry(converted(part.left, type_))
        bound = Bound(self.inputs[bound_place].carry(converted(part.right, type_)), "=" in part.operator)
        is_low = part.operator in (">", ">=")
        return RangeJoin(value_place, value, bound_place, bound if is_low else None, None if is_low else bound)

    # --- aggregates -----------------------------------------------------------------------------------------

    def _aggregate(self, aggregate: Aggregate) -> AggregateLayout:
        spec = AGGREGATES[aggregate.function]
        conditions: list[list[Factor]] = [[] for _ in self.places]
        where = conditions_of(aggregate.condition)
        for part in where:
            place = self._place(part)
            conditions[place].append(self.places[place].condition(self._at(place, part)))
        if isinstance(spec, ExtremumAggregate):
            (argument,) = aggregate.arguments
            return self._extreme(aggregate, argument, spec.largest, conditions, where)
        assert isinstance(spec, MomentAggregate)
        filters = tuple(factor.name for factors in conditions for factor in factors)
        return self._moments(aggregate, spec, filters, where)

    def _guards(self, place: int, where: tuple[Expression, ...]) -> list[Expression]:
        """The conditions of a FILTER that a place knows: it computes an argument only where they are true."""
        if place < len(self.inputs):
            return [part for part in where if self._place(part) == place]
        guards: list[Expression] = []
        for part in where:
            own = self._place(part)
            if own < len(self.inputs):
                guards.append(Column(str(own), self.inputs[own].carry(converted(part, BOOLEAN)), BOOLEAN))
            else:
                guards.append(self._at(place, part))
        return guards

    def _extreme(
        self,
        aggregate: Aggregate,
        argument: Expression,
        largest: bool,
        conditions: list[list[Factor]],
        where: tuple[Expression, ...],
    ) -> AggregateLayout:
        place = self._place(argument)
        computed, guards = self._at(place, argument), self._guards(place, where)
        index = self.places[place].extreme(computed, largest, conditions[place], guards)
        partners = []
        for other, side in enumerate(self.places):
            present = Monomial.of((factor.name, 0) for factor in conditions[other]) if other != place else Monomial()
            partners.append(side.integer(IntegerSum(present)))
        self.extremes.append(ExtremeFold(place, index, tuple(partners)))
        return AggregateLayout(aggregate.function, aggregate.type, extreme=len(self.extremes) - 1)

    def _moments(
        self, aggregate: Aggregate, spec: MomentAggregate, filters: tuple[str, ...], where: tuple[Expression, ...]
    ) -> AggregateLayout:
        counted = aggregate.function == "count"
        arguments = []
        for argument in aggregate.arguments:
            split = factors_by_input(argument) or {PAIR: argument}
            names = []
            for place, side in enumerate(self.places):
                own = split.get(side.alias, split.get("") if place == 0 else None)
                if own is not None:
                    computed, guards = self._at(place, own), self._guards(place, where)
                    factor = side.presence(computed, guards) if counted else side.number(computed, guards)
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
        return next(factor for side in self.places if (factor := side.factor(name)) is not None)

    def _exact_sum(self, monomial: Monomial) -> tuple[tuple[ColumnRef, int], ...]:
        """Limb by limb: with numbers at one place in int64, with numbers at several in double-double."""
        parts = [side.part(monomial) for side in self.places]
        limbs = [
            range(max((self._factor(name).limbs for name, power in part.powers if power), default=1)) for part in parts
        ]
        valued = sum(any(power for _, power in part.powers) for part in parts)
        found = []
        for chosen in every_choice(*limbs):
            columns = tuple(
                side.integer(IntegerSum(part, limb))
                for side, part, limb in zip(self.places, parts, chosen, strict=True)
            )
            if valued > 1:
                ref = self._real_product(tuple(ColumnRef(True, column) for column in columns))
            else:
                ref = self._integer_product(columns)
            found.append((ref, 32 * sum(chosen)))
        return tuple(found)

    def _real_sum(self, monomial: Monomial) -> ColumnRef:
        refs = []
        for side in self.places:
            part = side.part(monomial)
            counts = not any(power for _, power in part.powers)
            refs.append(
                ColumnRef(True, side.integer(IntegerSum(part))) if counts else ColumnRef(False, side.real(part))
            )
        if all(ref.is_integer for ref in refs):
            return self._integer_product(tuple(ref.index for ref in refs))
        return self._real_product(tuple(refs))

    def _specials(
        self, aggregate: Aggregate, arguments: tuple[tuple[str, ...], ...], filters: tuple[str, ...]
    ) -> tuple[tuple[str, ColumnRef], ...]:
        """Counts of combinations whose value is nan, inf or -inf, by kind."""
        names = [name for argument in arguments for name in argument]
        everything = Monomial.of((name, 0) for name in (*filters, *names))
        parts = [side.part(everything) for side in self.places]
        valued = [place for place, part in enumerate(parts) if any(name in part.factors for name in names)]
        is_linear = aggregate.function in ("sum", "avg")
        found: list[tuple[str, ColumnRef]] = []
        for kind, wanted in special_products(len(valued)) if is_linear else any_special(len(valued)):
            special = dict(zip(valued, wanted, strict=True))
            columns = tuple(
                side.integer(IntegerSum(part, special=special.get(place)))
                for place, (side, part) in enumerate(zip(self.places, parts, strict=True))
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


def _timeline(query: LogicalQuery) -> Timeline:
    windows = tuple(input_.window for input_ in query.streams)
    if isinstance(query.sync, OnWindowId):
        return WindowIds.by_number(windows, query.sync.modulus)  # type: ignore[arg-type]
    return Timeline.of(
        windows,  # type: ignore[arg-type]
        every_us=query.emit.period_us if isinstance(query.emit, Every) else None,
        full=isinstance(query.sync, OnFull),
        trigger=query.is_plain_join or isinstance(query.emit, OnTrigger | OnArrival),
    )


def _grouped_at(group: GroupColumn, layout: FoldLayout, last: FoldLayout) -> GroupColumn:
    """Where the last fold has a group column."""
    name = layout.places[group.place].groups[group.index]
    place = next(place for place, side in enumerate(last.places) if name in side.groups)
    return GroupColumn(place, last.places[place].groups.index(name), group.type)


def _compared(left: Expression, right: Expression) -> DataType:
    """The type in which two expressions are compared."""
    return Call("<", (left, right)).signature.operands[0]
