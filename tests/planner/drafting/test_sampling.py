"""What SHED samples: the key that most inputs have, by all inputs that have it; or rows."""

import pytest

from joinfold.errors import QueryError
from joinfold.logical.shedding import HoldRows
from joinfold.physical.column_names import TIME, replicate_column
from joinfold.physical.shedding import KeySampling, RowSampling
from joinfold.physical.stage import Merge
from joinfold.planner.drafting.draft import draft
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from tests.planner.known import LAST, ROWS, WINDOW, query_of

SHED = "SHED TO HOLD 9 ROWS"
BUDGETS = (HoldRows(9),)


def drafted(where: str, groups: str = "", inputs: str = "ab", shed: str = SHED) -> PlannedQuery:
    sources = ", ".join(f"{name} {WINDOW}" for name in inputs)
    by = f"GROUP BY {groups}" if groups else ""
    return draft(query_of(f"SELECT COUNT(*) AS n FROM {sources} WHERE {where} {by} {shed}"))


def drawn(plan: PlannedQuery) -> dict[str, tuple[str, ...]]:
    return {spec.name: spec.drawn_by for spec in plan.body.inputs if spec.drawn_by}


def replicates(plan: PlannedQuery) -> list[str]:
    return [spec.name for spec in plan.body.inputs if spec.replicate is not None]


def test_all_inputs_draw_by_the_key_that_they_share() -> None:
    plan = drafted("a.k = b.k")
    assert plan.pipeline.shedding == KeySampling(BUDGETS, 0, (0, 1), groups_are_whole=False)
    assert drawn(plan) == {"a": ("a.k",), "b": ("b.k",)} and replicates(plan) == ["a"]
    assert plan.body.groups == plan.body.replicates == (replicate_column(0),) and plan.body.is_global


def test_several_keys_of_all_inputs_are_one() -> None:
    assert drawn(drafted("a.k = b.k AND a.j = b.j")) == {"a": ("a.k", "a.j"), "b": ("b.k", "b.j")}


def test_an_input_without_the_key_stays_whole() -> None:
    plan = drafted("a.k = b.k AND b.k = c.k AND c.j = d.j", inputs="abcd")
    assert drawn(plan) == {"a": ("a.k",), "b": ("b.k",), "c": ("c.k",)}
    assert plan.pipeline.shedding.streams == (0, 1, 2)  # type: ignore[union-attr]


def test_the_replicate_goes_to_an_input_that_has_groups() -> None:
    plan = drafted("a.k = b.k", groups="b.g")
    assert replicates(plan) == ["b"] and plan.body.groups == ("b.g", replicate_column(1))
    assert not plan.body.is_global


def test_a_chain_draws_in_every_fold_that_reads_a_sampled_stream() -> None:
    plan = plan_query(query_of(f"SELECT a.g, COUNT(*) AS n FROM a {WINDOW}, b {WINDOW}, c {WINDOW} "
                               f"WHERE a.k = b.k AND b.j = c.j GROUP BY a.g {SHED} OPTION (root = c)"))  # fmt: skip
    first, last = plan.stages
    assert [spec.drawn_by for spec in first.body.inputs] == [("b.k",), ("a.k",)]  # type: ignore[union-attr]
    assert [spec.drawn_by for spec in last.body.inputs] == [(), ()]  # type: ignore[union-attr]
    assert first.body.replicates == last.body.replicates == (replicate_column(0),)  # type: ignore[union-attr]


def test_groups_that_have_one_key_are_whole() -> None:
    for groups, are_whole in {"a.k": True, "b.k, a.g": True, "a.g": False}.items():
        plan = drafted("a.k = b.k", groups)
        assert plan.pipeline.shedding == KeySampling(BUDGETS, 0, (0, 1), are_whole)
        assert isinstance(plan.pipeline.last, Merge) and plan.pipeline.last.estimates is not None
        assert plan.pipeline.last.estimates.complete is are_whole


def test_every_stream_draws_by_its_rows() -> None:
    plan = drafted("a.k = b.k AND a.v > 1", shed=f"{SHED} SAMPLE BY ROW SEED 5")
    assert plan.pipeline.shedding == RowSampling(BUDGETS, 5, (0, 1))
    assert drawn(plan) == {"a": (TIME, "a.k"), "b": (TIME, "b.k")} and replicates(plan) == ["a", "b"]


def test_rows_are_sampled_if_the_query_does_not_say_it_and_the_planner_does() -> None:
    query = drafted("a.k = b.k").query
    assert isinstance(draft(query, "row").pipeline.shedding, RowSampling)
    assert isinstance(
        draft(drafted("a.k = b.k", shed=f"{SHED} SAMPLE BY KEY").query, "row").pipeline.shedding, KeySampling
    )


def test_partitions_are_sampled_by_a_key_that_does_not_divide_them() -> None:
    text = f"SELECT COUNT(*) AS n FROM a {LAST}, b {WINDOW} WHERE a.k = b.k AND a.j = b.j {SHED}"
    assert drawn(draft(query_of(text))) == {"a": ("a.j",), "b": ("b.j",)}
    beside = f"SELECT COUNT(*) AS n FROM a {LAST}, b {ROWS} WHERE a.j = b.j {SHED}"
    with pytest.raises(QueryError, match="SHED over PARTITION BY windows beside other ROWS windows"):
        draft(query_of(beside))


def test_nothing_is_drawn_without_shed() -> None:
    plan = drafted("a.k = b.k", shed="")
    assert plan.pipeline.shedding is None and drawn(plan) == {} and plan.body.replicates == ()
