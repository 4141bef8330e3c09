"""The header of a batch as it travels beside its entries."""

from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.codec import decode, encode
from joinfold.operators.entries import Integers
from joinfold.operators.packing.header import NOTHING_KEYLESS, Header
from joinfold.operators.packing.sample_statistics import SETS, SampleStatistics

int64 = st.integers(-(2**63), 2**63 - 1)
cells = st.lists(int64, max_size=4).map(lambda own: np.array(own, np.int64))
samples = st.lists(st.integers(0, 2**40), min_size=9, max_size=9).map(
    lambda numbers: SampleStatistics(*numbers, sketches=np.full((SETS, 128), numbers[0] % 256, np.uint8))
)
headers = st.builds(
    Header,
    st.integers(0, 9),
    st.none() | int64,
    cells,
    cells,
    cells,
    st.integers(0, 9),
    st.integers(0, 9),
    st.none() | int64,
    st.booleans(),
    st.none() | samples,
    st.none(),
    st.none() | int64,
)


def values(header: Header) -> dict[str, Any]:
    """All that a header says, as what can be compared."""
    found = {field.name: getattr(header, field.name) for field in fields(Header)}
    found = {name: own.tolist() if isinstance(own, np.ndarray) else own for name, own in found.items()}
    return found | {"sample": None if header.sample is None else header.sample.text()}


def travelled(facts: dict[str, Any]) -> Header:
    return Header.of_facts(decode(encode(pa.RecordBatch.from_pydict({"cell": [1]}), facts))[1])


@given(headers)
def test_a_header_comes_back_from_a_blob(header: Header) -> None:
    again = travelled(header.facts())
    assert values(again) == values(header)
    arrays: list[Integers] = [again.cells, again.keyless_cells, again.keyless_counts]
    assert all(own.dtype == np.int64 for own in arrays)


@given(headers)
def test_all_buckets_but_the_first_are_told_of_no_keyless_rows(header: Header) -> None:
    again = travelled(header.facts() | NOTHING_KEYLESS)
    assert values(again) == values(header) | {"keyless_cells": [], "keyless_counts": []}
