"""Plain joins of windows that count rows, under SHED, against their definition."""

from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.stages.rationed_moves import RationedMoves
from tests.operators.rations import (
    BY_ROWS,
    IN_TIME,
    Run,
    budgets,
    check_budget,
    check_made_anew,
    check_run,
    runs,
)

some_runs = runs(BY_ROWS + IN_TIME, first=BY_ROWS)


@given(some_runs, st.integers(1, 3))
def test_combinations_come_as_defined(run: Run, buckets: int) -> None:
    machine = check_run(run, buckets)
    assert all(isinstance(bucket, RationedMoves) for bucket in machine.buckets[-buckets:])


@given(some_runs, budgets)
def test_budgets_become_rates(run: Run, budget: str) -> None:
    check_budget(run, budget)


@given(some_runs, st.sampled_from([1, 8]))
def test_a_bucket_made_anew_from_its_state_goes_on_as_before(run: Run, fresh_runs: int) -> None:
    check_made_anew(run, fresh_runs)
