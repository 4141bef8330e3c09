"""Ids against a dictionary: equal for equal values, dense, and values again."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.identities import ColumnIds, RowIds
from tests.operators.typed import FEW, columns, same


@pytest.mark.parametrize("type_", FEW, ids=str)
@given(data=st.data())
def test_the_ids_of_a_column_are_those_of_a_dictionary(data: st.DataObject, type_: pa.DataType) -> None:
    """NULL is 0, and others get the next id when they are seen for the first time, in whichever batch."""
    ids, known = ColumnIds(type_), dict[Any, int]()
    for values in data.draw(st.lists(columns(type_), max_size=4)):
        column = pa.array(values, type_)
        expected = [0 if value is None else known.setdefault(same(value), len(known) + 1) for value in values]
        found = ids.intern(column)
        assert found.dtype == np.int32 and found.tolist() == expected
        assert len(ids) == len(known)
        again = ids.take(found)
        assert again.type == type_ and list(map(same, again.to_pylist())) == list(map(same, column.to_pylist()))


@given(data=st.data(), of=st.lists(st.sampled_from(list(FEW)), max_size=3))
def test_the_ids_of_rows_are_those_of_a_dictionary_of_tuples(data: st.DataObject, of: list[pa.DataType]) -> None:
    ids, known = RowIds(), dict[Any, int]()
    rows = st.lists(st.tuples(*(st.none() | st.sampled_from(FEW[type_]) for type_ in of)), max_size=6)
    for batch in data.draw(st.lists(rows, max_size=4)):
        arrays = [pa.array([row[at] for row in batch], type_) for at, type_ in enumerate(of)]
        found = ids.intern(arrays, len(batch)).tolist()
        for row, own in zip(batch, found, strict=True):
            assert known.setdefault(tuple(map(same, row)), own) == own
        assert len(set(known.values())) == len(known)
        again = [list(map(same, column.to_pylist())) for column in ids.take(np.array(found, np.int32))]
        assert again == [list(map(same, column.to_pylist())) for column in arrays]
        if of:
            assert max(found, default=-1) < ids.count <= len(known) + 1
    assert len(ids) <= max(len(known), 1) and (ids.count == 0 or bool(of))


@pytest.mark.parametrize("values", [[None], [7], [None, 7]])
def test_a_single_column_has_an_id_for_null_from_the_beginning(values: list[int | None]) -> None:
    ids = RowIds()
    found = ids.intern([pa.array(values, pa.int64())], len(values)).tolist()
    assert found == [0 if value is None else 1 for value in values] and ids.count == (7 in values) + 1


def test_rows_without_columns_are_all_one() -> None:
    ids = RowIds()
    assert ids.intern([], 3).tolist() == [0, 0, 0]
    assert ids.take(np.zeros(3, np.int32)) == [] and len(ids) == ids.count == 0


def test_nested_values_have_ids() -> None:
    column = pa.array([[{"x": 0.0}], [{"x": -0.0}], None, [{"x": None}], []])
    ids = RowIds()
    assert ids.intern([column], 5).tolist() == [1, 1, 0, 2, 3]
    assert ids.intern([column[3:]], 2).tolist() == [2, 3]
    (again,) = ids.take(np.array([3, 0, 1], np.int32))
    assert again.to_pylist() == [[], None, [{"x": 0.0}]]
