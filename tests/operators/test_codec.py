"""Blobs: what comes back is what went in, and what is damaged or from the future is refused."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import EvaluationError
from joinfold.operators.codec import HEADER, MAGIC, VERSION, decode, encode

int64 = st.integers(-(2**63), 2**63 - 1)


@given(values=st.lists(st.one_of(int64, st.integers(0, 300), st.none())), base=int64)
def test_integers_come_back_whatever_their_spread(values: list[int | None], base: int) -> None:
    column = pa.array(values, pa.int64())
    batch = pa.RecordBatch.from_pydict({"x": column, "base": pa.array([base] * len(values), pa.int64())})
    again, facts = decode(encode(batch, {"base": base}))
    assert again.column("x").to_pylist() == values and facts == {"base": base}
    assert again.column("base").to_pylist() == [base] * len(values)


def test_small_distances_cost_a_byte() -> None:
    batch = pa.RecordBatch.from_pydict({"x": pa.array([2**62 + i % 200 for i in range(100_000)])})
    assert len(encode(batch)) < 101_000


def test_a_column_of_one_value_costs_nothing() -> None:
    """As the bits that no integer has."""
    few, many = (pa.RecordBatch.from_pydict({"x": pa.array([7] * rows, pa.int64())}) for rows in (1, 100_000))
    assert len(encode(many)) <= len(encode(few)) + 16
    assert decode(encode(many))[0] == many


def a_blob() -> bytes:
    columns: dict[str, Any] = {"cell": list(range(100)), "k": ["key"] * 100, "h": [0.5] * 100}
    return encode(pa.RecordBatch.from_pydict(columns), {"place": 0})


@given(data=st.data())
def test_a_blob_that_is_cut_short_is_refused(data: st.DataObject) -> None:
    blob = a_blob()
    with pytest.raises(EvaluationError, match=r"not a joinfold blob|cut short or damaged"):
        decode(blob[: data.draw(st.integers(0, len(blob) - 1))])


@given(data=st.data())
def test_a_blob_with_another_byte_is_refused(data: st.DataObject) -> None:
    """Arrow would read most of them without a word, and answers would be wrong."""
    blob = bytearray(a_blob())
    blob[data.draw(st.integers(0, len(blob) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(EvaluationError):
        decode(bytes(blob))


@pytest.mark.parametrize("version", [0, VERSION + 1, 2**31])
def test_a_blob_of_another_version_is_refused_and_says_which(version: int) -> None:
    blob = a_blob()
    other = MAGIC + version.to_bytes(4, "little") + blob[HEADER - 4 :]
    with pytest.raises(EvaluationError, match=f"version {version} was found") as caught:
        decode(other)
    assert f"reads version {VERSION}" in str(caught.value)
