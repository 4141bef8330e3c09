"""Nodes of a pool against sets and sorted lists of records."""

from bisect import bisect_left

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.structures.members import STATES, TOUCHED
from joinfold.kernels.structures.nodes import (
    COUNT,
    FIRST_NODES,
    HEAD,
    LINK,
    NIL,
    WIDTH,
    NodePool,
    close_record,
    first_not_before,
    free_node,
    is_before,
    move,
    open_record,
    put_record,
    record_of,
    take_node,
)

from .shapes import Record, check_pool, records_of

small = st.integers(-2, 2)
records = st.tuples(small, small, small)


def node_of(content: list[Record], room: int = 12) -> tuple[NodePool, int]:
    """A pool, and a node with these records."""
    pool = NodePool(room)
    node = take_node(pool.array)
    pool.array[node + COUNT] = len(content)
    for position, record in enumerate(content):
        put_record(pool.array, record_of(node, position), *record)
    return pool, node


@given(st.lists(st.booleans(), max_size=60), st.randoms(use_true_random=False))
def test_nodes_are_taken_and_freed_as_from_a_set(changes: list[bool], random: object) -> None:
    pool, used = NodePool(2, behind=1), list[int]()
    for takes in changes:
        if takes:
            if pool.array[NIL + COUNT] == 0:
                pool.make_room()
            node = take_node(pool.array)
            assert node not in used and not pool.array[node : node + HEAD].any()
            pool.array[node + 2 : node + pool.node_length] = 9  # what is left behind must not be seen again
            used.append(node)
        elif used:
            node = used.pop(random.randrange(len(used)))
            free_node(pool.array, node)
        check_pool(pool, used)
    assert len(pool.nodes) % FIRST_NODES == 0 and not pool.array[LINK + 1 : HEAD].any()


@given(st.lists(records, max_size=10, unique=True).map(sorted), records, st.data())
def test_a_record_is_found_as_by_bisection(content: list[Record], wanted: Record, data: st.DataObject) -> None:
    pool, node = node_of(content)
    start = data.draw(st.integers(0, len(content)))
    state = np.zeros(STATES, np.int64)
    expected = bisect_left(content, wanted, lo=start)
    assert first_not_before(pool.array, state, node, start, *wanted) == expected
    assert state[TOUCHED] <= (len(content) - start).bit_length()
    for position, record in enumerate(content):
        assert is_before(pool.array, record_of(node, position), *wanted) == (record < wanted)


@given(st.lists(records, max_size=10), records, st.data())
def test_records_are_put_in_and_taken_out_as_of_a_list(
    content: list[Record], record: Record, data: st.DataObject
) -> None:
    pool, node = node_of(content)
    at = data.draw(st.integers(0, len(content)))
    put_record(pool.array, open_record(pool.array, node, at), *record)
    content = [*content[:at], record, *content[at:]]
    assert records_of(pool, node) == content
    at = data.draw(st.integers(0, len(content) - 1))
    close_record(pool.array, node, at)
    assert records_of(pool, node) == content[:at] + content[at + 1 :]


@given(st.data())
def test_a_move_may_overlap(data: st.DataObject) -> None:
    pool, size = np.arange(20), data.draw(st.integers(0, 12))
    start, to = (data.draw(st.integers(0, 20 - size)) for _ in range(2))
    expected = np.arange(20)
    expected[to : to + size] = np.arange(start, start + size)
    move(pool, start, size, to)
    assert pool.tolist() == expected.tolist()


def test_a_node_has_room_for_its_records_and_what_is_behind() -> None:
    assert NodePool(4, behind=3).node_length == HEAD + 4 * WIDTH + 3
