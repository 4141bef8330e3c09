"""The order of rows of one stream: by time, then by the values that the query reads, NULL first and NaN last."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joinfold.operators.entries import Integers
from joinfold.operators.values import identity_codes, order_codes
from joinfold.physical.column_names import CELL


def in_order(rows: pa.RecordBatch | pa.Table, order: Sequence[str]) -> Integers:
    """The rows in their order, as places; ``order`` are the columns that order rows of one time."""
    keys = {CELL: rows.column(CELL)}
    for name in order:
        column = rows.column(name)
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        codes = order_codes(column)
        keys[f"there {name}"] = column.is_valid()
        keys[name] = column if codes is None else pa.array(codes)
    found = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
    return np.asarray(found.to_numpy(), np.int64)


def ranks(rows: pa.RecordBatch, order: Sequence[str], places: Integers) -> Integers:
    """Numbers that are equal for equal rows and grow in the order, from the places of the rows in it."""
    codes = [rows.column(CELL).to_numpy()]
    codes += [code for name in order for code in identity_codes(rows.column(name))]
    stacked = np.stack(codes)[:, places]
    differs = np.zeros(len(places), np.int64)
    differs[1:] = (stacked[:, 1:] != stacked[:, :-1]).any(axis=0)
    found = np.empty(len(places), np.int64)
    found[places] = np.cumsum(differs)
    return found
