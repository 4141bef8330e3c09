"""The printed formulas with their misprints mended, the shapes of the figures, and the choice among the plans."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, permutations
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.literature import tran
from joinfold.literature.tran import Operations, Stream, TranWeights

TWO = (Stream(300, 5000, 150, 0.1), Stream(300, 5000, 1, 0.1))
THREE = (Stream(200, 300, 20, 0.1), Stream(200, 300, 1, 0.1), Stream(200, 300, 1, 0.1))

rates, window_sizes, selectivities = st.floats(0, 1e4), st.floats(1, 1e4), st.floats(1e-4, 1)
inputs = st.builds(Stream, rates, window_sizes, st.integers(1, 1000), selectivities)
some_weights = st.builds(TranWeights, *[st.floats(0.01, 100)] * 5, st.integers(1, 2000))
joins = st.sampled_from(["nested loop", "hash"])


def costs(streams: Sequence[Stream], join: tran.Join = "hash", weights: TranWeights = tran.EQUAL) -> dict[str, float]:
    plans = tran.all_plans(len(streams))
    return {tran.plan_name(early): tran.plan_cost(early, streams, join, weights) for early in plans}


def steps(values: Sequence[float]) -> list[float]:
    return [after - before for before, after in pairwise(values)]


def test_derived_parameters() -> None:
    """A window that holds less than one row per group and key, and one that holds more."""
    few, many = Stream(1, 1000, 150, 0.1), Stream(1, 5000, 150, 0.1)
    assert (few.set_entries, few.window_matches, few.set_matches) == (1000, 100, 100)
    assert (many.set_entries, many.window_matches, many.set_matches) == (1500, 500, 150)
    assert (few.buckets(1021), few.buckets(7), Stream(1, 10, 1, 0.0005).buckets(1021)) == (10, 7, 1021)
    assert tran.output_entries([few, Stream(1, 20, 30, 0.1), THREE[0]]) == 150 * 20 * 20


@given(inputs, inputs, some_weights)
def test_the_formulas_of_two_inputs(first: Stream, second: Stream, weights: TranWeights) -> None:
    """Equations 19 to 26, with m1 = σ1·w1 and, in 20, α1/B1 and α/Bg."""
    rate1, w1, g1, s1 = first.rate, first.window_rows, first.groups, first.selectivity
    rate2, w2, g2, s2 = second.rate, second.window_rows, second.groups, second.selectivity
    most = weights.most_buckets
    m1, m2, n1, n2 = s1 * w1, s2 * w2, min(s1 * w1, g1), min(s2 * w2, g2)
    alpha1, alpha2 = min(w1, g1 / s1), min(w2, g2 / s2)
    b1, b2 = min(1 / s1, most), min(1 / s2, most)
    set1, set2 = alpha1 / b1 * weights.group_update, alpha2 / b2 * weights.group_update
    out = min(w1, g1) * min(w2, g2) / min(g1, most) * weights.group_update
    for join, u, p1, p2 in (
        ("nested loop", weights.list_update, weights.list_probe, weights.list_probe),
        ("hash", weights.hash_update, weights.hash_probe / b1, weights.hash_probe / b2),
    ):
        expected = {
            "LAP": rate1 * (w2 * p2 + u + m2 * out) + rate2 * (w1 * p1 + u + m1 * out),
            "EAP10": rate1 * (w2 * p2 + u + set1 + m2 * out) + rate2 * (alpha1 * p1 + u + n1 * out),
            "EAP01": rate1 * (alpha2 * p2 + u + n2 * out) + rate2 * (w1 * p1 + u + m1 * out + set2),
            "EAP11": rate1 * (alpha2 * p2 + u + set1 + n2 * out) + rate2 * (alpha1 * p1 + u + set2 + n1 * out),
        }
        doubled = {name: 2 * cost for name, cost in expected.items()}
        assert costs([first, second], join, weights) == pytest.approx(doubled)


def test_the_generic_formula_takes_any_operations() -> None:
    """EAP10 of two inputs with 2 and 3 matches in the windows and 1 in the set."""
    streams = (Stream(10, 20, 1, 0.1), Stream(7, 30, 1, 0.1))
    each = (Operations(1, 20, 300, 4000), Operations(5, 60, 700, 8000))
    found = tran.generic_cost((True, False), streams, each, update_output=0.5)
    assert found == pytest.approx(10 * (1 + 60 + 3 * 0.5 + 4000) + 7 * (5 + 300 + 1 * 0.5))


@given(st.lists(inputs, min_size=3, max_size=4), st.data(), joins, some_weights)
def test_many_inputs_are_probed_in_the_cheapest_order(
    streams: list[Stream], data: st.DataObject, join: tran.Join, weights: TranWeights
) -> None:
    early = tuple(data.draw(st.booleans()) for _ in streams)
    each = [tran.operations(stream, join, weights) for stream in streams]
    matches = [stream.set_matches if on else stream.window_matches for on, stream in zip(early, streams, strict=True)]
    finding = [own.find_in_set if on else own.find_in_window for on, own in zip(early, each, strict=True)]
    expected = 0.0
    for k, stream in enumerate(streams):
        others = [j for j in range(len(streams)) if j != k]
        probing = min(
            sum(prod(matches[j] for j in order[:place]) * finding[probed] for place, probed in enumerate(order))
            for order in permutations(others)
        )
        output = prod(matches[j] for j in others) * tran.update_output_cost(streams, weights)
        expected += stream.rate * (each[k].update_window + probing + output + early[k] * each[k].update_set)
    assert tran.plan_cost(early, streams, join, weights) == pytest.approx(expected)


def test_an_empty_window_ends_the_probing() -> None:
    streams = (replace(THREE[0], rate=1), replace(THREE[1], rate=0), replace(THREE[2], window_rows=0, rate=0))
    assert tran.plan_cost((False, False, False), streams) == 2  # the update of its own window


def test_figure_4a_window_size() -> None:
    sizes = range(1000, 5001, 500)
    found = [costs([replace(TWO[0], window_rows=rows), TWO[1]]) for rows in sizes]
    for name in ("LAP", "EAP01"):
        slopes = steps([cost[name] for cost in found])
        assert slopes[0] > 0 and slopes == pytest.approx([slopes[0]] * len(slopes))
    for name in ("EAP10", "EAP11"):
        first, *others = steps([cost[name] for cost in found])
        assert first > 0 and others == pytest.approx([0] * len(others))  # constant from g1/σ1 = 1500 on
    assert all(max(cost["EAP01"], cost["EAP11"]) < cost["LAP"] for cost in found)
    by_size = dict(zip(sizes, found, strict=True))
    assert all(by_size[rows]["EAP10"] > by_size[rows]["LAP"] for rows in (1000, 1500))
    assert all(by_size[rows]["EAP10"] < by_size[rows]["LAP"] for rows in (3000, 5000))


def test_figure_4b_number_of_groups() -> None:
    below, above = (3, 9, 27, 81, 243, 500), (500, 729, 2187, 6561, 19683)
    found = {groups: costs([replace(TWO[0], groups=groups), TWO[1]]) for groups in (*below, *above)}
    for name, without in (("EAP10", "LAP"), ("EAP11", "EAP01")):
        assert min(steps([found[groups][name] for groups in below])) > 0
        assert found[3][name] < found[3][without]
        for groups in above:
            assert found[groups][name] - found[groups][without] == pytest.approx(2 * 300 * 5000 / 10)  # 2λ1(w1/B1)Ug


def test_figure_4c_rate() -> None:
    found = [costs([replace(TWO[0], rate=rate), replace(TWO[1], rate=500)]) for rate in range(100, 901, 200)]
    slope = {}
    for name in found[0]:
        slope[name], *others = steps([cost[name] for cost in found])
        assert slope[name] > 0 and others == pytest.approx([slope[name]] * len(others))
    assert min(slope["LAP"], slope["EAP10"]) > max(slope["EAP01"], slope["EAP11"])


def test_figure_4d_selectivity() -> None:
    found = [costs([replace(stream, selectivity=share) for stream in TWO]) for share in (0.0005, 0.005, 0.05, 0.5)]
    for name in ("LAP", "EAP10", "EAP01"):
        assert min(steps([cost[name] for cost in found])) > 0
    assert found[0]["EAP11"] < found[1]["EAP11"] < found[2]["EAP11"]
    assert found[2]["EAP11"] == pytest.approx(found[3]["EAP11"])


def test_figure_5_three_streams_gain_more_than_two() -> None:
    three, two = costs(THREE), costs(THREE[:2])
    assert list(three) == ["LAP", "EAP001", "EAP010", "EAP011", "EAP100", "EAP101", "EAP110", "EAP111"]
    assert min(three, key=lambda name: three[name]) == "EAP111" and max(three, key=lambda name: three[name]) == "LAP"
    gain_of_three, gain_of_two = three["LAP"] / three["EAP111"], two["LAP"] / two["EAP11"]
    assert (gain_of_two, gain_of_three) == pytest.approx((48_800 / 26_000, 2_197_200 / 44_000))  # 1.9 and 49.9
    assert gain_of_three > costs(TWO)["LAP"] / costs(TWO)["EAP11"]


@pytest.mark.parametrize(
    ("groups", "best"), [((2, 2), "EAP11"), ((2, 2000), "EAP10"), ((2000, 2), "EAP01"), ((2000, 2000), "LAP")]
)
@pytest.mark.parametrize("join", ["nested loop", "hash"])
def test_figure_6_every_plan_is_the_best_somewhere(groups: tuple[int, int], best: str, join: tran.Join) -> None:
    streams = [Stream(300, 500, g, 0.1) for g in groups]
    found = costs(streams, join)
    assert min(found, key=lambda name: found[name]) == best
    assert tran.plan_name(tran.exhaustive_choice(streams, join)) == best
    assert tran.plan_name(tran.greedy_choice(streams, join)) == best


@given(inputs, inputs, joins, some_weights)
def test_greed_is_enough_for_two_inputs(first: Stream, second: Stream, join: tran.Join, weights: TranWeights) -> None:
    streams = [first, second]
    chosen, best = tran.greedy_choice(streams, join, weights), tran.exhaustive_choice(streams, join, weights)
    found = [tran.plan_cost(early, streams, join, weights) for early in (chosen, best)]
    assert found[0] == pytest.approx(found[1])


@given(st.lists(inputs, min_size=1, max_size=5), joins, some_weights)
def test_a_choice_is_never_worse_than_late_aggregation(
    streams: list[Stream], join: tran.Join, weights: TranWeights
) -> None:
    found = costs(streams, join, weights)
    best = found[tran.plan_name(tran.exhaustive_choice(streams, join, weights))]
    assert len(found) == 2 ** len(streams) and best == min(found.values())
    assert best <= found[tran.plan_name(tran.greedy_choice(streams, join, weights))] <= found["LAP"]


def test_greed_finds_the_best_plan_of_many_inputs_in_a_sample() -> None:
    drawn = random.Random(7)
    for _ in range(300):
        streams = [
            Stream(
                10 ** drawn.uniform(-1, 4), 10 ** drawn.uniform(1, 4), drawn.randint(1, 500), drawn.uniform(0.002, 1)
            )
            for _ in range(drawn.randint(3, 5))
        ]
        assert tran.greedy_choice(streams) == tran.exhaustive_choice(streams)


def test_of_equals_the_plan_with_the_fewest_sets() -> None:
    """A rate of 0 on the other input: a set that is never probed and never updated changes nothing."""
    streams = [replace(stream, rate=0) for stream in TWO]
    assert tran.exhaustive_choice(streams) == tran.greedy_choice(streams) == (False, False)
