"""State in another number of buckets. `tests/simulation` rescales random queries at random micro-batches."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from joinfold.dialect import bind, parse, read_schema
from joinfold.errors import EvaluationError
from joinfold.logical.query import Source
from joinfold.operators.state.rescaling import COUNTERS, BucketMap, Rescaling, with_new_turns
from joinfold.physical.column_names import CELL, TURN
from joinfold.physical.stored import Inside, Waiting
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.reference.streaming import stream
from tests.crashes.workload import BANK, KINDS, SCHEMA, SECOND_US, STREAMS, micro_batches
from tests.operators.runs import Answers, Data
from tests.simulation.cluster import Cluster
from tests.simulation.scenario import Attempt, MicroBatch
from tests.strategies import assert_same_answers

JOIN = "SELECT a.k, a.v, b.v AS w FROM a {}, b {} WHERE a.k = b.k"
QUERIES = KINDS | {
    "chain of views": "SELECT COUNT(*) AS n, MAX(c.v) AS m FROM a [6 SECOND SLIDE 1 SECOND], "
    "b [PARTITION BY k ROWS 3], c [4 SECOND SLIDE 2 SECOND] WHERE a.k = b.k AND b.g = c.g",
    "chain by groups": "SELECT c.k, COUNT(*) AS n, SUM(a.v * c.v) AS s FROM a [6 SECOND SLIDE 1 SECOND], "
    "b [UNBOUNDED], c [4 SECOND SLIDE 2 SECOND] WHERE a.k = b.k AND b.g = c.g GROUP BY c.k CHANGES",
    "join of rows": JOIN.format("[ROWS 20 SLIDE 5]", "[3 SECOND]"),
    "join per key": JOIN.format("[PARTITION BY g ROWS 4]", "[3 SECOND]"),
    "join by numbers": JOIN.format("[ROWS 6 SLIDE 3]", "[ROWS 8 SLIDE 4]") + " SYNC ON WINDOW ID",
    "join without a key": "SELECT a.v, b.v AS w FROM a [2 SECOND], b [2 SECOND] WHERE a.v < b.v",
    "fold without a key": "SELECT COUNT(*) AS n FROM a [ROWS 9], b [3 SECOND] WHERE a.v < b.v EMIT EVERY 1 SECOND",
    "on trigger": "SELECT a.g, COUNT(*) AS n FROM a [6 SECOND], b [6 SECOND] WHERE a.k = b.k GROUP BY a.g "
    "EMIT ON TRIGGER",
    "arrival of rows": "SELECT COUNT(*) AS n FROM a [ROWS 7], b [4 SECOND] WHERE a.k = b.k EMIT ON ARRIVAL",
    "shed last rows": "SELECT a.k, COUNT(*) AS n FROM a [PARTITION BY k ROWS 3], b [6 SECOND SLIDE 1 SECOND] "
    "WHERE a.k = b.k GROUP BY a.k SHED TO HOLD 30 ROWS SAMPLE BY KEY",
    "shed chain": f"{KINDS['chain']} SHED TO HOLD 60 ROWS SAMPLE BY KEY",
    "shed join": JOIN.format("[3 SECOND]", "[2 SECOND]") + " SHED TO HOLD 12 ROWS",
    "shed join of rows": JOIN.format("[ROWS 20 SLIDE 5]", "[3 SECOND]") + " SHED TO HOLD 20 ROWS",
}
STEPS = {1: 5, 4: 1, 6: 3}
"""After which micro-batch the query is rescaled, and to how many buckets."""
MICRO_BATCHES = 9


def planned(text: str) -> PlannedQuery:
    columns = read_schema(SCHEMA)
    return plan_query(bind(parse(text), {name: Source(name, columns, True, "ts", SECOND_US) for name in STREAMS}))


def run(plan: PlannedQuery, batches: Sequence[Data], steps: dict[int, int], folder: Path) -> tuple[Answers, Cluster]:
    """The answers of a query that is rescaled after some micro-batches to so many buckets."""
    cluster, found = Cluster([plan], 2, folder), Answers()
    for number, batch in enumerate(batches):
        found += cluster.run(MicroBatch(attempts=(Attempt(number),)), batch).answers
        if number in steps:
            before = [cluster.counted(name) for name in COUNTERS]
            cluster.rescale(steps[number])
            assert [cluster.counted(name) for name in COUNTERS] == before
    return found, cluster


@pytest.mark.parametrize("kind", QUERIES)
def test_a_query_goes_on_with_more_and_with_fewer_buckets(kind: str, tmp_path: Path) -> None:
    plan, batches = planned(QUERIES[kind]), micro_batches(kind, 7)[:MICRO_BATCHES]
    assert plan.pipeline.is_distributed
    found, cluster = run(plan, batches, STEPS, tmp_path)
    defined, sheds = stream(plan.query, batches), plan.query.shed is not None
    assert_same_answers(run(plan, batches, {}, tmp_path)[0] if sheds else defined.answers, found)
    assert cluster.counted("late") == defined.late and (any(defined.late.values()) or kind == BANK)
    assert any(cluster.counted("shed").values()) == sheds
    assert len(cluster.keys) == 3


def test_state_of_another_micro_batch_is_refused(tmp_path: Path) -> None:
    plan, (batch, *_) = planned(KINDS["fold"]), micro_batches("fold", 7)
    cluster = Cluster([plan], 2, tmp_path)
    cluster.run(MicroBatch(), batch)
    old = [[BucketMap(cluster.state[0, key]) for key in cluster.keys]]
    rescaling = Rescaling(plan.pipeline, plan.choices, 0, cluster.checkpoint, "new")
    assert len(rescaling.rescaled(old, 5)[0]) == 5
    with pytest.raises(EvaluationError, match="expected the state of bucket 0 of stage 0 after micro-batch 1"):
        replace(rescaling, batch=1).rescaled(old, 5)
    with pytest.raises(EvaluationError, match=r"expected the state of bucket 0 .* found .* bucket 1"):
        rescaling.rescaled([old[0][::-1]], 5)
    with pytest.raises(EvaluationError, match="another number of partitions"):
        rescaling.rescaled([old[0][:1]], 5)


def test_turns_differ_between_old_buckets_and_keep_their_order() -> None:
    def rows(turns: list[int]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({CELL: pa.array(turns), TURN: pa.array(turns)})

    waiting = pa.RecordBatch.from_pydict({CELL: pa.array([1])})
    stock = [
        (0, Inside(), rows([3, 3, 9])),
        (0, Waiting(), waiting),
        (1, Inside(), rows([3, 4])),
        (0, Inside(), rows([1])),
    ]
    found, turns = with_new_turns(stock)
    assert [(bucket, stored) for bucket, stored, _ in found] == [(bucket, stored) for bucket, stored, _ in stock]
    new = [batch.column(TURN).to_pylist() for _, stored, batch in found if stored == Inside()]
    assert new == [[2, 2, 5], [3, 4], [1]]
    assert turns == 5
