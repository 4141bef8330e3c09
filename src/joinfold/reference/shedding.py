"""The meaning of SHED with aggregates: estimates and their bounds, from a sample of the combinations at an instant.

A combination of the sample counts for several, its *weight*, and is in a *replicate*: one of R random parts of the
sample. If rows of several inputs are sampled, it has a replicate on each of these *axes*; together they are its cell.
On an axis where it is not sampled its replicate is −1.

    estimate    aggregates in which every combination counts by its weight
    spread      how much the cells of a group differ
    bounds      from the spread, if the sample is large enough

Everything is written for one group, with fractions, as in a textbook. `shedding.intervals` and `operators` compute the
same for all groups at once.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

from joinfold.errors import EvaluationError
from joinfold.logical.expressions import Aggregate, AggregateValue, Expression, Value, walk
from joinfold.logical.query import LogicalQuery
from joinfold.logical.shedding import Estimating
from joinfold.physical.shedding import DRAWS, REPLICATES, WHOLE
from joinfold.reference.aggregates import Weight, aggregate_value, double
from joinfold.reference.contents import Timed, partition
from joinfold.reference.evaluate import Context, evaluate, is_true
from joinfold.reference.values import canonical, order_key, to_float
from joinfold.types import INTEGER_BITS, DataType

Combination = Mapping[str, Timed]
Bounds = tuple[Value, Value]
Cell = tuple[int, ...]
Cells = dict[Cell, Fraction]

ENOUGH_TO_COUNT, ENOUGH_KEYS, ENOUGH_ROWS = 30, 50, 30
NEAR = Fraction(1, 10**9)
COUNTS, NOT_ESTIMATED = ("count", "regr_count"), ("min", "max", "min_by", "max_by", "bool_", "bit_")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A combination of a sample: for how many it counts, and its replicate on each axis, −1 where it is certain."""

    weight: Weight
    cell: Cell


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of combinations; ``drawn`` is None for those that it does not have.

    ``rate`` is out of `WHOLE`. ``by_key``: keys are sampled, on one axis, else rows. ``complete``: GROUP BY determines
    the key, so that a group has all its combinations or none. ``expected`` is the effective number of keys that it
    should have.
    """

    rate: int
    drawn: Callable[[Combination], Drawn | None]
    by_key: bool = True
    axes: int = 1
    complete: bool = False
    expected: float = math.inf

    @property
    def share(self) -> Fraction:
        """The probability with which a key, or a row, was kept. Of rows, that is one in a whole number."""
        return Fraction(self.rate, WHOLE) if self.by_key else Fraction(1, round(WHOLE / self.rate))

    @property
    def replicates(self) -> int:
        """The number of replicates of an axis."""
        return REPLICATES["key" if self.by_key else "row"]


EVERYTHING = Sample(WHOLE, lambda combination: Drawn(1, (-1,)))
"""The sample of a query that sheds nothing."""


def key_sample(
    rate: int,
    is_certain: Callable[[int], bool],
    draw_of: Callable[[Combination], int],
    complete: bool = False,
    expected: float = math.inf,
) -> Sample:
    """The combinations whose key has a draw below the rate, or is certain."""

    def drawn(combination: Combination) -> Drawn | None:
        draw = draw_of(combination)
        if rate == WHOLE or is_certain(draw):
            return Drawn(1, (-1,))
        if draw * WHOLE >= rate * DRAWS:
            return None
        return Drawn(1 if complete else Fraction(WHOLE, rate), (draw % REPLICATES["key"],))

    return Sample(rate, drawn, complete=complete, expected=expected)


Member = tuple[Context, Drawn]


def estimated_answer(
    query: LogicalQuery, combinations: Iterable[Combination], zone: tzinfo, sample: Sample
) -> dict[tuple[Any, ...], tuple[Value, ...]]:
    """The output rows over a sample of the combinations, each under its group: estimates, bounds, and ``kept``."""
    members: list[Member] = []
    for combination in combinations:
        drawn = sample.drawn(combination)
        if drawn is not None:
            members.append((Context({alias: item.row for alias, item in combination.items()}, zone=zone), drawn))
    groups = partition(members, lambda member: [evaluate(group, member[0]) for group in query.groups])
    if not query.groups and not groups:
        groups = [[]]
    output = {}
    for own in groups:
        keys = tuple(canonical(evaluate(expression, own[0][0])) for expression in query.groups)
        group = Group(query, sample, own, keys, zone)
        result = group.context(group.estimates())
        if is_true(query.having, result):
            output[tuple(order_key(key) for key in keys)] = group.row(result)
    return output


@dataclass(frozen=True, slots=True)
class Group:
    """The members of a group that are in the sample."""

    query: LogicalQuery
    sample: Sample
    members: list[Member]
    keys: tuple[Value, ...]
    zone: tzinfo
    without: dict[Cell, list[Value]] = field(default_factory=dict)  # the estimates without each cell, once for all

    def context(self, aggregates: list[Value]) -> Context:
        """What SELECT and HAVING are evaluated on."""
        return Context(groups=self.keys, aggregates=aggregates, zone=self.zone)

    def row(self, result: Context) -> tuple[Value, ...]:
        """The SELECT list with bounds, and ``kept``."""
        found: list[Value] = []
        for number, output in enumerate(self.query.outputs):
            value = evaluate(output.expression, result)
            found.append(value)
            if number in self.query.estimated:
                found += self.bounds(output.expression, value)
        return (*found, float(self.sample.share**self.sample.axes))

    def estimates(self, without: Cell | None = None, more: Weight = 1) -> list[Value]:
        """The aggregates, from members that count by their weights.

        ``without``: a cell is left out, and what is sampled counts ``more`` for it.
        """
        left = [(context, drawn) for context, drawn in self.members if drawn.cell != without]
        values = []
        for aggregate in self.query.aggregates:
            counted = [(context, drawn) for context, drawn in left if is_true(aggregate.condition, context)]
            arguments = [_arguments(aggregate, context) for context, _ in counted]
            weights = [drawn.weight * (1 if _is_certain(drawn) else more) for _, drawn in counted]
            values.append(aggregate_value(aggregate.function, arguments, aggregate.type, weights))
        return values

    # --- bounds -----------------------------------------------------------------------------------------------------

    def bounds(self, expression: Expression, value: Value) -> Bounds:
        """The bounds of an output: the value itself where nothing was shed; None where nothing is known."""
        if self.sample.rate == WHOLE or self.sample.complete:
            return value, value
        read = [self.query.aggregates[node.index] for node in walk(expression) if isinstance(node, AggregateValue)]
        if isinstance(expression, AggregateValue):
            function = read[0].function
            if function in COUNTS:
                return self._count_bounds(read[0])
            if function == "sum":
                return self._total_bounds(read[0])
            if function in ("min", "max"):
                return (value, None) if function == "max" else (None, value)
        if any(own.function.startswith(NOT_ESTIMATED) for own in read):
            return None, None
        return self._ratio_bounds(expression, value, read)

    def _count_bounds(self, aggregate: Aggregate) -> Bounds:
        """The score interval; below the limit only what was seen."""
        terms = [drawn for drawn, _ in self._terms(aggregate)]
        cells = _cells((drawn.cell, Fraction(drawn.weight)) for drawn in terms)
        certain = sum(_is_certain(drawn) for drawn in terms)
        seen = Fraction(len(terms))
        if self._number(aggregate) < ENOUGH_TO_COUNT:
            return _outward(seen, aggregate.type, is_upper=False), None
        total = sum(cells.values(), Fraction(0))
        variance, t = self._spread(cells)
        slope = variance / (total - certain)
        middle, reach = total + t**2 * slope / 2, t * _root(variance + (t * slope / 2) ** 2)
        low, high = max(middle - reach, seen), middle + reach
        return _outward(low, aggregate.type, is_upper=False), _outward(high, aggregate.type, is_upper=True)

    def _total_bounds(self, aggregate: Aggregate) -> Bounds:
        terms = [(drawn, values[0]) for drawn, values in self._terms(aggregate)]
        if self._number(aggregate) < self._enough or not all(math.isfinite(value) for _, value in terms):
            return None, None
        cells = _cells((drawn.cell, drawn.weight * Fraction(value)) for drawn, value in terms)
        return self._about(sum(cells.values(), Fraction(0)), cells, aggregate.type)

    def _ratio_bounds(self, expression: Expression, value: Any, read: list[Aggregate]) -> Bounds:
        """By leaving out each cell in turn."""
        if min(map(self._number, read)) < self._enough:
            return None, None
        parts = self.sample.replicates
        more = Fraction(parts, parts - 1) if self.sample.by_key else Fraction(1)
        found: Cells = {}
        for cell in [(part,) for part in range(parts)] if self.sample.by_key else self._sampled_cells:
            try:
                if cell not in self.without:
                    self.without[cell] = self.estimates(cell, more)
                other = evaluate(expression, self.context(self.without[cell]))
            except EvaluationError:
                return None, None
            if other is None or value is None or not math.isfinite(other) or not math.isfinite(value):
                return None, None
            found[cell] = (Fraction(value) - Fraction(other)) / more
        return self._about(Fraction(value), found, expression.type)

    def _about(self, value: Fraction, cells: Cells, type_: DataType) -> Bounds:
        variance, t = self._spread(cells)
        reach = t * _root(variance)
        return _outward(value - reach, type_, is_upper=False), _outward(value + reach, type_, is_upper=True)

    @property
    def _sampled_cells(self) -> list[Cell]:
        return sorted({drawn.cell for _, drawn in self.members if not _is_certain(drawn)})

    @property
    def _enough(self) -> int:
        return ENOUGH_KEYS if self.sample.by_key else ENOUGH_ROWS

    def _terms(self, aggregate: Aggregate) -> list[tuple[Drawn, tuple[Any, ...]]]:
        """The arguments of an aggregate that count: FILTER is true, and none is NULL."""
        found = [
            (drawn, _arguments(aggregate, context))
            for context, drawn in self.members
            if is_true(aggregate.condition, context)
        ]
        return [(drawn, values) for drawn, values in found if None not in values]

    def _number(self, aggregate: Aggregate) -> float:
        """The effective number of units of the axis that has the fewest, (Σt)²/Σx², but not more than expected."""
        cells = _cells((drawn.cell, Fraction(drawn.weight)) for drawn, _ in self._terms(aggregate))
        found = []
        for axis in range(self.sample.axes):
            replicates = self._margin(cells, (axis,))
            total = sum(replicates.values(), Fraction(0))
            squares = self._squares(replicates, 1)
            if total:
                found.append(float(total**2 / squares) if squares else math.inf)
        return min(*found, self.sample.expected) if found else 0.0

    def _spread(self, cells: Cells) -> tuple[Fraction, Fraction]:
        """The variance of the sum of the cells, and the quantile of Student's distribution."""
        axes, freedom = range(self.sample.axes), self.sample.replicates - 1
        parts = {
            chosen: (1 - self.sample.share) ** size * self._squares(self._margin(cells, chosen), size)
            for size in range(1, len(axes) + 1)
            for chosen in itertools.combinations(axes, size)
        }
        own = [part for chosen, part in parts.items() if len(chosen) == 1]
        variance = sum((part if len(chosen) % 2 else -part for chosen, part in parts.items()), Fraction(0))
        freedoms = sum(own) ** 2 / (sum(part**2 for part in own) / freedom) if any(own) else freedom
        assert self.query.shed is not None and isinstance(self.query.shed.how, Estimating)
        t = t_quantile(self.query.shed.how.confidence / 100, float(freedoms))
        return max(variance, *own), Fraction(t)

    def _margin(self, cells: Cells, axes: tuple[int, ...]) -> Cells:
        """The sums over all other axes, for what is sampled on these."""
        every = itertools.product(range(self.sample.replicates), repeat=len(axes))
        chosen = dict.fromkeys(every, Fraction(0))
        for cell, value in cells.items():
            place = tuple(cell[axis] for axis in axes)
            if place in chosen:
                chosen[place] += value
        return chosen

    def _squares(self, replicates: Cells, axes: int) -> Fraction:
        """What is left of the squares when the means of all axes are subtracted; on average Σx² over the units."""
        count = self.sample.replicates
        for axis in range(axes):
            means: Cells = {}
            for cell, value in replicates.items():
                rest = (*cell[:axis], *cell[axis + 1 :])
                means[rest] = means.get(rest, Fraction(0)) + value / count
            replicates = {cell: value - means[*cell[:axis], *cell[axis + 1 :]] for cell, value in replicates.items()}
        return Fraction(count, count - 1) ** axes * sum((value**2 for value in replicates.values()), Fraction(0))


def _arguments(aggregate: Aggregate, context: Context) -> tuple[Any, ...]:
    return tuple(evaluate(part, context.wide()) for part in aggregate.arguments)


def _is_certain(drawn: Drawn) -> bool:
    return all(replicate < 0 for replicate in drawn.cell)


def _cells(terms: Iterable[tuple[Cell, Fraction]]) -> Cells:
    found: Cells = {}
    for cell, value in terms:
        found[cell] = found.get(cell, Fraction(0)) + value
    return found


def _root(value: Fraction) -> Fraction:
    with localcontext(prec=40):
        return Fraction((Decimal(value.numerator) / value.denominator).sqrt())


def _outward(bound: Fraction, type_: DataType, is_upper: bool) -> Value:
    """A bound in a numeric type, rounded so that it bounds no less, within the range of the type."""
    if type_.is_floating:
        return to_float(double(bound), type_)
    units: Fraction = bound * int(10 ** (type_.scale or 0))
    slack = NEAR * max(Fraction(1), abs(units))
    whole = math.ceil(units - slack) if is_upper else math.floor(units + slack)
    if type_.is_integer:
        limit = 1 << INTEGER_BITS[type_.name] - 1
        return max(-limit, min(limit - 1, whole))
    assert type_.precision is not None and type_.scale is not None
    with localcontext(prec=200):
        most = 10**type_.precision - 1
        return Decimal(max(-most, min(most, whole))).scaleb(-type_.scale)


@lru_cache
def t_quantile(confidence: float, freedom: float) -> float:
    """How far from 0 the middle ``confidence`` of Student's distribution reaches: by integration and bisection."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    low, high = 0.0, 1000.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _held(middle, scale, freedom) < confidence else (low, middle)
    return low


def _held(reach: float, scale: float, freedom: float, steps: int = 2000) -> float:
    """The integral of the density from −reach to reach, by Simpson's rule over the angle whose tangent it is."""
    end = math.atan(reach / math.sqrt(freedom))
    heights = [math.cos(end * step / steps) ** (freedom - 1) for step in range(steps + 1)]
    inner = 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])
    return float(2 * scale * math.sqrt(freedom) * end / steps / 3 * (heights[0] + inner + heights[-1]))
