"""The order of rows of one stream: by time, then by the values that the query reads, NULL first and NaN last.

Entries are in the order of their cells.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joinfold.operators.entries import Integers
from joinfold.operators.merge import together
from joinfold.operators.values import identity_codes, order_codes


def cells_of(batch: pa.RecordBatch) -> Integers:
    """The cells of stored entries."""
    return np.asarray(batch.column("cell").to_numpy(), np.int64)


def by_cell(batches: Iterable[tuple[int, pa.RecordBatch]]) -> list[tuple[int, pa.RecordBatch]]:
    """Entries of inputs in one batch for each, in the order of their cells; sorted only where they do not come so."""
    by_place: dict[int, list[pa.RecordBatch]] = {}
    for place, batch in batches:
        by_place.setdefault(place, []).append(batch)
    return [(place, _by_cell(own)) for place, own in sorted(by_place.items())]


def _by_cell(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
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
