"""MERGE: the parts of a group that come from several buckets become one, and totals become aggregates.

Stateless: at an instant every bucket notes the whole of what it has, so the parts of one micro-batch are enough.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.errors import EvaluationError
from joinfold.kernels.grouping import group_rows, sum_dds, sum_ints
from joinfold.numbers import double_double as dd
from joinfold.operators.finish import Totals, finish
from joinfold.operators.layout import FoldLayout
from joinfold.operators.values import extreme_of, identity_codes


def merge(layout: FoldLayout, parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """One row per instant and group: instant, group columns, aggregates."""
    noted = together(parts)
    groups = [name for name in noted.schema.names if name.startswith("g")]
    codes = [noted.column("instant").to_numpy()]
    codes += [code for name in groups for code in identity_codes(noted.column(name))]
    entry_of_row, first_row = group_rows(np.stack(codes))
    first = pa.array(first_row)
    totals = _added(layout, noted, entry_of_row, len(first_row))
    columns = {name: noted.column(name).take(first) for name in ("instant", *groups)}
    for place, aggregate in enumerate(layout.aggregates):
        columns[f"a{place}"] = finish(aggregate, totals)
    return pa.RecordBatch.from_pydict(columns)


def placed(answers: pa.RecordBatch, numbers: list[int], where: list[list[int]], names: list[str]) -> pa.RecordBatch:
    """Answers under numbers, with the columns that these stand for in the place of the instant."""
    at = np.searchsorted(np.array(numbers, np.int64), answers.column("instant").to_numpy())
    columns = {name: pa.array(np.array(own, np.int64)[at]) for name, own in zip(names, where, strict=True)}
    others = {name: answers.column(name) for name in answers.schema.names if name != "instant"}
    return pa.RecordBatch.from_pydict({**columns, **others})


def together(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of all parts; a column of NULLs goes with any type."""
    tables = [pa.Table.from_batches([part]) for part in parts]
    table = pa.concat_tables(tables, promote_options="default").combine_chunks()
    if not table.num_rows:
        return pa.RecordBatch.from_pylist([], schema=table.schema)
    (whole,) = table.to_batches()  # they would be several if a column of texts had more than 2 GiB
    return whole


def _added(layout: FoldLayout, noted: pa.RecordBatch, entry_of_row: NDArray[np.int64], entries: int) -> Totals:
    integers = [
        _whole_sums(entry_of_row, entries, noted.column(f"i{place}").to_numpy())
        for place in range(len(layout.integer_products))
    ]
    reals = [
        dd.add(
            sum_dds(entry_of_row, entries, noted.column(f"h{place}").to_numpy()),
            sum_dds(entry_of_row, entries, noted.column(f"l{place}").to_numpy()),
        )
        for place in range(len(layout.real_products))
    ]
    nothing, everywhere = np.zeros((entries, 0)), np.ones(noted.num_rows, np.bool_)
    return Totals(
        np.stack(integers, axis=1),
        np.stack([high for high, _ in reals], axis=1) if reals else nothing,
        np.stack([low for _, low in reals], axis=1) if reals else nothing,
        [
            extreme_of(noted.column(f"e{place}"), everywhere, layout.is_largest(extreme), entry_of_row, entries)
            for place, extreme in enumerate(layout.extremes)
        ],
    )


def _whole_sums(entry_of_row: NDArray[np.int64], entries: int, parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sums of parts, each of which is exact; a sum that wraps around is refused."""
    if len(parts) > entries and np.abs(np.bincount(entry_of_row, parts, entries)).max() >= 2.0**63:
        raise EvaluationError(
            "a group has too many combinations to sum numbers of this size exactly",
            "use a smaller window, or group by more columns.",
        )
    return sum_ints(entry_of_row, entries, parts)
