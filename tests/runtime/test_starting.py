"""Starting queries: several at once, and with what Spark refuses. Whatever fails is a `JoinfoldError`."""

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import joinfold as jf
from joinfold.reference.rows import from_arrow
from joinfold.reference.streaming import stream
from tests.runtime import resumable
from tests.strategies import assert_same_answers

pytestmark = pytest.mark.spark

QUERIES = 6


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("files")
    return folder, resumable.write_files(folder)


def test_queries_that_are_started_at_once_do_not_disturb_each_other(
    spark: Any, files: tuple[Path, Any], tmp_path: Path
) -> None:
    """Each has partitions of its own number, which Spark takes from a setting that all share."""
    folder, data = files
    setting = "spark.sql.shuffle.partitions"
    before = spark.conf.get(setting)

    def answers(number: int) -> list[tuple[Any, ...]]:
        found: list[pa.Table] = []
        running = resumable.query_over(jf.Session(spark), folder).start(
            lambda answer, batch: found.append(answer),
            checkpoint=tmp_path / str(number),
            trigger="available",
            partitions=1 + number % 3,
        )
        assert running.wait(300)
        return [tuple(row.values()) for answer in found for row in from_arrow(answer)]

    with ThreadPoolExecutor(QUERIES) as threads:
        found = list(threads.map(answers, range(QUERIES)))
    assert spark.conf.get(setting) == before
    expected = stream(resumable.logical(), [data]).answers
    for number, own in enumerate(found):
        assert_same_answers(expected, own)
        partitions = [path.name for path in (tmp_path / str(number) / "state" / "0").iterdir() if path.name.isdigit()]
        assert len(partitions) == 1 + number % 3


@pytest.mark.parametrize(
    ("sink", "arguments", "told"),
    [
        ("nosuch", {}, "Failed to find the data source: nosuch"),
        ("parquet", {}, "the sink 'parquet' writes files, and needs a folder"),
        (print, {"trigger": "soon"}, "'soon' is not a duration"),
        (print, {"checkpoint": "foo://here/there"}, 'No FileSystem for scheme "foo"'),
        (print, {"checkpoint": "/proc/nothing/here"}, "Mkdirs failed to create /proc/nothing/here"),
    ],
)
def test_what_spark_refuses_is_told_in_one_line(
    spark: Any, files: tuple[Path, Any], tmp_path: Path, sink: Any, arguments: dict[str, str], told: str
) -> None:
    query = resumable.query_over(jf.Session(spark), files[0])
    with pytest.raises(jf.JoinfoldError) as raised:
        query.start(sink, **{"checkpoint": str(tmp_path), **arguments})
    assert told in raised.value.message and "\n" not in raised.value.message


def test_a_sink_that_fails_is_told_with_its_error(spark: Any, files: tuple[Path, Any], tmp_path: Path) -> None:
    running = resumable.query_over(jf.Session(spark), files[0]).start(
        lambda answers, batch: {}["x"], checkpoint=tmp_path / "checkpoint", trigger="available"
    )
    with pytest.raises(jf.RunError, match=r"^your sink function failed in micro-batch 0, with KeyError: 'x'\n"):
        running.wait(120)


def test_two_queries_on_one_checkpoint_are_told_of_each_other(spark: Any, tmp_path: Path) -> None:
    """Another driver has written the next micro-batch while this one waited for rows."""
    resumable.write_files(tmp_path)
    (tmp_path / "later").mkdir()
    for name in "ab":
        for path in sorted((tmp_path / name).iterdir())[2:]:
            path.rename(tmp_path / "later" / f"{name}{path.name}")
    checkpoint = tmp_path / "checkpoint"
    running = resumable.query_over(jf.Session(spark), tmp_path).start(
        lambda answers, batch: None, checkpoint=checkpoint, trigger="100 milliseconds"
    )
    while not (checkpoint / "commits" / "1").exists():
        assert running.is_active
        time.sleep(0.1)
    shutil.copy(checkpoint / "offsets" / "1", checkpoint / "offsets" / "2")
    for path in (tmp_path / "later").iterdir():
        path.rename(tmp_path / path.name[0] / path.name[1:])
    with pytest.raises(jf.RunError, match=rf"^another query runs on the checkpoint '{checkpoint}'\nHint: stop one"):
        running.wait(120)
