"""The order of rows of one stream against Python's: by time, then by values, NULL first and NaN last."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.ordering import in_order, ranks
from joinfold.physical.column_names import CELL

numbers = st.sampled_from([None, -math.inf, -1.5, -0.0, 0.0, 2.25, math.inf, math.nan])
texts = st.sampled_from([None, "", "a", "A", "é", "aa"])
row = st.tuples(st.integers(-2, 2), numbers, texts)
ORDER = ("order a.v", "order (concat a.s b.s)")


def key(own: tuple[int, float | None, str | None]) -> tuple[Any, ...]:
    """What Python compares: −0.0 is 0.0, and all NaN are one."""
    ts, number, text = own
    is_nan = number is not None and math.isnan(number)
    encoded = b"" if text is None else text.encode()
    return (ts, number is not None, is_nan, 0.0 if is_nan or number is None else number, text is not None, encoded)


@given(st.lists(row, max_size=12), st.booleans())
def test_rows_are_in_the_order_of_python(rows: list[tuple[int, float | None, str | None]], as_table: bool) -> None:
    types = (pa.int64(), pa.float64(), pa.string())
    columns = [pa.array([own[ordinal] for own in rows], type_) for ordinal, type_ in enumerate(types)]
    batch = pa.RecordBatch.from_arrays(columns, names=[CELL, *ORDER])
    ordinals = in_order(pa.Table.from_batches([batch.slice(0, 3), batch.slice(3)]) if as_table else batch, ORDER)
    assert sorted(ordinals.tolist()) == list(range(len(rows)))
    assert [key(rows[ordinal]) for ordinal in ordinals] == sorted(map(key, rows))
    found = ranks(batch, ORDER, ordinals)
    for left in range(len(rows)):
        for right in range(len(rows)):
            assert (found[left] < found[right]) == (key(rows[left]) < key(rows[right]))
    assert found.dtype == np.int64
