"""States of an earlier joinfold go on, whatever is chosen for them now, or are refused by a change of version."""

import json
from dataclasses import asdict, replace

import pytest

from joinfold.errors import EvaluationError, QueryError, UsageError
from joinfold.operators.codec import VERSION
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.reference.streaming import stream
from joinfold.runtime.checkpoints.agreement import refuse_another
from joinfold.runtime.checkpoints.manifest import Manifest
from tests.operators.state.golden import FOLDER, TEXTS, bound, read
from tests.operators.state.kept import LABELS, Query
from tests.strategies import assert_same_answers

CHOICES = (
    None,
    Plan("ic", ()),
    Plan("tc"),
    Plan("pc", (), {"a": "btree", "b": "hash"}),
    Plan("ic", ("a",), {"a": "ttree"}),
    Plan(index={"a": "list", "b": "btree"}, order=("b", "a")),
)


def plans_of(name: str, root: str | None) -> list[PlannedQuery]:
    """The usual plan and others that are possible, with the root of the state."""
    found = []
    for forced in CHOICES:
        try:
            plan = plan_query(bound(TEXTS[name]), forced)
        except QueryError:  # not every plan can do it
            continue
        found += [plan] if plan.root == root else []
    return found


def test_there_is_a_state_of_every_kind() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(TEXTS)
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 2**20


@pytest.mark.parametrize("name", TEXTS)
def test_a_state_of_before_goes_on(name: str) -> None:
    manifest, _, before, to_come = read(name)
    assert manifest.blob_version == VERSION, "a state of another version is refused: write the files anew on purpose"
    plans = plans_of(name, manifest.root)
    assert plans
    expected = stream(plans[0].query, [*before, *to_come]).answers
    answered = stream(plans[0].query, before).answers
    for plan in plans:
        refuse_another(manifest, Manifest.of(plan, "UTC", len(LABELS)), plan, "golden")
        query = Query(plan)
        for own, stores in zip(query.stages, read(name)[1], strict=True):
            for kept, store in zip(own, stores, strict=True):
                kept.store, kept.batch = store, len(before)
        query.go_on_as(plan)
        query.answers = list(answered)
        for batch in to_come:
            query.run(batch)
        assert len(query.answers) > len(answered)
        assert_same_answers(expected, query.answers)


def test_the_manifest_of_another_query_is_refused() -> None:
    manifest, *_ = read("sliding")
    plan = plan_query(bound(TEXTS["landmark"]))
    with pytest.raises(UsageError, match="belongs to another query"):
        refuse_another(manifest, Manifest.of(plan, "UTC", len(LABELS)), plan, "golden")


def test_a_manifest_without_guards_goes_on_with_any_and_others_with_their_own() -> None:
    manifest, *_ = read("sliding")
    query = bound(TEXTS["sliding"])
    guarded = [replace(own, source=replace(own.source, ahead_us=5, idle_us=7)) for own in query.inputs]
    plans = [plan_query(query), plan_query(replace(query, inputs=tuple(guarded)))]
    unguarded, wanted = (Manifest.of(plan, "UTC", len(LABELS)) for plan in plans)
    for now, plan in ((unguarded, plans[0]), (wanted, plans[1])):
        refuse_another(manifest, now, plan, "golden")
        assert Manifest.from_facts(json.loads(json.dumps(asdict(now)))) == now
    with pytest.raises(UsageError, match="was made with ahead of 'a' 5 MICROSECOND, not off"):
        refuse_another(wanted, unguarded, plans[0], "golden")


def test_a_state_of_another_version_is_refused() -> None:
    facts = json.loads((FOLDER / "sliding.json").read_text())
    assert facts["manifest"]["blob_version"] == VERSION
    _, stores, _, _ = read("sliding")
    (blob,) = stores[0][0].held[-1,]
    stores[0][0].held[-1,] = (blob[:4] + (VERSION + 1).to_bytes(4, "little") + blob[8:],)
    query = Query(plan_query(bound(TEXTS["sliding"])))
    query.stages[0][0].store = stores[0][0]
    with pytest.raises(EvaluationError, match=f"a blob of version {VERSION + 1}"):
        query.stages[0][0].make_anew()
