"""The order of the rows of one stream: by time, then by the values that the query reads, NULL first and NaN last."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joinfold.operators.entries import Integers
from joinfold.operators.values import identity_codes, order_codes
from joinfold.physical.column_names import CELL


def in_order(rows: pa.RecordBatch | pa.Table, order: Sequence[str]) -> Integers:
    """The indices that sort rows by time and then by the columns ``order``; only rows of one time are compared."""
    times = rows.column(CELL).to_numpy()
    found = np.argsort(times, kind="stable")
    same = times[found[1:]] == times[found[:-1]]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if len(tied) and order:
        found[tied] = found[tied][_by_values(rows.take(pa.array(found[tied])), order)]
    return found


def _by_values(rows: pa.RecordBatch | pa.Table, order: Sequence[str]) -> Integers:
    """The indices that sort rows by time and then by the columns ``order``."""
    keys = {CELL: rows.column(CELL)}
    for name in order:
        column = rows.column(name)
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        codes = order_codes(column)
        keys[f"there {name}"] = column.is_valid()
        keys[name] = column if codes is None else pa.array(codes)
    found = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
    return np.asarray(found.to_numpy(), np.int64)


def ranks(rows: pa.RecordBatch, order: Sequence[str], indices: Integers) -> Integers:
    """For each row a number that is equal for equal rows and grows in the order; ``indices`` sort the rows."""
    codes = [rows.column(CELL).to_numpy()]
    codes += [code for name in order for code in identity_codes(rows.column(name))]
    stacked = np.stack(codes)[:, indices]
    differs = np.zeros(len(indices), np.int64)
    differs[1:] = (stacked[:, 1:] != stacked[:, :-1]).any(axis=0)
    found = np.empty(len(indices), np.int64)
    found[indices] = np.cumsum(differs)
    return found
