"""Payloads in the order of their codes, with a tree of sums above them: the sum over a range is that of few nodes.

The payloads of one (key, group) are the leaves of a *segment*, by ascending code. A segment of n leaves has nodes 1 to
2·n − 1, of which the last n are the leaves; each of the others, node j, is the sum of nodes 2·j and 2·j + 1::

    node            1                 n = 3, codes 20, 50, 90
              ┌─────┴─────┐
              2           3           the range from 30 to 99 is nodes 4 and 5, and these are node 2
           ┌──┴──┐
           4     5                    n need not be a power of two: a sum does not mind the order of its terms
    code   50    90      20

Nothing is ever added to an inner node or taken from it. It is summed anew from its children, so it depends on the
leaves of now and not on those that were, and what has left cannot have left rounding behind.

Only in a leaf do entries come and go, those with one code. A leaf without rows is exactly zero. For any other it is
noted how much rounding has in fact taken from its sums: its *doubts*. Sums that needed no rounding have none, however
large they were.

In all kernels: first_segment int64[K + 1] of every key; pairs int64[S], key and group of every segment, ascending;
first_leaf int64[S + 1]; codes int64[L]; ints int64[2·L, I] and dds float64[2·L, 3·F] of nodes, where the segment whose
first leaf is f begins at 2·f; dds has hi, lo of all columns, then the weights Σ|x|; doubts float64[L, 2·F] of all sums,
then of all weights; waiting uint8[L]; usage int64[3] (leaves with rows, leaves that wait for some, doubtful sums).
"""

import math

import numpy as np

from joinfold.kernels.compiling import Bytes, Doubles, Ids, Integers, kernel, part
from joinfold.kernels.double_double import add_dd, fast_two_sum, two_sum

LIVE, WAITING, DOUBTFUL = 0, 1, 2
LARGEST = np.iinfo(np.int64).max
WORN = 2.0**-31  # the part of its weight by which a sum may be wrong: less than 1e-9


@part
def first_from(values: Integers, begin: int, end: int, value: int, beyond: bool) -> int:
    """The first place from begin on whose value is at least this one, or, ``beyond`` it, larger. Cost: O(log n)."""
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] < value or (beyond and values[middle] == value):
            begin = middle + 1
        else:
            end = middle
    return begin


@part
def added(value: int, change: int, sign: int) -> tuple[int, int]:
    """value + sign·change, which wraps around, and its magnitude, ``LARGEST`` if it did. Cost: O(1)."""
    if sign > 0:
        after = value + change
        wrapped = (value ^ after) & (change ^ after)
    else:
        after = value - change
        wrapped = (value ^ after) & (value ^ change)
    return after, LARGEST if wrapped < 0 else max(abs(after), -(abs(after) + 1))


@kernel
def find_leaves(
    kid: Ids,
    gid: Ids,
    code: Integers,
    first_segment: Integers,
    pairs: Integers,
    first_leaf: Integers,
    codes: Integers,
    found: Integers,
) -> None:
    """Write the leaf of each place, −1 if it has none, into found int64[n]. Cost: O(log L) for each."""
    for entry in range(kid.size):
        found[entry] = _find(first_segment, pairs, first_leaf, codes, kid[entry], gid[entry], code[entry])[1]


@kernel
def merge_places(pairs: Integers, codes: Integers, more_pairs: Integers, more_codes: Integers, order: Integers) -> None:
    """Merge two ascending lists of (pair, code): order int64[n + m] says where each is in the first, then the second.

    No place is in both. Cost: O(n + m).
    """
    left, right = 0, 0
    for place in range(order.size):
        if left == pairs.size:
            is_left = False
        elif right == more_pairs.size or pairs[left] != more_pairs[right]:
            is_left = right == more_pairs.size or pairs[left] < more_pairs[right]
        else:
            is_left = codes[left] < more_codes[right]
        if is_left:
            order[place] = left
            left += 1
        else:
            order[place] = pairs.size + right
            right += 1


@kernel
def move_leaves(
    leaf_of: Integers,
    node_of: Integers,
    ints: Integers,
    dds: Doubles,
    doubts: Doubles,
    waiting: Bytes,
    new_node_of: Integers,
    new_ints: Integers,
    new_dds: Doubles,
    new_doubts: Doubles,
    new_waiting: Bytes,
) -> None:
    """Copy leaves: new leaf l was leaf_of[l], int64[L], or is empty and waits if that is −1.

    Leaves have their nodes in node_of, new ones in new_node_of int64[L]. Cost: O(I + F) for each.
    """
    for leaf in range(leaf_of.size):
        old, to = leaf_of[leaf], new_node_of[leaf]
        node = node_of[old] if old >= 0 else 0
        for column in range(ints.shape[1]):
            new_ints[to, column] = ints[node, column] if old >= 0 else 0
        for column in range(dds.shape[1]):
            new_dds[to, column] = dds[node, column] if old >= 0 else 0.0
        for column in range(doubts.shape[1]):
            new_doubts[leaf, column] = doubts[old, column] if old >= 0 else 0.0
        new_waiting[leaf] = waiting[old] if old >= 0 else 1


@kernel
def sum_nodes(first_leaf: Integers, ints: Integers, dds: Doubles, largest_magnitude: Integers) -> None:
    """Sum all inner nodes from the leaves. Cost: O(I + F) for each leaf."""
    for segment in range(first_leaf.size - 1):
        start = 2 * first_leaf[segment]
        for node in range(first_leaf[segment + 1] - first_leaf[segment] - 1, 0, -1):
            _sum_children(ints, dds, largest_magnitude, start, node)


@kernel
def change_leaves(
    kid: Ids,
    gid: Ids,
    code: Integers,
    entry_ints: Integers,
    entry_dds: Doubles,
    sign: int,
    first_segment: Integers,
    pairs: Integers,
    first_leaf: Integers,
    codes: Integers,
    ints: Integers,
    dds: Doubles,
    doubts: Doubles,
    waiting: Bytes,
    usage: Integers,
    largest_magnitude: Integers,
    done: int,
) -> int:
    """Add sign times the payloads int64[n, I], float64[n, 2·F] of the entries from ``done`` on to their leaves.

    Stops before an entry whose place has no leaf; gives how many are done. Cost: O((I + F)·log L) for each.
    """
    for entry in range(done, kid.size):
        segment, leaf = _find(first_segment, pairs, first_leaf, codes, kid[entry], gid[entry], code[entry])
        if leaf < 0:
            return entry
        if sign > 0 and waiting[leaf]:
            waiting[leaf] = 0
            usage[WAITING] -= 1
        start = 2 * first_leaf[segment]
        node = first_leaf[segment + 1] + leaf - start
        had_rows = ints[start + node, 0] != 0
        for column in range(ints.shape[1]):
            ints[start + node, column], magnitude = added(ints[start + node, column], entry_ints[entry, column], sign)
            largest_magnitude[column] = max(largest_magnitude[column], magnitude)
        has_rows = ints[start + node, 0] != 0
        usage[LIVE] += has_rows - had_rows
        if not has_rows:
            for column in range(ints.shape[1]):
                ints[start + node, column] = 0
        for column in range(entry_dds.shape[1] // 2):
            usage[DOUBTFUL] -= _is_doubtful(dds, doubts, start + node, leaf, column)
            if has_rows:
                _change_sum(entry_dds, entry, sign, dds, doubts, start + node, leaf, column)
                usage[DOUBTFUL] += _is_doubtful(dds, doubts, start + node, leaf, column)
        if not has_rows:
            dds[start + node] = 0.0
            doubts[leaf] = 0.0
        while node > 1:
            node >>= 1
            _sum_children(ints, dds, largest_magnitude, start, node)
    return kid.size


@part
def _find(
    first_segment: Integers, pairs: Integers, first_leaf: Integers, codes: Integers, key: int, group: int, code: int
) -> tuple[int, int]:
    """Segment and leaf of a place; the leaf is −1 if there is none. Cost: O(log L)."""
    if key + 1 >= first_segment.size:
        return -1, -1
    pair, last = (key << 32) | group, first_segment[key + 1]
    segment = first_from(pairs, first_segment[key], last, pair, False)
    if segment == last or pairs[segment] != pair:
        return -1, -1
    end = first_leaf[segment + 1]
    leaf = first_from(codes, first_leaf[segment], end, code, False)
    return segment, leaf if leaf < end and codes[leaf] == code else -1


@part
def _sum_children(ints: Integers, dds: Doubles, largest_magnitude: Integers, start: int, node: int) -> None:
    """Make an inner node the sum of its two children. Cost: O(I + F)."""
    to, left = start + node, start + 2 * node
    right = left + 1
    for column in range(ints.shape[1]):
        ints[to, column], magnitude = added(ints[left, column], ints[right, column], 1)
        largest_magnitude[column] = max(largest_magnitude[column], magnitude)
    columns = dds.shape[1] // 3
    for column in range(columns):
        hi, lo, weight = 2 * column, 2 * column + 1, 2 * columns + column
        dds[to, hi], dds[to, lo] = add_dd(dds[left, hi], dds[left, lo], dds[right, hi], dds[right, lo])
        dds[to, weight] = dds[left, weight] + dds[right, weight]


@part
def _change_sum(
    entry_dds: Doubles, entry: int, sign: int, dds: Doubles, doubts: Doubles, place: int, leaf: int, column: int
) -> None:
    """Add sign times a double-double of an entry to that of a leaf, and what was rounded off to its doubts. Cost: O(1).

    The same steps as in ``add_dd``, but no error is thrown away.
    """
    columns = dds.shape[1] // 3
    hi, lo, weight = 2 * column, 2 * column + 1, 2 * columns + column
    high, high_error = two_sum(dds[place, hi], sign * entry_dds[entry, hi])
    if math.isfinite(high):
        low, low_error = two_sum(dds[place, lo], sign * entry_dds[entry, lo])
        middle, first_lost = two_sum(high_error, low)
        high, rest = fast_two_sum(high, middle)
        low, second_lost = two_sum(low_error, rest)
        dds[place, hi], dds[place, lo] = fast_two_sum(high, low)
        doubts[leaf, column] += math.fabs(first_lost) + math.fabs(second_lost)
    else:
        dds[place, hi], dds[place, lo] = high, 0.0
        doubts[leaf, column] = math.inf
    dds[place, weight], lost = two_sum(dds[place, weight], sign * math.fabs(entry_dds[entry, hi]))
    doubts[leaf, columns + column] += math.fabs(lost)


@part
def _is_doubtful(dds: Doubles, doubts: Doubles, place: int, leaf: int, column: int) -> bool:
    """Whether a sum of a leaf may be wrong by more than 1e-9 of its weight, or has been infinite. Cost: O(1)."""
    columns = dds.shape[1] // 3
    doubt = doubts[leaf, column]
    at_least = math.fabs(dds[place, 2 * column]) - doubt
    at_least = max(at_least, dds[place, 2 * columns + column] - doubts[leaf, columns + column])
    return doubt > 0.0 and not doubt <= WORN * at_least  # of what has been infinite nothing is known: at_least is NaN
