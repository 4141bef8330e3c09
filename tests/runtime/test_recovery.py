"""Real processes and checkpoints: killed at random, resumed elsewhere, damaged; and time that must go on."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import joinfold as jf
from joinfold.planner.planning import plan_query
from joinfold.reference.rows import from_arrow
from joinfold.reference.streaming import stream
from joinfold.runtime.checkpoints.agreement import agree
from joinfold.runtime.checkpoints.manifest import FOLDER
from tests.runtime import resumable
from tests.runtime.checkpoints.local_directory import MANIFEST
from tests.strategies import assert_same_answers

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def settings(spark: Any) -> Iterator[None]:
    names = ("spark.sql.session.timeZone", "spark.sql.shuffle.partitions")
    before = {name: spark.conf.get(name) for name in names}
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


def answers_in(spark: Any, directory: Path) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in from_arrow(spark.read.parquet(f"{directory}/out").toArrow())]


def test_another_number_of_cores_goes_on_with_the_recorded_partitions(spark: Any, tmp_path: Path) -> None:
    """And so does a session in another time zone, although timestamps then carry another label."""
    data = resumable.write_files(tmp_path)
    later = sorted((tmp_path / "a").iterdir())[4:] + sorted((tmp_path / "b").iterdir())[4:]
    for path in later:
        path.rename(path.with_suffix(".later"))
    for partitions, zone in ((2, "UTC"), (3, "Asia/Tokyo")):
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
        spark.conf.set("spark.sql.session.timeZone", zone)
        running = resumable.query_over(jf.Session(spark), tmp_path).start(
            "parquet", checkpoint=f"{tmp_path}/checkpoint", trigger="available", path=f"{tmp_path}/out"
        )
        assert running.wait(120)
        assert spark.conf.get("spark.sql.shuffle.partitions") == str(partitions)
        for path in later:
            if path.with_suffix(".later").exists():
                path.with_suffix(".later").rename(path)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert_same_answers(stream(resumable.logical(), [data]).answers, answers_in(spark, tmp_path))


def test_state_that_was_cut_short_stops_the_query_and_nothing_is_written(spark: Any, tmp_path: Path) -> None:
    """Spark notices that; what it would not notice is in `test_warm`."""
    resumable.write_files(tmp_path)
    later = [tmp_path / name / f"{number:03}.parquet" for name in ("a", "b") for number in range(3, resumable.FILES)]
    for path in later:
        path.rename(path.with_suffix(".later"))

    def start() -> Any:
        return resumable.query_over(jf.Session(spark), tmp_path).start(
            "parquet", checkpoint=f"{tmp_path}/checkpoint", trigger="available", path=f"{tmp_path}/out"
        )

    assert start().wait(120)
    before = answers_in(spark, tmp_path)
    for path in later[:3]:
        path.with_suffix(".later").rename(path)
    damaged = [path for path in tmp_path.glob("checkpoint/state/**/*") if path.suffix in (".changelog", ".zip")]
    assert damaged
    for path in damaged:
        path.write_bytes(path.read_bytes()[:-40])
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)  # else Hadoop notices by itself
    with pytest.raises(jf.JoinfoldError, match="state"):
        start().wait(120)
    assert answers_in(spark, tmp_path) == before


def test_time_goes_on_when_a_filter_lets_nothing_through(spark: Any, tmp_path: Path) -> None:
    """The last alarm must clear although no row passes the filters any more."""
    spark.sql("SELECT 1").collect()
    source = f"{tmp_path}/in"
    session = jf.Session(spark)

    def write(seconds: range, celsius: float) -> None:
        rows = [(datetime.fromtimestamp(second, UTC), 7, celsius) for second in seconds]
        frame = spark.createDataFrame(rows, "ts TIMESTAMP, room INT, celsius DOUBLE").coalesce(1)
        frame.write.mode("append").parquet(source)

    write(range(5), 50.0)
    reader = spark.readStream.schema("ts TIMESTAMP, room INT, celsius DOUBLE").parquet(source)
    session.stream("temperature", reader, time="ts")
    text = (
        "SELECT a.room, COUNT(*) AS n FROM temperature a [4 SECOND SLIDE 2 SECOND], temperature b [TUMBLE 2 SECOND] "
        "WHERE a.room = b.room AND a.celsius >= 40 AND b.celsius >= 40 GROUP BY a.room CHANGES"
    )
    for celsius, seconds in ((None, range(0)), (20.0, range(5, 12)), (20.0, range(12, 20))):
        if celsius is not None:
            write(seconds, celsius)
        running = session.sql(text).start(
            "parquet", checkpoint=f"{tmp_path}/checkpoint", trigger="available", path=f"{tmp_path}/out"
        )
        assert running.wait(120)
    found = sorted(answers_in(spark, tmp_path))
    assert [(instant // 10**6, change) for instant, change, *_ in found] == [
        (2, "insert"),
        (4, "update"),
        (6, "update"),
        (8, "delete"),
    ]


def test_a_manifest_is_whole_or_not_there(spark: Any, tmp_path: Path) -> None:
    query = plan_query(resumable.logical())
    directory = f"{tmp_path}/checkpoint"
    written = agree(spark, directory, query, 2, explicit=True)
    assert [path.name for path in Path(directory).iterdir() if not path.name.endswith(".crc")] == [FOLDER]
    assert agree(spark, directory, query, 7, explicit=False) == written
    manifest = Path(directory) / MANIFEST
    manifest.write_text(manifest.read_text()[:40])
    with pytest.raises(jf.UsageError, match="cannot be read"):
        agree(spark, directory, query, 2, explicit=True)
    shutil.rmtree(Path(directory) / FOLDER)
    (Path(directory) / "offsets").mkdir()
    with pytest.raises(jf.UsageError, match="was not made by joinfold"):
        agree(spark, directory, query, 2, explicit=True)
    assert not manifest.exists()
