"""How a T-tree keeps its shape: rotations as in an AVL tree, and nodes that merge or share their records.

After every change the following holds (see ``ttree``): the subtrees of a node differ by at most 1 in height, a node
with two children has at least ``room`` − SLACK records, and one with a single child, which then is a leaf, cannot merge
with it.

A rotation can turn a node with few records into an inner node, which needs more. It takes them from its neighbour on
the side that was too high. The neighbour never gives its last record: either the two were a half-leaf and its leaf,
with more than ``room`` together, or the neighbour was an inner node until now::

           A                    C
          ╱        ─────▶      ╱ ╲        C was a leaf with few records; it takes some from B
         B                    B   A
          ╲
           C

One code serves both sides: ``side`` is LEFT or RIGHT, and SIDES − side is the other one.
"""

from joinfold.kernels.compiling import Integers, kernel, part
from joinfold.kernels.structures.members import ROOT
from joinfold.kernels.structures.nodes import COUNT, HEAD, LINK, NIL, WIDTH, free_node, move, record_of

LEFT, RIGHT, PARENT, HEIGHT = LINK, 2, 3, 4
SIDES = LEFT + RIGHT
SLACK = 1  # records that an inner node may lack, so that not every change moves one between nodes


@part
def outermost(pool: Integers, node: int, side: int) -> int:
    """The last node of a subtree on a side. Cost: O(log nodes)."""
    while pool[node + side] != NIL:
        node = pool[node + side]
    return node


@part
def replace_child(pool: Integers, state: Integers, parent: int, child: int, other: int) -> None:
    """Put another subtree, or NIL, where a child is: below its parent or, where that is NIL, at the root."""
    if parent == NIL:
        state[ROOT] = other
    elif pool[parent + LEFT] == child:
        pool[parent + LEFT] = other
    else:
        pool[parent + RIGHT] = other
    if other != NIL:
        pool[other + PARENT] = parent


@kernel
def climb(pool: Integers, state: Integers, room: int, node: int) -> None:
    """Restore the shape of a node whose child or records have changed, and of those above it while heights change.

    Cost: O(log nodes + room).
    """
    while node != NIL:
        height = pool[node + HEIGHT]
        side = LEFT if pool[pool[node + LEFT] + HEIGHT] > pool[pool[node + RIGHT] + HEIGHT] else RIGHT
        other = SIDES - side
        high = pool[node + side]
        if pool[high + HEIGHT] - pool[pool[node + other] + HEIGHT] > 1:
            if pool[pool[high + side] + HEIGHT] < pool[pool[high + other] + HEIGHT]:
                _rotate(pool, state, high, other)
            node = _rotate(pool, state, node, side)
            _fill(pool, room, node, side)
            _absorb(pool, room, pool[node + LEFT])
            _absorb(pool, room, pool[node + RIGHT])
        else:
            _absorb(pool, room, node)
        _measure(pool, node)
        if pool[node + HEIGHT] == height:
            return
        node = pool[node + PARENT]


@part
def _measure(pool: Integers, node: int) -> None:
    pool[node + HEIGHT] = 1 + max(pool[pool[node + LEFT] + HEIGHT], pool[pool[node + RIGHT] + HEIGHT])


@kernel
def _rotate(pool: Integers, state: Integers, node: int, side: int) -> int:
    """Let the child on a side rise above its parent; that child. Cost: O(1)."""
    other = SIDES - side
    child: int = pool[node + side]
    replace_child(pool, state, pool[node + PARENT], node, child)
    between = pool[child + other]
    pool[node + side] = between
    if between != NIL:
        pool[between + PARENT] = node
    pool[child + other] = node
    pool[node + PARENT] = child
    _measure(pool, node)
    _measure(pool, child)
    return child


@part
def _fill(pool: Integers, room: int, node: int, side: int) -> None:
    """Give an inner node the records that it lacks, from its neighbour on a side. Cost: O(room)."""
    count = pool[node + COUNT]
    lacking = room - SLACK - count
    if lacking <= 0:
        return
    neighbour = outermost(pool, pool[node + side], SIDES - side)
    left = pool[neighbour + COUNT] - lacking
    if side == LEFT:
        move(pool, node + HEAD, WIDTH * count, record_of(node, lacking))
        move(pool, record_of(neighbour, left), WIDTH * lacking, node + HEAD)
    else:
        move(pool, neighbour + HEAD, WIDTH * lacking, record_of(node, count))
        move(pool, record_of(neighbour, lacking), WIDTH * left, neighbour + HEAD)
    pool[node + COUNT] += lacking
    pool[neighbour + COUNT] = left


@kernel
def _absorb(pool: Integers, room: int, node: int) -> None:
    """Merge a half-leaf with its leaf if their records fit into one node. Cost: O(room)."""
    left, right = pool[node + LEFT], pool[node + RIGHT]
    if (left == NIL) == (right == NIL):
        return
    leaf, count = left + right, pool[node + COUNT]
    more = pool[leaf + COUNT]
    if count + more > room:
        return
    if leaf == left:
        move(pool, node + HEAD, WIDTH * count, record_of(node, more))
        move(pool, leaf + HEAD, WIDTH * more, node + HEAD)
    else:
        move(pool, leaf + HEAD, WIDTH * more, record_of(node, count))
    pool[node + COUNT] = count + more
    pool[node + LEFT] = NIL
    pool[node + RIGHT] = NIL
    pool[node + HEIGHT] = 1
    free_node(pool, leaf)
