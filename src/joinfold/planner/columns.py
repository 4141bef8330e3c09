"""Gathers, for one input, the columns that its frame delivers and the sums and extremes that its entries keep."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from joinfold.algebra import Monomial
from joinfold.errors import QueryError
from joinfold.logical.expressions import Call, Case, Column, Expression, Literal
from joinfold.operators.layout import Extreme, Factor, InputLayout, IntegerSum
from joinfold.planner.widening import converted, widened
from joinfold.types import BIGINT, BOOLEAN, VOID, DataType

T = TypeVar("T")


class InputColumns:
    """The columns of one input, each once; asking for one again gives the same place."""

    def __init__(self, place: int, alias: str) -> None:
        self.place = place
        self.alias = alias
        self.frame: dict[str, Expression] = {}
        self._names: dict[tuple[str, Expression], str] = {}
        self._keys: list[str] = []
        self._classes: list[int] = []
        self._carried: list[str] = []
        self._groups: list[str] = []
        self._factors: dict[str, Factor] = {}
        self._integers: list[IntegerSum] = [IntegerSum(Monomial())]
        self._reals: list[Monomial] = []
        self._extremes: list[Extreme] = []

    def key(self, members: list[Expression], number: int) -> None:
        """A join key of a class, NULL where its members differ."""
        first, *others = members
        if others:
            first = only_where([Call("=", (first, other)) for other in others], first)
        self._keys.append(self._column("k", first))
        self._classes.append(number)

    def group(self, expression: Expression) -> int:
        """A group column: its place."""
        name = self._column("g", expression)
        if name not in self._groups:
            self._groups.append(name)
        return self._groups.index(name)

    def carry(self, expression: Expression) -> str:
        """A value that entries carry, since combinations are told by it: its column."""
        if expression.type.is_nested:
            what = f"no engine runs combinations with a column of type {expression.type} yet"
            raise QueryError(what, hint="take the fields that are needed, in the DataFrame.")
        name = self._column("v", expression)
        if name not in self._carried:
            self._carried.append(name)
        return name

    def number(self, expression: Expression, where: Sequence[Expression]) -> Factor:
        """A number to be summed where all of ``where`` is true; elsewhere it is not computed."""
        wide = _guarded(where, widened(expression))
        name = self._column("x", wide)
        return self._factors.setdefault(name, _numeric_factor(name, wide.type))

    def integer_number(self, expression: Expression, where: Sequence[Expression]) -> Factor:
        """An integer whose bits are counted: in its own type, an error where it does not fit."""
        narrow = _guarded(where, converted(widened(expression), expression.type))
        name = self._column("x", narrow)
        return self._factors.setdefault(name, _numeric_factor(name, narrow.type))

    def truth(self, expression: Expression, where: Sequence[Expression]) -> Factor:
        """A condition that is counted where it is true, and computed where all of ``where`` is."""
        return self.condition(_guarded(where, expression))

    def condition(self, expression: Expression) -> Factor:
        """A condition that rows must fulfil to be counted; NULL has no type of its own, and is not true."""
        name = self._column("c", converted(expression, BOOLEAN))
        return self._factors.setdefault(name, Factor(name, "condition"))

    def order(self, expression: Expression) -> str:
        """A column by which rows of one time are ordered."""
        return self._column("o", expression)

    def presence(self, expression: Expression, where: Sequence[Expression]) -> Factor:
        """The condition that a value is not NULL, where all of ``where`` is true."""
        return self.condition(Call("not", (Call("is null", (_guarded(where, widened(expression)),)),)))

    def integer(self, column: IntegerSum) -> int:
        """The place of an int64 sum."""
        return _place(self._integers, column)

    def real(self, monomial: Monomial) -> int:
        """The place of a double-double sum."""
        return _place(self._reals, monomial)

    def extreme(
        self,
        expression: Expression,
        largest: bool,
        conditions: Iterable[Factor],
        where: Sequence[Expression],
        by: Expression | None = None,
    ) -> int:
        """The place of an extreme, in the order of ``by``; where not all of ``where`` is true it is not computed."""
        names = tuple(factor.name for factor in conditions)
        column, order = (
            None if part is None else self._column("e", _guarded(where, widened(part))) for part in (expression, by)
        )
        assert column is not None
        return _place(self._extremes, Extreme(column, largest, names, order))

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
            tuple(self._classes),
            tuple(self._groups),
            tuple(self._carried),
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


def only_where(conditions: Sequence[Expression], expression: Expression) -> Expression:
    """The expression where all conditions are true, and NULL elsewhere."""
    met = conditions[0] if len(conditions) == 1 else Call("and", tuple(conditions))
    return Case(((met, expression),), Literal(None, VOID), expression.type)


def _guarded(conditions: Sequence[Expression], expression: Expression) -> Expression:
    """The expression, which is not computed where a condition is not true; a column cannot fail and stays shared."""
    return expression if not conditions or isinstance(expression, Column) else only_where(conditions, expression)


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
