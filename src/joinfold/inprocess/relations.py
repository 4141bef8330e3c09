"""Rows of a stream joined with relations, by `columnar`: which row of one side matches which of the other.

    left    0 1 2 3          rows of a stream that pass its filters, or of relations that are joined already
    right   0 1 2            rows of a relation, or of several as one
    pairs   (0, 1) (2, 0) (2, 2)

Sides that are equal in some value are brought together by it. Else all pairs are looked at, so many at a time.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.columnar import Key, evaluate, is_true
from joinfold.inprocess.rows import Rows, column_of
from joinfold.kernels.grouping import group_rows
from joinfold.logical.expressions import Column, Expression, inputs_read, walk
from joinfold.operators.values import identity_codes, present
from joinfold.physical.plan import Attachment, Equality, Frame
from joinfold.planner.drafting.homes import equalities, reads_within

PAIRS_AT_ONCE = 2**20

Integers: TypeAlias = NDArray[np.int64]
Pairs: TypeAlias = tuple[Integers, Integers]


@dataclass(frozen=True, slots=True)
class AliasedRows:
    """Columns of equal length, by alias and name; a side may have rows and no column."""

    aliases: frozenset[str]
    columns: Mapping[Key, pa.Array]
    rows: int

    def take(self, rows: Integers) -> "AliasedRows":
        """The side at these rows."""
        chosen = pa.array(rows)
        return AliasedRows(self.aliases, {key: column.take(chosen) for key, column in self.columns.items()}, len(rows))

    def beside(self, other: "AliasedRows") -> "AliasedRows":
        """This side and another of as many rows, row by row."""
        return AliasedRows(self.aliases | other.aliases, {**self.columns, **other.columns}, self.rows)

    def where(self, conditions: Iterable[Expression]) -> "AliasedRows":
        """The rows for which all conditions are true, each looked at where those before it are."""
        found = self
        for condition in conditions:
            found = found.take(np.flatnonzero(is_true(condition, found.columns, found.rows)))
        return found


def attached_sides(frame: Frame, tables: Mapping[str, Rows]) -> tuple[AliasedRows, ...]:
    """The rows of each attachment of a frame: one of each relation, for which its own conditions are true."""
    read = {node for expression in _expressions(frame) for node in walk(expression) if isinstance(node, Column)}
    return tuple(_combined(attachment, read, tables) for attachment in frame.attached)


def matched(frame: Frame, stream: AliasedRows, sides: tuple[AliasedRows, ...]) -> tuple[Integers, AliasedRows]:
    """The matches of a stream's rows, in their order: the number of the row, and the columns of all that is joined."""
    found = stream
    origin = np.arange(stream.rows)
    waiting = list(frame.matching)
    for attachment, side in zip(frame.attached, sides, strict=True):
        known = found.aliases | side.aliases
        complete = [part for part in waiting if reads_within(part, known)]
        waiting = [part for part in waiting if part not in complete]
        left, right = _pairs(found, side, attachment.keys, complete)
        found, origin = found.take(left).beside(side.take(right)), origin[left]
    return origin, found


def _expressions(frame: Frame) -> list[Expression]:
    said = [part for attachment in frame.attached for part in attachment.said]
    return [*said, *frame.matching, *(column.expression for column in frame.columns)]


def _combined(attachment: Attachment, read: set[Column], tables: Mapping[str, Rows]) -> AliasedRows:
    found: AliasedRows | None = None
    waiting = list(attachment.conditions)
    for relation in attachment.relations:
        source, table = relation.source, tables[relation.source.name]
        names = {column.name for column in read if column.input == relation.alias}
        columns = {(relation.alias, name): column_of(source, table, name) for name in sorted(names)}
        own = frozenset({relation.alias})
        side = AliasedRows(own, columns, table.num_rows).where(part for part in waiting if inputs_read(part) == own)
        if found is None:
            found = side
            continue
        complete = [p for p in waiting if reads_within(p, found.aliases | own) and not reads_within(p, found.aliases)]
        keys = equalities(complete, found.aliases, own)
        by_keys = {key.condition for key in keys}
        others = [part for part in complete if part not in by_keys and inputs_read(part) != own]
        left, right = _pairs(found, side, keys, others)
        found = found.take(left).beside(side.take(right))
    assert found is not None
    return found


def _pairs(left: AliasedRows, right: AliasedRows, keys: tuple[Equality, ...], conditions: list[Expression]) -> Pairs:
    """The pairs of rows with equal keys for which all conditions are true, in the order of the left rows."""
    found = []
    for lefts, rights in [_equal(left, right, keys)] if keys else _all_pairs(left.rows, right.rows):
        chosen = np.arange(len(lefts))
        for condition in conditions:
            pairs = left.take(lefts[chosen]).beside(right.take(rights[chosen]))
            chosen = chosen[is_true(condition, pairs.columns, pairs.rows)]
        found.append((lefts[chosen], rights[chosen]))
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([lefts for lefts, _ in found]), np.concatenate([rights for _, rights in found])


def _all_pairs(left: int, right: int) -> Iterator[Pairs]:
    """All pairs, so many left rows at a time that their pairs fit into memory."""
    step = max(1, PAIRS_AT_ONCE // max(right, 1))
    for start in range(0, left, step):
        rows = np.arange(start, min(start + step, left))
        yield np.repeat(rows, right), np.tile(np.arange(right), len(rows))


def _equal(left: AliasedRows, right: AliasedRows, keys: tuple[Equality, ...]) -> Pairs:
    """The pairs of rows that are equal in all keys; NULL equals nothing."""
    codes, there = [], np.ones(left.rows + right.rows, np.bool_)
    for key in keys:
        column = pa.concat_arrays(
            [evaluate(key.left, left.columns, left.rows), evaluate(key.right, right.columns, right.rows)]
        )
        known = present(column)
        there = there if known is None else there & known
        codes += identity_codes(column)
    return equal_rows(codes, there, left.rows)


def equal_rows(codes: list[Integers], there: NDArray[np.bool_], left: int) -> Pairs:
    """The pairs of a left and a right row that are there and have equal codes; the first ``left`` of them are left."""
    if not len(there):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    name, _ = group_rows(np.stack(codes))
    lefts = np.flatnonzero(there[:left])
    rights = np.flatnonzero(there[left:])
    rights = rights[np.argsort(name[left:][rights], kind="stable")]
    ordered = name[left:][rights]
    begins, ends = (np.searchsorted(ordered, name[lefts], side) for side in ("left", "right"))
    counts = ends - begins
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(lefts, counts), rights[np.repeat(begins, counts) + offsets]
