"""Columns as codes: equal for equal values, in the order of values, the same in every batch."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess.frames import frame_batch
from joinfold.operators.values import (
    extreme_of,
    flags_of,
    from_order_codes,
    identity_codes,
    in_utc,
    integers,
    order_codes,
    ordered_pairs,
    present,
    ranks,
    stable_hash,
)
from joinfold.planner.planned_query import PlannedQuery
from tests.operators.runs import plan_of, tables_of
from tests.operators.typed import FEW, VALUES, columns, data_of, order, same

WINDOW = "[20 MICROSECOND SLIDE 3 MICROSECOND]"


@pytest.mark.parametrize("type_", FEW, ids=str)
@given(data=st.data())
def test_codes_are_equal_where_values_are(data: st.DataObject, type_: pa.DataType) -> None:
    """NULL equals NULL, and nothing else."""
    values = data.draw(columns(type_))
    column = pa.array(values, type_)
    codes = list(zip(*(code.tolist() for code in identity_codes(column)), strict=True))
    hashes = stable_hash([column]).tolist() if values else []
    for left, one in enumerate(values):
        for right, two in enumerate(values):
            assert (codes[left] == codes[right]) == (same(one) == same(two))
            assert same(one) != same(two) or hashes[left] == hashes[right]
    assert (present(column) is None) == (None not in values)
    there = present(pa.array([*values, None], type_))
    assert there is not None and there.tolist() == [value is not None for value in [*values, None]]


@pytest.mark.parametrize("type_", FEW, ids=str)
@given(data=st.data())
def test_codes_of_fixed_width_are_in_the_order_of_values(data: st.DataObject, type_: pa.DataType) -> None:
    """Others have ranks among themselves."""
    values = data.draw(columns(type_))
    column, there = pa.array(values, type_), [value for value in values if value is not None]
    codes = order_codes(column)
    if codes is None:
        assert integers(column) is None and not pa.types.is_floating(type_)
        codes, by_code = ranks(column)
        assert by_code.to_pylist() == sorted(set(there))
        assert [by_code[code].as_py() for code in codes[column.is_valid().to_numpy(False)].tolist()] == there
    else:
        again = from_order_codes(codes, type_, np.array([value is not None for value in values], np.bool_))
        assert again.type == type_ and list(map(same, again.to_pylist())) == list(map(same, values))
    code_of = {same(value): code for value, code in zip(values, codes.tolist(), strict=True) if value is not None}
    in_order = [code_of[same(value)] for value in sorted(there, key=order)]
    assert in_order == sorted(in_order)


@pytest.mark.parametrize("type_", FEW, ids=str)
@given(data=st.data(), is_largest=st.booleans())
def test_extremes_are_those_of_python(data: st.DataObject, type_: pa.DataType, is_largest: bool) -> None:
    rows = data.draw(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.none() | st.sampled_from(FEW[type_]))))
    values, mask = pa.array([value for _, _, value in rows], type_), np.array([own for _, own, _ in rows], np.bool_)
    found = extreme_of(values, mask, is_largest, np.array([entry for entry, _, _ in rows], np.int64), 3)
    best = max if is_largest else min
    expected = []
    for entry in range(3):
        own = [value for of, chosen, value in rows if of == entry and chosen and value is not None]
        expected.append(best(own, key=order, default=None))
    assert found.type == type_ and list(map(same, found.to_pylist())) == list(map(same, expected))


@given(st.lists(st.tuples(st.none() | st.integers(0, 2), st.none() | st.sampled_from("ab"))), st.booleans())
def test_of_values_that_are_ordered_by_others_null_is_chosen_last(rows: list[Any], is_largest: bool) -> None:
    pairs = ordered_pairs(pa.array([by for by, _ in rows], pa.int64()), pa.array([own for _, own in rows], pa.string()))
    assert pairs.to_pylist() == [None if by is None else {"by": by, "value": own} for by, own in rows]
    everywhere, entry = np.ones(len(rows), np.bool_), np.zeros(len(rows), np.int64)
    best = (max if is_largest else min)(
        (row for row in rows if row[0] is not None),
        key=lambda row: (row[0], (row[1] is None) != is_largest, row[1] or ""),
        default=None,
    )
    found = extreme_of(pairs, everywhere, is_largest, entry, 1).to_pylist()
    assert found == [None if best is None else {"by": best[0], "value": best[1]}]


def test_a_condition_that_is_null_is_not_true() -> None:
    assert flags_of(pa.array([True, None, False])).tolist() == [True, False, False]


def test_nested_values_are_equal_by_what_they_hold() -> None:
    column = pa.array([[{"x": 0.0}], [{"x": -0.0}], None, [{"x": None}], []])
    assert len(set(stable_hash([column]).tolist())) == 4
    (code,) = identity_codes(column)
    assert len(set(code.tolist())) == 4 and code[0] == code[1]


def keyed(type_: str) -> PlannedQuery:
    return plan_of(
        f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k", f"k {type_}, v BIGINT, g STRING"
    )


@pytest.mark.parametrize("type_", sorted(VALUES))
def test_a_hash_is_the_same_in_every_batch(type_: str) -> None:
    """It decides the bucket, so −0.0 and 0.0, and values in other batches, must agree; NULL is a group too."""
    plan = keyed(type_)
    columns = [frame_batch(plan.frames[0], tables_of(plan, data_of(type_))["a"]).column(plan.body.inputs[0].keys[0])]
    together = stable_hash(columns)
    alone = [stable_hash([columns[0].slice(ordinal, 1)])[0] for ordinal in range(len(together))]
    assert together.tolist() == alone
    assert len(set(alone)) > 1
    if type_ in ("FLOAT", "DOUBLE"):
        assert alone[0] == alone[1] and alone[2] == alone[-1]  # −0.0 and NaN


def test_timestamps_are_the_same_in_every_zone() -> None:
    zones = [None, "UTC", "Asia/Tokyo", "+05:30"]
    batches = [pa.RecordBatch.from_pydict({"t": pa.array([1, None], pa.timestamp("us", tz=zone))}) for zone in zones]
    assert [str(in_utc(batch).schema.field("t").type) for batch in batches] == ["timestamp[us]"] + 3 * [
        "timestamp[us, tz=UTC]"
    ]
