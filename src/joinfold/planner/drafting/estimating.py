"""How MERGE makes estimates: which outputs have bounds, and by which rule each of them.

COUNT(…), REGR_COUNT(…)        count          no term is negative
SUM(…)                         total
MAX(…), MIN(…)                 lower bound, upper bound: those of a sample are on one side of the true ones
any other number               ratio          AVG(x), SUM(x) / COUNT(*), 2 * COUNT(*), …
a number with extremes         unknown        MAX(x) - MIN(x): a sample does not bound it
"""

from joinfold.algebra import AGGREGATES, AggregateFunction
from joinfold.logical.expressions import AggregateValue, Expression, walk
from joinfold.logical.query import LogicalQuery
from joinfold.logical.shedding import Estimating, Sampler
from joinfold.physical.plan import over_answer
from joinfold.physical.shedding import BoundRule, EstimatedOutput, Estimates, KeySampling
from joinfold.planner.drafting.sampling import Sampled


def estimates_of(query: LogicalQuery, sampled: Sampled) -> Estimates:
    """How the estimates of a query are made from what is sampled."""
    assert query.shed is not None and isinstance(query.shed.how, Estimating)
    outputs = tuple(_output(query, number) for number in sorted(query.estimated))
    sampler: Sampler = "key" if isinstance(sampled.shedding, KeySampling) else "row"
    return Estimates(sampler, sampled.replicates, outputs, query.shed.how.confidence / 100, sampled.complete)


def _output(query: LogicalQuery, number: int) -> EstimatedOutput:
    expression = query.outputs[number].expression
    rule = bound_rule(query, expression)
    aggregate = (
        expression.index if isinstance(expression, AggregateValue) and rule not in ("ratio", "unknown") else None
    )
    return EstimatedOutput(number, over_answer(expression), expression.type, rule, aggregate)


def bound_rule(query: LogicalQuery, expression: Expression) -> BoundRule:
    """How the bounds of an output are found."""
    read = [node.index for node in walk(expression) if isinstance(node, AggregateValue)]
    entries = [AGGREGATES[query.aggregates[index].function] for index in read]
    if isinstance(expression, AggregateValue):
        return _rule_of_aggregate(entries[0])
    return "ratio" if all(entry.has_moments_only for entry in entries) else "unknown"


def _rule_of_aggregate(entry: AggregateFunction) -> BoundRule:
    if entry.is_count:
        return "count"
    if entry.is_total:
        return "total"
    if entry.extremum is not None and not entry.extremum.by:
        return "lower bound" if entry.extremum.largest else "upper bound"
    return "ratio" if entry.has_moments_only else "unknown"
