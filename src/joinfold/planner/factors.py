"""Arguments of aggregates as products of one value per input.

SUM(a.x * b.y * 2)   →   a: a.x, b: b.y * 2          a constant goes to any input that is there
SUM(a.x + b.y)       →   not a product over inputs: it needs the combinations themselves
"""

from joinfold.errors import QueryError
from joinfold.logical.expressions import Call, Expression, conjuncts, inputs_read
from joinfold.logical.sql import expression_text
from joinfold.types import FLOAT


def factors_by_input(argument: Expression) -> dict[str, Expression]:
    """The argument as a product of expressions over one input each, by alias."""
    reads = inputs_read(argument)
    if len(reads) == 1:
        return {next(iter(reads)): argument}
    match argument:
        case Call(function="*", arguments=parts) if reads and argument.type != FLOAT and _exact(argument):
            found: dict[str, Expression] = {}
            constants = []
            for part in parts:
                if not inputs_read(part):
                    constants.append(part)
                    continue
                for alias, factor in factors_by_input(part).items():
                    found[alias] = Call("*", (found[alias], factor)) if alias in found else factor
            for constant in constants:
                alias = min(found)
                found[alias] = Call("*", (found[alias], constant))
            return found
        case Call(function="negate", arguments=(inner,)) if reads:
            found = factors_by_input(inner)
            alias = min(found)
            return {**found, alias: Call("negate", (found[alias],))}
        case _:
            raise needs_combinations(argument)


def conditions_by_input(condition: Expression | None) -> dict[str, list[Expression]]:
    """A FILTER as conditions on single inputs, all of which must be true."""
    found: dict[str, list[Expression]] = {}
    for part in conjuncts(condition) if condition is not None else ():
        reads = inputs_read(part)
        if len(reads) != 1:
            raise needs_combinations(part)
        found.setdefault(next(iter(reads)), []).append(part)
    return found


def needs_combinations(expression: Expression) -> QueryError:
    """Refuses what cannot be computed from sums of each input."""
    return QueryError(
        f"{expression_text(expression)} has to see each combination of rows, and no engine runs that yet",
        hint="products of values of single inputs can be aggregated, such as SUM(a.x * b.y).",
    )


def _exact(product: Expression) -> bool:
    """A decimal product that Spark rounds is not the product of its factors."""
    if not product.type.is_decimal or not isinstance(product, Call):
        return True
    scales = [operand.scale or 0 for operand in product.signature.operands]
    return product.type.scale == sum(scales)
