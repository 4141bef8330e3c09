"""A B+tree: members in linked leaves by (key, code, member), inner nodes above them that lead to the leaf.

An inner node has a record for each child, which separates it from the child before, and its children behind them all::

               │ ·  4  9 │ a b c │            a < 4 ≤ b < 9 ≤ c; nothing is before the first child, so its
                  ╱     │     ╲               separator is not read
           │1│2│3│ ──▶ │5│8│ ──▶ │9│11│12│

Leaves and inner nodes are two pools (see ``nodes``); the same kernels split, even out and merge both. All leaves are
equally deep, and a node is at least half full, except the root.

A separator stays when the member that it was made from has gone: it separates as well as before. The first separator of
a node is not read there; it equals the one that its parent has for the node. So it is right when nodes merge and it is
no longer the first.
"""

from typing import ClassVar, NamedTuple

import numpy as np

from joinfold.kernels.compiling import Arrays, Integers, kernel, part
from joinfold.kernels.structures.members import (
    CODE,
    CURSOR,
    DONE,
    KEY,
    LEVELS,
    NONE,
    POSITION,
    ROOT,
    Found,
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
    probe_nodes,
    put_record,
    record_of,
    take_node,
)
from joinfold.kernels.structures.operations import INSERT, PROBE

DEEPEST = 64  # an inner node has at least two children, and memory fewer than 2^64 leaves
NODE, AT = 0, 1


class Tree(NamedTuple):
    """What kernels know of a B+tree."""

    leaves: Integers  # a pool of nodes
    inners: Integers  # another one
    path: Integers  # [DEEPEST, 2]: scratch, the inner nodes that lead to a leaf and the positions of their children
    order: int  # records that a node may have


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

    def _run(self, rows: Arrays, found: Arrays) -> None:
        _run(rows, found, self.members, self.state, (self.leaves.array, self.inners.array, self._path), self.order)

    def _make_room(self) -> None:
        if self.leaves.array[NIL + COUNT] == 0:
            self.leaves.make_room()
        if self.inners.array[NIL + COUNT] <= self.state[LEVELS]:
            self.inners.make_room()


@kernel
def _run(
    row_arrays: Arrays, found_arrays: Arrays, members: Integers, state: Integers, arrays: Arrays, order: int
) -> None:
    """Do operations (see ``members``) while every node on a path, and the root once more, could be split.

    ``arrays`` are those of a ``Tree``. Cost: O(log members · log order + order), and O(1) for each match.
    """
    rows, found = Rows(*row_arrays), Found(*found_arrays)
    tree = Tree(arrays[0], arrays[1], arrays[2], order)
    while state[DONE] < rows.kind.size:
        row = state[DONE]
        if rows.kind[row] == PROBE:
            if state[CURSOR] == NONE:  # no member has a number below NONE + 1
                state[CURSOR], state[POSITION] = _seek(tree, state, rows.key[row], rows.low[row], NONE + 1)
            probe_nodes(tree.leaves, state, rows, row, found, _next_leaf)
            if state[CURSOR] != NONE:
                return
        elif rows.kind[row] == INSERT:
            if tree.leaves[NIL + COUNT] == 0 or tree.inners[NIL + COUNT] <= state[LEVELS]:
                return
            _insert(tree, members, state, arrive(members, state, rows, row))
        else:
            _remove(tree, members, state, depart(members, state, rows, row))
        state[DONE] += 1


@part
def _next_leaf(leaves: Integers, leaf: int) -> int:
    following: int = leaves[leaf + LINK]
    return following


@part
def _child_of(node: int, order: int, position: int) -> int:
    """The place where an inner node has its child."""
    return node + HEAD + WIDTH * order + position


@kernel
def _seek(tree: Tree, state: Integers, key: int, code: int, member: int) -> tuple[int, int]:
    """The leaf where (key, code, member) belongs, and the first position there that is not before it.

    Writes the inner nodes, and the positions of their children, into path; level 1 is that above the leaves.
    Cost: O(levels · log order).
    """
    inners, path = tree.inners, tree.path
    node: int = state[ROOT]
    for level in range(state[LEVELS], 0, -1):
        # what equals a separator belongs behind it
        position = first_not_before(inners, state, node, 1, key, code, member + 1) - 1
        path[level, NODE] = node
        path[level, AT] = position
        node = inners[_child_of(node, tree.order, position)]
    return node, first_not_before(tree.leaves, state, node, 0, key, code, member)


@kernel
def _insert(tree: Tree, members: Integers, state: Integers, member: int) -> None:
    """Put a member into its leaf, and split what is full on the way up. Cost: O(log members · log order + order)."""
    inners, path, order = tree.inners, tree.path, tree.order
    key, code = members[member, KEY], members[member, CODE]
    node, position = _seek(tree, state, key, code, member)
    pool, right = tree.leaves, node
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
def _remove(tree: Tree, members: Integers, state: Integers, member: int) -> None:
    """Take a member out of its leaf, and mend what is less than half full on the way up. Cost: that of ``_insert``."""
    inners, path, order = tree.inners, tree.path, tree.order
    node, position = _seek(tree, state, members[member, KEY], members[member, CODE], member)
    close_record(tree.leaves, node, position)
    pool = tree.leaves
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
