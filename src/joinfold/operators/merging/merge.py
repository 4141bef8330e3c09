"""MERGE: adds up the parts of a group that come from several buckets, and finishes aggregates from totals.

It has no state: at an instant every bucket emits all its groups, so the parts that all buckets emit for the same
instants are enough. The answers of a micro-batch come in pieces, one after another.
"""

from collections.abc import Sequence
from typing import assert_never

import numpy as np
import pyarrow as pa

from joinfold.kernels.grouping import group_rows
from joinfold.operators.batches import together
from joinfold.operators.emitted import Emitted
from joinfold.operators.entries import Integers
from joinfold.operators.merging.changes import changes
from joinfold.operators.merging.estimating import SampledTotals, bounds_and_kept
from joinfold.operators.merging.finish import aggregates_of
from joinfold.operators.merging.group_sums import GroupSums
from joinfold.operators.merging.lasting import merge_lasting
from joinfold.operators.values import identity_codes
from joinfold.operators.wide_totals import alike
from joinfold.physical.column_names import (
    INSTANT,
)
from joinfold.physical.stage import Concatenate, LastStage, Merge


def finished(last: LastStage, parts: Sequence[Emitted], zone: str = "UTC") -> pa.RecordBatch | None:
    """The answers of a piece, from what all buckets have emitted; None where there are none.

    Bounds of estimates may read a TIMESTAMP in the zone.
    """
    rows = [part.rows for part in parts if part.rows is not None]
    if not rows:
        return None
    emitted = next(part for part in parts if part.rows is not None)
    match last:
        case Concatenate():
            answers = together(rows)
        case Merge() if emitted.is_lasting:
            answers = merge_lasting(last, rows, emitted.numbers)
        case Merge():
            answers = merge(last, rows) if last.estimates is None else estimate(last, rows, emitted, zone)
            if last.changes:
                answers = changes(last, answers, emitted.numbers, emitted.before)
        case _:
            assert_never(last)
    return answers if emitted.placed is None else _replace_instant(last, answers, emitted.numbers, emitted.placed)


def merge(last: Merge, parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """One row per instant and group: instant, group columns, aggregates."""
    emitted = together(alike(last.totals, parts))
    group_of_row, first_row = _groups(last, emitted)
    sums = GroupSums.of(last.totals, emitted, group_of_row, len(first_row))
    columns = {INSTANT: emitted.column(INSTANT).take(pa.array(first_row))}
    return pa.RecordBatch.from_pydict(columns | aggregates_of(last, emitted, first_row, sums))


def estimate(last: Merge, parts: Sequence[pa.RecordBatch], facts: Emitted, zone: str) -> pa.RecordBatch:
    """The same of a sample: instant, group columns, estimates, bounds, and the share that was kept.

    Without GROUP BY there is an answer at every instant, even if nothing of it is in the sample.
    """
    assert facts.samples is not None
    emitted = together(alike(last.totals, parts))
    group_of_row, first_row = _groups(last, emitted)
    instants = emitted.column(INSTANT).to_numpy()[first_row]
    if not last.groups:
        wanted = [*([] if facts.before is None else [facts.before]), *facts.numbers]
        instants = np.append(instants, np.setdiff1d(np.array(wanted, np.int64), instants))
    known = np.array([[at, *own] for at, own in sorted(facts.samples.items())], np.int64).reshape(-1, 3)
    _, rates, expected = known[np.searchsorted(known[:, 0], instants)].T
    totals = SampledTotals(last, emitted, group_of_row, rates, expected)
    sums = totals.sums()
    columns = {INSTANT: pa.array(instants)} | aggregates_of(last, emitted, first_row, sums)
    return pa.RecordBatch.from_pydict(columns | bounds_and_kept(totals, sums, columns, zone))


def _groups(last: Merge, emitted: pa.RecordBatch) -> tuple[Integers, Integers]:
    """The number of the group of each row, at its instant, and the first row of each group."""
    codes = [emitted.column(INSTANT).to_numpy()]
    codes += [code for name in last.group_columns for code in identity_codes(emitted.column(name))]
    return group_rows(np.stack(codes))


def _replace_instant(
    last: LastStage, answers: pa.RecordBatch, numbers: list[int], placed: list[list[int]]
) -> pa.RecordBatch:
    """Answers with the columns of ``placed`` instead of their numbers."""
    at = np.searchsorted(np.array(numbers, np.int64), answers.column(INSTANT).to_numpy())
    columns = {name: pa.array(np.array(values, np.int64)[at]) for name, values in zip(last.placed, placed, strict=True)}
    others = {name: answers.column(name) for name in answers.schema.names if name != INSTANT}
    return pa.RecordBatch.from_pydict({**columns, **others})
