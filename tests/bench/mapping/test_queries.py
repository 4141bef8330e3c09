"""The map has a query for everything that the language has."""

from typing import get_args

import pytest

from joinfold.algebra import AGGREGATES
from joinfold.logical.query import Emit, LogicalQuery, Sync
from joinfold.window import Landmark, Sliding, Window
from joinfold_bench.mapping.measuring import MapSettings, planned, streams_of
from joinfold_bench.mapping.queries import CONDITIONS, PLAIN, map_queries, shown

LANGUAGE = [*get_args(Window), *get_args(Emit), *get_args(Sync), *AGGREGATES, *CONDITIONS]


@pytest.fixture(scope="module")
def queries() -> dict[str, LogicalQuery]:
    streams = streams_of(MapSettings(rows=600, keys=10))
    return {query.name: planned(query.text, streams).query for query in map_queries()}


@pytest.mark.parametrize("feature", LANGUAGE, ids=str)
def test_everything_that_the_language_has_is_in_the_map(feature: str | type, queries: dict[str, LogicalQuery]) -> None:
    assert any(feature in shown(query) for query in queries.values()), f"give the map a query with {feature}"


def test_what_is_no_list_of_the_language_is_in_the_map_too(queries: dict[str, LogicalQuery]) -> None:
    """One input and three, a relation, a cycle and a chain of keys, changes, and rows instead of aggregates."""
    every = list(queries.values())
    assert {len(query.streams) for query in every} == {1, 2, 3}
    assert any(len(query.inputs) > len(query.streams) for query in every)
    assert any(query.graph.cycle for query in every)
    assert any(len(query.inputs) == 3 and query.graph.common_key is None and query.graph.is_acyclic for query in every)
    assert any(query.changes for query in every) and any(query.is_plain_join for query in every)
    assert any(query.having is not None for query in every)


def test_what_a_query_shows_is_read_from_its_meaning(queries: dict[str, LogicalQuery]) -> None:
    plain = shown(queries[PLAIN])
    assert {Sliding, "count", "sum", "keys"} <= plain
    assert not {Landmark, "max", "bands", "residual"} & plain
    assert len(set(queries)) == len(map_queries())
