"""Nodes of trees: pieces of one array, the pool, each with a head and sorted records.

::

    node ─▶ │ COUNT │ LINK │ · │ · │ · │ key code member │ key code member │ …
            └────────── head ──────────┘ └── record 0 ───┘ └── record 1 ───┘

A node is the place where it begins. Records are ordered by (key, code, member), so no two are equal, and all members
of one key with codes in a range are neighbours.

The pool begins with the head of ``NIL``, which stands for no node. Its COUNT is the number of free nodes, and their
chain begins at its LINK. All else is 0 there, so the height of a child that is not there is 0.
"""

from collections.abc import Callable

import numpy as np

from joinfold.kernels.compiling import Integers, kernel, part
from joinfold.kernels.structures.members import CURSOR, FOUND, NONE, POSITION, TOUCHED, Found, Rows

NIL = 0
COUNT, LINK = 0, 1
HEAD = 5
WIDTH = 3  # of a record
FIRST_NODES = 8


class NodePool:
    """Nodes with room for so many records and for so many integers ``behind`` them; ``array`` is what kernels take."""

    def __init__(self, records: int, behind: int = 0) -> None:
        self.node_length = HEAD + WIDTH * records + behind
        self.array = np.zeros(HEAD, np.int64)
        self._add_nodes(FIRST_NODES)

    @property
    def nodes(self) -> range:
        """All nodes, used or free."""
        return range(HEAD, self.array.size, self.node_length)

    def make_room(self) -> None:
        """Double the number of nodes. Cost: O(nodes)."""
        self._add_nodes(len(self.nodes))

    def _add_nodes(self, more: int) -> None:
        known = self.array.size
        array = np.zeros(known + more * self.node_length, np.int64)
        array[:known] = self.array
        added = np.arange(known, array.size, self.node_length)
        array[added[:-1] + LINK] = added[1:]
        array[added[-1] + LINK] = array[NIL + LINK]
        array[NIL + LINK] = known
        array[NIL + COUNT] += more
        self.array = array


@part
def take_node(pool: Integers) -> int:
    """A free node, of which there must be one, with a head of zeros. Cost: O(1)."""
    node: int = pool[NIL + LINK]
    pool[NIL + LINK] = pool[node + LINK]
    pool[NIL + COUNT] -= 1
    for column in range(HEAD):
        pool[node + column] = 0
    return node


@part
def free_node(pool: Integers, node: int) -> None:
    """Give a node back. Cost: O(1)."""
    pool[node + LINK] = pool[NIL + LINK]
    pool[NIL + LINK] = node
    pool[NIL + COUNT] += 1


@part
def record_of(node: int, position: int) -> int:
    """The place where a record begins."""
    return node + HEAD + WIDTH * position


@part
def is_before(pool: Integers, record: int, key: int, code: int, member: int) -> bool:
    """Whether a record comes before (key, code, member)."""
    before: bool = pool[record + 2] < member
    if pool[record] != key:
        before = pool[record] < key
    elif pool[record + 1] != code:
        before = pool[record + 1] < code
    return before


@part
def first_not_before(pool: Integers, state: Integers, node: int, start: int, key: int, code: int, member: int) -> int:
    """The first position from ``start`` on whose record is not before (key, code, member). Cost: O(log records)."""
    low, high = start, pool[node + COUNT]
    compared = 0
    while low < high:
        middle = (low + high) >> 1
        if is_before(pool, node + HEAD + WIDTH * middle, key, code, member):
            low = middle + 1
        else:
            high = middle
        compared += 1
    state[TOUCHED] += compared
    return low


@part
def probe_nodes(
    pool: Integers, state: Integers, rows: Rows, row: int, found: Found, next_node: Callable[[Integers, int], int]
) -> None:
    """Write matches from the cursor on, record by record and node by node, while there is place. Cost: O(matches)."""
    key, high = rows.key[row], rows.high[row]
    node, position, count = state[CURSOR], state[POSITION], state[FOUND]
    while node != NIL and count < found.member.size:
        if position == pool[node + COUNT]:
            node = next_node(pool, node)
            position = 0
            continue
        record = record_of(node, position)
        if pool[record] != key or pool[record + 1] > high:
            state[TOUCHED] += 1
            node = NIL
            break
        found.probe[count] = row
        found.member[count] = pool[record + 2]
        count += 1
        position += 1
    state[TOUCHED] += count - state[FOUND]
    state[FOUND] = count
    state[CURSOR] = NONE if node == NIL else node
    state[POSITION] = position


@part
def put_record(pool: Integers, record: int, key: int, code: int, member: int) -> None:
    """Overwrite a record."""
    pool[record] = key
    pool[record + 1] = code
    pool[record + 2] = member


@kernel
def move(pool: Integers, start: int, size: int, to: int) -> None:
    """Copy so many integers of a pool to another place, which may overlap with the first. Cost: O(size)."""
    taken, put = pool[start : start + size], pool[to : to + size]
    if to < start:
        for offset in range(size):
            put[offset] = taken[offset]
    else:
        for offset in range(size - 1, -1, -1):
            put[offset] = taken[offset]


@part
def open_record(pool: Integers, node: int, position: int) -> int:
    """Make place for one more record at a position of a node that is not full; where it begins. Cost: O(records)."""
    record = record_of(node, position)
    move(pool, record, WIDTH * (pool[node + COUNT] - position), record + WIDTH)
    pool[node + COUNT] += 1
    return record


@part
def close_record(pool: Integers, node: int, position: int) -> None:
    """Remove a record from a node. Cost: O(records)."""
    pool[node + COUNT] -= 1
    record = record_of(node, position)
    move(pool, record + WIDTH, WIDTH * (pool[node + COUNT] - position), record)
