"""Blobs as batches for Spark."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.arrow import arrow_schema
from joinfold.dialect import read_schema
from joinfold.operators.packing.routing import Addressed
from joinfold.runtime.blobs import BLOBS, BLOBS_ARROW, blob_batch, by_piece

addressed = st.tuples(st.integers(0, 9), st.integers(-(2**31), 2**31 - 1), st.binary(max_size=5))


@given(blobs=st.lists(addressed, max_size=5))
def test_blobs_are_rows_in_their_order_also_where_there_are_none(blobs: list[Addressed]) -> None:
    batch = blob_batch(iter(blobs))
    assert batch.schema == BLOBS_ARROW
    assert [(row["stage"], row["bucket"], row["blob"]) for row in batch.to_pylist()] == blobs
    assert set(blob_batch(iter(blobs), 7).column("piece").to_pylist()) <= {7}


@given(pieces=st.lists(st.tuples(st.integers(0, 4), st.lists(st.binary(max_size=5), max_size=3)), max_size=5))
@pytest.mark.parametrize("spooled_bytes", [4, 2**20])
def test_blobs_come_piece_by_piece_whatever_the_order_of_buckets(
    spooled_bytes: int, pieces: list[tuple[int, list[bytes]]]
) -> None:
    batches = [blob_batch([(1, 0, blob) for blob in blobs], piece) for piece, blobs in pieces]
    expected = [[blob for own, blobs in pieces if own == piece for blob in blobs] for piece in range(5)]
    assert list(by_piece(batches, spooled_bytes)) == [blobs for blobs in expected if blobs]


def test_spark_and_arrow_have_the_same_columns() -> None:
    assert arrow_schema(read_schema(BLOBS)) == BLOBS_ARROW
    assert pa.schema(BLOBS_ARROW).names == ["stage", "bucket", "piece", "blob"]
