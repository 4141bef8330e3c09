"""Relations are joined to a stream before PACK: to the rest of the planner, a query has streams alone.

A relation is the same at every instant. So a row of a stream finds its rows of the relation when it comes, and the two
travel together as one row that is in the window as long as the stream's:

    FROM  auction a […], bid b […], person p        FROM  auction a […], bid b […]
    WHERE a.seller = p.id AND p.state = 'OR'   ──▶        a is joined with p before PACK
      AND a.id = b.auction                          WHERE a.id = b.auction
      AND b.price > p.most                            AND b.price > a."p.most"

Relations that conditions connect go to one stream together, their *home*: the first that is equal to them in some
value, or else the first that any condition connects with them. What is said of the home and its relations alone is said
there. Every other expression reads their columns as if they were the home's.
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
    """A query over streams alone, and what each stream is joined with before.

    ``matching`` has, for each home, the conditions that look at it together with its relations.
    """

    query: LogicalQuery
    attached: dict[str, tuple[Attachment, ...]]
    matching: dict[str, tuple[Expression, ...]]

    def written(self, expression: Node) -> Node:
        """An expression of the query as it was written, with the columns of relations under their own alias."""
        return rewrite(expression, _as_written) if self.attached else expression  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class _Borrowed(Column):
    """A column of a relation that is read as one of its home's."""

    written: Column


def with_homes(query: LogicalQuery) -> Homes:
    """Finds a home for every relation."""
    relations = [input_.alias for input_ in query.inputs if input_.window is None]
    if not relations:
        return Homes(query, {}, {})
    parts = _connected(relations, query.where)
    home_of = {alias: _home(query, members) for members in parts for alias in members}
    attached: dict[str, tuple[Attachment, ...]] = {}
    matching: dict[str, tuple[Expression, ...]] = {}
    said: set[Expression] = set()
    for home in dict.fromkeys(home_of.values()):
        own = [members for members in parts if home_of[min(members)] == home]
        around = frozenset({home}).union(*own)
        local = [part for part in query.where if reads_within(part, around) and inputs_read(part) != {home}]
        attached[home] = tuple(_attachment(query, home, members, local) for members in own)
        elsewhere = {part for attachment in attached[home] for part in attachment.said}
        matching[home] = tuple(part for part in local if part not in elsewhere)
        said.update(local)

    def moved(expression: Node) -> Node:
        def borrowed(node: Expression) -> Expression | None:
            if isinstance(node, Column) and node.input in home_of:
                return _Borrowed(home_of[node.input], f"{node.input}.{node.name}", node.type, node)
            return None

        return rewrite(expression, borrowed)  # type: ignore[return-value]

    streams_alone = replace(
        query,
        inputs=query.streams,
        where=tuple(moved(part) for part in query.where if part not in said),
        groups=tuple(moved(group) for group in query.groups),
        aggregates=tuple(moved(aggregate) for aggregate in query.aggregates),
        outputs=tuple(replace(output, expression=moved(output.expression)) for output in query.outputs),
    )
    return Homes(streams_alone, attached, matching)


def equalities(conditions: Iterable[Expression], left: frozenset[str], right: frozenset[str]) -> tuple[Equality, ...]:
    """The conditions that make a value of some inputs equal to one of others."""
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
    """Whether the expression reads some of these inputs and no other."""
    reads = inputs_read(expression)
    return bool(reads) and reads <= inputs


def _attachment(query: LogicalQuery, home: str, members: frozenset[str], local: list[Expression]) -> Attachment:
    return Attachment(
        tuple(input_ for input_ in query.inputs if input_.alias in members),
        tuple(part for part in local if reads_within(part, members)),
        equalities(local, frozenset({home}), members),
    )


def _home(query: LogicalQuery, members: frozenset[str]) -> str:
    """The first stream with a value that these relations must have too, or else with any condition on them.

    Binding refuses what nothing connects, so there is one.
    """
    streams = [input_.alias for input_ in query.streams]
    equal = [alias for alias in streams if equalities(query.where, frozenset({alias}), members)]
    reading = [inputs_read(part) for part in query.where if inputs_read(part) & members]
    return (*equal, *(alias for alias in streams if any(alias in reads for reads in reading)))[0]


def _connected(relations: list[str], where: tuple[Expression, ...]) -> list[frozenset[str]]:
    """The relations in parts, such that no condition over relations alone is across two of them."""
    parts = [frozenset({alias}) for alias in relations]
    for condition in where:
        if reads_within(condition, frozenset(relations)):
            linked = [part for part in parts if part & inputs_read(condition)]
            parts = [part for part in parts if part not in linked] + [frozenset[str]().union(*linked)]
    return parts


def _as_written(node: Expression) -> Expression | None:
    return node.written if isinstance(node, _Borrowed) else None
