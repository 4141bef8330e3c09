"""A B+tree after any insertions and removals: its shape, its height, and what a search looks at."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.structures.btree import BTree
from joinfold.kernels.structures.members import LEVELS
from joinfold.kernels.structures.operations import INSERT, PROBE, REMOVE

from .model import found, operations
from .shapes import check_btree


@given(st.lists(st.integers(0, 8), max_size=40), st.integers(3, 5), st.data())
def test_nodes_split_and_merge_and_all_stays_in_order(codes: list[int], order: int, data: st.DataObject) -> None:
    tree, left = BTree(order), dict(enumerate(codes))
    tree.apply(operations([(INSERT, 0, code, 0, member) for member, code in left.items()]))
    check_btree(tree, sorted((0, code, member) for member, code in left.items()))
    for member in data.draw(st.permutations(list(left))):
        low, high = data.draw(st.tuples(st.integers(-1, 9), st.integers(-1, 9)))
        work = operations([(PROBE, 0, low, high, 0), (REMOVE, 0, 0, 0, member)])
        assert found(tree, work, 2) == sorted((0, own) for own, code in left.items() if low <= code <= high)
        del left[member]
        check_btree(tree, sorted((0, code, own) for own, code in left.items()))


@pytest.mark.parametrize("order", [3, 10, 100])
def test_the_height_is_logarithmic_and_falls_again(order: int) -> None:
    """Codes that only rise leave every node but the last half full: the highest tree that there can be."""
    tree = BTree(order)
    tree.apply(operations([(INSERT, 0, code, 0, code) for code in range(2000)]))
    half, levels = (order + 1) // 2, int(tree.state[LEVELS])
    assert order ** (levels + 1) >= 2000 and half**levels <= 2000
    tree.apply(operations([(REMOVE, 0, 0, 0, code) for code in range(1999)]))
    assert tree.state[LEVELS] == 0
    check_btree(tree, [(0, 1999, 1999)])


def test_a_separator_stays_when_its_member_has_gone() -> None:
    tree = BTree(order=3)
    tree.apply(operations([(INSERT, 0, code, 0, code) for code in range(12)]))
    for code in (6, 3, 9):
        tree.apply(operations([(REMOVE, 0, 0, 0, code)]))
    left = [code for code in range(12) if code not in (6, 3, 9)]
    check_btree(tree, [(0, code, code) for code in left])
    assert tree.apply(operations([(PROBE, 0, 0, 11, 0)])).member.tolist() == left


def test_half_of_an_inner_node_is_two_children() -> None:
    with pytest.raises(AssertionError, match="two children"):
        BTree(order=2)
