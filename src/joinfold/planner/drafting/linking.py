"""What looks at combinations: bands, inequalities and other conditions over several inputs, on carried columns."""

from joinfold.logical.expressions import Call, Expression, inputs_read
from joinfold.logical.graph import Band, Inequality, JoinGraph
from joinfold.physical.combining import Bound, PairCondition, RangeJoin
from joinfold.planner.drafting.places import Places
from joinfold.planner.drafting.widening import converted
from joinfold.types import DataType


def ranges_of(graph: JoinGraph, places: Places) -> tuple[RangeJoin, ...]:
    """Bands and inequalities as ranges."""
    bands = [join for band in graph.bands for join in _band(places, band)]
    return (*bands, *(_inequality(places, part) for part in graph.inequalities))


def pair_conditions(graph: JoinGraph, places: Places) -> tuple[PairCondition, ...]:
    """Everything else that is said of combinations."""
    return tuple(_condition(places, part) for part in graph.residual)


def _condition(places: Places, condition: Expression) -> PairCondition:
    reads = inputs_read(condition)
    read = tuple(place for place, own in enumerate(places.inputs) if own.alias in reads)
    return PairCondition(places.at(len(places.inputs), condition), read)


def _band(places: Places, band: Band) -> list[RangeJoin]:
    """One range where both bounds are compared in one type; else two with a bound each."""
    below = Inequality(band.value, ">=" if band.low_inclusive else ">", band.low)
    above = Inequality(band.value, "<=" if band.high_inclusive else "<", band.high)
    lower, upper = _inequality(places, below), _inequality(places, above)
    if _compared(band.value, band.low) != _compared(band.value, band.high):
        return [lower, upper]
    return [RangeJoin(lower.value_place, lower.value, lower.bound_place, lower.low, upper.high)]


def _inequality(places: Places, part: Inequality) -> RangeJoin:
    type_ = _compared(part.left, part.right)
    value_place, bound_place = places.place_of(part.left), places.place_of(part.right)
    value = places.inputs[value_place].carry(converted(part.left, type_))
    bound = Bound(places.inputs[bound_place].carry(converted(part.right, type_)), "=" in part.operator)
    is_low = part.operator in (">", ">=")
    return RangeJoin(value_place, value, bound_place, bound if is_low else None, None if is_low else bound)


def _compared(left: Expression, right: Expression) -> DataType:
    """The type in which two expressions are compared."""
    return Call("<", (left, right)).signature.operands[0]
