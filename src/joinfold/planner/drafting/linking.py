"""Join conditions that are checked on combinations, from carried columns: bands, inequalities and residuals."""

from joinfold.logical.expressions import Call, Expression, inputs_read
from joinfold.logical.graph import Band, Inequality, JoinGraph
from joinfold.physical.combining import Bound, PairCondition, RangeJoin
from joinfold.planner.drafting.gathered_columns import GatheredColumns
from joinfold.planner.drafting.widening import converted
from joinfold.types import DataType


def ranges_of(graph: JoinGraph, gathered: GatheredColumns) -> tuple[RangeJoin, ...]:
    """The bands and inequalities of a query as range joins."""
    bands = [join for band in graph.bands for join in _band(gathered, band)]
    return (*bands, *(_inequality(gathered, part) for part in graph.inequalities))


def pair_conditions(graph: JoinGraph, gathered: GatheredColumns) -> tuple[PairCondition, ...]:
    """The residual conditions: those over several inputs that are neither equality, band nor inequality."""
    return tuple(_condition(gathered, part) for part in graph.residual)


def _condition(gathered: GatheredColumns, condition: Expression) -> PairCondition:
    reads = inputs_read(condition)
    read = tuple(ordinal for ordinal, own in enumerate(gathered.inputs) if own.alias in reads)
    return PairCondition(gathered.at(len(gathered.inputs), condition), read)


def _band(gathered: GatheredColumns, band: Band) -> list[RangeJoin]:
    """One range join if both bounds are compared in the same type; otherwise two with one bound each."""
    below = Inequality(band.value, ">=" if band.low_inclusive else ">", band.low)
    above = Inequality(band.value, "<=" if band.high_inclusive else "<", band.high)
    lower, upper = _inequality(gathered, below), _inequality(gathered, above)
    if _compared(band.value, band.low) != _compared(band.value, band.high):
        return [lower, upper]
    return [RangeJoin(lower.value_input, lower.value, lower.bound_input, lower.low, upper.high)]


def _inequality(gathered: GatheredColumns, part: Inequality) -> RangeJoin:
    type_ = _compared(part.left, part.right)
    value_input, bound_input = gathered.ordinal_of(part.left), gathered.ordinal_of(part.right)
    value = gathered.inputs[value_input].carry(converted(part.left, type_))
    bound = Bound(gathered.inputs[bound_input].carry(converted(part.right, type_)), "=" in part.operator)
    is_low = part.operator in (">", ">=")
    return RangeJoin(value_input, value, bound_input, bound if is_low else None, None if is_low else bound)


def _compared(left: Expression, right: Expression) -> DataType:
    """The type in which two expressions are compared."""
    return Call("<", (left, right)).signature.operands[0]
