"""Rows as Arrow has them: columns in the types of their source, and times of rows that have none."""

import pyarrow as pa
import pytest

from joinfold.dialect import read_schema
from joinfold.errors import UsageError
from joinfold.inprocess.rows import column_of, kind_of, times_of
from joinfold.logical.query import Source

SCHEMA = read_schema("ts TIMESTAMP, k BIGINT, t STRING")
STREAM, UNTIMED = Source("s", SCHEMA, True, "ts"), Source("s", SCHEMA, True, None)
RELATION = Source("r", SCHEMA, False, None)


def micros(array: pa.Array) -> list[int]:
    return list(array.cast(pa.int64()).to_pylist())


def test_a_column_is_in_one_piece_and_in_the_type_of_its_source() -> None:
    chunks = pa.chunked_array([pa.array([1], pa.int8()), pa.array([2, None], pa.int8())])
    found = column_of(STREAM, pa.table({"k": chunks}), "k")
    assert isinstance(found, pa.Array) and found.type == pa.int64() and found.to_pylist() == [1, 2, None]
    batch = pa.RecordBatch.from_pydict({"k": pa.array([3], pa.int64())})
    assert column_of(STREAM, batch, "k") is not None and column_of(STREAM, batch, "k").to_pylist() == [3]


@pytest.mark.parametrize(("source", "whose"), [(STREAM, "stream 's'"), (RELATION, "relation 'r'")])
def test_a_missing_column_is_reported_with_the_columns_that_are_there(source: Source, whose: str) -> None:
    assert whose.startswith(kind_of(source))
    with pytest.raises(UsageError, match=f"the rows of {whose} lack its column 'k'") as refused:
        column_of(source, pa.table({"t": ["x"], "u": [1]}), "k")
    assert refused.value.hint == "they have: t, u."


@pytest.mark.parametrize("values", [pa.array([1.5]), pa.array(["x"]), pa.array([2**64 - 1], pa.uint64())])
def test_values_that_do_not_fit_their_type_are_refused(values: pa.Array) -> None:
    with pytest.raises(
        UsageError, match=f"column 'k' of stream 's' is {values.type}, and not all of its values convert to BIGINT"
    ):
        column_of(STREAM, pa.table({"k": values}), "k")
    assert column_of(STREAM, pa.table({"k": pa.array([1.0])}), "k").to_pylist() == [1]


def test_rows_have_the_time_of_their_column_or_of_their_arrival() -> None:
    rows = pa.table({"ts": pa.array([7, 5], pa.timestamp("us", "UTC")), "k": [1, 2]})
    assert micros(times_of(STREAM, rows, 99)) == [7, 5]
    assert micros(times_of(UNTIMED, rows, 99)) == [99, 99]
    assert micros(times_of(UNTIMED, rows, {"s": range(4, 6), "other": range(9)})) == [4, 5]
    assert times_of(UNTIMED, rows, 99).type == rows.column("ts").type
