"""Joins relations to a stream before PACK, so that the rest of the planner sees only streams.

A relation is the same at every instant. So a row of a stream is joined with its rows of the relation when it arrives.
Each match is one row, which stays in the window as long as the row of the stream:

    FROM  auction a […], bid b […], person p        FROM  auction a […], bid b […]
    WHERE a.seller = p.id AND p.state = 'OR'   ──▶        a is joined with p before PACK
      AND a.id = b.auction                          WHERE a.id = b.auction
      AND b.price > p.most                            AND b.price > a."p.most"

Relations that are connected by conditions are joined to one stream together, their *home*. It is the first stream with
an equality to one of them, or else the first that shares any condition with them. Conditions that read only the home
and its relations are checked there. Every other expression reads the relations' columns as if they were columns of the
home.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from joinfold.logical.expressions import Call, Column, Expression, inputs_read, rewrite
from joinfold.logical.query import LogicalQuery
from joinfold.physical.plan import Attachment, Equality
from joinfold.planner.drafting.widening import converted

Node = TypeVar("Node", bound=Expression)


@dataclass(frozen=True, slots=True)
class Homes:
    """A query over streams alone, and the relations that are joined to each stream before PACK.

    ``matching`` has, for each home, the conditions that read it together with its relations and are not checked by an
    attachment.
    """

    query: LogicalQuery
    attached: dict[str, tuple[Attachment, ...]]
    matching: dict[str, tuple[Expression, ...]]

    def written(self, expression: Node) -> Node:
        """The expression as it was written in the query, with the columns of relations under their own alias."""
        return rewrite(expression, _as_written) if self.attached else expression  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class _Borrowed(Column):
    """A column of a relation, read as if it were a column of the home; ``written`` is the column itself."""

    written: Column


def with_homes(query: LogicalQuery) -> Homes:
    """The query over streams alone, with a home for every relation."""
    relations = [input_.alias for input_ in query.inputs if input_.window is None]
    if not relations:
        return Homes(query, {}, {})
    parts = _connected(relations, query.where)
    home_of = {alias: _home(query, members) for members in parts for alias in members}
    attached: dict[str, tuple[Attachment, ...]] = {}
    matching: dict[str, tuple[Expression, ...]] = {}
    checked: set[Expression] = set()
    for home in dict.fromkeys(home_of.values()):
        own = [members for members in parts if home_of[min(members)] == home]
        around = frozenset({home}).union(*own)
        local = [part for part in query.where if reads_within(part, around) and inputs_read(part) != {home}]
        attached[home] = tuple(_attachment(query, home, members, local) for members in own)
        by_attachments = {part for attachment in attached[home] for part in attachment.said}
        matching[home] = tuple(part for part in local if part not in by_attachments)
        checked.update(local)

    def moved(expression: Node) -> Node:
        def borrowed(node: Expression) -> Expression | None:
            if isinstance(node, Column) and node.input in home_of:
                return _Borrowed(home_of[node.input], f"{node.input}.{node.name}", node.type, node)
            return None

        return rewrite(expression, borrowed)  # type: ignore[return-value]

    streams_alone = replace(
        query,
        inputs=query.streams,
        where=tuple(moved(part) for part in query.where if part not in checked),
        groups=tuple(moved(group) for group in query.groups),
        aggregates=tuple(moved(aggregate) for aggregate in query.aggregates),
        outputs=tuple(replace(output, expression=moved(output.expression)) for output in query.outputs),
    )
    return Homes(streams_alone, attached, matching)


def equalities(conditions: Iterable[Expression], left: frozenset[str], right: frozenset[str]) -> tuple[Equality, ...]:
    """The conditions that equate a value of the ``left`` inputs with a value of the ``right`` ones."""
    found = []
    for condition in conditions:
        match condition:
            case Call(function="=", arguments=arguments):
                type_ = condition.signature.operands[0]
                for one, other in (arguments, arguments[::-1]):
                    if reads_within(one, left) and reads_within(other, right):
                        found.append(Equality(converted(one, type_), converted(other, type_), condition))
                        break
    return tuple(found)


def reads_within(expression: Expression, inputs: frozenset[str]) -> bool:
    """Whether the expression reads at least one of these inputs and no other."""
    reads = inputs_read(expression)
    return bool(reads) and reads <= inputs


def _attachment(query: LogicalQuery, home: str, members: frozenset[str], local: list[Expression]) -> Attachment:
    return Attachment(
        tuple(input_ for input_ in query.inputs if input_.alias in members),
        tuple(part for part in local if reads_within(part, members)),
        equalities(local, frozenset({home}), members),
    )


def _home(query: LogicalQuery, members: frozenset[str]) -> str:
    """The first stream with an equality to these relations, or else with any condition on them.

    There always is one: binding refuses inputs that no condition connects.
    """
    streams = [input_.alias for input_ in query.streams]
    equal = [alias for alias in streams if equalities(query.where, frozenset({alias}), members)]
    reading = [inputs_read(part) for part in query.where if inputs_read(part) & members]
    return (*equal, *(alias for alias in streams if any(alias in reads for reads in reading)))[0]


def _connected(relations: list[str], where: tuple[Expression, ...]) -> list[frozenset[str]]:
    """The relations in connected parts: no condition over relations alone reads two parts."""
    parts = [frozenset({alias}) for alias in relations]
    for condition in where:
        if reads_within(condition, frozenset(relations)):
            linked = [part for part in parts if part & inputs_read(condition)]
            parts = [part for part in parts if part not in linked] + [frozenset[str]().union(*linked)]
    return parts


def _as_written(node: Expression) -> Expression | None:
    return node.written if isinstance(node, _Borrowed) else None
