"""What kernels are given: arrays that are read only, ids from 0 on, and several arrays as one tuple."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from joinfold.kernels.compiling import Arrays, Integers, count_of_ids, kernel, part, readable, readable_ids

ids_of = hnp.arrays(np.int32, st.integers(0, 20), elements=st.integers(0, 2**31 - 2))


class Pair(NamedTuple):
    source: Integers
    target: Integers


@part
def _copy(pair: Pair, row: int) -> None:
    pair.target[row] = pair.source[row] + 1


@kernel
def copied(arrays: Arrays) -> int:
    pair = Pair(*arrays)
    for row in range(pair.source.size):
        _copy(pair, row)
    return pair.source.size


def test_what_is_readable_already_is_passed_as_it_is() -> None:
    values = np.arange(5)
    values.flags.writeable = False
    assert readable(values, np.int64) is values


def test_our_own_array_is_viewed_and_stays_writeable() -> None:
    values = np.arange(5)
    view = readable(values, np.int64)
    assert np.shares_memory(view, values) and not view.flags.writeable and values.flags.writeable


@pytest.mark.parametrize("values", [np.arange(10)[::2], np.arange(5, dtype=np.int32), [0, 2], np.ones((3, 2)).T])
def test_another_layout_or_type_is_copied(values: np.ndarray) -> None:
    copy = readable(values, np.int64)
    assert copy.tolist() == np.asarray(values).tolist()
    assert copy.dtype == np.int64 and copy.flags.c_contiguous and not copy.flags.writeable


@given(ids_of)
def test_ids_are_counted_from_0(ids: np.ndarray) -> None:
    assert count_of_ids(readable_ids(ids)) == max(ids.tolist(), default=-1) + 1


def test_a_negative_id_is_our_mistake() -> None:
    with pytest.raises(AssertionError, match="ids begin at 0"):
        readable_ids(np.array([3, -1], np.int32))


def test_arrays_of_any_origin_take_one_compiled_kernel() -> None:
    """A tuple of arrays is named inside of the kernel, which writes into the arrays themselves."""
    frozen, own = np.arange(4), np.arange(8)[::2]
    frozen.flags.writeable = False
    for source in (frozen, own, [0, 1, 2, 3], np.arange(4, dtype=np.int16)):
        target = np.zeros(4, np.int64)
        assert copied((readable(source, np.int64), target)) == 4
        assert target.tolist() == [value + 1 for value in np.asarray(source).tolist()]
    assert len(copied.signatures) == 1
