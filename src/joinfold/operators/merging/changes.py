"""CHANGES: for each group, its aggregates at the instant before beside those of now.

instants      before   t1    t2    t3          before: the last instant of the previous piece or micro-batch
group x         •      •           •
emitted               (•,•) (•,-) (-,•)        (was, now); HAVING and SELECT then decide what has changed

A rounded aggregate is the same as before if the two values are not further apart than their errors: what rounding made
of equal values is no change. It is also the same if they are neighbouring doubles.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.kernels.grouping import group_rows
from joinfold.operators.values import identity_codes
from joinfold.physical.column_names import (
    INSTANT,
    NOW,
    WAS,
    aggregate_column,
    bound_columns,
    error_column,
    group_column,
    kept_column,
    same_column,
)
from joinfold.physical.stage import Merge

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

ULP = 2.0**-52
CLOSE = 2.0**-50
"""Floating values that SELECT has computed differ only by rounding if by no more than this share of the larger one."""


def changes(last: Merge, finished: pa.RecordBatch, instants: Sequence[int], before: int | None) -> pa.RecordBatch:
    """For each instant and group that is or was there: whether it was, whether it is, and the aggregates of both."""
    timeline = np.array([*([] if before is None else [before]), *instants], np.int64)
    groups = [group_column(number) for number in range(len(last.groups))]
    step = np.searchsorted(timeline, finished.column(INSTANT).to_numpy())
    codes = [code for name in groups for code in identity_codes(finished.column(name))]
    group, _ = group_rows(np.stack(codes)) if codes else (np.zeros(len(step), np.int64), None)
    order = np.lexsort((step, group))
    group, step = group[order], step[order]
    follows = np.zeros(len(order), np.bool_)  # the row before it is the same group at the instant before
    follows[1:] = (group[1:] == group[:-1]) & (step[1:] == step[:-1] + 1)
    followed = np.append(follows[1:], False)
    appears = ~follows & ((step > 0) if before is not None else np.ones(len(step), np.bool_))
    vanishes = ~followed & (step < len(timeline) - 1)
    old = np.concatenate([order[:-1][follows[1:]], np.full(appears.sum(), -1), order[vanishes]])
    new = np.concatenate([order[follows], order[appears], np.full(vanishes.sum(), -1)])
    at = np.concatenate([step[follows], step[appears], step[vanishes] + 1])
    return compared(last, finished, timeline[at], old, new)


def compared(last: Merge, finished: pa.RecordBatch, at: Integers, old: Integers, new: Integers) -> pa.RecordBatch:
    """Rows that tell what became of a group: at these instants, from an old row to a new one; −1 for no row."""
    groups = [group_column(number) for number in range(len(last.groups))]
    known = pa.array(np.where(new >= 0, new, old))
    columns: dict[str, pa.Array] = {INSTANT: pa.array(at)}
    columns |= {name: finished.column(name).take(known) for name in groups}
    columns |= {WAS: pa.array(old >= 0), NOW: pa.array(new >= 0)}
    for now, earlier in zip(_compared(last), _compared(last, before=True), strict=True):
        columns[now] = finished.column(now).take(pa.array(new, mask=new < 0))
        columns[earlier] = finished.column(now).take(pa.array(old, mask=old < 0))
    for number, aggregate in enumerate(last.aggregates):
        if not aggregate.is_exact:
            values, errors = finished.column(aggregate_column(number)), finished.column(error_column(number)).to_numpy()
            columns[same_column(number)] = pa.array((old >= 0) & (new >= 0) & _same(values, errors, old, new))
    return pa.RecordBatch.from_pydict(columns)


def _same(values: pa.Array, errors: Doubles, old: Integers, new: Integers) -> Flags:
    """Whether the values of two rows differ by no more than their errors, and their rounding to doubles."""
    missing, doubles = values.is_null().to_numpy(zero_copy_only=False), values.fill_null(0.0).to_numpy()
    was, now = doubles[old], doubles[new]
    with np.errstate(all="ignore"):
        allowed = errors[old] + errors[new] + ULP * np.maximum(np.abs(was), np.abs(now))
        near = np.isfinite(allowed) & (np.abs(was - now) <= allowed)
    alike = (was == now) | (np.isnan(was) & np.isnan(now)) | near
    return np.asarray((missing[old] == missing[new]) & (missing[old] | alike), np.bool_)


def _compared(last: Merge, before: bool = False) -> list[str]:
    """The columns that a group has at the instant before and now: aggregates, and of estimates also their bounds."""
    names = [aggregate_column(number, before) for number in range(len(last.aggregates))]
    if last.estimates is not None:
        names += [name for output in last.estimates.bounded for name in bound_columns(output.number, before)]
        names.append(kept_column(before))
    return names
