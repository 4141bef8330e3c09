"""Record batches: joined into one, and sorted by cell."""

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa

from joinfold.operators.entries import Integers
from joinfold.physical.column_names import CELL, DRAW

MOST_BYTES = 2**30  # per batch; Arrow allows a column of texts at most 2 GiB
Kind = TypeVar("Kind", bound=Hashable)


def together(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of all parts as one batch. A column of Arrow's null type fits a column of any type."""
    tables = [pa.Table.from_batches([part]) for part in parts]
    table = pa.concat_tables(tables, promote_options="default").combine_chunks()
    if not table.num_rows:
        return pa.RecordBatch.from_pylist([], schema=table.schema)
    (whole,) = table.to_batches()  # more than one only if a column of texts had more than 2 GiB
    return whole


def cells_of(batch: pa.RecordBatch) -> Integers:
    """The cells of stored entries."""
    return np.asarray(batch.column(CELL).to_numpy(), np.int64)


def draws_of(batch: pa.RecordBatch) -> Integers:
    """The draws of stored entries."""
    return np.asarray(batch.column(DRAW).to_numpy(), np.int64)


def by_cell(batches: Iterable[tuple[Kind, pa.RecordBatch]]) -> list[tuple[Kind, pa.RecordBatch]]:
    """All batches of each kind as one batch, sorted by cell; as several where they have more than ``MOST_BYTES``."""
    parts: dict[tuple[Kind, int], list[pa.RecordBatch]] = {}
    size_bytes: dict[Kind, int] = {}
    for kind, batch in batches:
        size_bytes[kind] = size_bytes.get(kind, 0) + batch.nbytes
        parts.setdefault((kind, size_bytes[kind] // MOST_BYTES), []).append(batch)
    return [(kind, in_cell_order(batches_of_kind)) for (kind, _), batches_of_kind in parts.items()]


def in_cell_order(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Entries of one input as one batch, sorted by cell. It sorts only if they are not in order already."""
    occupied = [batch for batch in batches if batch.num_rows]
    batch = together(sorted(occupied, key=lambda part: part.column(CELL)[0].as_py()) or batches)
    cells = cells_of(batch)
    return batch if (cells[1:] >= cells[:-1]).all() else batch.take(pa.array(np.argsort(cells, kind="stable")))
