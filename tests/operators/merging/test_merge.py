"""Parts of a group from several buckets become one: sums add up, extremes compare, and nothing wraps around."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import EvaluationError
from joinfold.operators.emitted import NOTHING_EMITTED, Emitted
from joinfold.operators.merging.merge import finished, merge
from joinfold.physical.column_names import (
    INSTANT,
    WAS,
    aggregate_column,
    error_column,
    extreme_column,
    group_column,
    integer_column,
    real_columns,
)
from joinfold.physical.stage import Concatenate, Merge
from tests.operators.runs import plan_of

W = "[TUMBLE 5 MICROSECOND]"
QUERY = "SELECT b.g, SUM(b.d) AS s, COUNT(*) AS n, MAX(b.v) AS x FROM a {0}, b {0} WHERE a.k = b.k GROUP BY b.g, a.g"
SCHEMA = "k INT, g STRING, v INT, d DOUBLE"
LAST = plan_of(QUERY.format(W), SCHEMA).pipeline.last
Part = dict[tuple[int, str | None], tuple[int, float, int | None]]  # instant and group: rows, sum, largest
parts = st.dictionaries(
    st.tuples(st.integers(0, 2), st.none() | st.sampled_from("xy")),
    st.tuples(st.integers(1, 5), st.sampled_from([0.5, -2.0]), st.none() | st.integers(-3, 3)),
    min_size=1,
    max_size=4,
)


def emitted(part: Part) -> pa.RecordBatch:
    """Totals of a bucket; all groups have one value in their other column."""
    assert isinstance(LAST, Merge)
    other, shown = LAST.totals.groups
    rows = list(part.items())
    columns: dict[str, Any] = {INSTANT: pa.array([instant for (instant, _), _ in rows], pa.int64())}
    columns |= {other: pa.array(["o"] * len(rows)), shown: pa.array([group for (_, group), _ in rows], pa.string())}
    columns |= {integer_column(number): pa.array([own[0] for _, own in rows]) for number in range(LAST.totals.integers)}
    specials = range(1, LAST.totals.integers)
    columns |= {
        integer_column(number): pa.array([own[0] if number == presence() else 0 for _, own in rows])
        for number in specials
    }
    high, low = real_columns(0)
    columns |= {high: pa.array([own[1] for _, own in rows]), low: pa.array([0.0] * len(rows))}
    columns[error_column(0)] = pa.array([0.0] * len(rows))
    columns[extreme_column(0)] = pa.array([own[2] for _, own in rows], pa.int32())
    return pa.RecordBatch.from_pydict(columns)


def presence() -> int:
    """The product that counts the rows in which the argument of SUM is there; others count NaN and infinities."""
    assert isinstance(LAST, Merge)
    (limb,) = LAST.aggregates[0].moments[0].limbs
    return limb[0].index


@given(many=st.lists(parts, min_size=1, max_size=3))
def test_parts_of_a_group_become_one(many: list[Part]) -> None:
    assert isinstance(LAST, Merge)
    expected: dict[Any, Any] = {}
    for part in many:
        for name, (rows, total, largest) in part.items():
            before = expected.get(name, (0, 0.0, None))
            best = max((own for own in (before[2], largest) if own is not None), default=None)
            expected[name] = (before[0] + rows, before[1] + total, best)
    found = merge(LAST, [emitted(part) for part in many]).to_pylist()
    names = [aggregate_column(number) for number in (1, 0, 2)]
    assert len(found) == len(expected)
    assert {(row[INSTANT], row[group_column(0)]): tuple(row[name] for name in names) for row in found} == expected
    answers = finished(LAST, [NOTHING_EMITTED, *(Emitted(emitted(part), [0, 1, 2]) for part in many)])
    assert answers is not None and answers.to_pylist() == found


def test_a_bucket_that_has_emitted_nothing_says_nothing() -> None:
    assert NOTHING_EMITTED.rows is None and NOTHING_EMITTED.numbers == [] and NOTHING_EMITTED.boundaries == {}
    assert finished(LAST, [NOTHING_EMITTED, NOTHING_EMITTED]) is None
    assert Emitted(None, []).boundaries is not NOTHING_EMITTED.boundaries


@pytest.mark.parametrize(("halves", "fits"), [((2**62, 2**62 - 2**10), True), ((2**62, 2**62), False)])
def test_a_count_of_parts_that_does_not_fit_is_refused(halves: tuple[int, int], fits: bool) -> None:
    many = [emitted({(0, "x"): (rows, 0.5, None)}) for rows in halves]
    assert isinstance(LAST, Merge)
    if fits:
        assert merge(LAST, many).to_pylist()[0][aggregate_column(1)] == sum(halves)
    else:
        with pytest.raises(EvaluationError, match=f"^{2**63} does not fit BIGINT$"):
            merge(LAST, many)


def test_columns_that_take_the_place_of_the_instant() -> None:
    """Answers are found by their numbers, of which some have none."""
    last = Concatenate(("wid", "begin"))
    rows = pa.RecordBatch.from_pydict({INSTANT: [4, 2, 4], "v": ["a", "b", "c"]})
    found = finished(last, [NOTHING_EMITTED, Emitted(rows, [2, 3, 4], placed=[[20, 30, 40], [0, 1, 2]])])
    assert found is not None and found.to_pylist() == [
        {"wid": 40, "begin": 2, "v": "a"},
        {"wid": 20, "begin": 0, "v": "b"},
        {"wid": 40, "begin": 2, "v": "c"},
    ]


def test_for_changes_the_groups_of_before_are_not_an_answer() -> None:
    last = plan_of(QUERY.format(W) + " CHANGES", SCHEMA).pipeline.last
    own = Emitted(emitted({(0, "x"): (1, 0.5, 3), (5, "x"): (2, 0.5, 3)}), [5], before=0)
    found = finished(last, [own])
    assert found is not None and found.column(INSTANT).to_pylist() == [5] and found.column(WAS).to_pylist() == [True]
