"""Payloads in the order of their codes, with a tree of sums above them: the sum over a range is that of few nodes.

The payloads of one (key, group) are the leaves of a *segment*, by ascending code. A segment of n leaves has nodes 1 to
2·n − 1, of which the last n are the leaves; each of the others, node j, is the sum of nodes 2·j and 2·j + 1::

    node            1                 n = 3, codes 20, 50, 90
              ┌─────┴─────┐
              2           3           the range from 30 to 99 is nodes 4 and 5, and these are node 2
           ┌──┴──┐
           4     5                    n need not be a power of two: a sum does not mind the order of its terms
    code   50    90      20

An inner node is always summed again from its children, never changed by a difference. So it depends only on the leaves
as they are now, and payloads that have left leave no rounding behind.

Entries come in batches, best in the order of their places: then each is found near the one before it, and a node above
several of them is summed only once.

Only leaves are changed by differences: entries with the same code share one. A leaf without rows is exactly zero. Every
other leaf knows how much rounding has in fact taken from its sums: its *doubts*. Sums that needed no rounding have
none, however large they were.

The nodes of all segments are in one array; those of a segment whose first leaf is f begin at 2·f. So leaf l of a
segment that ends before leaf e is at 2·f + n + (l − f), which is e + l.

In all kernels there are K keys, S segments and L leaves.
"""

import math
from typing import NamedTuple

from joinfold.kernels.compiling import Arrays, Bytes, Doubles, Ids, Integers, kernel, part
from joinfold.kernels.double_double import add_dd, fast_two_sum, two_sum
from joinfold.kernels.wrapping import added

LIVE, WAITING, DOUBTFUL = 0, 1, 2  # in usage int64[3]: leaves with rows, leaves that wait for some, doubtful sums
DRIFTED = 2.0**-31  # the part of its weight by which a sum may be wrong: less than 1e-9


class Index(NamedTuple):
    """What finds a leaf."""

    first_segment: Integers  # [K + 1]: of every key
    pairs: Integers  # [S]: key and group of every segment, ascending
    first_leaf: Integers  # [S + 1]: of every segment
    codes: Integers  # [L]


class Nodes(NamedTuple):
    """What is known of nodes and leaves."""

    ints: Integers  # [2·L, I]: of nodes
    dds: Doubles  # [2·L, 3·F]: of nodes, hi, lo of all columns, then the weights Σ|x|
    doubts: Doubles  # [L, 2·F]: of leaves, those of all sums, then of all weights
    waiting: Bytes  # [L]: 1 where a payload is announced


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
def first_near(values: Integers, begin: int, end: int, near: int, value: int, beyond: bool) -> int:
    """What ``first_from`` finds, with a search that begins at ``near``. Cost: O(log of the distance from there)."""
    step = 1
    if near < end and (values[near] < value or (beyond and values[near] == value)):
        begin = near + 1
        while near + step < end and (values[near + step] < value or (beyond and values[near + step] == value)):
            begin = near + step + 1
            step *= 2
        end = min(end, near + step)
    else:
        end = near
        while near - step >= begin and not (values[near - step] < value or (beyond and values[near - step] == value)):
            end = near - step
            step *= 2
        begin = max(begin, near - step + 1)
    return first_from(values, begin, end, value, beyond)


@kernel
def find_leaves(kid: Ids, gid: Ids, code: Integers, index_arrays: Arrays, segments: Integers, leaves: Integers) -> None:
    """Write segment and leaf of each place, −1 if it has none, into int64[n]; ``index_arrays`` are those of ``Index``.

    Cost: O(log L) for each; for places in order it is the logarithm of how many leaves are between them.
    """
    index = Index(*index_arrays)
    first_leaf, codes = index.first_leaf, index.codes
    pair, segment, near = -1, -1, -1
    for entry in range(kid.size):
        own = (kid[entry] << 32) | gid[entry]
        if own != pair:
            pair, segment = own, _find_segment(index, kid[entry], own)
            near = first_leaf[segment] if segment >= 0 else -1
        segments[entry] = leaves[entry] = -1
        if segment >= 0:
            end = first_leaf[segment + 1]
            near = first_near(codes, first_leaf[segment], end, near, code[entry], False)
            if near < end and codes[near] == code[entry]:
                segments[entry], leaves[entry] = segment, near


@part
def _find_segment(index: Index, key: int, pair: int) -> int:
    """The segment of a key and a group; −1 if there is none. Cost: O(log of the key's groups)."""
    first_segment, pairs = index.first_segment, index.pairs
    if key + 1 >= first_segment.size:
        return -1
    end = first_segment[key + 1]
    segment = first_from(pairs, first_segment[key], end, pair, False)
    return segment if segment < end and pairs[segment] == pair else -1


@kernel
def merge_places(
    index_arrays: Arrays,
    ints: Integers,
    waiting: Bytes,
    more_pairs: Integers,
    more_codes: Integers,
    new_index_arrays: Arrays,
    leaf_of: Integers,
) -> tuple[int, int]:
    """Merge leaves that have rows or wait for some with m more places, int64[m], ascending and not among them.

    Writes pairs and first_leaf int64[S + m] of segments and codes int64[L + m] of leaves into the new ``Index``, and
    into leaf_of int64[L + m] which leaf each of them was, −1 if it is new. Gives how many segments and leaves there
    are. Cost: O(L + m).
    """
    index, new = Index(*index_arrays), Index(*new_index_arrays)
    pairs, first_leaf, codes = index.pairs, index.first_leaf, index.codes
    segments, leaves, segment, leaf, more = 0, 0, 0, 0, 0
    while leaf < codes.size or more < more_pairs.size:
        is_leaf = leaf < codes.size
        if is_leaf:
            while leaf == first_leaf[segment + 1]:
                segment += 1
            if ints[first_leaf[segment + 1] + leaf, 0] == 0 and not waiting[leaf]:
                leaf += 1
                continue
            if more < more_pairs.size:
                is_same = pairs[segment] == more_pairs[more]
                is_leaf = codes[leaf] < more_codes[more] if is_same else pairs[segment] < more_pairs[more]
        pair = pairs[segment] if is_leaf else more_pairs[more]
        if segments == 0 or new.pairs[segments - 1] != pair:
            new.pairs[segments], new.first_leaf[segments] = pair, leaves
            segments += 1
        if is_leaf:
            new.codes[leaves], leaf_of[leaves] = codes[leaf], leaf
            leaf += 1
        else:
            new.codes[leaves], leaf_of[leaves] = more_codes[more], -1
            more += 1
        leaves += 1
    return segments, leaves


@kernel
def move_leaves(
    leaf_of: Integers, first_leaf: Integers, node_arrays: Arrays, new_first_leaf: Integers, new_node_arrays: Arrays
) -> None:
    """Copy leaves to new ``Nodes``: new leaf l was leaf_of[l], ascending int64[L], or is empty and waits if that is −1.

    Cost: O(I + F) for each.
    """
    old, new = Nodes(*node_arrays), Nodes(*new_node_arrays)
    segment = 0
    for new_segment in range(new_first_leaf.size - 1):
        for new_leaf in range(new_first_leaf[new_segment], new_first_leaf[new_segment + 1]):
            leaf, to = leaf_of[new_leaf], new_first_leaf[new_segment + 1] + new_leaf
            if leaf < 0:
                new.ints[to] = 0
                new.dds[to] = 0.0
                new.doubts[new_leaf] = 0.0
                new.waiting[new_leaf] = 1
                continue
            while leaf >= first_leaf[segment + 1]:
                segment += 1
            node = first_leaf[segment + 1] + leaf
            for column in range(old.ints.shape[1]):
                new.ints[to, column] = old.ints[node, column]
            for column in range(old.dds.shape[1]):
                new.dds[to, column] = old.dds[node, column]
            for column in range(old.doubts.shape[1]):
                new.doubts[new_leaf, column] = old.doubts[leaf, column]
            new.waiting[new_leaf] = old.waiting[leaf]


@kernel
def sum_nodes(first_leaf: Integers, ints: Integers, dds: Doubles, largest_magnitude: Integers) -> None:
    """Sum all inner nodes from the leaves. Cost: O(I + F) for each leaf."""
    for segment in range(first_leaf.size - 1):
        start = 2 * first_leaf[segment]
        for node in range(first_leaf[segment + 1] - first_leaf[segment] - 1, 0, -1):
            _sum_children(ints, dds, largest_magnitude, start, node)


@kernel
def change_leaves(
    segments: Integers,
    leaves: Integers,
    entry_ints: Integers,
    entry_dds: Doubles,
    sign: int,
    first_leaf: Integers,
    node_arrays: Arrays,
    usage: Integers,
    largest_magnitude: Integers,
) -> None:
    """Add sign times the payloads int64[n, I], float64[n, 2·F] of entries to leaves int64[n] of segments int64[n].

    The ``Nodes`` above them are left as they are; usage int64[3] and largest_magnitude int64[I] follow. Cost: O(I + F)
    for each.
    """
    nodes = Nodes(*node_arrays)
    ints, dds, doubts, waiting = nodes.ints, nodes.dds, nodes.doubts, nodes.waiting
    for entry in range(leaves.size):
        leaf = leaves[entry]
        node = first_leaf[segments[entry] + 1] + leaf
        if sign > 0 and waiting[leaf]:
            waiting[leaf] = 0
            usage[WAITING] -= 1
        had_rows = ints[node, 0] != 0
        for column in range(ints.shape[1]):
            ints[node, column], magnitude = added(ints[node, column], entry_ints[entry, column], sign)
            largest_magnitude[column] = max(largest_magnitude[column], magnitude)
        has_rows = ints[node, 0] != 0
        usage[LIVE] += has_rows - had_rows
        if not has_rows:
            for column in range(ints.shape[1]):
                ints[node, column] = 0
        for column in range(entry_dds.shape[1] // 2):
            usage[DOUBTFUL] -= _is_doubtful(nodes, node, leaf, column)
            if has_rows:
                _change_sum(entry_dds, entry, sign, nodes, node, leaf, column)
                usage[DOUBTFUL] += _is_doubtful(nodes, node, leaf, column)
        if not has_rows:
            dds[node] = 0.0
            doubts[leaf] = 0.0


@kernel
def sum_above(
    segments: Integers,
    leaves: Integers,
    first_leaf: Integers,
    ints: Integers,
    dds: Doubles,
    largest_magnitude: Integers,
    nodes: Integers,
) -> None:
    """Sum the nodes above leaves int64[n] of segments int64[n] again, level by level; nodes int64[n] is scratch.

    The leaves of a segment may be on two levels, so a node may be summed before one of its children is. Then it is
    summed once more after that child. Cost: O((I + F)·log L) for each leaf, and less for neighbours, which have most of
    these nodes in common.
    """
    begin = 0
    while begin < leaves.size:
        segment, count = segments[begin], 0
        start, end = 2 * first_leaf[segment], first_leaf[segment + 1]
        while begin < leaves.size and segments[begin] == segment:
            nodes[count] = end + leaves[begin] - start
            begin, count = begin + 1, count + 1
        while count > 0:
            below, count = count, 0
            for place in range(below):
                parent = nodes[place] >> 1
                if parent > 0 and (count == 0 or nodes[count - 1] != parent):
                    _sum_children(ints, dds, largest_magnitude, start, parent)
                    nodes[count] = parent
                    count += 1


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
def _change_sum(entry_dds: Doubles, entry: int, sign: int, nodes: Nodes, place: int, leaf: int, column: int) -> None:
    """Add sign times a double-double of an entry to that of a leaf, and what was rounded off to its doubts. Cost: O(1).

    The same steps as in ``add_dd``, but no error is thrown away.
    """
    dds, doubts = nodes.dds, nodes.doubts
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
def _is_doubtful(nodes: Nodes, place: int, leaf: int, column: int) -> bool:
    """Whether a sum of a leaf may be wrong by more than 1e-9 of its weight, or has been infinite. Cost: O(1)."""
    dds, doubts = nodes.dds, nodes.doubts
    columns = dds.shape[1] // 3
    doubt = doubts[leaf, column]
    at_least = math.fabs(dds[place, 2 * column]) - doubt
    at_least = max(at_least, dds[place, 2 * columns + column] - doubts[leaf, columns + column])
    return doubt > 0.0 and not doubt <= DRIFTED * at_least  # ``at_least`` is NaN for a sum that has been infinite
