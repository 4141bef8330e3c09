"""Which plan is chosen: it turns where it should, what is asked for is kept, and few plans are looked at."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.structures import STRUCTURES
from joinfold.physical.choice import SUMS, FoldChoice
from joinfold.physical.source import StreamRows
from joinfold.planner import search
from joinfold.planner.cost.estimating import Setting, fold_cost
from joinfold.planner.cost.weights import shipped_weights
from joinfold.planner.cost.windows import flows_of, instants_per_second
from joinfold.planner.drafting.draft import draft
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.planner.search import choice_title, fold_choices
from joinfold.planner.stream_statistics import Statistics
from tests.planner.known import (
    BAND,
    CONDITION,
    COUNTING,
    FEW_GROUPS,
    FEW_MATCHES,
    JOINED,
    LONG,
    NAMES,
    SETS,
    WINDOW,
    chain_of,
    common_key,
    decision_of,
    planned,
    query_of,
    stream,
)


def uses_sums(plan: PlannedQuery) -> bool:
    return SUMS in plan.choice.indexes


# --- where it turns -----------------------------------------------------------------------------------------------


def test_few_matches_are_found_and_many_are_summed() -> None:
    assert not uses_sums(planned(BAND, *FEW_MATCHES, selectivity=0.002))
    assert uses_sums(planned(BAND, *FEW_GROUPS, selectivity=0.002))
    assert uses_sums(planned(BAND, *FEW_MATCHES, selectivity=0.9))


def test_many_rows_of_an_entry_are_merged_early_and_few_are_not() -> None:
    few, many = ((stream(1_000, 5, entries=entries),) * 2 for entries in (10, 1e9))
    assert planned(CONDITION, *few).choice.early == {0, 1}
    assert planned(CONDITION, *many).choice.early == set()
    decision = planned(CONDITION, stream(8_000, 500, entries=1_000), stream(8_000, 500, entries=1e9)).decision
    assert decision is not None
    choices = [own.plan.choice for own in decision.alternatives]  # the cheapest first
    assert [choice.early for choice in choices if choice.method == "ic"] == [{0}, {0, 1}, set(), {1}]


def test_no_leaving_row_is_joined_again_where_matches_are_many() -> None:
    """TC charges what IC would find a second time; where answers are rare PC only keeps it."""
    streams = (stream(2_000, 10, entries=1e9),) * 2
    assert planned(CONDITION, *streams, selectivity=0.9).choice.method == "tc"
    rare = CONDITION.replace("SLIDE 1 SECOND", "SLIDE 10 SECOND")
    assert planned(rare, *streams, selectivity=0.001).choice.method == "pc"


def test_equal_keys_alone_are_joined_by_sets() -> None:
    for streams in (FEW_MATCHES, FEW_GROUPS):
        assert planned(SETS, *streams).choice.windows == "sets"


@pytest.mark.parametrize("inputs", [3, 4])
@pytest.mark.parametrize("fastest", ["first", "last"])
def test_the_fastest_of_the_ends_of_a_chain_is_joined_last(inputs: int, fastest: str) -> None:
    ordinal = 0 if fastest == "first" else inputs - 1
    streams = [stream(1e5 if own == ordinal else 1e3, keys=1e5) for own in range(inputs)]
    plan = planned(chain_of(inputs, window=LONG), *streams)
    assert plan.root == NAMES[ordinal]
    assert [spec.source for spec in plan.body.inputs].count(StreamRows(ordinal)) == 1


# --- what is not decided by costs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("window", COUNTING)
def test_windows_that_count_rows_have_no_tc_and_no_pc(window: str) -> None:
    for select in ("COUNT(*) AS n", "MAX(a.v) AS top"):
        text = f"SELECT {select} FROM a {window}, b {WINDOW} WHERE a.k = b.k AND a.v <> b.v"
        decision = decision_of(planned(text, stream(1_000, 10), stream(1_000, 10), selectivity=0.9))
        assert {other.plan.choice.method for other in decision.alternatives} == {"ic"}
    timed = decision_of(planned(CONDITION, stream(1_000, 10), stream(1_000, 10)))
    assert {other.plan.choice.method for other in timed.alternatives} == {"ic", "tc", "pc"}


# --- titles -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "forced", "title"),
    [
        (SETS, None, "IC over hashed sets of all inputs"),
        (BAND, None, "IC over sums of ranges"),
        (CONDITION, Plan("tc", ()), "TC; early none; a hash, b hash"),
        (CONDITION, Plan("ic", ("b",), {"a": "list"}), "IC; early b; a list, b hash"),
        (CONDITION, Plan(index={"a": "btree(order=9)"}), "IC; early a and b; a btree(order=9), b hash"),
        (f"SELECT a.v, b.v AS w {JOINED}", None, "a hash, b hash"),
    ],
)
def test_a_choice_in_a_few_words(text: str, forced: Plan | None, title: str) -> None:
    plan = plan_query(query_of(text), forced)
    assert choice_title(plan.answering, plan.choice, ("a", "b")) == title


# --- how it is found ----------------------------------------------------------------------------------------------


def choices_of(text: str, statistics: Statistics) -> list[tuple[float, FoldChoice]]:
    plan = draft(query_of(text))
    setting = Setting((), statistics, shipped_weights())
    (flows,), instants = flows_of(plan.pipeline, statistics), instants_per_second(plan.timing, statistics)
    return fold_choices(setting, plan.answering, flows, instants)


def with_cost(monkeypatch: pytest.MonkeyPatch, cost: Callable[[FoldChoice], float]) -> list[FoldChoice]:
    """Lets choices cost what is said; those that are looked at."""
    looked: list[FoldChoice] = []

    def told(setting: Setting, stage: object, choice: FoldChoice, *others: object) -> float:
        looked.append(choice)
        return cost(choice)

    monkeypatch.setattr(search, "fold_cost", told)
    return looked


@pytest.mark.parametrize(("inputs", "most"), [(2, 15 * len(STRUCTURES)), (3, 35 * len(STRUCTURES)), (5, 70), (8, 160)])
def test_few_plans_are_looked_at(inputs: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For two and three inputs all methods and sets, each with every structure; for more, no more than a few of 2ⁿ."""
    text = common_key(inputs) + " AND a.v <> b.v"
    streams = tuple(stream(10.0**ordinal, 10, entries=10.0 ** (ordinal + 2)) for ordinal in range(inputs))
    counted: list[int] = []

    def count(*asked: object) -> float:
        counted.append(1)
        return fold_cost(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(search, "fold_cost", count)
    found = choices_of(text, Statistics(streams))
    assert inputs < len(counted) <= most
    assert len(found) == len({choice for _, choice in found})


def test_two_inputs_have_every_method_and_set_and_each_window_its_cheapest_structure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prices = {("list", 0): 1.0, ("hash", 0): 3.0, ("btree", 0): 2.0, ("ttree", 0): 4.0}
    prices |= {("list", 1): 4.0, ("hash", 1): 3.0, ("btree", 1): 2.0, ("ttree", 1): 1.0}
    with_cost(
        monkeypatch, lambda own: sum(prices[index.structure, ordinal] for ordinal, index in enumerate(own.indexes))
    )
    found = choices_of(CONDITION, Statistics((stream(1), stream(1))))
    cheapest = [choice for seconds, choice in found if seconds == 2.0]
    assert {(own.method, own.early) for own in cheapest} == {
        *(("ic", frozenset(early)) for early in ((), (0,), (1,), (0, 1))),
        ("tc", frozenset()),
        ("pc", frozenset()),
    }
    assert {tuple(index.structure for index in own.indexes) for own in cheapest} == {("list", "ttree")}


def test_only_a_key_is_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, can in ((CONDITION, True), (f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.v <> b.v", False)):
        looked = with_cost(monkeypatch, lambda own: 1.0)
        choices_of(text, Statistics((stream(1), stream(1))))
        assert any(index.structure == "hash" for own in looked for index in own.indexes) == can


def test_the_window_that_lets_fewest_through_is_probed_first() -> None:
    text = common_key(3) + " AND a.v <> b.v"
    streams = tuple(stream(rate, 10, entries=1e9) for rate in (100, 1, 10))
    _, best = choices_of(text, Statistics(streams))[0]
    assert best.order == (1, 2, 0)


FIVE = common_key(5) + " AND a.v <> b.v"
SETS_OF_FIVE = [frozenset(own) for size in range(6) for own in combinations(range(5), size)]


def best_of_five(monkeypatch: pytest.MonkeyPatch, cost: Callable[[frozenset[int]], float]) -> float:
    with_cost(monkeypatch, lambda choice: cost(choice.early) if choice.method == "ic" else 1e9)
    return choices_of(FIVE, Statistics((stream(1),) * 5))[0][0]


@given(prices=st.lists(st.floats(-1, 1), min_size=5, max_size=5))
def test_inputs_that_do_not_depend_on_each_other_are_decided_as_by_looking_at_all(prices: list[float]) -> None:
    def cost(early: frozenset[int]) -> float:
        return 10 + sum(prices[ordinal] for ordinal in sorted(early))

    with pytest.MonkeyPatch.context() as patch:
        assert best_of_five(patch, cost) == pytest.approx(min(map(cost, SETS_OF_FIVE)))


@given(seed=st.integers(0, 10**6))
def test_the_greedy_choice_is_never_worse_than_none_or_all(seed: int) -> None:
    """Whatever plans cost, also where it is not the best of all."""
    costs = dict(zip(SETS_OF_FIVE, np.random.default_rng(seed).random(len(SETS_OF_FIVE)).tolist(), strict=True))
    with pytest.MonkeyPatch.context() as patch:
        found = best_of_five(patch, costs.__getitem__)
    assert min(costs.values()) <= found <= min(costs[frozenset()], costs[frozenset(range(5))])


def test_the_greedy_choice_begins_with_all_early_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """From none no single change helps, from all one does."""
    costs = {0: 1.0, 4: 0.5, 5: 0.9}
    assert best_of_five(monkeypatch, lambda early: costs.get(len(early), 2.0)) == 0.5
    costs = {0: 0.9, 1: 0.5, 5: 1.0}
    assert best_of_five(monkeypatch, lambda early: costs.get(len(early), 2.0)) == 0.5


def test_the_greedy_choice_is_mostly_that_of_looking_at_all() -> None:
    """By real costs of random streams: four inputs, sixteen sets."""
    ratios: list[float] = []
    draw, text = np.random.default_rng(3), common_key(4) + " AND a.v <> b.v"
    for _ in range(30):
        streams = tuple(
            stream(10 ** draw.uniform(0, 3), keys, entries=keys * 10 ** draw.uniform(0, 3))
            for keys in np.full(4, 10 ** draw.uniform(0, 2))
        )
        statistics = Statistics(streams, 10 ** draw.uniform(-2, 0))
        plan = draft(query_of(text))
        (flows,), setting = flows_of(plan.pipeline, statistics), Setting((), statistics, shipped_weights())
        seconds, found = next(own for own in choices_of(text, statistics) if own[1].method == "ic")
        least = min(
            fold_cost(setting, plan.answering, replace(found, early=frozenset(early)), flows, 1.0)
            for size in range(5)
            for early in combinations(range(4), size)
        )
        ratios.append(seconds / least)
    assert sum(ratio == 1 for ratio in ratios) >= 24 and max(ratios) < 1.01
