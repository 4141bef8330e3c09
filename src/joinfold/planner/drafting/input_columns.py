"""Gathers, for one input, the columns of its frame and the sums and extremes that its entries keep.

A column is named after what it computes. So the same expression always gets the same column, as a key and as a group.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from joinfold.algebra import Monomial
from joinfold.errors import QueryError
from joinfold.logical.expressions import Call, Case, Column, Expression, Literal
from joinfold.physical.column_names import Role, column_name
from joinfold.physical.payload import LIMB_BITS, Extreme, Factor, InputSpec, IntegerSum, RealSum, Sums
from joinfold.physical.plan import FrameColumn
from joinfold.physical.source import InputSource
from joinfold.planner.drafting.widening import converted, widened
from joinfold.types import BIGINT, BOOLEAN, VOID, DataType

T = TypeVar("T")


class InputColumns:
    """The columns of one input, or of the pair. ``written`` gives an expression as it is written in the query."""

    def __init__(self, alias: str, written: Callable[[Expression], Expression]) -> None:
        self.alias = alias
        self.frame: dict[str, FrameColumn] = {}
        self._written = written
        self._keys: list[str] = []
        self._classes: list[int] = []
        self._carried: list[str] = []
        self._groups: list[str] = []
        self._order: list[str] = []
        self._factors: dict[str, Factor] = {}
        self._integers: list[IntegerSum] = [IntegerSum()]
        self._reals: list[RealSum] = []
        self._extremes: list[Extreme] = []

    def key(self, members: Sequence[Expression], number: int) -> None:
        """Adds the join key of key class ``number``, made of the expressions of this input in it.

        The key is NULL if they differ.
        """
        first, *others = members
        if others:
            first = only_where([Call("=", (first, other)) for other in others], first)
        self._keys.append(self._column(first))
        self._classes.append(number)

    def group(self, expression: Expression) -> str:
        """Adds a column to group by; returns its name."""
        return _once(self._groups, self._column(expression))

    def carry(self, expression: Expression) -> str:
        """Adds a column that entries carry because combinations are computed from it; returns its name."""
        if expression.type.is_nested:
            what = f"no engine runs joins that read a column of type {expression.type} yet"
            raise QueryError(what, hint="select the fields that you need in the DataFrame that you register.")
        return _once(self._carried, self._column(expression))

    def order(self, expression: Expression) -> str:
        """Adds a column that orders rows of the same time; returns its name."""
        return _once(self._order, self._column(expression, "order"))

    def number(self, expression: Expression, where: Sequence[Expression]) -> Factor:
        """Adds a number to sum. It is computed only for rows where all of ``where`` is true."""
        wide = _guarded(where, widened(expression))
        name = self._column(wide, "argument")
        return self._factors.setdefault(name, _numeric_factor(name, wide.type))

    def integer_number(self, expression: Expression, where: Sequence[Expression]) -> Factor:
        """Adds an integer whose bits are counted. It keeps its own type, so a value that does not fit is an error."""
        narrow = _guarded(where, converted(widened(expression), expression.type))
        name = self._column(narrow, "argument")
        return self._factors.setdefault(name, _numeric_factor(name, narrow.type))

    def truth(self, expression: Expression, where: Sequence[Expression]) -> Factor:
        """Adds a condition to count. It is computed only for rows where all of ``where`` is true."""
        return self.condition(_guarded(where, expression))

    def condition(self, expression: Expression) -> Factor:
        """Adds a condition that must be true for a row to be counted. NULL is not true."""
        name = self._column(converted(expression, BOOLEAN), "argument")
        return self._factors.setdefault(name, Factor(name, "condition"))

    def presence(self, expression: Expression, where: Sequence[Expression]) -> Factor:
        """Adds the condition that a value is not NULL. It is computed only where all of ``where`` is true."""
        return self.condition(Call("not", (Call("is null", (_guarded(where, widened(expression)),)),)))

    def integer(self, column: IntegerSum) -> int:
        """Adds an int64 sum; returns its number."""
        return _number(self._integers, column)

    def real(self, column: RealSum) -> int:
        """Adds a double-double sum; returns its number."""
        return _number(self._reals, column)

    def extreme(
        self,
        expression: Expression,
        largest: bool,
        conditions: Iterable[Factor],
        where: Sequence[Expression],
        by: Expression | None = None,
    ) -> int:
        """Adds an extreme, in the order of ``by`` if given; returns its number.

        It is computed only for rows where all of ``where`` is true.
        """
        names = tuple(factor.name for factor in conditions)
        column = self._column(_guarded(where, widened(expression)), "argument")
        order = None if by is None else self._column(_guarded(where, widened(by)), "argument")
        return _number(self._extremes, Extreme(column, largest, names, order))

    def part(self, monomial: Monomial) -> Monomial:
        """The part of a monomial that has the factors of this input."""
        return Monomial(tuple(power for power in monomial.powers if power[0] in self._factors))

    def factor(self, name: str) -> Factor | None:
        """The factor of this name, None if this input has none."""
        return self._factors.get(name)

    def sums(self) -> Sums:
        """Everything gathered for the pair."""
        return Sums(
            groups=tuple(self._groups),
            factors=tuple(self._factors.values()),
            integers=tuple(self._integers),
            reals=tuple(self._reals),
            extremes=tuple(self._extremes),
        )

    def spec(self, source: InputSource, open_ended: bool = False) -> InputSpec:
        """Everything gathered for an input."""
        return InputSpec(
            name=self.alias,
            source=source,
            keys=tuple(self._keys),
            classes=tuple(self._classes),
            groups=tuple(self._groups),
            carried=tuple(self._carried),
            order=tuple(self._order),
            factors=tuple(self._factors.values()),
            integers=tuple(self._integers),
            reals=tuple(self._reals),
            extremes=tuple(self._extremes),
            open_ended=open_ended,
        )

    def _column(self, expression: Expression, role: Role = "value") -> str:
        name = column_name(self._written(expression), role)
        self.frame.setdefault(name, FrameColumn(name, expression, role))
        return name


def only_where(conditions: Sequence[Expression], expression: Expression) -> Expression:
    """The expression where all conditions are true, and otherwise NULL."""
    met = conditions[0] if len(conditions) == 1 else Call("and", tuple(conditions))
    return Case(((met, expression),), Literal(None, VOID), expression.type)


def _guarded(conditions: Sequence[Expression], expression: Expression) -> Expression:
    """The expression, computed only where all conditions are true.

    A plain column cannot fail, so it stays as it is and can be shared.
    """
    return expression if not conditions or isinstance(expression, Column) else only_where(conditions, expression)


def _number(items: list[T], item: T) -> int:
    if item not in items:
        items.append(item)
    return items.index(item)


def _once(items: list[T], item: T) -> T:
    return items[_number(items, item)]


def _numeric_factor(name: str, type_: DataType) -> Factor:
    if type_.is_floating:
        return Factor(name, "floating")
    if type_.is_decimal:
        assert type_.precision is not None
        bits = (10**type_.precision).bit_length() + 1
        return Factor(name, "decimal", -(-bits // LIMB_BITS))
    return Factor(name, "integer", 2 if type_ == BIGINT else 1)
