"""Sums over ranges against NumPy's over the leaves themselves, from trees that NumPy has summed."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.ranges.order_statistics import OrderStatistics
from joinfold.kernels.ranges.range_sums import RangeSums, sum_ranges
from joinfold.kernels.wrapping import LARGEST

segments_of = st.lists(st.lists(st.integers(-20, 20), min_size=1, max_size=9, unique=True).map(sorted), max_size=6)
wide = st.tuples(st.integers(0, 2), st.integers(-22, 0), st.integers(0, 22))
probes = st.lists(wide | wide | st.tuples(st.integers(0, 3), st.integers(-22, 22), st.integers(-22, 22)), max_size=12)


def summed(leaves: np.ndarray) -> np.ndarray:
    """The nodes of a segment, [2·n, columns]: node 0 is not used, the last n are the leaves."""
    nodes = np.concatenate([np.zeros_like(leaves), leaves])
    for node in range(len(leaves) - 1, 0, -1):
        nodes[node] = nodes[2 * node] + nodes[2 * node + 1]
    return nodes


def sums_of(room: int) -> RangeSums:
    return RangeSums(
        np.empty(room, np.int64),
        np.empty(room, np.int32),
        np.empty((room, 2), np.int64),
        np.empty((room, 2)),
        np.empty((room, 1)),
    )


@given(segments_of, probes, st.integers(1, 4), st.data())
def test_sums_are_those_of_the_leaves_in_the_range(
    codes_of: list[list[int]], wanted: list[tuple[int, int, int]], room: int, data: st.DataObject
) -> None:
    """Segment s is group 10 + s of key s // 2. Rows and doubles are whole, so sums are exact."""
    keys = (len(codes_of) + 1) // 2
    pairs = np.array([(segment // 2 << 32) | 10 + segment for segment in range(len(codes_of))], np.int64)
    first_segment = np.minimum(2 * np.arange(keys + 1), len(codes_of))
    first_leaf = np.cumsum([0, *map(len, codes_of)])
    codes = np.array([code for own in codes_of for code in own], np.int64)
    values = np.array(data.draw(st.lists(st.integers(-99, 99), min_size=len(codes), max_size=len(codes))), np.int64)
    rows = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(codes), max_size=len(codes))), np.int64)
    payload = np.stack([rows, values], axis=1)
    doubles = np.stack([values, np.zeros(len(codes)), np.abs(values)], axis=1).astype(np.float64)  # hi, lo, weight
    parts = list(pairwise(first_leaf.tolist()))
    ints = np.concatenate([np.zeros((0, 2), np.int64), *(summed(payload[start:end]) for start, end in parts)])
    dds = np.concatenate([np.zeros((0, 3)), *(summed(doubles[start:end]) for start, end in parts)])
    expected = []
    for entry, (key, low, high) in enumerate(wanted):
        for segment, (start, end) in enumerate(parts):
            inside = np.flatnonzero((codes[start:end] >= low) & (codes[start:end] <= high)) + start
            if segment // 2 == key and rows[inside].sum():
                sums = values[inside].sum()
                weight = np.abs(values[inside]).sum()
                expected.append((entry, 10 + segment, rows[inside].sum(), sums, float(sums), 0.0, float(weight)))
    kid, low, high = (np.array([probe[place] for probe in wanted], np.int64) for place in range(3))
    index = first_segment, pairs, first_leaf, codes
    found, at, largest = [], np.zeros(2, np.int64), np.zeros(2, np.int64)
    while at[0] < len(wanted):
        sums = sums_of(room)
        many = sum_ranges(kid.astype(np.int32), low, high, index, ints, dds, largest, at, tuple(sums))
        assert many == room or at[0] == len(wanted)
        columns = sums.first(many)
        assert all(len(column) == many for column in columns)
        flat = (columns.delta[:, None], columns.group[:, None], columns.ints, columns.dds, columns.weights)
        found += [tuple(row) for row in np.concatenate(flat, axis=1).tolist()]
    assert found == expected
    assert largest[1] >= max((abs(row[3]) for row in expected), default=0)


def test_a_sum_that_wraps_on_its_way_is_noticed() -> None:
    """2^62 + 1 twice wraps around, although no node of the tree does."""
    half = 2**62 + 1
    leaves = np.array([[1, -5], [1, half], [1, half], [1, -half]], np.int64)
    nodes = summed(leaves)
    index = np.array([0, 1]), np.array([0]), np.array([0, 4]), np.arange(4)
    zero, largest, at = np.zeros(1, np.int32), np.zeros(2, np.int64), np.zeros(2, np.int64)
    sums = sums_of(1)
    arguments = zero, np.array([1]), np.array([2]), index, nodes, np.zeros((8, 3)), largest, at, tuple(sums)
    assert sum_ranges(*arguments) == 1
    assert sums.ints.tolist() == [[2, 2 - 2**63]] and largest.tolist() == [2, LARGEST]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(-3, 43)), max_size=30), st.booleans())
def test_ranges_do_not_depend_on_those_before(bounds: list[tuple[int, int]], in_order: bool) -> None:
    held, codes = OrderStatistics(1, 0), np.arange(0, 40, 2)
    zeros = np.zeros(len(codes), np.int32)
    held.update(zeros, zeros, codes, np.ones((len(codes), 1), np.int64), np.zeros((len(codes), 0)), 1)
    wanted = np.array(sorted(bounds) if in_order else bounds, np.int64).reshape(-1, 2)
    found = np.zeros(len(wanted), np.int64)
    for piece in held.ranges(np.zeros(len(wanted), np.int32), wanted[:, 0], wanted[:, 1]):
        found[piece.delta] = piece.ints[:, 0]
    assert found.tolist() == [int(((codes >= low) & (codes <= high)).sum()) for low, high in wanted.tolist()]
