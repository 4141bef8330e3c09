"""Sums of the leaves of ``segment_trees`` from one code to another, by entry and group.

A range of leaves is cut into whole subtrees from below. A first leaf that is the right child of its parent stands
alone, and so does a last one that is a left child; what is between them are whole parents, one level up::

    node      4         5        [6]        7         a whole parent: 12 and 13
    leaf    8   9    10  [11    12  13    14]  15     11 and 14 stand alone

So at most two nodes are taken from each level, and none of them contains a leaf outside of the range.
"""

from typing import NamedTuple

from joinfold.kernels.compiling import Arrays, Doubles, Ids, Integers, kernel, part
from joinfold.kernels.double_double import add_dd
from joinfold.kernels.ranges.segment_trees import Index, first_from, first_near
from joinfold.kernels.wrapping import LARGEST

LOW_WORD = 0xFFFFFFFF


class RangeSums(NamedTuple):
    """Sums over the ranges of entries, a row for each entry and group of its key."""

    delta: Integers  # [m]: the entry
    group: Ids  # [m]
    ints: Integers  # [m, I]
    dds: Doubles  # [m, 2·F]: hi, lo, hi, lo, …
    weights: Doubles  # [m, F]: Σ|x|

    def first(self, rows: int) -> "RangeSums":
        """The first rows."""
        return RangeSums(self.delta[:rows], self.group[:rows], self.ints[:rows], self.dds[:rows], self.weights[:rows])


@kernel
def sum_ranges(
    kid: Ids,
    low: Integers,
    high: Integers,
    index_arrays: Arrays,
    ints: Integers,
    dds: Doubles,
    largest_magnitude: Integers,
    at: Integers,
    sum_arrays: Arrays,
) -> int:
    """Write the sums of leaves with codes from low to high, by entry and segment of its key, while there is room.

    ``Index``, ints and dds are those of ``segment_trees``; rows are written into ``RangeSums``. Gives how many there
    are. Goes on from at int64[2], which is the entry and how many segments of its key are done, and leaves there how
    far it came. Cost: O((I + F)·log L) for each segment, less where entries are in order, since a range is looked for
    near the one before.
    """
    index, sums = Index(*index_arrays), RangeSums(*sum_arrays)
    first_segment, first_leaf, codes = index.first_segment, index.first_leaf, index.codes
    rows, last, last_begin, last_stop = 0, -1, 0, 0
    for entry in range(at[0], kid.size):
        key = kid[entry]
        if key + 1 < first_segment.size:
            for segment in range(first_segment[key] + at[1], first_segment[key + 1]):
                if rows == sums.delta.size:
                    at[0], at[1] = entry, segment - first_segment[key]
                    return rows
                first, end = first_leaf[segment], first_leaf[segment + 1]
                if segment == last:
                    begin = first_near(codes, first, end, last_begin, low[entry], False)
                    stop = first_near(codes, begin, end, max(begin, last_stop), high[entry], True)
                else:
                    begin = first_from(codes, first, end, low[entry], False)
                    stop = first_from(codes, begin, end, high[entry], True)
                last, last_begin, last_stop = segment, begin, stop
                node, stop_node = end - 2 * first + begin, end - 2 * first + stop
                for column in range(ints.shape[1]):
                    total, magnitude = _sum_ints(ints, 2 * first, node, stop_node, column)
                    sums.ints[rows, column] = total
                    largest_magnitude[column] = max(largest_magnitude[column], magnitude)
                if sums.ints[rows, 0] != 0:
                    _sum_dds(dds, 2 * first, node, stop_node, sums, rows)
                    sums.delta[rows] = entry
                    sums.group[rows] = index.pairs[segment] & LOW_WORD
                    rows += 1
        at[1] = 0
    at[0] = kid.size
    return rows


@part
def _sum_ints(ints: Integers, start: int, node: int, stop: int, column: int) -> tuple[int, int]:
    """The sum of an integer over the leaves that are nodes ``node`` to ``stop`` − 1, and its magnitude.

    The magnitude is ``LARGEST`` if the sum has wrapped around on its way. No processor can predict whether a node
    stands alone. So there is no branch: a node that does not is replaced by zero. Cost: O(log leaves).
    """
    total, wrapped = 0, 0
    while node < stop:
        first = ints[start + node, column] & -(node & 1)
        after = total + first
        wrapped |= (total ^ after) & (first ^ after)
        last = ints[start + stop - 1, column] & -(stop & 1)
        total = after + last
        wrapped |= (after ^ total) & (last ^ total)
        node = (node + 1) >> 1
        stop >>= 1
    return total, LARGEST if wrapped < 0 else max(abs(total), -(abs(total) + 1))


@part
def _sum_dds(dds: Doubles, start: int, node: int, stop: int, sums: RangeSums, row: int) -> None:
    """Write the sums over the leaves that are nodes ``node`` to ``stop`` − 1 into a row. Cost: O(F·log leaves)."""
    sums.dds[row] = 0.0
    sums.weights[row] = 0.0
    if sums.weights.shape[1] == 0:
        return
    while node < stop:
        # Both ends in one loop, so that the addition is compiled once.
        for alone in range(2):
            if alone == 0:
                taken, is_taken = node, node & 1
            else:
                taken, is_taken = stop - 1, stop & 1
            if is_taken:
                _add_node(dds, start + taken, sums, row)
        node = (node + 1) >> 1
        stop >>= 1


@part
def _add_node(dds: Doubles, place: int, sums: RangeSums, row: int) -> None:
    """Add the double-doubles of a node to a row of sums. Cost: O(F)."""
    sum_dds, weights = sums.dds, sums.weights
    columns = weights.shape[1]
    for column in range(columns):
        hi, lo = 2 * column, 2 * column + 1
        sum_dds[row, hi], sum_dds[row, lo] = add_dd(sum_dds[row, hi], sum_dds[row, lo], dds[place, hi], dds[place, lo])
        weights[row, column] += dds[place, 2 * columns + column]
