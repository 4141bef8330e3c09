"""The imitation of Spark: an attempt can die at every write, and what it has written is then gone."""

from dataclasses import replace
from pathlib import Path

import pytest

from joinfold.planner.planning import plan_query
from tests.simulation.checking import check
from tests.simulation.cluster import Cluster, CrashError, Fuse
from tests.simulation.scenario import Attempt, Death, Loss, MicroBatch, Registered, Scenario

ROWS = [[{"ts": 4 * number + ts, "k": k, "v": number} for ts in range(4) for k in (1, 2)] for number in range(4)]
BATCHES = tuple(
    MicroBatch({"a": rows, "b": rows[::2]}, clock_us=number, runs_again=True) for number, rows in enumerate(ROWS)
)
SCENARIO = Scenario(
    "SELECT a.k, COUNT(*) AS n, SUM(b.v) AS s FROM a [6 MICROSECOND SLIDE 2 MICROSECOND], b [ROWS 5 SLIDE 1] "
    "WHERE a.k = b.k GROUP BY a.k",
    "ts TIMESTAMP, k INT, v INT",
    {"a": Registered(), "b": Registered()},
    BATCHES,
    buckets=2,
    fresh_runs=2,
    entries_per_chunk=3,
)


def with_attempts(number: int, *attempts: Attempt) -> Scenario:
    """The scenario with these attempts at one of its micro-batches."""
    batches = [
        replace(batch, attempts=attempts) if own == number else batch for own, batch in enumerate(SCENARIO.batches)
    ]
    return replace(SCENARIO, batches=tuple(batches))


def cluster_at(folder: Path, number: int) -> Cluster:
    """A cluster that has run so many micro-batches."""
    cluster = Cluster([plan_query(SCENARIO.bind())], SCENARIO.buckets, folder)
    for batch, rows in zip(SCENARIO.batches[:number], SCENARIO.rows, strict=False):
        cluster.run(batch, rows)
    return cluster


def test_an_attempt_dies_at_every_write_and_leaves_nothing(tmp_path: Path) -> None:
    """Before the first write, between any two, and after the last one, before the commit."""
    cluster = cluster_at(tmp_path, 2)
    batch, rows = SCENARIO.batches[2], SCENARIO.rows[2]
    committed = {place: dict(kept) for place, kept in cluster.state.items()}
    writes = cluster.attempt(batch, rows, Attempt(), Fuse()).writes
    assert writes > 2 * len(cluster.state) > 4, "every bucket of every stage writes more than its position"
    for after_writes in range(writes + 1):
        fuse = Fuse(after_writes)
        with pytest.raises(CrashError):
            cluster.attempt(batch, rows, Attempt(), fuse)
        assert fuse.passed == after_writes and cluster.state == committed
    assert cluster.attempt(batch, rows, Attempt(), Fuse(writes + 1)).answers == cluster.run(batch, rows).answers


@pytest.mark.parametrize("after_writes", [0, 1, 5, 99])
@pytest.mark.parametrize("loss", [Loss(), Loss(memory=True), Loss(True, "cut", 500), Loss(True, "flipped", 990)])
def test_the_next_attempt_goes_on_as_if_nothing_had_happened(after_writes: int, loss: Loss) -> None:
    check(with_attempts(2, Attempt(after_writes=after_writes), Attempt(seed=1, loss=loss)))


@pytest.mark.parametrize("task", range(4))
def test_a_task_that_dies_is_run_again(task: int) -> None:
    for after_writes in (0, 2, 99):
        check(with_attempts(2, Attempt(deaths=(Death(task, after_writes),))))
