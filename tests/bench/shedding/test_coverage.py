"""Coverage: means with standard errors by case, shares by kind, and the bars."""

from dataclasses import replace
from math import sqrt
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold_bench.shedding import coverage as module
from joinfold_bench.shedding.cases import Case, CaseRun, Estimated, draw_case
from joinfold_bench.shedding.coverage import (
    FEWEST,
    Coverage,
    Kind,
    Mean,
    coverage_by_change,
    coverage_by_kept,
    coverage_by_kind,
    run_cases,
)
from tests.bench.shedding.test_cases import SMALL

values = st.lists(st.floats(-5, 5), min_size=1, max_size=20)


def estimated(case: Case, value: float = 100.0, half: float | None = 10.0, **more: object) -> Estimated:
    """An estimate of a count of 100, with an interval of this half width around the value."""
    low, high = (None, None) if half is None else (value - half, value + half)
    return replace(Estimated(case, "COUNT", 100.0, 100.0, value, low, high, 0.5), **more)


@given(values, st.integers(1, 4))
def test_the_standard_error_is_that_of_cases(each: list[float], times: int) -> None:
    """Estimates of one case that are all alike tell no more than one of them."""
    own = [estimated(replace(SMALL, number=number), 100 + value) for number, value in enumerate(each)]
    repeated = [estimate for estimate in own for _ in range(times)]
    mean = Mean.by_case(repeated, lambda estimate: estimate.error)
    errors = [value / 100 for value in each]
    assert mean.value == pytest.approx(fmean(errors), abs=1e-12)
    assert mean.error == pytest.approx(pstdev(errors) / sqrt(len(errors)), abs=1e-12)


def test_without_estimates_there_is_no_mean() -> None:
    assert Mean.by_case([], lambda estimate: 0.0) is None
    empty = Coverage.of("COUNT", [])
    assert (empty.estimates, empty.covered, empty.width, empty.error) == (0, None, None, None)
    assert empty.is_covered is None and empty.is_unbiased is None


def test_coverage_counts_only_intervals_with_both_bounds() -> None:
    own = [
        estimated(replace(SMALL, number=1), 105.0),
        estimated(replace(SMALL, number=2), 120.0),
        estimated(replace(SMALL, number=3), 80.0, None),
        estimated(replace(SMALL, number=3), aggregate="AVG"),
    ]
    coverage = Coverage.of("COUNT", own)
    assert (coverage.cases, coverage.estimates, coverage.bounded) == (3, 3, 2 / 3)
    assert coverage.covered.value == 0.5 and coverage.width == pytest.approx(0.2)
    assert coverage.error.value == pytest.approx(0.05 / 3)
    assert Coverage.of("AVG", own).error is None


@pytest.mark.parametrize(
    ("covered", "error", "is_covered", "is_unbiased"),
    [
        (Mean(0.92, 0.01, FEWEST), 0.03, True, True),
        (Mean(0.98, 0.01, FEWEST), -0.03, True, True),
        (Mean(0.9, 0.005, FEWEST), 0.031, False, False),
        (Mean(0.9, 0.02, FEWEST), 0.0, None, True),  # it may be noise
        (Mean(0.995, 0.005, FEWEST), 0.0, False, True),
        (Mean(1.0, 0.0, FEWEST), 0.0, None, True),  # all of which hold
        (Mean(0.7, 0.005, FEWEST - 1), 0.0, None, True),  # too few cases
    ],
)
def test_bars(covered: Mean, error: float, is_covered: bool | None, is_unbiased: bool) -> None:
    coverage = Coverage("SUM", 9, 9, 1.0, covered, 0.1, Mean(error, 0.01, FEWEST))
    assert (coverage.is_covered, coverage.is_unbiased) == (is_covered, is_unbiased)


def test_kinds_are_named() -> None:
    assert str(Kind("key", "zipf", False)) == "by key, zipf, no groups"
    assert str(Kind("row", changes=True)) == "by row, load changes" and str(Kind()) == "all"


def test_every_estimate_is_in_one_kind_and_in_the_last_row() -> None:
    own = [estimated(draw_case(number)) for number in range(64)]
    by_kind, by_change = coverage_by_kind(own), coverage_by_change(own)
    assert len(by_kind) == 24 and len(by_change) == 15
    assert sum(coverage.estimates for _, coverage in by_kind) == 64
    assert all(coverage.estimates == 8 for _, coverage in by_kind if coverage.aggregate == "COUNT")
    assert [coverage.estimates for kind, coverage in by_change if kind == Kind()] == [64, 0, 0]
    assert sum(coverage.estimates for kind, coverage in by_change if kind.changes is not None) == 64


def test_coverage_by_what_was_kept() -> None:
    """A point of the chart needs enough cases."""
    by_key, by_row = draw_case(0), draw_case(1)
    own = [
        estimated(replace(case, number=number), value, kept=kept)
        for case, value, kept, cases in (
            (by_key, 120.0, 0.01, FEWEST),
            (by_key, 100.0, 0.55, FEWEST),
            (by_key, 100.0, 0.75, FEWEST - 1),
            (by_row, 120.0, 0.55, FEWEST),
        )
        for number in range(cases)
    ]
    found = coverage_by_kept(own, "key", "COUNT")
    assert [(kept, mean.value) for kept, mean in found] == [(0.025, 0.0), (0.55, 1.0)]
    assert coverage_by_kept(own, "key", "SUM") == []


def test_cases_run_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REPORTED", 2)
    monkeypatch.setattr(module, "run_case", lambda case: CaseRun([estimated(case)] * 2, [f"case {case.number}"]))
    lines, differences = [], []
    found = run_cases(range(4, 7), differences, lines.append)
    assert [own.case for own in found] == [draw_case(number) for number in (4, 4, 5, 5, 6, 6)]
    assert differences == ["case 4", "case 5", "case 6"] and lines == ["2 of 3 cases"]
