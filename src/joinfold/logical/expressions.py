"""Expressions: what a query computes from one row of each input, and from aggregates over combinations of rows.

Every node is frozen, has a type and prints as canonical SQL (`logical.sql`). Operators and functions are one kind of
node, `Call`, defined by an entry of `logical.functions`. Arguments keep the types they were written with; an evaluator
converts them to the operand types of the call's signature.
"""

import datetime
import decimal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from joinfold.algebra import AGGREGATES
from joinfold.logical.functions import FUNCTIONS, Signature
from joinfold.types import BOOLEAN, TIMESTAMP, DataType

_CALENDAR = ("year", "month", "day", "hour", "minute", "second", "date_trunc")

Value = None | bool | int | float | decimal.Decimal | str | bytes | datetime.date


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an input; ``input`` is the input's alias."""

    input: str
    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. The values of timestamps and intervals are integer microseconds."""

    value: Value
    type: DataType


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or function applied to its arguments."""

    function: str
    arguments: tuple["Expression", ...]

    def __post_init__(self) -> None:
        assert FUNCTIONS[self.function].signature(self._types) is not None, self

    @property
    def _types(self) -> tuple[DataType, ...]:
        return tuple(argument.type for argument in self.arguments)

    @property
    def signature(self) -> Signature:
        """The operand types to which the arguments are converted, and the type of the result."""
        found = FUNCTIONS[self.function].signature(self._types)
        assert found is not None
        return found

    @property
    def type(self) -> DataType:
        """The type of the result."""
        return self.signature.result


@dataclass(frozen=True, slots=True)
class Cast:
    """CAST(argument AS type)."""

    argument: "Expression"
    type: DataType


@dataclass(frozen=True, slots=True)
class Case:
    """CASE WHEN … THEN … ELSE … END; all its values are converted to ``type``."""

    branches: tuple[tuple["Expression", "Expression"], ...]
    otherwise: "Expression"
    type: DataType

    def __post_init__(self) -> None:
        assert self.branches and all(condition.type == BOOLEAN for condition, _ in self.branches)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate over the combinations of a group for which ``condition`` (FILTER) is true; None: over all."""

    function: str
    arguments: tuple["Expression", ...]
    condition: "Expression | None" = None

    def __post_init__(self) -> None:
        assert AGGREGATES[self.function].accepts(tuple(argument.type for argument in self.arguments)), self

    @property
    def type(self) -> DataType:
        """The type of the aggregated value."""
        return AGGREGATES[self.function].result_type(tuple(argument.type for argument in self.arguments))

    @property
    def is_rounded(self) -> bool:
        """Whether it may have a rounding error: a statistic, or a sum of floating numbers."""
        entry = AGGREGATES[self.function]
        if entry.extremum is not None:
            return False
        numbers = [own for place, own in enumerate(self.arguments) if entry.is_number(place)]
        return bool(numbers) and (not entry.is_exact or any(own.type.is_floating for own in numbers))


@dataclass(frozen=True, slots=True)
class GroupValue:
    """The value of the query's GROUP BY expression number ``index``."""

    index: int
    type: DataType


@dataclass(frozen=True, slots=True)
class AggregateValue:
    """The value of the query's aggregate number ``index``."""

    index: int
    type: DataType


Expression = Column | Literal | Call | Cast | Case | Aggregate | GroupValue | AggregateValue


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct sub-expressions, in written order."""
    match expression:
        case Call(arguments=arguments):
            return arguments
        case Cast(argument=argument):
            return (argument,)
        case Case(branches=branches, otherwise=otherwise):
            return (*(part for branch in branches for part in branch), otherwise)
        case Aggregate(arguments=arguments, condition=condition):
            return arguments if condition is None else (*arguments, condition)
        case _:
            return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and all its sub-expressions, outermost first."""
    yield expression
    for child in children(expression):
        yield from walk(child)


def rewrite(expression: Expression, change: Callable[[Expression], Expression | None]) -> Expression:
    """Replaces the outermost sub-expressions for which ``change`` returns an expression; None leaves one as it is."""
    changed = change(expression)
    if changed is not None:
        return changed
    match expression:
        case Call(arguments=arguments):
            return replace(expression, arguments=tuple(rewrite(argument, change) for argument in arguments))
        case Cast(argument=argument):
            return replace(expression, argument=rewrite(argument, change))
        case Case(branches=branches, otherwise=otherwise):
            return replace(
                expression,
                branches=tuple((rewrite(when, change), rewrite(then, change)) for when, then in branches),
                otherwise=rewrite(otherwise, change),
            )
        case Aggregate(arguments=arguments, condition=condition):
            return replace(
                expression,
                arguments=tuple(rewrite(argument, change) for argument in arguments),
                condition=None if condition is None else rewrite(condition, change),
            )
        case _:
            return expression


def inputs_read(expression: Expression) -> frozenset[str]:
    """The aliases of the inputs whose columns the expression reads."""
    return frozenset(node.input for node in walk(expression) if isinstance(node, Column))


def reads_zone(expression: Expression) -> bool:
    """Whether the value depends on the time zone.

    It does for calendar functions of a TIMESTAMP, casts between TIMESTAMP and other types, and TIMESTAMP ± interval.
    """

    def depends(node: Expression) -> bool:
        match node:
            case Call(function=function, arguments=arguments):
                reads = function in _CALENDAR and any(argument.type == TIMESTAMP for argument in arguments)
                return reads or (function in ("+", "-") and node.type == TIMESTAMP)
            case Cast(argument=argument, type=type_):
                return (argument.type == TIMESTAMP) != (type_ == TIMESTAMP)
            case _:
                return False

    return any(map(depends, walk(expression)))


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """The parts of a conjunction (AND); another expression is its only part."""
    match expression:
        case Call(function="and", arguments=arguments):
            return tuple(part for argument in arguments for part in conjuncts(argument))
        case _:
            return (expression,)
