"""Blobs as batches for Spark."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from joinfold.arrow import arrow_schema
from joinfold.dialect import read_schema
from joinfold.operators.packing.routing import Addressed
from joinfold.runtime.blobs import BLOBS, BLOBS_ARROW, blob_batch

addressed = st.tuples(st.integers(0, 9), st.integers(-(2**31), 2**31 - 1), st.binary(max_size=5))


@given(blobs=st.lists(addressed, max_size=5))
def test_blobs_are_rows_in_their_order_also_where_there_are_none(blobs: list[Addressed]) -> None:
    batch = blob_batch(iter(blobs))
    assert batch.schema == BLOBS_ARROW
    assert [tuple(row.values()) for row in batch.to_pylist()] == blobs


def test_spark_and_arrow_have_the_same_columns() -> None:
    assert arrow_schema(read_schema(BLOBS)) == BLOBS_ARROW
    assert pa.schema(BLOBS_ARROW).names == ["stage", "bucket", "blob"]
