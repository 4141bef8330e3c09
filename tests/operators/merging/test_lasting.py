"""MERGE of rows that last, against a dictionary for each bucket."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.merging.lasting import merge_lasting
from joinfold.physical.column_names import INSTANT, NOW, WAS, aggregate_column, group_column, integer_column
from joinfold.physical.payload import AggregateSpec, ColumnRef, MomentSum
from joinfold.physical.stage import Merge, Totals
from joinfold.types import DataType

COUNT = AggregateSpec("count", DataType("BIGINT"), moments=(MomentSum(((ColumnRef(True, 0), 0),)),))
FIRST, LENGTH = 10, 4
Standing = dict[str | None, int]
rows = st.dictionaries(
    st.tuples(st.integers(FIRST - 1, FIRST + LENGTH - 1), st.none() | st.sampled_from("xy")), st.integers(0, 2)
)


def merge(changes: bool, groups: tuple[str, ...] = ("g",)) -> Merge:
    return Merge(Totals(groups, 1, 0, ()), groups, (COUNT,), changes)


def batch(own: dict[tuple[int, str | None], int], groups: bool = True) -> pa.RecordBatch:
    """What a bucket emits, in the order of numbers."""
    ordered = sorted(own.items(), key=lambda item: item[0][0])
    columns = {INSTANT: pa.array([number for (number, _), _ in ordered], pa.int64())}
    if groups:
        columns["g"] = pa.array([group for (_, group), _ in ordered], pa.string())
    columns[integer_column(0)] = pa.array([value for _, value in ordered], pa.int64())
    return pa.RecordBatch.from_pydict(columns)


def standing(parts: list[dict[tuple[int, str | None], int]]) -> dict[int, Standing]:
    """The counts of all groups that have any, at every number and before the first."""
    found: dict[int, Standing] = {}
    for number in range(FIRST - 1, FIRST + LENGTH):
        totals: Standing = {}
        for part in parts:
            last: Standing = {}
            for (at, group), value in sorted(part.items(), key=lambda item: item[0][0]):
                if at <= number:
                    last[group] = value
            for group, value in last.items():
                totals[group] = totals.get(group, 0) + value
        found[number] = {group: value for group, value in totals.items() if value}
    return found


@given(parts=st.lists(rows.filter(bool), min_size=1, max_size=3))
def test_an_answer_lasts_until_the_next(parts: list[dict[tuple[int, str | None], int]]) -> None:
    found = merge_lasting(merge(False), [batch(part) for part in parts], range(FIRST, FIRST + LENGTH)).to_pylist()
    expected = [
        {INSTANT: number, group_column(0): group, aggregate_column(0): value}
        for number, own in standing(parts).items()
        for group, value in own.items()
        if number >= FIRST
    ]
    assert sorted(found, key=str) == sorted(expected, key=str)


@given(parts=st.lists(rows.filter(bool), min_size=1, max_size=3))
def test_a_change_is_from_the_row_before(parts: list[dict[tuple[int, str | None], int]]) -> None:
    """Only what differs has to be there; what is the same may be there."""
    found = merge_lasting(merge(True), [batch(part) for part in parts], range(FIRST, FIRST + LENGTH)).to_pylist()
    at = standing(parts)
    expected: list[dict[str, Any]] = []
    for number in range(FIRST, FIRST + LENGTH):
        old, new = at[number - 1], at[number]
        expected += [
            {
                INSTANT: number,
                group_column(0): group,
                WAS: group in old,
                NOW: group in new,
                aggregate_column(0): new.get(group),
                aggregate_column(0, before=True): old.get(group),
            }
            for group in old | new
        ]
    for row in found:
        expected.remove(row)
    assert all(row[aggregate_column(0)] == row[aggregate_column(0, before=True)] for row in expected)


@pytest.mark.parametrize("changes", [False, True])
def test_the_one_group_of_a_query_without_groups_is_there_even_if_empty(changes: bool) -> None:
    own = {(FIRST, None): 0, (FIRST + 2, None): 3}
    found = merge_lasting(merge(changes, ()), [batch(own, groups=False)], range(FIRST, FIRST + LENGTH)).to_pylist()
    counts = [(row[INSTANT] - FIRST, row[aggregate_column(0)]) for row in found]
    assert counts == ([(0, 0), (2, 3)] if changes else [(0, 0), (1, 0), (2, 3), (3, 3)])
