"""Gathers, for one input, the columns that its frame delivers and the sums and extremes that its entries keep."""

from collections.abc import Iterable
from typing import TypeVar

from joinfold.algebra import Monomial
from joinfold.logical.expressions import Call, Case, Cast, Expression, Literal, rewrite
from joinfold.operators.layout import Extreme, Factor, InputLayout, IntegerSum
from joinfold.types import BIGINT, BOOLEAN, VOID, DataType

T = TypeVar("T")

_WIDENED = ("+", "-", "*", "negate", "abs")


class InputColumns:
    """The columns of one input, each once; asking for one again gives the same place."""

    def __init__(self, place: int, alias: str) -> None:
        self.place = place
        self.alias = alias
        self.frame: dict[str, Expression] = {}
        self._names: dict[tuple[str, Expression], str] = {}
        self._keys: list[str] = []
        self._groups: list[str] = []
        self._factors: dict[str, Factor] = {}
        self._integers: list[IntegerSum] = [IntegerSum(Monomial())]
        self._reals: list[Monomial] = []
        self._extremes: list[Extreme] = []

    def key(self, members: list[Expression]) -> None:
        """A join key, NULL where its members differ; the other input has one in the same place."""
        first, *others = members
        if others:
            same = [Call("=", (first, other)) for other in others]
            alike = same[0] if len(same) == 1 else Call("and", tuple(same))
            first = Case(((alike, first),), Literal(None, VOID), first.type)
        self._keys.append(self._column("k", first))

    def group(self, expression: Expression) -> int:
        """A group column: its place."""
        name = self._column("g", expression)
        if name not in self._groups:
            self._groups.append(name)
        return self._groups.index(name)

    def number(self, expression: Expression) -> Factor:
        """A number to be summed; integers are computed wide enough not to overflow on the way."""
        widened = _widened(expression)
        name = self._column("x", widened)
        if name not in self._factors:
            self._factors[name] = _numeric_factor(name, widened.type)
        return self._factors[name]

    def condition(self, expression: Expression) -> Factor:
        """A condition that rows must fulfil to be counted."""
        assert expression.type == BOOLEAN
        name = self._column("c", expression)
        return self._factors.setdefault(name, Factor(name, "condition"))

    def order(self, expression: Expression) -> None:
        """A column by which rows of one time are ordered."""
        self._column("o", expression)

    def presence(self, expression: Expression) -> Factor:
        """The condition that a value is not NULL."""
        return self.condition(Call("not", (Call("is null", (expression,)),)))

    def integer(self, column: IntegerSum) -> int:
        """The place of an int64 sum."""
        return _place(self._integers, column)

    def real(self, monomial: Monomial) -> int:
        """The place of a double-double sum."""
        return _place(self._reals, monomial)

    def extreme(self, expression: Expression, largest: bool, conditions: Iterable[Factor]) -> int:
        """The place of an extreme."""
        column = self._column("e", expression)
        return _place(self._extremes, Extreme(column, largest, tuple(factor.name for factor in conditions)))

    def part(self, monomial: Monomial) -> Monomial:
        """The part of a monomial that is made of this input's factors."""
        return Monomial(tuple(power for power in monomial.powers if power[0] in self._factors))

    def factor(self, name: str) -> Factor | None:
        """A factor by its name, if it is of this input."""
        return self._factors.get(name)

    def layout(self) -> InputLayout:
        """What was gathered."""
        return InputLayout(
            tuple(self._keys),
            tuple(self._groups),
            tuple(self._factors.values()),
            tuple(self._integers),
            tuple(self._reals),
            tuple(self._extremes),
        )

    def _column(self, prefix: str, expression: Expression) -> str:
        """The frame's name for an expression, unique over the inputs since it carries the place."""
        wanted = (prefix, expression)
        if wanted not in self._names:
            self._names[wanted] = f"{prefix}{self.place}_{len(self._names)}"
            self.frame[self._names[wanted]] = expression
        return self._names[wanted]


def converted(expression: Expression, type_: DataType) -> Expression:
    """The expression in another type."""
    return expression if expression.type == type_ else Cast(expression, type_)


def _place(items: list[T], item: T) -> int:
    if item not in items:
        items.append(item)
    return items.index(item)


def _numeric_factor(name: str, type_: DataType) -> Factor:
    if type_.is_floating:
        return Factor(name, "floating")
    if type_.is_decimal:
        assert type_.precision is not None
        bits = (10**type_.precision).bit_length() + 1
        return Factor(name, "decimal", -(-bits // 32))
    return Factor(name, "integer", 2 if type_ == BIGINT else 1)


def _widened(expression: Expression) -> Expression:
    """The expression with its INT and smaller arithmetic done in BIGINT."""

    def widen(node: Expression) -> Expression | None:
        if isinstance(node, Call) and node.function in _WIDENED and node.type.is_integer and node.type != BIGINT:
            first, *rest = (_widened(argument) for argument in node.arguments)
            return Call(node.function, (Cast(first, BIGINT), *rest))
        return None

    return rewrite(expression, widen)
