"""Splits the arguments of aggregates into products of one factor per input.

SUM(a.x * b.y * 2)   →   a: a.x * 2, b: b.y          a constant goes to the first alias in alphabetical order
SUM(a.x + b.y)       →   not a product over inputs: computed for every combination
"""

from joinfold.logical.expressions import Call, Expression, conjuncts, inputs_read
from joinfold.types import FLOAT


def factors_by_input(argument: Expression) -> dict[str, Expression] | None:
    """The factors of an argument by alias, each over one input ('' for a constant); None if it is not a product."""
    reads = inputs_read(argument)
    if len(reads) < 2:
        return {next(iter(reads), ""): argument}
    match argument:
        case Call(function="*", arguments=parts) if argument.type != FLOAT and _exact(argument):
            found: dict[str, Expression] = {}
            constants = []
            for part in parts:
                if not inputs_read(part):
                    constants.append(part)
                    continue
                split = factors_by_input(part)
                if split is None:
                    return None
                for alias, factor in split.items():
                    found[alias] = Call("*", (found[alias], factor)) if alias in found else factor
            for constant in constants:
                alias = min(found)
                found[alias] = Call("*", (found[alias], constant))
            return found
        case Call(function="negate", arguments=(inner,)):
            negated = factors_by_input(inner)
            if negated is None:
                return None
            alias = min(negated)
            return {**negated, alias: Call("negate", (negated[alias],))}
        case _:
            return None


def conditions_of(condition: Expression | None) -> tuple[Expression, ...]:
    """The conditions of a FILTER, which must all be true."""
    return () if condition is None else conjuncts(condition)


def _exact(product: Expression) -> bool:
    """Whether a product is the exact product of its factors: not if it is a decimal that Spark rounds."""
    if not product.type.is_decimal or not isinstance(product, Call):
        return True
    scales = [operand.scale or 0 for operand in product.signature.operands]
    return product.type.scale == sum(scales)
