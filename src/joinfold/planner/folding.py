"""From a logical query to PACK, FOLD and FINISH: which sums each place keeps, and which products make an answer.

Relations are joined to streams first, so that all inputs are streams (`planner.relations`). What reads one input is
computed there, by Spark. What reads several is computed for every combination, from the columns that their entries
carry. Everything that no engine runs yet is refused here, with what is missing.
"""

import os

from joinfold.errors import QueryError
from joinfold.logical.expressions import Call, Column, Expression, inputs_read, walk
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
    Bound,
    Combining,
    FoldLayout,
    PairCondition,
    RangeJoin,
)
from joinfold.operators.timeline import Timeline
from joinfold.operators.window_ids import WindowIds
from joinfold.planner.adapting import Following, has_choice
from joinfold.planner.cost.weights import Weights, usual_weights
from joinfold.planner.deciding import Question, decide
from joinfold.planner.estimating import Setting
from joinfold.planner.forcing import Plan, choose
from joinfold.planner.places import Places
from joinfold.planner.plan import Frame, GroupColumn, PhysicalPlan
from joinfold.planner.relations import with_homes
from joinfold.planner.statistics import Statistics
from joinfold.planner.summing import Summing
from joinfold.planner.widening import converted
from joinfold.types import BOOLEAN, DataType
from joinfold.window import PartitionedRows, RangeByRows, Rows

CONSTANT = "\0constant"  # the input of one row that a query over one stream is joined with


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
        self.places = Places(aliases)
        self.inputs, self.pair = self.places.inputs, self.places.pair
        self.summing = Summing(self.places)

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
        aggregates = tuple(self.summing.layout_of(aggregate) for aggregate in query.aggregates)
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
            integer_products=tuple(self.summing.integers),
            real_products=tuple(self.summing.reals),
            extremes=tuple(self.summing.extremes),
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

    def _group(self, expression: Expression) -> GroupColumn:
        place = self.places.of(expression)
        return GroupColumn(place, self.places[place].group(self.places.at(place, expression)), expression.type)

    def _shown(self) -> tuple[tuple[Column, str], ...]:
        """The columns that a plain join shows, which its entries carry."""
        read = [node for output in self.query.outputs for node in walk(output.expression)]
        columns = dict.fromkeys(node for node in read if isinstance(node, Column))
        carried = ((column, self.inputs[self.places.of(column)].carry(column)) for column in columns)
        return tuple((self.homes.written(column), name) for column, name in carried)

    # --- what looks at combinations -------------------------------------------------------------------------

    def _condition(self, condition: Expression) -> PairCondition:
        reads = inputs_read(condition)
        places = tuple(place for place, side in enumerate(self.inputs) if side.alias in reads)
        return PairCondition(self.places.at(len(self.inputs), condition), places)

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
        value_place, bound_place = self.places.of(part.left), self.places.of(part.right)
        value = self.inputs[value_place].carry(converted(part.left, type_))
        bound = Bound(self.inputs[bound_place].carry(converted(part.right, type_)), "=" in part.operator)
        is_low = part.operator in (">", ">=")
        return RangeJoin(value_place, value, bound_place, bound if is_low else None, None if is_low else bound)


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
