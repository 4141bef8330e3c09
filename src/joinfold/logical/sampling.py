"""What a query with estimates may be sampled by: keys that streams share, or rows.

A sample BY KEY keeps or sheds all rows of a key, in every stream that has the key. A sample BY ROW draws the rows of
each stream by themselves. The chance to keep a pair is then known only if every pair of a key matches.
"""

from dataclasses import replace

from joinfold.logical.expressions import Column, Expression, walk
from joinfold.logical.graph import KeyClass
from joinfold.logical.query import LogicalQuery
from joinfold.window import PartitionedRows


def shared_keys(query: LogicalQuery) -> tuple[KeyClass, ...]:
    """The key classes that at least two streams have. Relations do not count."""
    streams = _streams(query)
    return tuple(key for key in query.graph.keys if len(key.inputs & streams) > 1)


def sampling_keys(query: LogicalQuery) -> tuple[KeyClass, ...]:
    """The shared key classes by which keys may be sampled: none divides a partition of a PARTITION BY window."""
    return tuple(key for key in shared_keys(query) if not divided_partitions(query, key))


def divided_partitions(query: LogicalQuery, key: KeyClass) -> tuple[str, ...]:
    """The streams whose PARTITION BY windows may have several values of the key in one partition."""
    return tuple(
        input_.alias
        for input_ in query.streams
        if isinstance(input_.window, PartitionedRows)
        and not all(_columns(member) <= set(input_.window.by) for member in key.of(input_.alias))
    )


def every_pair_matches(query: LogicalQuery) -> bool:
    """Whether equal keys are all that joins the streams, and all streams have these keys.

    Each relation must then belong to one stream: whatever else connects it must not lead to another stream.
    """
    streams, shared = _streams(query), shared_keys(query)
    others = replace(query.graph, keys=tuple(key for key in query.graph.keys if key not in shared))
    alone = all(len(component & streams) < 2 for component in others.components)
    return bool(shared) and alone and all(streams <= key.inputs for key in shared)


def allows_row_sampling(query: LogicalQuery) -> bool:
    """Whether rows may be sampled."""
    return every_pair_matches(query) and not any(isinstance(input_.window, PartitionedRows) for input_ in query.streams)


def _streams(query: LogicalQuery) -> frozenset[str]:
    return frozenset(input_.alias for input_ in query.streams)


def _columns(expression: Expression) -> set[str]:
    return {node.name for node in walk(expression) if isinstance(node, Column)}
