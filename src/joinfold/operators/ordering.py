"""The order of rows of one stream: by time, then by the values that the query reads, NULL first and NaN last.

Entries, which come in many blobs, are put together in the order of their cells.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joinfold.operators.entries import Integers
from joinfold.operators.merge import together
from joinfold.operators.values import identity_codes, order_codes

MOST_BYTES = 2**30  # of a batch: a column of texts has no more than 2 GiB


def cells_of(batch: pa.RecordBatch) -> Integers:
    """The cells of stored entries."""
    return np.asarray(batch.column("cell").to_numpy(), np.int64)


def by_cell(batches: Iterable[tuple[int, pa.RecordBatch]]) -> list[tuple[int, pa.RecordBatch]]:
    """Entries of inputs, each in one batch in the order of its cells, or a few where they are very large."""
    parts: dict[tuple[int, int], list[pa.RecordBatch]] = {}
    size_bytes: dict[int, int] = {}
    for place, batch in batches:
        size_bytes[place] = size_bytes.get(place, 0) + batch.nbytes
        parts.setdefault((place, size_bytes[place] // MOST_BYTES), []).append(batch)
    return [(place, in_cell_order(own)) for (place, _), own in sorted(parts.items(), key=lambda item: item[0])]


def in_cell_order(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Entries of one input as one batch in the order of their cells; sorted only where they do not come so."""
    occupied = [batch for batch in batches if batch.num_rows]
    batch = together(sorted(occupied, key=lambda own: own.column("cell")[0].as_py()) or batches)
    cells = cells_of(batch)
    return batch if (cells[1:] >= cells[:-1]).all() else batch.take(pa.array(np.argsort(cells, kind="stable")))


def order_names(rows: pa.RecordBatch | pa.Table) -> list[str]:
    """The columns that order rows of one time."""
    return [name for name in rows.schema.names if name.startswith("o")]


def in_order(rows: pa.RecordBatch | pa.Table) -> Integers:
    """The rows in their order, as places."""
    keys = {"cell": rows.column("cell")}
    for name in order_names(rows):
        column = rows.column(name)
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        codes = order_codes(column)
        keys[f"there {name}"] = column.is_valid()
        keys[name] = column if codes is None else pa.array(codes)
    order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
    return np.asarray(order.to_numpy(), np.int64)


def ranks(rows: pa.RecordBatch, order: Integers) -> Integers:
    """Numbers that are equal for equal rows and grow in the order, from the order of the rows."""
    codes = [rows.column("cell").to_numpy()]
    codes += [code for name in order_names(rows) for code in identity_codes(rows.column(name))]
    stacked = np.stack(codes)[:, order]
    differs = np.zeros(len(order), np.int64)
    differs[1:] = (stacked[:, 1:] != stacked[:, :-1]).any(axis=0)
    found = np.empty(len(order), np.int64)
    found[order] = np.cumsum(differs)
    return found
