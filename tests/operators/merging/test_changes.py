"""What each group was and is, against two dictionaries for each instant."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.merging.changes import changes
from joinfold.physical.column_names import INSTANT, NOW, WAS, aggregate_column, group_column
from joinfold.physical.payload import AggregateSpec
from joinfold.physical.stage import Merge, Totals
from joinfold.types import DataType

LAST = Merge(Totals(("g",), 1, 0, ()), ("g",), (AggregateSpec("count", DataType("BIGINT")),), changes=True)
GLOBAL = Merge(Totals((), 1, 0, ()), (), LAST.aggregates, changes=True)
Standing = dict[str | None, int]
groups = st.dictionaries(st.none() | st.sampled_from("xy"), st.integers(0, 2), max_size=3)


def finished(standing: dict[int, Standing], last: Merge = LAST) -> pa.RecordBatch:
    """The groups at some instants, as MERGE has them."""
    rows = [(instant, group, value) for instant, own in standing.items() for group, value in own.items()]
    columns = {INSTANT: pa.array([row[0] for row in rows], pa.int64())}
    if last.groups:
        columns[group_column(0)] = pa.array([row[1] for row in rows], pa.string())
    columns[aggregate_column(0)] = pa.array([row[2] for row in rows], pa.int64())
    return pa.RecordBatch.from_pydict(columns)


@given(standing=st.lists(groups, min_size=1, max_size=5), has_before=st.booleans())
def test_was_and_now_are_those_of_neighbouring_instants(standing: list[Standing], has_before: bool) -> None:
    """Groups that are there at neither of them are not said; the first instant of all has nothing before it."""
    instants = [10 * number for number in range(len(standing))]
    at = dict(zip(instants, standing, strict=True))
    before, after = (instants[0], instants[1:]) if has_before else (None, instants)
    found = changes(LAST, finished(at), after, before).to_pylist()
    expected: list[dict[str, Any]] = []
    for number, instant in enumerate(instants):
        old = at[instants[number - 1]] if number else {}
        expected += [
            {
                INSTANT: instant,
                group_column(0): group,
                WAS: group in old,
                NOW: group in at[instant],
                aggregate_column(0): at[instant].get(group),
                aggregate_column(0, before=True): old.get(group),
            }
            for group in old | at[instant]
            if instant in after
        ]
    assert sorted(found, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("before", [None, 0])
def test_without_groups_there_is_one_that_is_always_there(before: int | None) -> None:
    found = changes(GLOBAL, finished({0: {None: 3}, 5: {None: 4}}, GLOBAL), [5] if before == 0 else [0, 5], before)
    now = [
        (row[INSTANT], row[WAS], row[aggregate_column(0, before=True)], row[aggregate_column(0)])
        for row in found.to_pylist()
    ]
    first = [] if before == 0 else [(0, False, None, 3)]
    assert sorted(now, key=str) == sorted([*first, (5, True, 3, 4)], key=str)
