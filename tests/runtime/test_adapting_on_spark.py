"""A stream that shifts, on Spark: buckets change their plans, say so, and go on after a restart."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

import joinfold as jf
from joinfold.dialect import read_schema
from joinfold.reference.rows import to_arrow
from joinfold.reference.streaming import stream
from joinfold.runtime.progress import Progress
from tests.operators.runs import Data, plan_of
from tests.planner.shifting import BY_MATCHES, FEW_MATCHES, MANY_MATCHES, SCHEMA, SHIFTING, micro_batches
from tests.runtime.test_engine import rows_of
from tests.strategies import assert_same_answers

pytestmark = pytest.mark.spark

COLUMNS = f"ts TIMESTAMP, {SCHEMA}"
SUMS = "IC over sums of ranges"


def write_files(directory: Path, batches: list[Data], first: int) -> None:
    """A file of each stream for every micro-batch."""
    for number, batch in enumerate(batches, first):
        for name, rows in batch.items():
            (directory / name).mkdir(exist_ok=True)
            path = directory / name / f"{number:03}.parquet"
            parquet.write_table(to_arrow(rows, read_schema(COLUMNS)), path)
            os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes files by their age


def run(spark: Any, directory: Path) -> tuple[Progress, ...]:
    """Answers all files that have not been read yet."""
    session = jf.Session(spark)
    for name in ("a", "b"):
        reader = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
        session.stream(name, reader.parquet(f"{directory}/{name}"), time="ts")
    handle = session.sql(SHIFTING).start(
        "parquet", checkpoint=f"{directory}/checkpoint", trigger="available", partitions=2, path=f"{directory}/out"
    )
    assert handle.wait(60)
    return handle.history()


def test_a_stream_that_shifts_changes_its_plan_and_goes_on_after_a_restart(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinfold.planner.planning.usual_weights", lambda: BY_MATCHES)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    batches = micro_batches(replace(FEW_MATCHES, seconds=3, rate=40), replace(MANY_MATCHES, seconds=2))
    write_files(tmp_path, batches[:3], 0)
    steps = run(spark, tmp_path)
    assert [step.batch for step in steps] == [0, 1, 2]
    assert steps[0].plan == SUMS and steps[0].plan_change is None
    (change,) = {step.plan_change for step in steps} - {None}
    assert change is not None and change.startswith(f"{SUMS} → ") and "of the pairs join" in change
    assert steps[-1].plan in change.partition(" → ")[2] and steps[-1].plan != SUMS
    write_files(tmp_path, batches[3:], 3)
    steps = run(spark, tmp_path)
    assert [step.batch for step in steps] == [3, 4]
    assert steps[0].plan == SUMS  # what was measured is forgotten, and the plan is that of the query
    answered = spark.read.parquet(f"{tmp_path}/out").toArrow()
    assert_same_answers(stream(plan_of(SHIFTING, SCHEMA).query, batches).answers, rows_of(answered))
