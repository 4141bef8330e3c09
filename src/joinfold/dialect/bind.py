"""Binding: from a parsed query and a catalog to a logical query, or the first thing that is wrong with it."""

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from joinfold.dialect.checks import CHECKS
from joinfold.dialect.expressions import ExpressionBinder, conjunction, contains_aggregate
from joinfold.dialect.scope import Scope
from joinfold.dialect.syntax import ParsedInput, ParsedQuery
from joinfold.dialect.tokens import Fragment
from joinfold.errors import QueryError, UnknownNameError
from joinfold.logical.expressions import (
    Aggregate,
    AggregateValue,
    Column,
    Expression,
    GroupValue,
    Literal,
    conjuncts,
    rewrite,
    walk,
)
from joinfold.logical.query import (
    Emit,
    Input,
    LogicalQuery,
    OnSlide,
    OnTime,
    OnTrigger,
    OnWindowId,
    Output,
    Source,
    moves,
)
from joinfold.logical.sql import default_alias, default_name, expression_text
from joinfold.names import find_name
from joinfold.window import PartitionedRows


def bind(parsed: ParsedQuery, catalog: Mapping[str, Source]) -> LogicalQuery:
    """Resolves every name, types every expression, and checks that the query has a meaning."""
    inputs = _bind_inputs(parsed.inputs, catalog)
    scope = Scope(inputs).with_equalities(parsed.where)
    where = tuple(
        part
        for fragment in parsed.where
        for part in conjuncts(ExpressionBinder(scope, fragment, "WHERE").condition(fragment.tree))
    )
    selected = [item for fragment in parsed.select for item in _bind_select(scope, fragment)]
    named = {name: expression for name, expression, _ in selected}
    groups = _bind_groups(scope, parsed.group_by, selected)
    having = conjunction(
        tuple(
            ExpressionBinder(scope, fragment, "HAVING", aggregates=True, named=named).condition(fragment.tree)
            for fragment in parsed.having
        )
    )
    aggregated = bool(groups) or having is not None or any(contains_aggregate(item) for _, item, _ in selected)
    aggregates: tuple[Aggregate, ...] = ()
    if aggregated:
        written = [expression for _, expression, _ in selected] + ([having] if having is not None else [])
        found = [node for expression in written for node in walk(expression) if isinstance(node, Aggregate)]
        aggregates = tuple(dict.fromkeys(found))
        selected = [
            (name, _over_groups(expression, groups, aggregates, fragment), fragment)
            for name, expression, fragment in selected
        ]
        if having is not None:
            having = _over_groups(having, groups, aggregates, parsed.having[0])
    sync = parsed.sync or OnTime()
    query = LogicalQuery(
        inputs=inputs,
        where=where,
        groups=groups,
        aggregates=aggregates,
        outputs=tuple(Output(name, expression) for name, expression, _ in selected),
        having=having,
        emit=None if not aggregated or isinstance(sync, OnWindowId) else parsed.emit or _default_emit(inputs),
        changes=bool(parsed.changes),
        sync=sync,
        options=parsed.options,
    )
    for check in CHECKS:
        check(query, parsed)
    return query


def _bind_inputs(parsed: tuple[ParsedInput, ...], catalog: Mapping[str, Source]) -> tuple[Input, ...]:
    inputs: list[Input] = []
    for entry in parsed:
        found = find_name(entry.name, catalog)
        if not found:
            raise UnknownNameError(f"stream '{entry.name}'", entry.name, catalog, entry.span, owner="The session")
        source = catalog[found[0]]
        alias = entry.alias or default_alias(entry.name)
        if any(input_.alias.lower() == alias.lower() for input_ in inputs):
            hint = f"give each its own: {entry.name} AS {alias}2."
            raise QueryError(f"two inputs are called '{alias}'", entry.span, hint)
        if source.is_stream and entry.window is None:
            hint = f"write {entry.name} [10 MINUTE SLIDE 1 MINUTE], [10 MINUTE], [ROWS 100] or [UNBOUNDED]."
            raise QueryError(f"stream '{source.name}' needs a window", entry.span, hint)
        if not source.is_stream and entry.window is not None:
            hint = "a relation is the same at every instant; register it with session.stream to give it time."
            raise QueryError(f"relation '{source.name}' takes no window", entry.window_span, hint)
        inputs.append(_with_partition_columns(Input(alias, source, entry.window), entry))
    return tuple(inputs)


def _with_partition_columns(input_: Input, entry: ParsedInput) -> Input:
    """PARTITION BY names columns of its own stream, spelled as the schema has them."""
    if not isinstance(input_.window, PartitionedRows):
        return input_
    names = input_.source.schema.names
    spelled = []
    for column in input_.window.by:
        found = find_name(column, names)
        if len(found) != 1:
            what = f"column '{column}' in stream '{input_.source.name}'"
            raise UnknownNameError(what, column, names, entry.window_span)
        spelled.append(found[0])
    return replace(input_, window=replace(input_.window, by=tuple(spelled)))


def _bind_select(scope: Scope, fragment: Fragment) -> list[tuple[str, Expression, Fragment]]:
    tree = fragment.tree.unnest()
    alias = tree.alias if isinstance(tree, exp.Alias) else None
    value = tree.this if isinstance(tree, exp.Alias) else tree
    if isinstance(value, exp.Star) or (isinstance(value, exp.Column) and isinstance(value.this, exp.Star)):
        owner = value.table if isinstance(value, exp.Column) else None
        return [(column.name, column, fragment) for column in scope.columns(owner, fragment.span)]
    expression = ExpressionBinder(scope, fragment, "SELECT", aggregates=True).bind(value)
    return [(alias or "", expression, fragment)]


def _bind_groups(
    scope: Scope, fragments: tuple[Fragment, ...], selected: list[tuple[str, Expression, Fragment]]
) -> tuple[Expression, ...]:
    """GROUP BY: expressions over columns; an alias or a position of SELECT stands for what it names."""
    for position, (name, expression, fragment) in enumerate(selected):
        selected[position] = (name or default_name(expression, position), expression, fragment)
    groups: list[Expression] = []
    for fragment in fragments:
        tree = fragment.tree.unnest()
        by_alias = {name: expression for name, expression, _ in selected} if _is_only_alias(scope, tree) else {}
        group = ExpressionBinder(scope, fragment, "GROUP BY", named=by_alias).bind(tree)
        if isinstance(group, Literal) and isinstance(group.value, int):
            if not 1 <= group.value <= len(selected):
                raise QueryError(f"SELECT has no column {group.value}", fragment.span)
            group = selected[group.value - 1][1]
        if contains_aggregate(group):
            raise QueryError("an aggregate cannot stand in GROUP BY", fragment.span)
        if group not in groups:
            groups.append(group)
    return tuple(groups)


def _is_only_alias(scope: Scope, tree: exp.Expr) -> bool:
    """In GROUP BY a column goes before an alias of the same name."""
    return (
        isinstance(tree, exp.Column)
        and not tree.table
        and not any(find_name(tree.name, input_.source.schema.names) for input_ in scope.inputs)
    )


def _over_groups(
    expression: Expression,
    groups: tuple[Expression, ...],
    aggregates: tuple[Aggregate, ...],
    fragment: Fragment,
) -> Expression:
    """The expression over group and aggregate values; a column that is left belongs to no single row."""

    def value(node: Expression) -> Expression | None:
        if isinstance(node, Aggregate):
            return AggregateValue(aggregates.index(node), node.type)
        return GroupValue(groups.index(node), node.type) if node in groups else None

    result = rewrite(expression, value)
    for node in walk(result):
        if isinstance(node, Column):
            text = expression_text(node)
            hint = f"add {text} to GROUP BY, or aggregate it: MAX({text})."
            raise QueryError(f"column {text} is neither grouped nor aggregated", fragment.span, hint)
    return result


def _default_emit(inputs: tuple[Input, ...]) -> Emit:
    return OnSlide() if any(moves(input_.window) for input_ in inputs) else OnTrigger()
