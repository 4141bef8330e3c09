"""MERGE of rows that last: each holds until another row of its group, from the same bucket, replaces it.

A bucket that answers every arrival emits only the groups that an arrival has changed. The totals of a group change
where those of one of its parts do, and are then the sum of the last rows of all buckets:

    number             before   0     1     2     3     4
    bucket 0, group x    •            •           •
    bucket 1, group x    •                  •
    totals of x          •            •     •     •           the last two rows, added up
    answers of x                •     •     •     •     •     for SNAPSHOT each lasts to the next
    changes of x                      •     •     •           for CHANGES each is compared with the one before

So a group costs MERGE something where it changes, not at every arrival.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from joinfold.kernels.grouping import group_rows
from joinfold.operators.batches import together
from joinfold.operators.entries import Flags, Integers
from joinfold.operators.merging.changes import compared
from joinfold.operators.merging.finish import aggregates_of
from joinfold.operators.merging.group_sums import GroupSums
from joinfold.operators.values import identity_codes
from joinfold.operators.wide_totals import alike, is_wide
from joinfold.physical.column_names import INSTANT, integer_column, real_columns
from joinfold.physical.stage import Merge

SMALL = 2**15  # numbers below this are sorted digit by digit


def merge_lasting(last: Merge, parts: Sequence[pa.RecordBatch], numbers: Sequence[int]) -> pa.RecordBatch:
    """The answers at all numbers, or for CHANGES what has changed, from the rows of each bucket.

    The numbers follow each other; rows with a smaller number hold before the first.
    """
    emitted = together(alike(last.totals, parts))
    bucket = np.repeat(np.arange(len(parts)), [part.num_rows for part in parts])
    first, end = numbers[0], numbers[-1] + 1
    length = end - first + 1
    steps = _groups(last, emitted) * length + np.maximum(emitted.column(INSTANT).to_numpy() - (first - 1), 0)
    points, rows, point_of_row = _last_rows(steps, bucket, len(parts), length)
    group, at = np.divmod(points, length)
    at += first - 1
    there = _exist(last, emitted, rows, point_of_row, len(points))
    answered = np.flatnonzero(there)
    answer_of = np.where(there, np.cumsum(there) - 1, -1)
    used = there[point_of_row]
    rows, answer_of_row = rows[used], answer_of[point_of_row[used]]
    answers = _finished(last, emitted.take(pa.array(rows)), answer_of_row, at[answered])
    follows = np.append(False, group[1:] == group[:-1])
    if not last.changes:
        until = np.append(np.where(follows[1:], at[1:], end), end)[: len(at)][answered]
        return _lasting(answers, np.maximum(at[answered], first), until)
    old = np.where(follows, np.roll(answer_of, 1), -1)
    chosen = np.flatnonzero((at >= first) & ((old >= 0) | (answer_of >= 0)))
    return compared(last, answers, at[chosen], old[chosen], answer_of[chosen])


def _groups(last: Merge, emitted: pa.RecordBatch) -> Integers:
    """The number of the group of each row."""
    codes = [code for name in last.group_columns for code in identity_codes(emitted.column(name))]
    return group_rows(np.stack(codes))[0] if codes else np.zeros(emitted.num_rows, np.int64)


def _last_rows(steps: Integers, bucket: Integers, buckets: int, length: int) -> tuple[Integers, Integers, Integers]:
    """Where totals change, sorted; the last row of each bucket there, and the place of its point.

    ``steps`` are group times length plus number, so a group's rows follow each other.
    """
    order = _in_order(steps, length)
    ordered = steps[order]
    is_last = np.append(ordered[1:] != ordered[:-1], True)
    points = ordered[is_last]
    if buckets == 1:
        return points, order[is_last], np.arange(len(points))
    rows, places = [], []
    for number in range(buckets):
        own = order[bucket[order] == number]
        place = np.searchsorted(steps[own], points, "right") - 1
        found = np.flatnonzero((place >= 0) & (steps[own[place]] // length == points // length))
        rows.append(own[place[found]])
        places.append(found)
    return points, np.concatenate(rows), np.concatenate(places)


def _in_order(steps: Integers, length: int) -> Integers:
    """The indices that sort rows by group, then number. Small numbers are sorted fastest, one after the other."""
    group, number = np.divmod(steps, length)
    if length > SMALL or int(group.max(initial=0)) >= SMALL:
        return np.argsort(steps, kind="stable")
    by_number = np.argsort(number.astype(np.int16), kind="stable")
    return by_number[np.argsort(group[by_number].astype(np.int16), kind="stable")]


def _exist(last: Merge, emitted: pa.RecordBatch, rows: Integers, point_of_row: Integers, points: int) -> Flags:
    """Whether the group has a combination, at each point; the one group of a query without groups is always there."""
    if not last.groups:
        return np.ones(points, np.bool_)
    counted = emitted.column(integer_column(0)).to_numpy() != 0
    if is_wide(last.totals, emitted):
        counted |= emitted.column(real_columns(last.totals.reals)[0]).to_numpy() != 0
    found = np.zeros(points, np.bool_)
    found[point_of_row[counted[rows]]] = True
    return found


def _finished(last: Merge, rows: pa.RecordBatch, answer_of_row: Integers, at: Integers) -> pa.RecordBatch:
    """Groups and aggregates of some answers, from the rows that are added up for each."""
    first_row = np.zeros(len(at), np.int64)
    first_row[answer_of_row[::-1]] = np.arange(len(answer_of_row))[::-1]
    sums = GroupSums.of(last.totals, rows, answer_of_row, len(at))
    return pa.RecordBatch.from_pydict({INSTANT: pa.array(at)} | aggregates_of(last, rows, first_row, sums))


def _lasting(answers: pa.RecordBatch, first: Integers, until: Integers) -> pa.RecordBatch:
    """Each answer again for every number from its first one on, until its last."""
    lengths = until - first
    ends = np.cumsum(lengths)
    place = np.repeat(np.arange(len(lengths)), lengths)
    numbers = np.repeat(first - ends + lengths, lengths) + np.arange(len(place))
    repeated = answers.take(pa.array(place))
    return repeated.set_column(repeated.schema.get_field_index(INSTANT), INSTANT, pa.array(numbers))
