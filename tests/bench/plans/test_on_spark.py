"""`joinfold bench planner --full` on Spark, on very little data: planned and forced runs, and the shifting stream."""

from typing import Any

import pyarrow as pa
import pytest

from joinfold import Session
from joinfold_bench.data import Dataset
from joinfold_bench.plans import on_spark as module
from joinfold_bench.plans.on_spark import PLANNED, SparkResults, run_on_spark
from joinfold_bench.plans.shifting import ADAPTIVE, Phase, Shift

pytestmark = pytest.mark.spark

TINY = Dataset("R1", rows_per_second=20, seconds=80, keys=5, groups=2, rows_per_file=800, files_per_batch=1)
SHIFT = Shift((Phase(6, 20, 5, 20), Phase(6, 20, 1, 1)), seconds_per_file=6)
FORCED = "method=ic; early=none; index=a hash, b hash"


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """The progress lines of the run."""
    return []


@pytest.fixture(scope="module")
def results(spark: Any, lines: list[str]) -> SparkResults:
    found = SparkResults()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "QUERIES", {name: module.QUERIES[name] for name in ("an extreme", "an inequality")})
        patch.setattr(module, "FORCED", (FORCED,))
        run_on_spark(Session(spark), found, lines.append, TINY, SHIFT)
    return found


def test_every_query_runs_as_planned_and_under_the_plans_that_can_run_it(results: SparkResults) -> None:
    assert [(run.query, run.plan) for run in results.runs] == [
        ("an extreme", PLANNED),  # IC cannot undo a MAX
        ("an inequality", PLANNED),
        ("an inequality", FORCED),
    ]
    assert [run.plan for run in results.shifting] == [ADAPTIVE, FORCED]
    for run in (*results.runs, *results.shifting):
        assert run.rows_per_second > 0 and not run.capped
        assert run.estimated_bytes > 0 and run.measured_bytes > 0
    assert all(run.changes == () for run in (*results.runs, *results.shifting[1:]))
    assert results.times("an inequality") >= 1 and len(results.adaptive_times) == 2


def test_all_plans_answer_alike(results: SparkResults, lines: list[str]) -> None:
    assert results.differences == []
    assert sum("rows/s" in line for line in lines) == 5 + 1  # five runs, and the line about writing R1


def test_answers_that_differ_are_noticed() -> None:
    first = pa.table({"instant": [1, 2], "n": [3, 4]})
    results = SparkResults()
    runs = [module.SparkRun("q", plan, 1.0, False, 1.0, 1) for plan in (PLANNED, "same", "other")]
    other = first.set_column(1, "n", pa.array([3, 5]))
    done = [module.StreamRun((), 1.0, False, 0, table) for table in (first, first.take([1, 0]), other)]
    module._compare("q", runs, done, results)
    assert results.differences == [f"q, other and {PLANNED}"]
