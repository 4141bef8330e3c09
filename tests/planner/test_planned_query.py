"""A plan with other stages: what comes last goes with them."""

from joinfold.physical.stage import Merge
from joinfold.planner.planning import plan_query
from tests.planner.known import (
    WINDOW,
    query_of,
)


def test_groups_cross_buckets_unless_they_determine_the_keys() -> None:
    for group, crosses in (("a.k", False), ("b.k", False), ("a.g", True), ("a.k + 1", True)):
        text = f"SELECT {group} AS g, COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k GROUP BY {group}"
        merge = plan_query(query_of(text)).pipeline.last
        assert isinstance(merge, Merge) and merge.crosses_buckets == crosses
