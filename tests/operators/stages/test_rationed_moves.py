"""Plain joins of windows that count rows, under SHED, against their definition."""

from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.stages.rationed_moves import RationedMoves
from tests.operators.rations import (
    BY_PARTITION,
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
of_partitions = runs(BY_PARTITION + BY_ROWS + IN_TIME, first=BY_PARTITION)


@given(some_runs | of_partitions, st.integers(1, 3))
def test_combinations_come_as_defined(run: Run, buckets: int) -> None:
    machine = check_run(run, buckets)
    assert all(isinstance(bucket, RationedMoves) for bucket in machine.buckets[-buckets:])


@given(some_runs, budgets)
def test_budgets_become_rates(run: Run, budget: str) -> None:
    check_budget(run, budget)


@given(of_partitions, st.sampled_from(["EQUAL", "MOST PAIRS", "WINDOWS"]))
def test_beside_partitions_probes_are_rationed(run: Run, favour: str) -> None:
    check_budget(run, f"PROCESS 2 ROWS PER SECOND FAVOUR {favour}")


@given(some_runs | of_partitions, st.sampled_from([1, 8]))
def test_a_bucket_made_anew_from_its_state_goes_on_as_before(run: Run, fresh_runs: int) -> None:
    check_made_anew(run, fresh_runs)
