"""A T-tree: a balanced binary tree whose nodes have many members each, by (key, code, member) (Lehman, Carey 1986).

A node bounds the members from its first to its last; its left subtree has what is before, its right one what is after::

                     │ 20 21 25 27 │            inner: two children, at least ``room`` − SLACK records
                     ╱             ╲
             │ 7 9 12 │          │ 30 31 │      leaf: no child
             ╱                                  half-leaf: one child, which is a leaf, and both together
        │ 2 5 │                                 have more records than fit into one node

A member goes into the node that bounds it. If that is full, its first record makes place and goes to the end of the
node before. An inner node with too few records takes the last one of the node before. So most insertions and removals
end in a leaf or in a half-leaf, and few change the shape; ``balancing`` then mends it.
"""

from typing import ClassVar

from joinfold.kernels.compiling import Arrays, Integers, kernel
from joinfold.kernels.structures.balancing import (
    HEIGHT,
    LEFT,
    PARENT,
    RIGHT,
    SLACK,
    climb,
    outermost,
    replace_child,
)
from joinfold.kernels.structures.members import (
    CODE,
    CURSOR,
    DONE,
    KEY,
    NONE,
    POSITION,
    ROOT,
    TOUCHED,
    Found,
    Members,
    Rows,
    arrive,
    depart,
)
from joinfold.kernels.structures.nodes import (
    COUNT,
    HEAD,
    NIL,
    WIDTH,
    NodePool,
    close_record,
    first_not_before,
    free_node,
    is_before,
    move,
    open_record,
    probe_nodes,
    put_record,
    record_of,
    take_node,
)
from joinfold.kernels.structures.operations import INSERT, PROBE


class TTree(Members):
    """Members in a T-tree of nodes with up to ``node_size`` records."""

    parameters: ClassVar[tuple[str, ...]] = ("node_size",)

    def __init__(self, node_size: int = 100) -> None:
        assert node_size >= 2, "a node with one record only is a binary tree's"
        super().__init__()
        self.node_size = node_size
        self.nodes = NodePool(node_size)
        self.state[ROOT] = NIL

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        return super().bytes_held + self.nodes.array.nbytes

    def _run(self, rows: Arrays, found: Arrays) -> None:
        _run(rows, found, self.members, self.state, self.nodes.array, self.node_size)

    def _make_room(self) -> None:
        self.nodes.make_room()


@kernel
def _run(
    row_arrays: Arrays, found_arrays: Arrays, members: Integers, state: Integers, pool: Integers, room: int
) -> None:
    """Do operations (see ``members``) while there is a free node: an insertion takes at most one.

    ``room`` is how many records a node may have. Cost: O(log members + room), and O(1) for each match.
    """
    rows, found = Rows(*row_arrays), Found(*found_arrays)
    while state[DONE] < rows.kind.size:
        row = state[DONE]
        if rows.kind[row] == PROBE:
            if state[CURSOR] == NONE:
                _seek(pool, state, rows.key[row], rows.low[row])
            probe_nodes(pool, state, rows, row, found, _next_node)
            if state[CURSOR] != NONE:
                return
        elif rows.kind[row] == INSERT:
            if pool[NIL + COUNT] == 0:
                return
            _insert(pool, state, room, members, arrive(members, state, rows, row))
        else:
            _remove(pool, state, room, members, depart(members, state, rows, row))
        state[DONE] += 1


@kernel
def _descend(pool: Integers, state: Integers, key: int, code: int, member: int) -> tuple[int, int]:
    """The last node that does not begin after (key, code, member), and the last node on the way, or NIL.

    One comparison for each level is enough: the first node bounds it if any does. Cost: O(log nodes).
    """
    node: int = state[ROOT]
    bound, last = NIL, NIL
    visited = 0
    while node != NIL:
        last = node
        if is_before(pool, node + HEAD, key, code, member + 1):
            bound = node
            node = pool[node + RIGHT]
        else:
            node = pool[node + LEFT]
        visited += 1
    state[TOUCHED] += visited
    return bound, last


@kernel
def _seek(pool: Integers, state: Integers, key: int, low: int) -> None:
    """Move the cursor to the first record that is not before (key, low), to NIL if there is none."""
    least = NONE + 1  # no member has a smaller number
    bound, last = _descend(pool, state, key, low, least)
    state[CURSOR] = last if bound == NIL else bound
    state[POSITION] = 0 if bound == NIL else first_not_before(pool, state, bound, 0, key, low, least)


@kernel
def _next_node(pool: Integers, node: int) -> int:
    """The node with the records that follow, NIL after the last. Cost: O(1) amortised over all nodes."""
    if pool[node + RIGHT] != NIL:
        return outermost(pool, pool[node + RIGHT], LEFT)
    parent: int = pool[node + PARENT]
    while parent != NIL and pool[parent + RIGHT] == node:
        node, parent = parent, pool[parent + PARENT]
    return parent


@kernel
def _insert(pool: Integers, state: Integers, room: int, members: Integers, member: int) -> None:
    """Put a member into the tree, which may take one free node. Cost: O(log members + room)."""
    key, code = members[member, KEY], members[member, CODE]
    bound, last = _descend(pool, state, key, code, member)
    side = LEFT
    if bound != NIL and not is_before(pool, record_of(bound, pool[bound + COUNT] - 1), key, code, member):
        position = first_not_before(pool, state, bound, 0, key, code, member)
        if pool[bound + COUNT] < room:
            put_record(pool, open_record(pool, bound, position), key, code, member)
            return
        first = bound + HEAD
        first_key, first_code, first_member = pool[first], pool[first + 1], pool[first + 2]
        move(pool, first + WIDTH, WIDTH * (position - 1), first)
        put_record(pool, record_of(bound, position - 1), key, code, member)
        key, code, member = first_key, first_code, first_member
        last = bound
        if pool[bound + LEFT] != NIL:
            last, side = outermost(pool, pool[bound + LEFT], RIGHT), RIGHT
    elif last == bound:
        side = RIGHT
    # it is now beside the records of ``last``, which has no child on that side
    if last == NIL or pool[last + COUNT] == room:
        leaf = take_node(pool)
        pool[leaf + COUNT] = 1
        pool[leaf + HEIGHT] = 1
        pool[leaf + PARENT] = last
        put_record(pool, leaf + HEAD, key, code, member)
        if last == NIL:
            state[ROOT] = leaf
        else:
            pool[last + side] = leaf
            climb(pool, state, room, last)
        return
    position = 0 if side == LEFT else pool[last + COUNT]
    put_record(pool, open_record(pool, last, position), key, code, member)


@kernel
def _remove(pool: Integers, state: Integers, room: int, members: Integers, member: int) -> None:
    """Take a member out of the tree. Cost: O(log members + room)."""
    key, code = members[member, KEY], members[member, CODE]
    node, _ = _descend(pool, state, key, code, member)
    close_record(pool, node, first_not_before(pool, state, node, 0, key, code, member))
    if pool[node + LEFT] != NIL and pool[node + RIGHT] != NIL:
        if pool[node + COUNT] >= room - SLACK:
            return
        before = outermost(pool, pool[node + LEFT], RIGHT)
        pool[before + COUNT] -= 1
        last = record_of(before, pool[before + COUNT])
        put_record(pool, open_record(pool, node, 0), pool[last], pool[last + 1], pool[last + 2])
        node = before
    parent = pool[node + PARENT]
    if pool[node + LEFT] != NIL or pool[node + RIGHT] != NIL:
        climb(pool, state, room, node)
        return
    if pool[node + COUNT] == 0:
        replace_child(pool, state, parent, node, NIL)
        free_node(pool, node)
    climb(pool, state, room, parent)
