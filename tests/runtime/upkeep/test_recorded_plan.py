"""The manifest of a checkpoint is enough to plan its query."""

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given

from joinfold.dialect import bind, parse, read_schema
from joinfold.errors import UsageError
from joinfold.logical.query import Source
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.runtime.checkpoints.manifest import Manifest
from joinfold.runtime.upkeep.recorded_plan import recorded_plan
from tests import refusals
from tests.crashes.workload import KINDS, query_of
from tests.strategies import Case, cases


def recorded(plan: PlannedQuery) -> Manifest:
    """The manifest, as it is written and read."""
    return Manifest.from_facts(json.loads(json.dumps(asdict(Manifest.of(plan, "UTC", 2)))))


def check(plan: PlannedQuery) -> None:
    found = recorded_plan(recorded(plan), "state")
    assert found.stages == plan.stages
    assert found.pipeline.timing == plan.pipeline.timing and found.pipeline.shedding == plan.pipeline.shedding


@pytest.mark.parametrize("kind", KINDS)
def test_the_plan_of_every_kind(kind: str) -> None:
    check(plan_query(query_of(kind)))


@given(case=cases())
def test_the_plan_of_any_query(case: Case) -> None:
    plan = refusals.planned(case.bind(), case.text)
    if plan is not None:
        check(plan)


def test_columns_keep_their_order() -> None:
    columns = read_schema("z INT, ts TIMESTAMP, y INT, x INT, `a b` INT")
    text = (
        "SELECT SUM(l.x) AS s, SUM(r.y + r.`a b`) AS t, SUM(l.z) AS u FROM a l [ROWS 3], a r [ROWS 4] WHERE l.x = r.x"
    )
    plan = plan_query(bind(parse(text), {"a": Source("a", columns, True, "ts")}))
    found = recorded_plan(recorded(plan), "state")
    assert found.stages == plan.stages
    assert [spec.order for spec in found.body.inputs] == [spec.order for spec in plan.body.inputs]
    assert len(plan.body.inputs[1].order) == 3


def test_another_root_is_kept_and_an_unknown_one_is_refused() -> None:
    query = query_of("chain")
    usual = plan_query(query)
    manifest = recorded(usual)
    for root in "abc":
        assert recorded_plan(replace(manifest, root=root), "state").root == root
    with pytest.raises(UsageError, match="in another way"):
        recorded_plan(replace(manifest, root="nobody"), "state")
