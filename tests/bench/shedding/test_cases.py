"""Random cases of estimates: all kinds in turn, exact values by their definition, budgets that are exceeded."""

from collections import Counter
from dataclasses import replace
from statistics import fmean

import pytest

from joinfold_bench.data import STREAMS
from joinfold_bench.shedding import cases as module
from joinfold_bench.shedding.cases import (
    INSTANTS,
    KINDS,
    LOADED,
    MORE,
    SECONDS,
    Case,
    Data,
    Estimated,
    data_of,
    draw_case,
    run_case,
)

SMALL = Case(5, "key", 0.0, 60, 3, False, -20, 120, (6, 8), "HOLD", 0.4, False)


def pairs(case: Case, data: Data, instant: int, group: int) -> list[tuple[int, int]]:
    """The values of a and of b in every combination, by the definition."""
    held = {}
    for name, size in zip(STREAMS, case.windows, strict=True):
        seconds = data.seconds[name]
        held[name] = data.columns[name].filter((seconds < instant) & (seconds >= instant - size)).to_pylist()
    right = Counter()
    for row in held["b"]:
        right[row["k"], row["v"]] += 1
    of_key: dict[int, list[tuple[int, int]]] = {}
    for (key, value), count in right.items():
        of_key.setdefault(key, []).append((value, count))
    chosen = [row for row in held["a"] if case.groups == 1 or row["g"] == group]
    return [(row["v"], value) for row in chosen for value, count in of_key.get(row["k"], []) for _ in range(count)]


@pytest.mark.parametrize("case", [SMALL, replace(SMALL, groups=1, changes=True), replace(SMALL, zipf=1.0, keys=200)])
def test_exact_values_are_those_of_the_definition(case: Case) -> None:
    data, found = data_of(case), run_case(case)
    combinations = [pairs(case, data, instant, group) for instant in INSTANTS for group in range(case.groups)]
    expected = {
        "COUNT": [len(own) for own in combinations],
        "SUM": [sum(a for a, _ in own) for own in combinations],
        "AVG": [fmean(b for _, b in own) for own in combinations],
    }
    for aggregate, values in expected.items():
        exact = [own.exact for own in found.estimates if own.aggregate == aggregate]
        assert sorted(exact) == pytest.approx(sorted(values))
    sizes = [own.size for own in found.estimates if own.aggregate == "SUM"]
    assert sorted(sizes) == sorted(sum(abs(a) for a, _ in own) for own in combinations)
    assert found.differences == []


def test_a_budget_that_is_a_part_of_the_load_is_exceeded() -> None:
    for sampler in ("key", "row"):
        for budget in ("HOLD", "PROCESS"):
            found = run_case(replace(SMALL, sampler=sampler, budget=budget)).estimates
            assert len(found) == 3 * len(INSTANTS) * SMALL.groups
            assert all(0 < own.kept < 1 for own in found)


def test_a_large_budget_gives_no_estimates_and_no_differences() -> None:
    found = run_case(replace(SMALL, share=2.0))
    assert (found.estimates, found.differences) == ([], [])


def test_an_answer_that_claims_to_be_exact_and_is_not_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = module._compared

    def falsified(case: Case, exact: dict, shed: dict) -> object:
        return compared(case, {at: row | {"s": row["s"] + 1} for at, row in exact.items()}, shed)

    monkeypatch.setattr(module, "_compared", falsified)
    found = run_case(replace(SMALL, share=2.0, groups=1))
    assert found.differences == [f"case 5, SUM of group 0 at {instant} s" for instant in INSTANTS]


def test_cases_of_a_round_have_all_kinds() -> None:
    drawn = [draw_case(number) for number in range(KINDS)]
    kinds = Counter((case.sampler, case.distribution, case.groups > 1, case.changes) for case in drawn)
    assert len(kinds) == KINDS and set(kinds.values()) == {1}
    assert drawn == [draw_case(number) for number in range(KINDS)]


def test_drawn_cases_are_within_their_ranges() -> None:
    drawn = [draw_case(number) for number in range(400)]
    assert min(case.keys for case in drawn) < 150 and max(case.keys for case in drawn) > 3_500
    assert {case.budget for case in drawn} == {"HOLD", "PROCESS"} and {case.least_value for case in drawn} == {0, -20}
    assert all(0.8 <= case.zipf <= 1.3 for case in drawn if case.distribution == "zipf")
    assert all(0.1 <= case.share <= 0.7 and 100 <= case.rows <= 1_000 for case in drawn)


def test_a_load_that_changes_has_more_rows_for_a_while() -> None:
    for changes in (False, True):
        case = replace(SMALL, changes=changes)
        sizes = [batch["a"].num_rows for batch in data_of(case).batches()]
        assert sizes == [case.rows * (MORE if changes and second in LOADED else 1) for second in range(SECONDS)]


def test_rows_of_one_second_key_and_group_are_one_entry_unless_rows_are_sampled() -> None:
    data, of = data_of(SMALL), {}
    for name, size in zip(STREAMS, SMALL.windows, strict=True):
        rows = zip(data.seconds[name].tolist(), data.columns[name].to_pylist(), strict=True)
        of[name] = [(second, row["k"], row["g"]) for second, row in rows if 15 - size <= second < 15]
    assert data._entries(SMALL, "a", 15) == len(set(of["a"]))
    assert data._entries(SMALL, "b", 15) == len({entry[:2] for entry in of["b"]})
    by_row = replace(SMALL, sampler="row")
    assert data.most_entries(by_row) == SMALL.rows * sum(SMALL.windows) > data.most_entries(SMALL)


def test_errors_are_relative_and_a_missing_group_counts_as_zero() -> None:
    estimated = Estimated(SMALL, "SUM", -50.0, 200.0, -30.0, -80.0, -40.0, 0.5)
    assert (estimated.error, estimated.width, estimated.is_covered) == (0.1, 0.2, True)
    assert not replace(estimated, low=-45.0).is_covered
    assert replace(estimated, value=None, low=None, high=None).error == 0.25
    assert not replace(estimated, high=None).is_bounded and not replace(estimated, high=None).is_covered
