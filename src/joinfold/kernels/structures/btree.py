"""A B+tree: members in linked leaves by (key, code, member), inner nodes above them that lead to the leaf.

An inner node has a record for each child, which separates it from the child before, and its children behind them all::

               │ ·  4  9 │ a b c │            a < 4 ≤ b < 9 ≤ c; nothing is before the first child, so its
                  ╱     │     ╲               separator is not read
           │1│2│3│ ──▶ │5│8│ ──▶ │9│11│12│

Leaves and inner nodes are two pools (see ``nodes``); the same kernels split, even out and merge both. All leaves are
equally deep, and a node is at least half full, except the root.

A separator stays when the member that it was made from has gone: it separates as well as before. The first one of a
node, which is not read there, is the one that its parent has for it. So it is right when nodes merge and it is not
the first any more.
"""

from typing import ClassVar

import numpy as np

from joinfold.kernels.compiling import Integers, kernel, part
from joinfold.kernels.structures.members import (
    CODE,
    CURSOR,
    DONE,
    FOUND,
    KEY,
    LEVELS,
    NONE,
    POSITION,
    ROOT,
    TOUCHED,
    Members,
    Rows,
    arrive,
    depart,
)
from joinfold.kernels.structures.nodes import (
    COUNT,
    HEAD,
    LINK,
    NIL,
    WIDTH,
    NodePool,
    close_record,
    first_not_before,
    free_node,
    move,
    put_record,
    record_of,
    take_node,
)
from joinfold.kernels.structures.operations import INSERT, PROBE, Kinds

DEEPEST = 64  # an inner node has at least two children, and memory fewer than 2^64 leaves
NODE, AT = 0, 1


class BTree(Members):
    """Members in a B+tree of nodes with up to ``order`` records."""

    parameters: ClassVar[tuple[str, ...]] = ("order",)

    def __init__(self, order: int = 100) -> None:
        assert order >= 3, "half of an inner node is at least two children"
        super().__init__()
        self.order = order
        self.leaves, self.inners = NodePool(order), NodePool(order, behind=order)
        self.state[ROOT] = take_node(self.leaves.array)
        self._path = np.zeros((DEEPEST, 2), np.int64)

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return super().bytes_held + self.leaves.array.nbytes + self.inners.array.nbytes + self._path.nbytes

    def _run(self, rows: Rows, probe: Integers, member: Integers) -> None:
        leaves, inners = self.leaves.array, self.inners.array
        _run(*rows, self.members, self.state, leaves, inners, self._path, self.order, probe, member)

    def _make_room(self) -> None:
        if self.leaves.array[NIL + COUNT] == 0:
            self.leaves.make_room()
        if self.inners.array[NIL + COUNT] <= self.state[LEVELS]:
            self.inners.make_room()


@kernel
def _run(
    kind: Kinds,
    key: Integers,
    low: Integers,
    high: Integers,
    member: Integers,
    members: Integers,
    state: Integers,
    leaves: Integers,
    inners: Integers,
    path: Integers,
    order: int,
    probes: Integers,
    found: Integers,
) -> None:
    """Do operations (see ``members``) while every node on a path, and the root once more, could be split.

    path int64[DEEPEST, 2] is scratch. Cost: O(log members · log order + order), and O(1) for each match.
    """
    while state[DONE] < kind.size:
        row = state[DONE]
        if kind[row] == PROBE:
            if state[CURSOR] == NONE:  # no member has a number below NONE + 1
                state[CURSOR], state[POSITION] = _seek(state, leaves, inners, path, order, key[row], low[row], NONE + 1)
            _scan(leaves, state, row, key[row], high[row], probes, found)
            if state[CURSOR] != NONE:
                return
        elif kind[row] == INSERT:
            if leaves[NIL + COUNT] == 0 or inners[NIL + COUNT] <= state[LEVELS]:
                return
            arrive(members, state, member[row], key[row], low[row])
            _insert(state, leaves, inners, path, order, key[row], low[row], member[row])
        else:
            gone = depart(members, state, kind[row], member[row])
            _remove(state, leaves, inners, path, order, members[gone, KEY], members[gone, CODE], gone)
        state[DONE] += 1


@part
def _scan(leaves: Integers, state: Integers, row: int, key: int, high: int, probes: Integers, found: Integers) -> None:
    """Write matches from the cursor on, while there is place."""
    leaf, position, count = state[CURSOR], state[POSITION], state[FOUND]
    while leaf != NIL and count < found.size:
        if position == leaves[leaf + COUNT]:
            leaf = leaves[leaf + LINK]
            position = 0
            continue
        record = record_of(leaf, position)
        if leaves[record] != key or leaves[record + 1] > high:
            state[TOUCHED] += 1
            leaf = NIL
            break
        probes[count] = row
        found[count] = leaves[record + 2]
        count += 1
        position += 1
    state[TOUCHED] += count - state[FOUND]
    state[FOUND] = count
    state[CURSOR] = NONE if leaf == NIL else leaf
    state[POSITION] = position


@part
def _child_of(node: int, order: int, position: int) -> int:
    """The place where an inner node has its child."""
    return node + HEAD + WIDTH * order + position


@kernel
def _seek(
    state: Integers, leaves: Integers, inners: Integers, path: Integers, order: int, key: int, code: int, member: int
) -> tuple[int, int]:
    """The leaf where (key, code, member) belongs, and the first position there that is not before it.

    Writes the inner nodes, and the positions of their children, into path; level 1 is that above the leaves.
    Cost: O(levels · log order).
    """
    node: int = state[ROOT]
    for level in range(state[LEVELS], 0, -1):
        # what equals a separator belongs behind it
        position = first_not_before(inners, state, node, 1, key, code, member + 1) - 1
        path[level, NODE] = node
        path[level, AT] = position
        node = inners[_child_of(node, order, position)]
    return node, first_not_before(leaves, state, node, 0, key, code, member)


@kernel
def _insert(
    state: Integers, leaves: Integers, inners: Integers, path: Integers, order: int, key: int, code: int, member: int
) -> None:
    """Put a member into its leaf, and split what is full on the way up. Cost: O(log members · log order + order)."""
    node, position = _seek(state, leaves, inners, path, order, key, code, member)
    pool, right = leaves, node
    for level in range(state[LEVELS] + 1):
        if level > 0:
            node, position = path[level, NODE], path[level, AT] + 1
            key, code, member = pool[right + HEAD], pool[right + HEAD + 1], pool[right + HEAD + 2]
            pool = inners
        right = _put(pool, order, level, node, position, key, code, member, right)
        if right == NIL:
            return
    root = take_node(inners)
    inners[root + COUNT] = 2
    put_record(inners, root + HEAD + WIDTH, pool[right + HEAD], pool[right + HEAD + 1], pool[right + HEAD + 2])
    inners[_child_of(root, order, 0)] = state[ROOT]
    inners[_child_of(root, order, 1)] = right
    state[ROOT] = root
    state[LEVELS] += 1


@kernel
def _move(pool: Integers, order: int, level: int, source: int, start: int, many: int, target: int, to: int) -> None:
    """Copy records, and above the leaves their children, to a position of a node; counts stay. Cost: O(many)."""
    move(pool, record_of(source, start), WIDTH * many, record_of(target, to))
    if level > 0:
        move(pool, _child_of(source, order, start), many, _child_of(target, order, to))


@kernel
def _put(
    pool: Integers,
    order: int,
    level: int,
    node: int,
    position: int,
    key: int,
    code: int,
    member: int,
    child: int,
) -> int:
    """Put a record, and above the leaves its child, into a node; if it was full the new node behind it, else NIL.

    Cost: O(order).
    """
    right = NIL
    if pool[node + COUNT] == order:
        half = (order + 1) >> 1
        kept = half - 1 if position < half else half
        right = take_node(pool)
        _move(pool, order, level, node, kept, order - kept, right, 0)
        pool[right + COUNT] = order - kept
        pool[right + LINK] = pool[node + LINK]
        pool[node + COUNT] = kept
        pool[node + LINK] = right
        if position >= half:
            node, position = right, position - half
    _move(pool, order, level, node, position, pool[node + COUNT] - position, node, position + 1)
    pool[node + COUNT] += 1
    put_record(pool, record_of(node, position), key, code, member)
    if level > 0:
        pool[_child_of(node, order, position)] = child
    return right


@kernel
def _remove(
    state: Integers, leaves: Integers, inners: Integers, path: Integers, order: int, key: int, code: int, member: int
) -> None:
    """Take a member out of its leaf, and mend what is less than half full on the way up. Cost: that of ``_insert``."""
    node, position = _seek(state, leaves, inners, path, order, key, code, member)
    close_record(leaves, node, position)
    pool = leaves
    for level in range(state[LEVELS]):
        if pool[node + COUNT] >= (order + 1) >> 1:
            return
        node = path[level + 1, NODE]
        _mend(pool, inners, order, level, node, max(1, path[level + 1, AT]))
        pool = inners
    if state[LEVELS] > 0 and inners[node + COUNT] == 1:
        state[ROOT] = inners[_child_of(node, order, 0)]
        state[LEVELS] -= 1
        free_node(inners, node)


@part
def _mend(pool: Integers, inners: Integers, order: int, level: int, parent: int, position: int) -> None:
    """Merge a child with the one before it if both fit into one node, else make them equally full. Cost: O(order)."""
    separator = record_of(parent, position)
    left, right = inners[_child_of(parent, order, position - 1)], inners[_child_of(parent, order, position)]
    first = right + HEAD
    lefts, rights = pool[left + COUNT], pool[right + COUNT]
    both = lefts + rights
    if both <= order:
        _move(pool, order, level, right, 0, rights, left, lefts)
        pool[left + COUNT] = both
        pool[left + LINK] = pool[right + LINK]
        free_node(pool, right)
        inners[parent + COUNT] -= 1
        _move(inners, order, level + 1, parent, position + 1, inners[parent + COUNT] - position, parent, position)
        return
    half = both >> 1
    if lefts < half:
        _move(pool, order, level, right, 0, half - lefts, left, lefts)
        _move(pool, order, level, right, half - lefts, both - half, right, 0)
    else:
        _move(pool, order, level, right, 0, rights, right, lefts - half)
        _move(pool, order, level, left, half, lefts - half, right, 0)
    pool[left + COUNT] = half
    pool[right + COUNT] = both - half
    put_record(inners, separator, pool[first], pool[first + 1], pool[first + 2])
