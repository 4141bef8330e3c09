"""Trees that are out of balance in each of the four ways, built by hand, and what ``climb`` makes of them."""

import numpy as np
import pytest

from joinfold.kernels.structures.balancing import HEIGHT, LEFT, PARENT, RIGHT, climb, outermost, replace_child
from joinfold.kernels.structures.members import ROOT
from joinfold.kernels.structures.nodes import COUNT, NIL, put_record, record_of, take_node
from joinfold.kernels.structures.ttree import TTree

from .shapes import check_ttree

Shape = tuple["Shape | None", list[int], "Shape | None"]
"""left subtree, codes, right subtree"""

FULL = 3


def built(shape: Shape) -> tuple[TTree, dict[str, int]]:
    """A tree of this shape with right heights, and its nodes by their way from the root: '', 'L', 'LR', …"""
    tree, nodes = TTree(node_size=FULL), dict[str, int]()
    pool = tree.nodes.array

    def build(own: Shape | None, parent: int, way: str) -> int:
        if own is None:
            return NIL
        node = nodes[way] = int(take_node(pool))
        pool[node + PARENT], pool[node + COUNT] = parent, len(own[1])
        for position, code in enumerate(own[1]):
            put_record(pool, record_of(node, position), 0, code, 0)
        pool[node + LEFT], pool[node + RIGHT] = build(own[0], node, f"{way}L"), build(own[2], node, f"{way}R")
        pool[node + HEIGHT] = 1 + max(pool[pool[node + side] + HEIGHT] for side in (LEFT, RIGHT))
        return node

    tree.state[ROOT] = build(shape, NIL, "")
    return tree, nodes


def leaf(*codes: int) -> Shape:
    return (None, list(codes), None)


@pytest.mark.parametrize(
    "shape",
    [
        ((leaf(1, 2), [3, 4, 5], None), [6, 7, 8], None),
        ((None, [1, 2, 3], leaf(4)), [6, 7, 8], None),
        (None, [1, 2, 3], (None, [4, 5, 6], leaf(7, 8))),
        (None, [1, 2, 3], (leaf(4), [6, 7, 8], None)),
        (((leaf(1, 2), [3, 4, 5], leaf(6)), [7, 8], leaf(9)), [10, 11], leaf(12)),
        ((leaf(1), [2, 3], (leaf(4, 5), [6, 7, 8], leaf(9))), [10, 11], leaf(12)),
    ],
    ids=["left left", "left right", "right right", "right left", "left left, inner", "left right, inner"],
)
def test_a_rotation_mends_each_way_of_being_too_high(shape: Shape) -> None:
    """The nodes that become inner ones get records from their neighbours."""
    tree, _ = built(shape)
    climb(tree.nodes.array, tree.state, FULL, int(tree.state[ROOT]))
    check_ttree(tree, [(0, code, 0) for code in codes_of(shape)])


def codes_of(shape: Shape | None) -> list[int]:
    return [] if shape is None else [*codes_of(shape[0]), *shape[1], *codes_of(shape[2])]


@pytest.mark.parametrize("shape", [(leaf(1), [2, 3], None), (None, [1, 2], leaf(3))])
def test_a_half_leaf_takes_in_a_leaf_that_fits(shape: Shape) -> None:
    tree, nodes = built(shape)
    climb(tree.nodes.array, tree.state, FULL, nodes[""])
    check_ttree(tree, [(0, code, 0) for code in (1, 2, 3)])
    assert tree.nodes.array[nodes[""] + COUNT] == 3 and tree.nodes.array[nodes[""] + HEIGHT] == 1


def test_what_is_in_order_stays_as_it_is() -> None:
    shape: Shape = (leaf(1, 2), [3, 4, 5], leaf(6))
    tree, nodes = built(shape)
    before = tree.nodes.array.copy()
    climb(tree.nodes.array, tree.state, FULL, nodes["L"])
    np.testing.assert_array_equal(tree.nodes.array, before)


def test_the_last_node_of_a_side_and_another_child() -> None:
    tree, nodes = built(((leaf(1), [2, 3, 4], leaf(5)), [6, 7], leaf(9)))
    pool = tree.nodes.array
    assert outermost(pool, nodes[""], LEFT) == nodes["LL"] and outermost(pool, nodes["L"], RIGHT) == nodes["LR"]
    replace_child(pool, tree.state, nodes[""], nodes["R"], nodes["LR"])
    assert pool[nodes[""] + RIGHT] == nodes["LR"] and pool[nodes["LR"] + PARENT] == nodes[""]
    replace_child(pool, tree.state, NIL, nodes[""], nodes["L"])
    assert tree.state[ROOT] == nodes["L"] and pool[nodes["L"] + PARENT] == NIL
