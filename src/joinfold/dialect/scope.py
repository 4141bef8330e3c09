"""Name resolution: which input and which column a name in the query means.

If several inputs have a column, its unqualified name is accepted only if WHERE makes these columns equal. It then means
the column of the first of these inputs in FROM. Case does not matter, as in Spark.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from joinfold.dialect.refusals import CLOCKS, INSTEAD_OF_CLOCK, NO_CLOCK
from joinfold.dialect.tokens import Fragment
from joinfold.errors import QueryError, Span, UnknownNameError, suggestion
from joinfold.logical.expressions import Column
from joinfold.logical.query import Input
from joinfold.names import find_name


@dataclass(frozen=True, slots=True)
class Scope:
    """The inputs of a query, and the sets of columns that WHERE makes equal."""

    inputs: tuple[Input, ...]
    equal_columns: tuple[frozenset[tuple[str, str]], ...] = ()

    def with_equalities(self, where: Iterable[Fragment]) -> "Scope":
        """The scope with the sets of qualified columns that conjuncts ``x.a = y.b`` of WHERE make equal."""
        classes: list[set[tuple[str, str]]] = []
        for fragment in where:
            for left, right in _equated_columns(fragment):
                columns = [self.column(side, fragment) for side in (left, right)]
                pair = {(column.input, column.name) for column in columns}
                touched = [found for found in classes if found & pair]
                classes = [found for found in classes if not found & pair] + [pair.union(*touched)]
        return Scope(self.inputs, tuple(frozenset(found) for found in classes))

    def input(self, alias: str, at: Span) -> Input:
        """The input with this alias."""
        aliases = [input_.alias for input_ in self.inputs]
        found = find_name(alias, aliases)
        if not found:
            hidden = [input_ for input_ in self.inputs if input_.source.name.lower() == alias.lower()]
            if hidden:
                hint = f"'{hidden[0].source.name}' is called '{hidden[0].alias}' in this query."
                raise QueryError(f"unknown input '{alias}'", at, hint)
            raise UnknownNameError(f"input '{alias}'", alias, aliases, at, owner="The query")
        return next(input_ for input_ in self.inputs if input_.alias == found[0])

    def column(self, node: exp.Column, fragment: Fragment) -> Column:
        """The column that a name in the fragment means; the name may be qualified."""
        at = fragment.span_of(node)
        qualifiers = [part.name for part in node.parts[:-1]]
        if len(qualifiers) > 1:
            hint = "a column is written alias.column; select nested fields before registering the stream."
            raise QueryError(f"'{'.'.join([*qualifiers, node.name])}' has too many parts", at, hint)
        if qualifiers:
            input_ = self.input(qualifiers[0], fragment.span_of(node.parts[0]))
            kind = "stream" if input_.source.is_stream else "relation"
            return self._column_of(input_, node.name, at, f"column '{node.name}' in {kind} '{input_.source.name}'")
        holders = [input_ for input_ in self.inputs if find_name(node.name, input_.source.schema.names)]
        if not holders:
            return self._unknown_anywhere(node.name, at)
        columns = [self._column_of(input_, node.name, at, node.name) for input_ in holders]
        keys = {(column.input, column.name) for column in columns}
        if len(columns) > 1 and not any(keys <= found for found in self.equal_columns):
            choices = " or ".join(f"{column.input}.{column.name}" for column in columns)
            hint = f"write {choices}, or make them equal in WHERE."
            raise QueryError(f"column '{node.name}' is ambiguous", at, hint)
        return columns[0]

    def are_equal(self, left: Column, right: Column) -> bool:
        """Whether WHERE makes two columns equal."""
        pair = {(left.input, left.name), (right.input, right.name)}
        return any(pair <= found for found in self.equal_columns)

    def columns(self, alias: str | None, at: Span) -> list[Column]:
        """All columns of one input, or of all inputs if ``alias`` is None."""
        inputs = self.inputs if alias is None else (self.input(alias, at),)
        return [Column(input_.alias, field.name, field.type) for input_ in inputs for field in input_.source.schema]

    def _column_of(self, input_: Input, name: str, at: Span, what: str) -> Column:
        found = find_name(name, input_.source.schema.names)
        if not found:
            raise UnknownNameError(what, name, input_.source.schema.names, at)
        if len(found) > 1:
            hint = f"spell it as one of: {', '.join(found)}."
            raise QueryError(f"column '{name}' of '{input_.alias}' is ambiguous", at, hint)
        return Column(input_.alias, found[0], input_.source.schema.type_of(found[0]))

    def _unknown_anywhere(self, name: str, at: Span) -> Column:
        if name.upper() in CLOCKS:
            raise QueryError(NO_CLOCK, at, INSTEAD_OF_CLOCK)
        if any(input_.alias.lower() == name.lower() for input_ in self.inputs):
            raise QueryError(f"'{name}' is an input, not a column", at, f"write {name}.column.")
        columns = self.columns(None, at)
        if len(self.inputs) == 1:
            raise UnknownNameError(f"column '{name}'", name, [column.name for column in columns], at, owner="The query")
        near = suggestion(name, [column.name for column in columns])
        best = next((f"{column.input}.{column.name}" for column in columns if column.name == near), name)
        written = [f"{column.input}.{column.name}" for column in columns]
        raise UnknownNameError(f"column '{name}'", best, written, at, owner="The query")


def _equated_columns(fragment: Fragment) -> list[tuple[exp.Column, exp.Column]]:
    found = []
    open_nodes: list[exp.Expr] = [fragment.tree]
    while open_nodes:
        node = open_nodes.pop(0).unnest()
        if isinstance(node, exp.And):
            open_nodes += [node.left, node.right]
        elif isinstance(node, exp.EQ):
            left, right = node.left.unnest(), node.right.unnest()
            if isinstance(left, exp.Column) and isinstance(right, exp.Column) and left.table and right.table:
                found.append((left, right))
    return found
