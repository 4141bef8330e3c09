"""The places at which values are computed: the inputs, and behind them the pair, for what reads several inputs."""

from collections.abc import Iterator, Sequence

from joinfold.logical.expressions import Column, Expression, inputs_read, rewrite
from joinfold.planner.columns import InputColumns
from joinfold.planner.widening import converted
from joinfold.types import BOOLEAN

PAIR = "\0pair"  # what is computed for every combination


class Places:
    """The columns of all inputs and of the pair, on the way to a layout."""

    def __init__(self, aliases: Sequence[str]) -> None:
        self.inputs = [InputColumns(place, alias) for place, alias in enumerate(aliases)]
        self.pair = InputColumns(len(aliases), PAIR)

    def __iter__(self) -> Iterator[InputColumns]:
        return iter((*self.inputs, self.pair))

    def __len__(self) -> int:
        return len(self.inputs) + 1

    def __getitem__(self, place: int) -> InputColumns:
        return (*self.inputs, self.pair)[place]

    def of(self, *expressions: Expression) -> int:
        """Where expressions are computed together: the input that they read, the first for a constant, or the pair."""
        reads = {alias for expression in expressions for alias in inputs_read(expression)}
        if len(reads) > 1:
            return len(self.inputs)
        return next((place for place, side in enumerate(self.inputs) if side.alias in reads), 0)

    def at(self, place: int, expression: Expression) -> Expression:
        """The expression as a place computes it: the pair from carried columns, an input from its own."""
        if place < len(self.inputs):
            return expression

        def carried(node: Expression) -> Expression | None:
            if not isinstance(node, Column):
                return None
            own = self.of(node)
            return Column(str(own), self.inputs[own].carry(node), node.type)

        return rewrite(expression, carried)

    def guards(self, place: int, where: tuple[Expression, ...]) -> list[Expression]:
        """The conditions of a FILTER that a place knows: it computes an argument only where they are true."""
        if place < len(self.inputs):
            return [part for part in where if self.of(part) == place]
        guards: list[Expression] = []
        for part in where:
            own = self.of(part)
            if own < len(self.inputs):
                guards.append(Column(str(own), self.inputs[own].carry(converted(part, BOOLEAN)), BOOLEAN))
            else:
                guards.append(self.at(place, part))
        return guards
