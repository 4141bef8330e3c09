"""Joins rows of a stream with relations: finds which row of one side matches which row of the other.

    left    0 1 2 3          rows of a stream that pass its filters, or of relations that are already joined
    right   0 1 2            rows of a relation, or of several as one
    pairs   (0, 1) (2, 0) (2, 2)

Sides with an equality are joined by it. Otherwise all pairs are checked, at most about `PAIRS_AT_ONCE` at a time.
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
    """One side of a join: columns of equal length, by alias and name. It may have rows and no column."""

    aliases: frozenset[str]
    columns: Mapping[Key, pa.Array]
    rows: int

    def take(self, rows: Integers) -> "AliasedRows":
        """These rows of the side."""
        chosen = pa.array(rows)
        return AliasedRows(self.aliases, {key: column.take(chosen) for key, column in self.columns.items()}, len(rows))

    def beside(self, other: "AliasedRows") -> "AliasedRows":
        """The columns of this side and of another with as many rows."""
        return AliasedRows(self.aliases | other.aliases, {**self.columns, **other.columns}, self.rows)

    def where(self, conditions: Iterable[Expression]) -> "AliasedRows":
        """The rows for which all conditions are true. Each condition is evaluated only where those before it are."""
        kept = self
        for condition in conditions:
            kept = kept.take(np.flatnonzero(is_true(condition, kept.columns, kept.rows)))
        return kept


def attached_sides(frame: Frame, tables: Mapping[str, Rows]) -> tuple[AliasedRows, ...]:
    """For each attachment of a frame, its relations joined with each other by its conditions."""
    read = {node for expression in _expressions(frame) for node in walk(expression) if isinstance(node, Column)}
    return tuple(_combined(attachment, read, tables) for attachment in frame.attached)


def matched(frame: Frame, stream: AliasedRows, sides: tuple[AliasedRows, ...]) -> tuple[Integers, AliasedRows]:
    """The matches of the rows of a stream, in their order: the number of the row, and the columns of all inputs."""
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
    by_attachments = [part for attachment in frame.attached for part in attachment.said]
    return [*by_attachments, *frame.matching, *(column.expression for column in frame.columns)]


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
    """All pairs of rows, for so many left rows at a time that their pairs fit into memory."""
    step = max(1, PAIRS_AT_ONCE // max(right, 1))
    for start in range(0, left, step):
        rows = np.arange(start, min(start + step, left))
        yield np.repeat(rows, right), np.tile(np.arange(right), len(rows))


def _equal(left: AliasedRows, right: AliasedRows, keys: tuple[Equality, ...]) -> Pairs:
    """The pairs of rows that are equal in all keys. NULL equals nothing."""
    return equal_rows(*key_codes(left, right, keys), left.rows)


def key_codes(
    left: AliasedRows, right: AliasedRows, keys: tuple[Equality, ...]
) -> tuple[list[Integers], NDArray[np.bool_]]:
    """Codes of the keys of all left and then all right rows, equal where keys are, and which rows have all keys."""
    codes, is_present = [], np.ones(left.rows + right.rows, np.bool_)
    for key in keys:
        column = pa.concat_arrays(
            [evaluate(key.left, left.columns, left.rows), evaluate(key.right, right.columns, right.rows)]
        )
        known = present(column)
        is_present = is_present if known is None else is_present & known
        codes += identity_codes(column)
    return codes, is_present


def equal_rows(codes: list[Integers], is_present: NDArray[np.bool_], left: int) -> Pairs:
    """The pairs of a left and a right row that are present and have equal codes, in the order of the left rows.

    The first ``left`` rows are those of the left side, the others those of the right side.
    """
    if not len(is_present):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    identity, _ = group_rows(np.stack(codes))
    lefts = np.flatnonzero(is_present[:left])
    rights = np.flatnonzero(is_present[left:])
    rights = rights[np.argsort(identity[left:][rights], kind="stable")]
    ordered = identity[left:][rights]
    begins, ends = (np.searchsorted(ordered, identity[lefts], side) for side in ("left", "right"))
    counts = ends - begins
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(lefts, counts), rights[np.repeat(begins, counts) + offsets]
