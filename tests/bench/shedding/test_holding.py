"""Holding: what is held with a budget and without, and errors beside intervals."""

import pytest

from joinfold_bench.data import Dataset
from joinfold_bench.shedding.holding import Held, HoldingRun, HoldingSettings, PartialBudget, run_holding

TINY = Dataset("R1", rows_per_second=100, seconds=75, keys=400, groups=2)
BUDGETS = (PartialBudget(0.25), PartialBudget(0.25, "BYTES"), PartialBudget(0.25, sampler="row"), PartialBudget(3.0))


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """The progress lines of the run."""
    return []


@pytest.fixture(scope="module")
def run(lines: list[str]) -> tuple[Held, list[HoldingRun]]:
    return run_holding(HoldingSettings(TINY, BUDGETS), lines.append)


def test_less_is_held_than_without_shed(run: tuple[Held, list[HoldingRun]]) -> None:
    full, runs = run
    assert full.entries > 0.9 * 2 * 60 * 100 and full.entry_bytes > 24 * full.entries
    for own in runs[:3]:
        assert own.kept < 1 and own.held.entries < 0.5 * full.entries
        assert own.state_part == own.held.state_bytes / full.state_bytes
    assert runs[0].window_part < 0.8 and runs[1].window_part < 0.8


def test_a_budget_that_is_large_enough_changes_no_answer(run: tuple[Held, list[HoldingRun]]) -> None:
    own = run[1][-1]
    assert (own.kept, own.window_part, own.is_met) == (1.0, 1.0, None)
    assert all(at.value == at.low == at.high == at.exact for at in own.counts)
    assert all((error.error, error.half_width, error.covered) == (0.0, 0.0, 2) for error in own.errors)


def test_errors_are_beside_intervals(run: tuple[Held, list[HoldingRun]]) -> None:
    for own in run[1]:
        assert [error.aggregate for error in own.errors] == ["COUNT", "SUM"]
        assert all(error.covered <= error.bounded <= error.groups == 2 for error in own.errors)
        assert [at.second for at in own.counts] == sorted(at.second for at in own.counts)
    count, _ = run[1][0].errors
    assert 0 < count.error < 1 and count.half_width is not None and 0 < count.half_width < 1


def test_budgets_are_written_as_clauses(run: tuple[Held, list[HoldingRun]], lines: list[str]) -> None:
    full, runs = run
    assert runs[0].text == f"SHED TO HOLD {round(0.25 * full.entries)} ROWS SAMPLE BY KEY"
    assert runs[1].text == f"SHED TO HOLD {round(0.25 * full.entry_bytes)} BYTES SAMPLE BY KEY"
    assert len(lines) == 1 + len(BUDGETS) and "without SHED" in lines[0]


def test_the_bar_is_that_of_a_quarter() -> None:
    held = Held(1, 1, 1, 1)
    met = HoldingRun(PartialBudget(0.25), "", held, 0.35, 0.2, 0.2, (), ())
    assert met.is_met
    assert HoldingRun(PartialBudget(0.25), "", held, 0.2, 0.36, 0.2, (), ()).is_met is False
    assert HoldingRun(PartialBudget(0.5), "", held, 0.2, 0.2, 0.2, (), ()).is_met is None


def test_the_most_of_each_counts() -> None:
    assert Held(1, 5, 2, 7).most(Held(3, 4, 1, 9)) == Held(3, 5, 2, 9)
