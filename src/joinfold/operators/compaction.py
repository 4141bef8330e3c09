"""Stored entries made fewer: those that enter and leave together become one.

Entries of one cell, key and group come from as many micro-batches as the cell is long. And a landmark never lets go:
once they have entered, its cells are all alike.

    cells of [UNBOUNDED]     0   1   2   3 | 4   5         | is where the window ends now
    entries of a key         ▪▪  ▪   ▪   ▪ | ▪▪  ▪
    made fewer                           ▪ | ▪   ▪         under the last cell that has entered

Of a view only the last row of a group counts.
"""

import numpy as np
import pyarrow as pa

from joinfold.kernels.grouping import group_rows, sum_dds, sum_ints
from joinfold.numbers import double_double
from joinfold.operators.layout import InputLayout
from joinfold.operators.values import extreme_of, identity_codes


def latest(side: InputLayout, entries: pa.RecordBatch, keep_gone: bool) -> pa.RecordBatch:
    """The last row of each group of a view, whose rows are in order; ``keep_gone``: also of groups that are gone.

    Those may be left away only where no earlier row is left behind.
    """
    codes = [code for name in side.identity for code in identity_codes(entries.column(name))]
    newest_first = np.arange(entries.num_rows)[::-1]
    _, first_row = group_rows(np.stack(codes)[:, ::-1])
    last = np.sort(newest_first[first_row])
    rows = entries.take(pa.array(last))
    return rows if keep_gone else rows.filter(pa.array(rows.column("i0").to_numpy() > 0))


def added_up(side: InputLayout, entries: pa.RecordBatch, alike_before: int) -> pa.RecordBatch:
    """The sums and extremes of entries that are equal in all else; cells before ``alike_before`` count as one."""
    cells = np.asarray(entries.column("cell").to_numpy(), np.int64)
    alike = cells < alike_before
    if alike.any():
        cells = np.where(alike, cells[alike].max(), cells)
    named = side.identity
    codes = [cells, *(code for name in named for code in identity_codes(entries.column(name)))]
    entry_of_row, first_row = group_rows(np.stack(codes))
    count, first = len(first_row), pa.array(first_row)
    columns: dict[str, pa.Array] = {"cell": pa.array(cells[first_row])}
    columns |= {name: entries.column(name).take(first) for name in named}
    for place in range(len(side.integers)):
        columns[f"i{place}"] = pa.array(sum_ints(entry_of_row, count, entries.column(f"i{place}").to_numpy()))
    for place in range(len(side.reals)):
        parts = (sum_dds(entry_of_row, count, entries.column(f"{part}{place}").to_numpy()) for part in "hl")
        high, low = double_double.add(*parts)
        columns |= {f"h{place}": pa.array(high), f"l{place}": pa.array(low)}
    everywhere = np.ones(len(cells), np.bool_)
    for place, extreme in enumerate(side.extremes):
        values = entries.column(f"e{place}")
        columns[f"e{place}"] = extreme_of(values, everywhere, extreme.largest, entry_of_row, count)
    return pa.RecordBatch.from_pydict(columns)
