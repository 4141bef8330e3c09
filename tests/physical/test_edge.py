"""Edges as blobs carry them."""

import json
from typing import get_args

import numpy as np
import pytest

from joinfold.operators.packing.header import Header
from joinfold.physical.edge import Edge, edge_facts, edge_of

EDGES: list[Edge] = [kind(number) for kind in get_args(Edge) for number in (0, 3)]


@pytest.mark.parametrize("edge", EDGES, ids=str)
def test_an_edge_comes_back(edge: Edge) -> None:
    facts = json.loads(json.dumps(edge_facts(edge)))
    again = edge_of(facts)
    assert again == edge and type(again) is type(edge)


def test_no_two_edges_look_alike() -> None:
    assert len({json.dumps(edge_facts(edge)) for edge in EDGES}) == len(EDGES) == 12


def test_a_header_travels_beside_its_edge() -> None:
    nothing = np.empty(0, np.int64)
    facts = Header(0, None, nothing, nothing, nothing, 0, 0, None, True, None).facts()
    assert not facts.keys() & edge_facts(EDGES[0]).keys()
