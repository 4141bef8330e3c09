"""Joins relations to a stream before PACK, so that the rest of the planner sees only streams.

A relation is the same at every instant. So a row of a stream is joined with its rows of the relation when it arrives.
Each match is one row, which stays in the window as long as the row of the stream:

    FROM  auction a […], bid b […], person p        FROM  auction a […], bid b […]
    WHERE a.seller = p.id AND p.state = 'OR'   ──▶        a is joined with p before PACK
      AND a.id = b.auction                          WHERE a.id = b.auction
      AND b.price > p.most                            AND b.price > a."p.most"

Each relation is joined to one stream, its *home*: the stream that an equality connects with it. If there are several,
it is the one whose rows have the fewest matches. A relation without such an equality goes to the home of a relation
that an equality connects with it, and both are joined to the home together. Conditions that read only a home and its
relations are checked there. Every other expression reads the columns of relations as if they were columns of their
homes, so conditions between relations of different homes become conditions between streams.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from joinfold.logical.expressions import Call, Column, Expression, inputs_read, rewrite
from joinfold.logical.query import LogicalQuery
from joinfold.logical.sampling import every_pair_matches
from joinfold.physical.plan import Attachment, Equality
from joinfold.planner.drafting.widening import converted

Node = TypeVar("Node", bound=Expression)
Matches = Mapping[tuple[str, str], float]  # by relation and stream: how many rows of the relation match a row
NOTHING_KNOWN: Matches = MappingProxyType({})


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


def with_homes(query: LogicalQuery, matches: Matches = NOTHING_KNOWN, homes: Mapping[str, str] | None = None) -> Homes:
    """The query over streams alone, with a home for every relation; ``homes``, if given, are those of a checkpoint."""
    relations = [input_.alias for input_ in query.inputs if input_.window is None]
    if not relations:
        return Homes(query, {}, {})
    home_of = _chosen(query, matches) if homes is None else homes
    attached: dict[str, tuple[Attachment, ...]] = {}
    matching: dict[str, tuple[Expression, ...]] = {}
    checked: set[Expression] = set()
    for home in dict.fromkeys(home_of.values()):
        own = [alias for alias in relations if home_of[alias] == home]
        around = frozenset({home, *own})
        local = [part for part in query.where if reads_within(part, around) and inputs_read(part) != {home}]
        parts = _parts(query.where, home, own)
        attached[home] = tuple(_attachment(query, home, members, local, matches) for members in parts)
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


def homes_are_open(query: LogicalQuery) -> bool:
    """Whether equalities connect some relation with several streams, so that the number of matches decides."""
    relations = [input_.alias for input_ in query.inputs if input_.window is None]
    return any(len(_equal_streams(query, frozenset({alias}))) > 1 for alias in relations)


def _attachment(
    query: LogicalQuery, home: str, members: frozenset[str], local: list[Expression], matches: Matches
) -> Attachment:
    return Attachment(
        tuple(input_ for input_ in query.inputs if input_.alias in members),
        tuple(part for part in local if reads_within(part, members)),
        equalities(local, frozenset({home}), members),
        matches.get((min(members), home)) if len(members) == 1 else None,
    )


def _chosen(query: LogicalQuery, matches: Matches) -> dict[str, str]:
    """The home of each relation.

    There always is one: binding refuses inputs that no condition connects.
    """
    homes: dict[str, str] = {}
    waiting = _placed_together(query)
    while waiting:
        members, home = next(
            (members, home)
            for found in (_of_equal_stream, _of_equal_relation, _of_any_condition)
            for members in waiting
            if (home := found(query, members, homes, matches)) is not None
        )
        waiting.remove(members)
        homes |= dict.fromkeys(members, home)
    return homes


def _placed_together(query: LogicalQuery) -> list[frozenset[str]]:
    """Each relation by itself, or in parts that must have the same home.

    If rows may be sampled, conditions between relations must not become conditions between streams.
    """
    relations = [input_.alias for input_ in query.inputs if input_.window is None]
    alone = [frozenset({alias}) for alias in relations]
    return _connected(alone, query.where) if query.is_estimate and every_pair_matches(query) else alone


def _of_equal_stream(
    query: LogicalQuery, members: frozenset[str], homes: Mapping[str, str], matches: Matches
) -> str | None:
    """The stream with an equality whose rows have the fewest matches, or else with the most equalities."""
    equal = _equal_streams(query, members)
    fewest = {alias: sum(matches.get((member, alias), 0.0) for member in members) for alias in equal}
    return min(equal, key=lambda alias: (fewest[alias], -equal[alias]), default=None)


def _of_equal_relation(
    query: LogicalQuery, members: frozenset[str], homes: Mapping[str, str], matches: Matches
) -> str | None:
    """The home of the first relation with an equality."""
    equal = (homes[alias] for alias in homes if equalities(query.where, frozenset({alias}), members))
    return next(equal, None)


def _of_any_condition(
    query: LogicalQuery, members: frozenset[str], homes: Mapping[str, str], matches: Matches
) -> str | None:
    """The first stream that shares a condition, or else the home of the first relation that does."""
    known = {input_.alias: input_.alias for input_ in query.streams} | dict(homes)
    reading = [inputs_read(part) for part in query.where if inputs_read(part) & members]
    return next((known[alias] for alias in known if any(alias in reads for reads in reading)), None)


def _equal_streams(query: LogicalQuery, members: frozenset[str]) -> dict[str, int]:
    """How many equalities each stream has with these relations, for those that have some."""
    found = {own.alias: len(equalities(query.where, frozenset({own.alias}), members)) for own in query.streams}
    return {alias: number for alias, number in found.items() if number}


def _parts(where: tuple[Expression, ...], home: str, relations: list[str]) -> list[frozenset[str]]:
    """The relations of a home in parts that are joined to it one after another.

    A relation with an equality to the home is a part of its own. Others join the part that an equality, or else any
    condition over relations alone, connects them with.
    """
    parts = [frozenset({own}) for own in relations if equalities(where, frozenset({home}), frozenset({own}))]
    waiting = [own for own in relations if frozenset({own}) not in parts]
    while waiting:
        found = next(
            (
                (own, part)
                for connects in (lambda own, part: equalities(where, own, part), partial(_share, where))
                for own in waiting
                for part in parts
                if connects(frozenset({own}), part)
            ),
            None,
        )
        own, part = found or (waiting[0], frozenset[str]())
        waiting.remove(own)
        parts = [*(other for other in parts if other != part), part | {own}]
    return parts


def _share(where: tuple[Expression, ...], one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether a condition over relations alone connects these."""
    reading = [inputs_read(part) for part in where if reads_within(part, one | other)]
    return any(reads & one and reads & other for reads in reading)


def _connected(parts: list[frozenset[str]], where: tuple[Expression, ...]) -> list[frozenset[str]]:
    """The relations in connected parts: no condition over relations alone reads two parts."""
    relations = frozenset[str]().union(*parts)
    for condition in where:
        if reads_within(condition, relations):
            linked = [part for part in parts if part & inputs_read(condition)]
            parts = [part for part in parts if part not in linked] + [frozenset[str]().union(*linked)]
    return parts


def _as_written(node: Expression) -> Expression | None:
    return node.written if isinstance(node, _Borrowed) else None
