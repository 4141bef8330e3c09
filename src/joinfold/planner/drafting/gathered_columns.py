"""Where each expression is computed: in the frame of the input that it reads, or in the *pair*, for every combination.

a.price + 1        reads one input: Spark computes it, in the frame of a
2                  reads none: computed in the frame of the first input
a.price - b.price  reads several: entries carry a.price and b.price, and the pair computes the difference
"""

from collections.abc import Callable, Sequence

from joinfold.logical.expressions import Column, Expression, inputs_read, rewrite
from joinfold.physical.column_names import pair_column
from joinfold.planner.drafting.factors import factors_by_input
from joinfold.planner.drafting.input_columns import InputColumns
from joinfold.planner.drafting.widening import converted
from joinfold.types import BOOLEAN


class GatheredColumns:
    """The inputs of a query, and the pair. The ordinal of the pair is the number of inputs.

    A query with one stream gets a second input, the constant row.
    """

    def __init__(self, aliases: Sequence[str], written: Callable[[Expression], Expression]) -> None:
        constant = [""] if len(aliases) == 1 else []
        self.inputs = [InputColumns(alias, written) for alias in (*aliases, *constant)]
        self.pair = InputColumns("", lambda expression: written(self._uncarried(expression)))

    @property
    def all(self) -> list[InputColumns]:
        """The inputs, then the pair."""
        return [*self.inputs, self.pair]

    def ordinal_of(self, *expressions: Expression) -> int:
        """The ordinal of the input, or of the pair, that can compute all these expressions."""
        reads = {alias for expression in expressions for alias in inputs_read(expression)}
        if len(reads) > 1:
            return len(self.inputs)
        return next((ordinal for ordinal, own in enumerate(self.inputs) if own.alias in reads), 0)

    def at(self, ordinal: int, expression: Expression) -> Expression:
        """The expression as it is computed there: by an input from its columns, by the pair from carried columns."""
        return expression if ordinal < len(self.inputs) else rewrite(expression, self._carried)

    def guards(self, ordinal: int, where: Sequence[Expression]) -> list[Expression]:
        """The conditions of a FILTER that this input, or the pair, can check before it computes an argument."""
        if ordinal < len(self.inputs):
            return [part for part in where if self.ordinal_of(part) == ordinal]
        guards: list[Expression] = []
        for part in where:
            own = self.ordinal_of(part)
            if own < len(self.inputs):
                carried = self.inputs[own].carry(converted(part, BOOLEAN))
                guards.append(Column(pair_column(own), carried, BOOLEAN))
            else:
                guards.append(self.at(ordinal, part))
        return guards

    def factors_of(self, argument: Expression, factorable: bool = True) -> dict[int, Expression]:
        """The factors of an argument by ordinal, in ascending order.

        An argument that is not ``factorable`` has one factor: at the input that it reads, or at the pair.
        """
        split = factors_by_input(argument) if factorable else None
        if split is None:
            return {self.ordinal_of(argument): argument}
        if "" in split:
            return {0: split[""]}
        return {ordinal: split[own.alias] for ordinal, own in enumerate(self.inputs) if own.alias in split}

    def _carried(self, node: Expression) -> Expression | None:
        if not isinstance(node, Column):
            return None
        own = self.ordinal_of(node)
        return Column(pair_column(own), self.inputs[own].carry(node), node.type)

    def _uncarried(self, expression: Expression) -> Expression:
        """An expression of the pair with carried columns replaced by what they carry. Column names are made of that."""
        carried = {
            (pair_column(ordinal), name): column.expression
            for ordinal, own in enumerate(self.inputs)
            for name, column in own.frame.items()
        }
        return rewrite(
            expression, lambda node: carried.get((node.input, node.name)) if isinstance(node, Column) else None
        )
