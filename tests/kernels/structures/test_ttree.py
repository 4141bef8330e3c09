"""A T-tree after any insertions and removals: its shape, its height, and how a probe goes through it."""

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.structures.balancing import HEIGHT
from joinfold.kernels.structures.members import ROOT
from joinfold.kernels.structures.nodes import NIL
from joinfold.kernels.structures.operations import INSERT, PROBE, REMOVE
from joinfold.kernels.structures.ttree import TTree

from .model import found, operations
from .shapes import check_ttree


@pytest.mark.slow
@given(st.lists(st.integers(0, 8), max_size=40), st.integers(2, 5), st.data())
def test_nodes_share_and_merge_and_all_stays_in_order(codes: list[int], size: int, data: st.DataObject) -> None:
    tree, left = TTree(size), dict(enumerate(codes))
    tree.apply(operations([(INSERT, 0, code, 0, member) for member, code in left.items()]))
    check_ttree(tree, sorted((0, code, member) for member, code in left.items()))
    for member in data.draw(st.permutations(list(left))):
        low, high = data.draw(st.tuples(st.integers(-1, 9), st.integers(-1, 9)))
        work = operations([(PROBE, 0, low, high, 0), (REMOVE, 0, 0, 0, member)])
        assert found(tree, work, 2) == sorted((0, own) for own, code in left.items() if low <= code <= high)
        del left[member]
        check_ttree(tree, sorted((0, code, own) for own, code in left.items()))
    assert tree.state[ROOT] == NIL


@pytest.mark.parametrize("size", [2, 10, 100])
def test_the_height_is_that_of_an_avl_tree_of_full_nodes(size: int) -> None:
    tree = TTree(size)
    tree.apply(operations([(INSERT, 0, code, 0, code) for code in range(2000)]))
    height = int(tree.nodes.array[tree.state[ROOT] + HEIGHT])
    assert height <= 1.4405 * log2(2000 / (size - 1) + 2) + 1


def test_a_full_node_hands_its_first_record_on() -> None:
    """20 to 24 are full; 21 goes in, and 20 makes place: it goes to a leaf before them."""
    tree = TTree(node_size=4)
    tree.apply(operations([(INSERT, 0, code, 0, code) for code in (20, 22, 23, 24)]))
    root = int(tree.state[ROOT])
    tree.apply(operations([(INSERT, 0, 21, 0, 21)]))
    assert tree.state[ROOT] == root and tree.nodes.array[root + HEIGHT] == 2
    check_ttree(tree, [(0, code, code) for code in range(20, 25)])


def test_a_node_of_one_record_is_refused() -> None:
    with pytest.raises(AssertionError, match="binary tree"):
        TTree(node_size=1)
