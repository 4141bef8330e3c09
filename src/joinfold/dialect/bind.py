"""Binding: from a parsed query and a catalog to a logical query, or to an error for the first mistake."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from sqlglot import exp

from joinfold.algebra import AGGREGATES, ALIASES
from joinfold.dialect.checks import CHECKS, check_output_names
from joinfold.dialect.expressions import CHAINED_OPERATORS, ExpressionBinder, conjunction, contains_aggregate
from joinfold.dialect.scope import Scope
from joinfold.dialect.shed_checks import bind_shed
from joinfold.dialect.syntax import ParsedInput, ParsedQuery, ParsedUsing
from joinfold.dialect.tokens import Fragment
from joinfold.dialect.windows import partition_span
from joinfold.errors import QueryError, Span, UnknownNameError
from joinfold.logical.expressions import (
    Aggregate,
    AggregateValue,
    Call,
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
    """Resolves every name, finds the type of every expression, and checks that the query has a meaning."""
    try:
        return _bound(parsed, catalog)
    except RecursionError as error:
        raise QueryError("an expression in the query is nested too deeply") from error


def _bound(parsed: ParsedQuery, catalog: Mapping[str, Source]) -> LogicalQuery:
    inputs = _bind_inputs(parsed.inputs, catalog)
    conditions = {"USING": _using_conditions(parsed.using, inputs), "ON": parsed.on, "WHERE": parsed.where}
    scope = Scope(inputs).with_equalities(fragment for fragments in conditions.values() for fragment in fragments)
    where = tuple(
        part
        for clause, fragments in conditions.items()
        for fragment in fragments
        for part in conjuncts(ExpressionBinder(scope, fragment, clause).condition(fragment.tree))
    )
    select = parsed.select or parsed.group_by
    if not select:
        raise QueryError("the query selects nothing", hint="add .select('…') or .agg(name=…).")
    selected = [item for fragment in select for item in _bind_select(scope, fragment)]
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
        over_groups = partial(_over_groups, scope, groups, aggregates)
        selected = [(name, over_groups((fragment,), expression), fragment) for name, expression, fragment in selected]
        if having is not None:
            having = over_groups(parsed.having, having)
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
        shed=bind_shed(parsed, inputs, aggregated),
        options=parsed.options,
    )
    for check in CHECKS:
        check(query, parsed)
    check_output_names(query, [fragment for _, _, fragment in selected])
    return query


def _bind_inputs(parsed: tuple[ParsedInput, ...], catalog: Mapping[str, Source]) -> tuple[Input, ...]:
    inputs: list[Input] = []
    for entry in parsed:
        found = find_name(entry.name, catalog)
        if not found:
            what = f"stream or relation '{entry.name}'"
            raise UnknownNameError(what, entry.name, catalog, entry.span, owner="The session")
        source = catalog[found[0]]
        alias = entry.alias or default_alias(entry.name)
        if any(input_.alias.lower() == alias.lower() for input_ in inputs):
            hint = f"give each its own alias, such as {entry.name} AS {alias}2."
            raise QueryError(f"two inputs are called '{alias}'", entry.alias_span or entry.span, hint)
        if source.is_stream and entry.window is None:
            hint = f"write {entry.name} [10 MINUTE SLIDE 1 MINUTE], [10 MINUTE], [ROWS 100] or [UNBOUNDED]."
            raise QueryError(f"stream '{source.name}' needs a window", entry.span, hint)
        if not source.is_stream and entry.window is not None:
            hint = "leave out the window, or register it as a stream with session.stream."
            raise QueryError(f"relation '{source.name}' cannot have a window", entry.window_span, hint)
        inputs.append(_with_partition_columns(Input(alias, source, entry.window), entry))
    return tuple(inputs)


def _using_conditions(using: tuple[ParsedUsing, ...], inputs: tuple[Input, ...]) -> tuple[Fragment, ...]:
    """The equalities of USING, each with an earlier input. If several have the column, USING has equated them."""
    found: list[Fragment] = []
    equated: dict[str, set[int]] = {}
    for entry in using:
        own = inputs[entry.ordinal]
        earlier = [at for at in range(entry.ordinal) if find_name(entry.column, inputs[at].source.schema.names)]
        for input_, has in ((own, find_name(entry.column, own.source.schema.names)), (inputs[0], earlier)):
            if not has:
                owner = "stream" if input_.source.is_stream else "relation"
                what = f"column '{entry.column}' in {owner} '{input_.source.name}'"
                raise UnknownNameError(what, entry.column, input_.source.schema.names, entry.span)
        known = equated.setdefault(entry.column.lower(), set())
        if len(earlier) > 1 and not known.issuperset(earlier):
            choices = (f"ON {inputs[at].alias}.{entry.column} = {own.alias}.{entry.column}" for at in earlier)
            hint = f"write {' or '.join(choices)}."
            raise QueryError(f"several inputs before '{own.alias}' have a column '{entry.column}'", entry.span, hint)
        known.update({earlier[0], entry.ordinal})
        sides = [exp.column(entry.column, input_.alias, quoted=True) for input_ in (inputs[earlier[0]], own)]
        found.append(Fragment(exp.EQ(this=sides[0], expression=sides[1]), entry.span))
    return tuple(found)


def _with_partition_columns(input_: Input, entry: ParsedInput) -> Input:
    """The input with the columns of PARTITION BY spelled as in the schema of its stream."""
    if not isinstance(input_.window, PartitionedRows):
        return input_
    names = input_.source.schema.names
    spelled = []
    for column in input_.window.by:
        found = find_name(column, names)
        if len(found) != 1:
            what = f"column '{column}' in stream '{input_.source.name}'"
            at = partition_span(entry.window_span, column) if entry.window_span else None
            raise UnknownNameError(what, column, names, at)
        spelled.append(found[0])
    return replace(input_, window=replace(input_.window, by=tuple(spelled)))


def _bind_select(scope: Scope, fragment: Fragment) -> list[tuple[str, Expression, Fragment]]:
    tree = fragment.tree
    if fragment.is_star:
        owner = tree.table if isinstance(tree, exp.Column) else None
        return [(column.name, column, fragment) for column in scope.columns(owner, fragment.span)]
    alias, value = (tree.alias, tree.this) if isinstance(tree, exp.Alias) else ("", tree)
    return [(alias, ExpressionBinder(scope, fragment, "SELECT", aggregates=True).bind(value), fragment)]


def _bind_groups(
    scope: Scope, fragments: tuple[Fragment, ...], selected: list[tuple[str, Expression, Fragment]]
) -> tuple[Expression, ...]:
    """The expressions of GROUP BY; an alias or a position of SELECT is replaced by the expression it names."""
    for position, (name, expression, fragment) in enumerate(selected):
        selected[position] = (name or default_name(expression, position), expression, fragment)
    groups: list[Expression] = []
    for fragment in fragments:
        tree = fragment.tree.unnest()
        by_alias = {name: expression for name, expression, _ in selected} if _is_only_alias(scope, tree) else {}
        group = ExpressionBinder(scope, fragment, "GROUP BY", named=by_alias).bind(tree)
        if isinstance(group, Literal) and isinstance(group.value, int) and group.type.is_integer:
            if not 1 <= group.value <= len(selected):
                hint = f"a number in GROUP BY is a position in the SELECT list, 1 to {len(selected)}."
                raise QueryError(f"SELECT has no column {group.value}", fragment.span, hint)
            group = selected[group.value - 1][1]
        if contains_aggregate(group):
            hint = "group by columns, and put conditions on aggregates in HAVING."
            raise QueryError("an aggregate is not allowed in GROUP BY", fragment.span, hint)
        if group not in groups:
            groups.append(group)
    return tuple(groups)


def _is_only_alias(scope: Scope, tree: exp.Expr) -> bool:
    """Whether a name in GROUP BY can only be an alias: no input has a column of this name."""
    return (
        isinstance(tree, exp.Column)
        and not tree.table
        and not any(find_name(tree.name, input_.source.schema.names) for input_ in scope.inputs)
    )


def _over_groups(
    scope: Scope,
    groups: tuple[Expression, ...],
    aggregates: tuple[Aggregate, ...],
    fragments: tuple[Fragment, ...],
    expression: Expression,
) -> Expression:
    """The expression in terms of group and aggregate values; raises `QueryError` if a plain column is left."""

    def value(node: Expression) -> Expression | None:
        if isinstance(node, Aggregate):
            return AggregateValue(aggregates.index(node), node.type)
        if node in groups:
            return GroupValue(groups.index(node), node.type)
        return within_chain(node) if isinstance(node, Call) and node.function in CHAINED_OPERATORS.values() else None

    def within_chain(chain: Call) -> Expression | None:
        """For x || y || z with x || y grouped: the chain is one call, and the group is a part of its arguments."""
        for index, group in enumerate(groups):
            if isinstance(group, Call) and group.function == chain.function:
                for start in range(len(chain.arguments) - len(group.arguments) + 1):
                    end = start + len(group.arguments)
                    if chain.arguments[start:end] == group.arguments:
                        outside = (*chain.arguments[:start], *chain.arguments[end:])
                        parts = [rewrite(part, value) for part in outside]
                        return Call(chain.function, (*parts[:start], GroupValue(index, group.type), *parts[start:]))
        return None

    result = rewrite(expression, value)
    for node in walk(result):
        if isinstance(node, Column):
            at = next(filter(None, (_place_of(node, fragment) for fragment in fragments)), None)
            text = expression_text(node) if at is None else at.words
            twins = [group for group in groups if isinstance(group, Column) and scope.are_equal(group, node)]
            hint = f"add {text} to GROUP BY, or aggregate it: MAX({text})."
            if twins:
                hint = f"write {expression_text(twins[0])}, which is grouped and equal to it."
            raise QueryError(f"column {text} is neither grouped nor aggregated", at or fragments[0].span, hint)
    return result


def _place_of(column: Column, fragment: Fragment) -> Span | None:
    """Where the fragment names the column outside an aggregate; None if it does not."""
    for node in fragment.tree.find_all(exp.Column):
        call = node.find_ancestor(exp.Anonymous)
        inside = call is not None and str(call.this).lower() in (*AGGREGATES, *ALIASES)
        if not inside and node.name.lower() == column.name.lower() and node.table.lower() in ("", column.input.lower()):
            return fragment.span_of(node)
    return None


def _default_emit(inputs: tuple[Input, ...]) -> Emit:
    return OnSlide() if any(moves(input_.window) for input_ in inputs) else OnTrigger()
