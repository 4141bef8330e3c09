"""Expected matches: how many rows of a relation a row of a stream is joined with.

They decide to which stream a relation is joined, if equalities connect it with several. If the rows of the stream are
not known, its keys are assumed to be those of the relation, evenly distributed.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np

from joinfold.errors import JoinfoldError
from joinfold.inprocess.relations import AliasedRows, key_codes
from joinfold.inprocess.rows import Rows, column_of
from joinfold.kernels.grouping import group_rows
from joinfold.logical.query import Input, LogicalQuery
from joinfold.physical.plan import Equality
from joinfold.planner.drafting.homes import equalities

MOST_ROWS = 10_000  # of a stream
MOST_RELATION_ROWS = 1_000_000


def expected_matches(query: LogicalQuery, tables: Mapping[str, Rows]) -> dict[tuple[str, str], float]:
    """The matches per row, by relation and stream, for relations with known rows; ``tables`` is by name of the source.

    Errors are ignored here: they occur again, with a message, when the query runs.
    """
    found = {}
    for relation in (input_ for input_ in query.inputs if input_.window is None):
        rows = tables.get(relation.source.name)
        if rows is None or not 0 < rows.num_rows <= MOST_RELATION_ROWS:
            continue
        for stream in query.streams:
            keys = equalities(query.where, frozenset({stream.alias}), frozenset({relation.alias}))
            if keys:
                with suppress(JoinfoldError):
                    right, known = _side(query, relation, rows), tables.get(stream.source.name)
                    left = None if known is None else _side(query, stream, known.slice(0, MOST_ROWS))
                    found[relation.alias, stream.alias] = _matches(left, right, keys)
    return found


def _matches(left: AliasedRows | None, right: AliasedRows, keys: tuple[Equality, ...]) -> float:
    """The rows of the right side that match a left row, on average. Rows of an unknown left side have its keys."""
    rows = 0 if left is None else left.rows
    sides = tuple(replace(key, left=key.right) for key in keys) if left is None else keys
    codes, is_present = key_codes(right.take(np.arange(0)) if left is None else left, right, sides)
    if not is_present.any():
        return 0.0
    identity, _ = group_rows(np.stack(codes))
    matching = np.bincount(identity[rows:][is_present[rows:]], minlength=int(identity.max()) + 1)
    if left is None:
        return float(matching.sum() / np.count_nonzero(matching))
    return float(matching[identity[:rows][is_present[:rows]]].sum() / max(rows, 1))


def _side(query: LogicalQuery, input_: Input, rows: Rows) -> AliasedRows:
    """The rows of an input that pass its own filters."""
    names = query.columns_read(input_.alias)
    columns = {(input_.alias, name): column_of(input_.source, rows, name) for name in names}
    side = AliasedRows(frozenset({input_.alias}), columns, rows.num_rows)
    return side.where(query.filters(input_.alias))
