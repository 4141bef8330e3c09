"""Compaction of stored entries: entries that enter and leave together become one.

A cell that spans several micro-batches gets entries of the same key and group from each of them. They become one entry.
A landmark window never lets go of a row, so it does not matter which cell an entry came from once it has entered:

    cells of [UNBOUNDED]     0   1   2   3 | 4   5         | the end of the window now
    entries of a key         ▪▪  ▪   ▪   ▪ | ▪▪  ▪
    after compaction                     ▪ | ▪   ▪         those that have entered get the last of their cells

Of a view only the last row of each group counts.
"""

import numpy as np
import pyarrow as pa

from joinfold.kernels.grouping import group_rows, sum_dds, sum_ints
from joinfold.numbers import double_double
from joinfold.operators.values import extreme_of, identity_codes
from joinfold.physical.column_names import CELL, COUNT
from joinfold.physical.payload import InputSpec


def latest(spec: InputSpec, entries: pa.RecordBatch, keep_gone: bool) -> pa.RecordBatch:
    """The last row of each group of a view, whose rows are in order; ``keep_gone``: also of groups that are gone.

    A row with the count 0 says that its group is gone. It may be dropped only if ``entries`` has all rows of the view:
    otherwise an earlier row of the group, in another chunk, would count again.
    """
    codes = [code for name in spec.stored_identity for code in identity_codes(entries.column(name))]
    newest_first = np.arange(entries.num_rows)[::-1]
    _, first_row = group_rows(np.stack(codes)[:, ::-1])
    last = np.sort(newest_first[first_row])
    rows = entries.take(pa.array(last))
    return rows if keep_gone else rows.filter(pa.array(rows.column(COUNT).to_numpy() > 0))


def added_up(spec: InputSpec, entries: pa.RecordBatch, alike_before: int) -> pa.RecordBatch:
    """Entries that are equal in cell, key, group and carried columns become one, with their sums and extremes.

    Cells before ``alike_before`` count as one cell.
    """
    cells = np.asarray(entries.column(CELL).to_numpy(), np.int64)
    alike = cells < alike_before
    if alike.any():
        cells = np.where(alike, cells[alike].max(), cells)
    named = spec.stored_identity
    codes = [cells, *(code for name in named for code in identity_codes(entries.column(name)))]
    entry_of_row, first_row = group_rows(np.stack(codes))
    count, first = len(first_row), pa.array(first_row)
    columns: dict[str, pa.Array] = {CELL: pa.array(cells[first_row])}
    columns |= {name: entries.column(name).take(first) for name in named}
    for name in spec.integer_names:
        columns[name] = pa.array(sum_ints(entry_of_row, count, entries.column(name).to_numpy()))
    for names in spec.real_names:
        parts = (sum_dds(entry_of_row, count, entries.column(name).to_numpy()) for name in names)
        columns |= dict(zip(names, map(pa.array, double_double.add(*parts)), strict=True))
    everywhere = np.ones(len(cells), np.bool_)
    for name, extreme in zip(spec.extreme_names, spec.extremes, strict=True):
        columns[name] = extreme_of(entries.column(name), everywhere, extreme.largest, entry_of_row, count)
    return pa.RecordBatch.from_pydict(columns)
