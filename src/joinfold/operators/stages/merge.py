"""MERGE: adds up the parts of a group that come from several buckets, and finishes aggregates from totals.

It has no state: at an instant every bucket emits all its groups, so the parts of one micro-batch are enough.
"""

from collections.abc import Sequence
from typing import assert_never

import numpy as np
import pyarrow as pa

from joinfold.errors import EvaluationError
from joinfold.kernels.grouping import group_rows, sum_dds, sum_ints
from joinfold.numbers import double_double as dd
from joinfold.operators.batches import together
from joinfold.operators.emitted import Emitted
from joinfold.operators.entries import Integers
from joinfold.operators.stages.changes import changes
from joinfold.operators.stages.finish import GroupSums, finish
from joinfold.operators.values import extreme_of, identity_codes
from joinfold.physical.column_names import (
    INSTANT,
    aggregate_column,
    extreme_column,
    group_column,
    integer_column,
    real_columns,
)
from joinfold.physical.stage import Concatenate, LastStage, Merge, Totals


def finished(last: LastStage, parts: Sequence[Emitted]) -> pa.RecordBatch | None:
    """The answers of a micro-batch, from what all buckets have emitted; None where there are none."""
    rows = [part.rows for part in parts if part.rows is not None]
    if not rows:
        return None
    emitted = next(part for part in parts if part.rows is not None)
    match last:
        case Concatenate():
            answers = together(rows)
        case Merge():
            answers = merge(last, rows)
            if last.changes:
                answers = changes(last, answers, emitted.numbers, emitted.before)
        case _:
            assert_never(last)
    return answers if emitted.placed is None else _replace_instant(last, answers, emitted.numbers, emitted.placed)


def merge(last: Merge, parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """One row per instant and group: instant, group columns, aggregates."""
    emitted = together(parts)
    codes = [emitted.column(INSTANT).to_numpy()]
    codes += [code for name in last.totals.groups for code in identity_codes(emitted.column(name))]
    entry_of_row, first_row = group_rows(np.stack(codes))
    first = pa.array(first_row)
    sums = _added(last.totals, emitted, entry_of_row, len(first_row))
    columns = {INSTANT: emitted.column(INSTANT).take(first)}
    columns |= {group_column(number): emitted.column(name).take(first) for number, name in enumerate(last.groups)}
    for number, aggregate in enumerate(last.aggregates):
        columns[aggregate_column(number)] = finish(aggregate, sums)
    return pa.RecordBatch.from_pydict(columns)


def _replace_instant(
    last: LastStage, answers: pa.RecordBatch, numbers: list[int], placed: list[list[int]]
) -> pa.RecordBatch:
    """Answers with the columns of ``placed`` instead of their numbers."""
    at = np.searchsorted(np.array(numbers, np.int64), answers.column(INSTANT).to_numpy())
    columns = {name: pa.array(np.array(values, np.int64)[at]) for name, values in zip(last.placed, placed, strict=True)}
    others = {name: answers.column(name) for name in answers.schema.names if name != INSTANT}
    return pa.RecordBatch.from_pydict({**columns, **others})


def _added(totals: Totals, emitted: pa.RecordBatch, entry_of_row: Integers, entries: int) -> GroupSums:
    integers = [
        _whole_sums(entry_of_row, entries, emitted.column(integer_column(number)).to_numpy())
        for number in range(totals.integers)
    ]
    reals = [
        dd.add(*(sum_dds(entry_of_row, entries, emitted.column(name).to_numpy()) for name in real_columns(number)))
        for number in range(totals.reals)
    ]
    nothing, everywhere = np.zeros((entries, 0)), np.ones(emitted.num_rows, np.bool_)
    return GroupSums(
        np.stack(integers, axis=1),
        np.stack([high for high, _ in reals], axis=1) if reals else nothing,
        np.stack([low for _, low in reals], axis=1) if reals else nothing,
        [
            extreme_of(emitted.column(extreme_column(number)), everywhere, extreme.largest, entry_of_row, entries)
            for number, extreme in enumerate(totals.extremes)
        ],
    )


def _whole_sums(entry_of_row: Integers, entries: int, parts: Integers) -> Integers:
    """The sums of exact parts. A sum that would wrap around is an error."""
    if len(parts) > entries and np.abs(np.bincount(entry_of_row, parts, entries)).max() >= 2.0**63:
        raise EvaluationError(
            "a group has too many combinations to sum numbers of this size exactly",
            "use a smaller window, or group by more columns.",
        )
    return sum_ints(entry_of_row, entries, parts)
