"""A plan with other stages: what comes last goes with them."""

from dataclasses import replace

import pytest

from joinfold.physical.choice import NO_CHOICE
from joinfold.physical.payload import ColumnRef
from joinfold.physical.stage import Concatenate, Merge, NumberRows, Totals
from joinfold.planner.drafting.draft import draft
from joinfold.planner.planned_query import crosses_buckets, with_stages
from joinfold.planner.planning import plan_query
from tests.planner.known import JOINED, SETS, WINDOW, chain_of, query_of


def test_groups_cross_buckets_unless_they_determine_the_keys() -> None:
    for group, crosses in (("a.k", False), ("b.k", False), ("a.g", True), ("a.k + 1", True)):
        text = f"SELECT {group} AS g, COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k GROUP BY {group}"
        merge = plan_query(query_of(text)).pipeline.last
        assert isinstance(merge, Merge) and merge.crosses_buckets == crosses


@pytest.mark.parametrize(
    ("text", "crosses"),
    [
        (f"SELECT COUNT(*) AS n {JOINED}", True),
        (f"SELECT a.g, COUNT(*) AS n FROM a {WINDOW} GROUP BY a.g", True),  # without a key there is one bucket
        (f"SELECT COUNT(*) AS n {JOINED} AND a.j = b.j GROUP BY a.k", True),  # one of two keys
        (f"SELECT COUNT(*) AS n {JOINED} AND a.j = b.j GROUP BY a.k, b.j", False),
        (chain_of(3, tail=" GROUP BY a.k"), False),  # rows are distributed by the first of the keys
        (chain_of(3, tail=" GROUP BY c.j"), True),
    ],
)
def test_groups_that_hold_all_keys_of_a_bucket_stay_in_it(text: str, crosses: bool) -> None:
    plan = draft(query_of(text))
    assert crosses_buckets(plan.query, plan.keys, plan.body) == crosses


def test_what_comes_last_takes_the_totals_of_the_stage_that_answers() -> None:
    plan = draft(query_of(SETS))
    body = replace(plan.body, real_products=((ColumnRef(True, 0),) * 3,))
    stage = replace(plan.answering, body=body)
    after = with_stages(plan, (NumberRows((0,)), stage), (NO_CHOICE, plan.choice), root="a")
    merge = after.pipeline.last
    assert isinstance(merge, Merge) and merge.totals == Totals.of(body) != Totals.of(plan.body)
    assert (after.answering, after.choices, after.root) == (stage, (NO_CHOICE, plan.choice), "a")
    assert (after.timing, after.frames, merge.aggregates) == (plan.timing, plan.frames, plan.pipeline.last.aggregates)  # type: ignore[union-attr]


def test_combinations_go_out_as_they_come_whatever_the_stages_are() -> None:
    plan = draft(query_of(f"SELECT a.v, b.v AS w {JOINED}"))
    after = with_stages(plan, (NumberRows((0,)), *plan.stages), (NO_CHOICE, *plan.choices))
    assert after.pipeline.last == plan.pipeline.last == Concatenate()
