"""What must be true of the arrays of a structure between two calls, found by walking them in plain Python."""

from collections.abc import Iterator

import pytest

from joinfold.kernels.structures.balancing import HEIGHT, LEFT, PARENT, RIGHT, SLACK
from joinfold.kernels.structures.btree import BTree
from joinfold.kernels.structures.hashed import BUCKET_NEWER, BUCKET_OLDER, Hashed
from joinfold.kernels.structures.listed import Listed
from joinfold.kernels.structures.members import ABSENT, LEVELS, NEWER, NEWEST, NONE, OLDER, OLDEST, ROOT, Members
from joinfold.kernels.structures.nodes import COUNT, HEAD, LINK, NIL, WIDTH, NodePool
from joinfold.kernels.structures.ttree import TTree

Record = tuple[int, ...]


def check(structure: Members, members: dict[int, tuple[int, int]]) -> None:
    """``members`` has the key and the code of each member, by arrival."""
    assert len(structure) == len(members)
    assert structure.oldest == next(iter(members), NONE)
    assert chain(structure, OLDEST, NEWEST) == list(members)
    gone = set(range(len(structure.members))) - set(members)
    assert all(structure.members[member, OLDER] == ABSENT for member in gone)
    records = sorted((key, code, member) for member, (key, code) in members.items())
    match structure:
        case BTree():
            check_btree(structure, records)
        case TTree():
            check_ttree(structure, records)
        case Hashed():
            check_buckets(structure, members)
        case Listed():
            pass  # the chain of arrivals is all it has
        case _:
            pytest.fail(f"nothing checks the shape of {type(structure).__name__} (tests/kernels/structures/shapes.py)")


def chain(structure: Members, first: int, last: int) -> list[int]:
    members, before, member = [], NONE, int(structure.state[first])
    while member != NONE:
        assert structure.members[member, OLDER] == before
        members.append(member)
        before, member = member, int(structure.members[member, NEWER])
    assert structure.state[last] == before
    return members


def check_buckets(structure: Hashed, members: dict[int, tuple[int, int]]) -> None:
    arrival = {member: place for place, member in enumerate(members)}
    bucket_of: dict[int, int] = {}
    seen: list[int] = []
    for bucket, (first, last) in enumerate(structure.buckets.tolist()):
        before, member, places = NONE, first, []
        while member != NONE:
            assert structure.members[member, BUCKET_OLDER] == before
            assert bucket_of.setdefault(members[member][0], bucket) == bucket
            places.append(arrival[member])
            seen.append(member)
            before, member = member, int(structure.members[member, BUCKET_NEWER])
        assert last == before
        assert places == sorted(places)
    assert sorted(seen) == sorted(members)
    if structure.bucket_size is not None:
        assert len(members) <= structure.bucket_size * len(structure.buckets)


def check_btree(tree: BTree, records: list[Record]) -> None:
    """All leaves at one depth and linked in order, nodes at least half full, separators between their neighbours."""
    levels: dict[int, list[int]] = {}

    def walk(node: int, level: int, least: Record, most: Record) -> None:
        levels.setdefault(level, []).append(node)
        content = records_of(tree.inners if level else tree.leaves, node)
        if node == tree.state[ROOT] and level == tree.state[LEVELS]:
            assert level == 0 or len(content) >= 2
        else:
            assert len(content) >= (tree.order + 1) // 2
        assert len(content) <= tree.order
        if level == 0:
            assert all(least <= record < most for record in content)
            return
        assert least in (lowest, content[0])
        edges = [least, *content[1:], most]
        assert edges == sorted(set(edges))
        children = node + HEAD + WIDTH * tree.order
        for index, child in enumerate(tree.inners.array[children : children + len(content)].tolist()):
            walk(child, level - 1, edges[index], edges[index + 1])

    lowest, highest = (-(2**40), 0, 0), (2**40, 0, 0)
    walk(int(tree.state[ROOT]), int(tree.state[LEVELS]), lowest, highest)
    leaf, linked = levels[0][0], []
    while leaf != NIL:
        linked.append(leaf)
        leaf = int(tree.leaves.array[leaf + LINK])
    assert linked == levels.pop(0)
    assert [record for leaf in linked for record in records_of(tree.leaves, leaf)] == records
    check_pool(tree.leaves, linked)
    check_pool(tree.inners, [node for nodes in levels.values() for node in nodes])


def check_ttree(tree: TTree, records: list[Record]) -> None:
    """Balanced, in order; nodes with two children nearly full, and none with one child that could merge with it."""
    pool, seen = tree.nodes.array, []

    def walk(node: int, parent: int) -> Iterator[Record]:
        if node == NIL:
            return
        seen.append(node)
        left, right, content = int(pool[node + LEFT]), int(pool[node + RIGHT]), records_of(tree.nodes, node)
        assert pool[node + PARENT] == parent
        assert 1 <= len(content) <= tree.node_size
        assert abs(pool[left + HEIGHT] - pool[right + HEIGHT]) <= 1
        assert pool[node + HEIGHT] == 1 + max(pool[left + HEIGHT], pool[right + HEIGHT])
        if left != NIL and right != NIL:
            assert len(content) >= tree.node_size - SLACK
        elif left != NIL or right != NIL:
            assert len(content) + pool[left + right + COUNT] > tree.node_size
        yield from walk(left, node)
        yield from content
        yield from walk(right, node)

    assert list(walk(int(tree.state[ROOT]), NIL)) == records
    assert not pool[NIL + LINK + 1 : NIL + HEAD].any()
    check_pool(tree.nodes, seen)


def records_of(pool: NodePool, node: int) -> list[Record]:
    content = pool.array[node + HEAD : node + HEAD + WIDTH * int(pool.array[node + COUNT])]
    return [tuple(record) for record in content.reshape(-1, WIDTH).tolist()]


def check_pool(pool: NodePool, used: list[int]) -> None:
    """Every node is either used or free."""
    free, node = [], int(pool.array[NIL + LINK])
    while node != NIL:
        free.append(node)
        node = int(pool.array[node + LINK])
    assert len(free) == pool.array[NIL + COUNT]
    assert sorted([*used, *free]) == list(pool.nodes)
