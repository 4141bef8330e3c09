"""The live window of one input, in the order of a code: what an inequality or a band of the join needs of it.

A payload is a row of integers, the number of rows first, and of double-doubles. It is at a *place*: (key, group, code).
An entry of the other input has a key and a range of codes, and needs for every group of that key the sum of the
payloads in the range. ``segment_trees`` gives it in O(log n), however many payloads are in the range, and adds or
subtracts a payload in O(log n). Entries may come in any order; the order of their places is the fastest.

Such a tree has fixed places. For an entry with a new place the trees are rebuilt, with this place and without those
that are no longer needed. That costs O(n), so it has to be seldom. Entries are known before they enter: the caller
announces many at once with ``place``. A place is *waiting* from then until a payload is added there. A place that is
not announced, or is announced twice, changes no answer.
"""

from collections.abc import Iterator

import numpy as np

from joinfold.kernels.compiling import Arrays, Doubles, Ids, Integers, count_of_ids, readable, readable_ids
from joinfold.kernels.identity import packed
from joinfold.kernels.ranges.range_sums import RangeSums, sum_ranges
from joinfold.kernels.ranges.segment_trees import (
    DOUBTFUL,
    LIVE,
    WAITING,
    change_leaves,
    find_leaves,
    merge_places,
    move_leaves,
    sum_above,
    sum_nodes,
)

FEW = 1024  # so many leaves are kept, needed or not
NOWHERE = np.zeros(0, np.int64)
SPARSE = 4  # memory is given back when fewer than one leaf in so many is needed


class OrderStatistics:
    """Payloads of ``int_columns`` integers and ``dd_columns`` double-doubles by (key id, group id, code).

    ``largest_magnitude`` int64[int_columns] is the largest |value| that the payloads of any place, or a sum of several
    places, have ever had in each column, 2^63 − 1 if one was larger: below that, no integer here has ever wrapped.
    ``groups`` is one more than the largest group id ever seen.
    """

    def __init__(self, int_columns: int, dd_columns: int) -> None:
        assert int_columns >= 1, "the first integer is the number of rows"
        self.largest_magnitude = np.zeros(int_columns, np.int64)
        self.groups = 0
        self._usage = np.zeros(3, np.int64)
        self._first_segment, self._first_leaf = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._pairs, self._codes = NOWHERE, NOWHERE
        self._allocate(0, int_columns, dd_columns)

    def _allocate(self, leaves: int, int_columns: int, dd_columns: int) -> None:
        self._ints = np.empty((2 * leaves, int_columns), np.int64)
        self._dds = np.empty((2 * leaves, 3 * dd_columns))
        self._doubts = np.empty((leaves, 2 * dd_columns))
        self._waiting = np.empty(leaves, np.uint8)

    @property
    def live_entries(self) -> int:
        """How many places have rows."""
        return int(self._usage[LIVE])

    @property
    def has_drifted(self) -> bool:
        """Whether a floating sum may be wrong by more than 1e-9 of its weight, because payloads have left its place."""
        return bool(self._usage[DOUBTFUL])

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return sum(array.nbytes for array in (*self._index, *self._nodes))

    def place(self, kid: Ids, gid: Ids, code: Integers) -> None:
        """Announce entries that will be added: kid, gid int32[n], code int64[n]; their places are kept until then.

        Cost: O(log n) for each, and O(n) if one of the places is new.
        """
        kid, gid, code = readable_ids(kid), readable_ids(gid), readable(code, np.int64)
        self.groups = max(self.groups, count_of_ids(gid))
        leaves = self._find(kid, gid, code)[1]
        self._waiting[leaves[leaves >= 0]] = 1
        is_new = leaves < 0
        if is_new.any():
            self._rebuild(packed(kid[is_new], gid[is_new]), code[is_new])
        self._usage[WAITING] = np.count_nonzero(self._waiting)

    def update(self, kid: Ids, gid: Ids, code: Integers, ints: Integers, dds: Doubles, sign: int) -> None:
        """Add (sign 1) or subtract (−1) payloads at places kid, gid int32[n], code int64[n].

        They are ints int64[n, I] and dds float64[n, 2·F]. Cost: O((I + F)·log n) for each, and what ``place`` costs if
        one of the places is not there.
        """
        assert sign in (1, -1)
        assert ints.shape == (len(kid), self._ints.shape[1]) and 3 * dds.shape[1] == 2 * self._dds.shape[1]
        kid, gid, code = readable_ids(kid), readable_ids(gid), readable(code, np.int64)
        ints, dds = readable(ints, np.int64), readable(dds, np.float64)
        segments, leaves = self._find(kid, gid, code)
        if leaves.min(initial=0) < 0:
            self.place(kid, gid, code)
            segments, leaves = self._find(kid, gid, code)
        change_leaves(
            segments, leaves, ints, dds, sign, self._first_leaf, self._nodes, self._usage, self.largest_magnitude
        )
        sum_above(
            segments, leaves, self._first_leaf, self._ints, self._dds, self.largest_magnitude, np.empty_like(leaves)
        )
        if len(self._waiting) > max(FEW, SPARSE * int(self._usage[LIVE] + self._usage[WAITING])):
            self._rebuild(NOWHERE, NOWHERE)

    def ranges(self, kid: Ids, low: Integers, high: Integers, chunk: int = 65536) -> Iterator[RangeSums]:
        """The sums of payloads with a code from low to high, both included: kid int32[n], low, high int64[n].

        There is a row for each entry and group of its key, in this order, unless its number of rows is 0. Rows come in
        pieces of at most ``chunk``; all have to be taken before the next update. Cost: O((I + F)·log n) for each entry
        and group of its key.
        """
        assert chunk > 0
        kid, low, high = readable_ids(kid), readable(low, np.int64), readable(high, np.int64)
        columns, at = self._doubts.shape[1] // 2, np.zeros(2, np.int64)
        room = min(chunk, self._groups_of(kid))
        while at[0] < kid.size:
            sums = RangeSums(
                np.empty(room, np.int64),
                np.empty(room, np.int32),
                np.empty((room, self._ints.shape[1]), np.int64),
                np.empty((room, 2 * columns)),
                np.empty((room, columns)),
            )
            rows = sum_ranges(
                kid, low, high, self._index, self._ints, self._dds, self.largest_magnitude, at, tuple(sums)
            )
            if rows:
                yield sums.first(rows)

    @property
    def _index(self) -> Arrays:
        """What kernels take: the fields of ``Index``."""
        return self._first_segment, self._pairs, self._first_leaf, self._codes

    @property
    def _nodes(self) -> Arrays:
        """What kernels take: the fields of ``Nodes``."""
        return self._ints, self._dds, self._doubts, self._waiting

    def _find(self, kid: Ids, gid: Ids, code: Integers) -> tuple[Integers, Integers]:
        """Segments and leaves of places, −1 where there is none."""
        segments, leaves = np.empty(kid.size, np.int64), np.empty(kid.size, np.int64)
        find_leaves(kid, gid, code, self._index, segments, leaves)
        return segments, leaves

    def _groups_of(self, kid: Ids) -> int:
        """How many segments the keys have, and at least 1."""
        known = kid[kid < len(self._first_segment) - 1]
        return max(1, int((self._first_segment[known + 1] - self._first_segment[known]).sum()))

    def _rebuild(self, more_pairs: Integers, more_codes: Integers) -> None:
        """Build the trees again, of places with rows, places that wait, and m more, which wait from now on.

        Cost: O(keys + (I + F)·leaves + m·log m).
        """
        more_pairs, more_codes = _ascending(more_pairs, more_codes)
        pairs, first_leaf = np.empty((2, len(self._pairs) + len(more_pairs)), np.int64)
        codes, leaf_of = np.empty((2, len(self._codes) + len(more_pairs)), np.int64)
        merged = NOWHERE, pairs, first_leaf, codes
        segments, leaves = merge_places(self._index, self._ints, self._waiting, more_pairs, more_codes, merged, leaf_of)
        self._pairs, self._codes = pairs[:segments].copy(), codes[:leaves].copy()
        old_first_leaf, self._first_leaf = self._first_leaf, np.append(first_leaf[:segments], leaves)
        keys = int(self._pairs[-1] >> 32) + 1 if segments else 0
        self._first_segment = np.searchsorted(self._pairs, np.arange(keys + 1) << 32)
        old_nodes = self._nodes
        self._allocate(leaves, self._ints.shape[1], self._doubts.shape[1] // 2)
        move_leaves(leaf_of[:leaves], old_first_leaf, old_nodes, self._first_leaf, self._nodes)
        sum_nodes(self._first_leaf, self._ints, self._dds, self.largest_magnitude)


def _ascending(pairs: Integers, codes: Integers) -> tuple[Integers, Integers]:
    """Places in order and without repetitions. Cost: O(n·log n)."""
    order = np.lexsort((codes, pairs))
    pairs, codes = pairs[order], codes[order]
    is_first = np.ones(len(pairs), np.bool_)
    is_first[1:] = (pairs[1:] != pairs[:-1]) | (codes[1:] != codes[:-1])
    return pairs[is_first], codes[is_first]
