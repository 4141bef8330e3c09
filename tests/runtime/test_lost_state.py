"""Checkpoints whose parts were lost, exchanged or restored from an older copy are refused, and nothing else is."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import joinfold as jf
from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import LogicalQuery, Source
from joinfold.reference.rows import from_arrow
from joinfold.reference.streaming import stream
from tests.strategies import assert_same_answers

pytestmark = pytest.mark.spark

SCHEMA = "ts TIMESTAMP, k INT, v BIGINT"
WINDOW = "[4 MICROSECOND SLIDE 2 MICROSECOND]"
GROUPED = f"SELECT a.k, COUNT(*) AS n, SUM(b.v) AS s FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k GROUP BY a.k"
CROSSED = f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.v < b.v"
PARTITIONS = 2

Data = dict[str, list[dict[str, int]]]


def batch_of(number: int) -> Data:
    rows = [{"ts": 3 * number + step, "k": step % 3, "v": 7 * number + step} for step in range(6)]
    return {"a": rows, "b": rows}


def write(folder: Path, number: int, data: Data | None) -> None:
    """The files of a micro-batch; None: empty files, which no task reads."""
    for name in "ab":
        path = folder / name / f"{number:03}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [] if data is None else data[name]
        lines = [json.dumps(row | {"ts": f"1970-01-01T00:00:00.{row['ts']:06}Z"}) for row in rows]
        path.write_text("\n".join(lines))
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes files by their age


def logical(text: str) -> LogicalQuery:
    return bind(parse(text), {name: Source(name, read_schema(SCHEMA), True, "ts") for name in "ab"})


def ran(spark: Any, folder: Path, checkpoint: Path, text: str = GROUPED) -> list[tuple[Any, ...]]:
    """Goes on from a checkpoint over all files; the answers."""
    session, answers = jf.Session(spark), list[pa.Table]()
    for name in "ab":
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        session.stream(name, reader.json(f"{folder}/{name}"), time="ts")
    running = session.sql(text).start(
        lambda answer, batch: answers.append(answer),
        checkpoint=str(checkpoint),
        trigger="available",
        partitions=PARTITIONS,
    )
    assert running.wait(120)
    return [tuple(row.values()) for answer in answers for row in from_arrow(answer)]


@pytest.mark.parametrize("text", [GROUPED, CROSSED])
def test_a_micro_batch_that_no_task_reads_is_none_that_was_lost(spark: Any, tmp_path: Path, text: str) -> None:
    """One bucket of two, too, for a query that is not distributed."""
    batches = [None, None, batch_of(0), None, batch_of(1), batch_of(2)]
    for number, data in enumerate(batches):
        write(tmp_path, number, data)
    found = ran(spark, tmp_path, tmp_path / "checkpoint", text)
    write(tmp_path, 8, None)
    found += ran(spark, tmp_path, tmp_path / "checkpoint", text)
    write(tmp_path, 9, batch_of(3))
    found += ran(spark, tmp_path, tmp_path / "checkpoint", text)
    expected = stream(logical(text), [batch_of(number) for number in range(4)]).answers
    assert expected
    assert_same_answers(expected, found)


@pytest.fixture(scope="module")
def files(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files, and the checkpoint of a query after three micro-batches; one more is to come."""
    folder = tmp_path_factory.mktemp("lost")
    for number in range(3):
        write(folder, number, batch_of(number))
    ran(spark, folder, folder / "checkpoint")
    ran(spark, folder, folder / "another")
    write(folder, 3, batch_of(3))
    return folder


def exchange(folder: Path, state: Path) -> None:
    (state / "0").rename(state / "aside")
    (state / "1").rename(state / "0")
    (state / "aside").rename(state / "1")


def bring_back_an_older(folder: Path, state: Path) -> None:
    """The changes of the third micro-batch are lost; those of the second come twice."""
    for path in (state / "1").rglob("3.*"):
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        path.unlink()
    for path in list((state / "1").rglob("2.changelog")):
        shutil.copy(path, path.with_name("3.changelog"))


def take_from_another(folder: Path, state: Path) -> None:
    shutil.rmtree(state / "1")
    shutil.copytree(folder / "another" / "state" / "0" / "1", state / "1")


def lose(folder: Path, state: Path) -> None:
    shutil.rmtree(state / "1")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (exchange, "bucket . of stage 0 cannot start micro-batch 3: expected .* after micro-batch 2.*, found no state"),
        (bring_back_an_older, "expected the state of bucket 1 .* after micro-batch 2 .*, found .* after micro-batch 1"),
        (take_from_another, "expected the state of bucket 1 .* in checkpoint .*, found .* in checkpoint"),
        (lose, "state"),  # Spark itself notices
    ],
)
def test_a_part_that_does_not_belong_is_refused(
    spark: Any, files: Path, tmp_path: Path, damage: Callable[[Path, Path], None], told: str
) -> None:
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(files / "checkpoint", checkpoint)
    damage(files, checkpoint / "state" / "0")
    with pytest.raises(jf.JoinfoldError, match=told):
        ran(spark, files, checkpoint)
