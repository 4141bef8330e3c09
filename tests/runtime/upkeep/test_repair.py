"""A checkpoint whose time has run away goes on from a copy, as if the row ahead had never come."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from pyspark.sql import SparkSession

from joinfold.errors import UsageError
from joinfold.reference.streaming import stream
from joinfold.runtime.upkeep.repair import repair
from tests.runtime.test_engine import rows_of
from tests.runtime.test_time_on_spark import LAST_US, SECOND, Data, now_us, row, run, write
from tests.strategies import assert_same_answers

pytestmark = pytest.mark.spark

DAY_US = 86_400_000_000


def test_a_copy_goes_on_from_the_last_sane_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    start = now_us() - 100 * SECOND
    batches: list[Data] = [
        {name: [row(start + (5 * number + place) * SECOND, place) for place in range(5)] for name in ("a", "b")}
        for number in range(5)
    ]
    bad: Data = {name: [*batches[2][name], row(LAST_US)] for name in ("a", "b")}
    for number, batch in enumerate([*batches[:2], bad, batches[3]]):
        write(tmp_path, "TIMESTAMP", number, batch)
    before = run(spark, tmp_path, ahead="off").progress()
    assert before is not None and before.streams[0].late_rows == 5
    broken, copy = f"{tmp_path}/checkpoint", f"{tmp_path}/copy"
    with pytest.raises(UsageError, match="nothing to repair"):
        repair(spark, broken, copy, 10**18)
    done = repair(spark, broken, copy, DAY_US)
    assert (done.last, done.dropped) == (1, 2)
    assert done.ran_away == dict.fromkeys("ab", "9999-12-31 23:59:59")
    with pytest.raises(UsageError, match="is not empty"):
        repair(spark, broken, copy, DAY_US)
    (tmp_path / "checkpoint").rename(tmp_path / "broken")  # the copy does not need it
    with pytest.raises(UsageError, match="was made with ahead of 'a' 1 DAY, not off"):
        run(spark, tmp_path, checkpoint="copy", ahead="off")
    write(tmp_path, "TIMESTAMP", 4, batches[4])
    old = answers(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "old")  # Spark would skip the micro-batches that it has written there
    handle = run(spark, tmp_path, checkpoint="copy")
    expected = stream(handle.plan.query, batches)
    kept = old[: len(stream(handle.plan.query, batches[:2]).answers)]
    assert_same_answers(expected.answers, [*kept, *answers(tmp_path / "out")])
    after = handle.progress()
    assert after is not None
    assert [(side.late_rows, side.ahead_rows) for side in after.streams] == [(0, 1), (0, 1)]


def answers(folder: Path) -> list[tuple[Any, ...]]:
    """The answers in a folder, without Spark, which looks for the files of micro-batch 0."""
    return sorted(rows_of(pa.concat_tables([parquet.read_table(path) for path in folder.glob("*.parquet")])))


def test_a_checkpoint_that_began_ahead_cannot_be_repaired(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no checkpoint"):
        repair(spark, f"{tmp_path}/checkpoint", f"{tmp_path}/copy", DAY_US)
    write(tmp_path, "TIMESTAMP", 0, {name: [row(LAST_US)] for name in ("a", "b")})
    run(spark, tmp_path, ahead="off")
    with pytest.raises(UsageError, match=r"in every micro-batch that the checkpoint .* still has"):
        repair(spark, f"{tmp_path}/checkpoint", f"{tmp_path}/copy", DAY_US)
    assert not (tmp_path / "copy").exists()
