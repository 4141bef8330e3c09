"""Sessions and decided plans that are shown."""

import pytest

import joinfold as jf
from joinfold.planner.planned_query import PlannedQuery
from tests.explain.test_physical_tree import QUERIES
from tests.planner.decisions import decided


@pytest.fixture(scope="module")
def session() -> jf.Session:
    session = jf.Session()
    session.stream("temperature", "location STRING, floor INT, ts TIMESTAMP, celsius DOUBLE", time="ts")
    session.stream("smoke", "location STRING, floor INT, ts TIMESTAMP, strength DOUBLE", time="ts")
    return session


@pytest.fixture
def plan(session: jf.Session) -> PlannedQuery:
    return decided(session.sql(QUERIES["group_across_keys"]).plan)
