"""A prefetch is in the machine code, and changes nothing, wherever it points."""

import re

import numba
import numpy as np

from joinfold.kernels.aggregation_set import AggregationSet
from joinfold.kernels.compiling import OPTIONS
from joinfold.kernels.prefetching import AHEAD, prefetch, prefetch_slab
from joinfold.kernels.slabs import Slots


@numba.njit(**OPTIONS)  # not from the cache, so that its code can be read
def ask(array: np.ndarray, row: int) -> None:
    prefetch(array, row)


@numba.njit(**OPTIONS)
def ask_for_all(slots: Slots, kid: np.ndarray) -> None:
    for entry in range(kid.size):
        prefetch_slab(slots, kid, entry)


def prefetches(compiled: object) -> int:
    (code,) = compiled.inspect_llvm().values()
    return len(re.findall(r"call void @llvm\.prefetch", code))


def test_a_row_is_asked_for_and_not_read() -> None:
    rows = np.arange(12).reshape(4, 3)
    for row in (0, 3, 10**6, -5):  # the last two are nowhere
        ask(rows, row)
    assert prefetches(ask) > 0
    assert rows.tolist() == np.arange(12).reshape(4, 3).tolist()


def test_slabs_are_asked_for_whatever_the_keys_are() -> None:
    """Key 0 has one slot, 1 none, 2 a few, 3 more than are asked for; 9 is not known."""
    aggregated = AggregationSet(2, 1)
    kid = np.repeat(np.array([0, 2, 3], np.int32), [1, 5, 900])
    gid = np.concatenate([np.arange(many) for many in (1, 5, 900)]).astype(np.int32)
    aggregated.update(kid, gid, np.ones((len(kid), 2), np.int64), np.ones((len(kid), 2)), 1)
    before = [array.copy() for array in aggregated.slots.arrays]
    for keys in ([], [3], [0, 1, 2, 3, 9] * AHEAD, [9, 9, 9, 3]):
        ask_for_all(Slots(*aggregated.slots.arrays), np.array(keys, np.int32))
    assert prefetches(ask_for_all) > 0
    for array, kept in zip(aggregated.slots.arrays, before, strict=True):
        np.testing.assert_array_equal(array, kept)
