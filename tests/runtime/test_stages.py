"""Stages as functions for Spark, over blobs in memory: the answers do not depend on the buckets and merges."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess.frames import frame_batch
from joinfold.operators.codec import decode
from joinfold.operators.packing.routing import Addressed, pack
from joinfold.physical.measured import Measured, StreamFigures
from joinfold.physical.timing import PIECE
from joinfold.planner.planned_query import PlannedQuery
from joinfold.reference import naive
from joinfold.runtime.blobs import BLOBS_ARROW, blob_batch
from joinfold.runtime.engine import finished_schema
from joinfold.runtime.stages import StageRun, finish_batches, run_bounded
from tests.operators.runs import Data, in_pieces, plan_of, tables_of, tuples
from tests.planner.shifting import SHIFTING, following_plan
from tests.strategies import assert_same_answers

WINDOW, SCHEMA = "[4 MICROSECOND SLIDE 2 MICROSECOND]", "k INT, g INT, v BIGINT"
GROUPED = f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k GROUP BY a.g"
TEXTS = (
    GROUPED,
    f"SELECT COUNT(*) AS n, MAX(b.v) AS top FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k",
    f"SELECT a.g, COUNT(*) AS n FROM a [PARTITION BY k ROWS 2], b {WINDOW} WHERE a.k = b.k GROUP BY a.g",
    f"SELECT a.g, COUNT(*) AS n FROM a [ROWS 3 SLIDE 2], b {WINDOW} WHERE a.k = b.k GROUP BY a.g",
)

Labels = tuple[int, ...]
number = st.integers(0, 2)
row = st.fixed_dictionaries({"ts": st.integers(0, 9), "k": number, "g": number, "v": number})
rows = st.lists(row, min_size=1, max_size=6)


def packed(plan: PlannedQuery, data: Data, buckets: Labels) -> Iterator[Addressed]:
    tables = tables_of(plan, data)
    for stream, frame in enumerate(plan.frames):
        yield from pack(plan.pipeline, stream, buckets, frame_batch(frame, tables[frame.input.source.name]))


def by_bucket(blobs: pa.Table) -> list[pa.Table]:
    """As Spark groups them."""
    labels = blobs.column("bucket").to_pylist()
    return [blobs.filter(pa.array([own == label for own in labels])) for label in sorted(set(labels))]


def answered(plan: PlannedQuery, data: Data, buckets: Labels, merges: Labels) -> list[tuple[Any, ...]]:
    blobs = pa.Table.from_batches([blob_batch(packed(plan, data, buckets))])
    for number, choice in enumerate(plan.choices):
        stage = StageRun(plan.pipeline, number, choice, buckets, merges)
        emitted = [batch for own in by_bucket(blobs) for batch in run_bounded(stage, own.to_batches())]
        blobs = pa.Table.from_batches(emitted)
        assert blobs.schema == BLOBS_ARROW
    finished = [
        batch
        for own in by_bucket(blobs)
        for batch in finish_batches(plan.pipeline.last, finished_schema(plan), "UTC", own.to_batches())
    ]
    return tuples(pa.Table.from_batches(finished)) if finished else []


@pytest.mark.parametrize("text", TEXTS)
@given(
    a=rows,
    b=rows,
    shape=st.sampled_from([((0,), (0,)), ((4, 7), (0,)), ((9, 1, 3), (2, 5))]),
    instants=st.sampled_from([1, 2, PIECE]),
)
def test_any_number_of_buckets_merges_and_pieces_gives_the_answers_of_the_definition(
    text: str, a: list[dict[str, int]], b: list[dict[str, int]], shape: tuple[Labels, Labels], instants: int
) -> None:
    plan, data = in_pieces(plan_of(text, SCHEMA), instants), {"a": a, "b": b}
    assert_same_answers(naive.answers(plan.query, data), answered(plan, data, *shape))


def test_a_group_goes_to_one_merge_and_all_of_it() -> None:
    every = [{"ts": 1, "k": group, "g": group, "v": 1} for group in range(9)]
    plan, data = plan_of(GROUPED, SCHEMA), {"a": every, "b": every}
    found: dict[int, set[int]] = {}
    for shuffle_key in (4, 7):
        stage = StageRun(plan.pipeline, 0, plan.choice, (4, 7), (2, 5))
        bucket = stage.open(shuffle_key)
        bucket.absorb(blob for _, label, blob in packed(plan, data, (4, 7)) if label == shuffle_key)
        (emitted,) = bucket.answer(to_the_end=True)
        for number, merge, blob in stage.split(shuffle_key, emitted):
            assert number == len(plan.stages) and merge in (2, 5)
            found.setdefault(merge, set()).update(decode(blob)[0].column("a.g").to_pylist())
    assert found[2] | found[5] == set(range(9)) and not found[2] & found[5]


def test_blobs_for_other_stages_go_on_as_they_are() -> None:
    plan = plan_of(GROUPED, SCHEMA)
    stage = StageRun(plan.pipeline, 0, plan.choice, (4,), (4,))
    blobs = blob_batch([(3, 4, b"later")])
    assert next(run_bounded(stage, iter([blobs]))) == blobs


def test_a_partition_without_blobs_gives_nothing() -> None:
    plan = plan_of(GROUPED, SCHEMA)
    metrics = pa.RecordBatch.from_pydict({"piece": pa.array([None], pa.int32()), "blob": pa.array([None], pa.binary())})
    assert list(finish_batches(plan.pipeline.last, finished_schema(plan), "UTC", [metrics])) == []


def test_a_bucket_goes_on_with_a_cheaper_plan_and_only_where_it_follows() -> None:
    plan = following_plan(SHIFTING)
    figures = StreamFigures(12, 1.0, 2, 20, 40, 1.0, 0.0)
    for following in (plan.following, None):
        stage = StageRun(plan.pipeline, 0, plan.choice, (0,), (0,), following)
        bucket = stage.open(0)
        bucket.measured = lambda: Measured((figures, figures), 0.01)  # type: ignore[method-assign]
        compared, change = stage.follow(bucket, None)
        changed = following is not None
        assert (compared is not None) == (change is not None) == (bucket.choice != plan.choice) == changed
        assert (stage.title(bucket) is not None) == changed
