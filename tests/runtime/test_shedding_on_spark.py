"""SHED on Spark: the same samples and estimates as in process, also of a process that is killed; and its progress."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import joinfold as jf
from joinfold.inprocess import InProcess
from joinfold.logical.query import LogicalQuery
from joinfold.planner.planning import plan_query
from joinfold.reference.rows import from_arrow
from tests.runtime import resumable

pytestmark = pytest.mark.spark

ROWS_PER_FILE, KEYS = 60, 40


def files_by_batch(directory: Path) -> list[dict[str, list[Path]]]:
    """The files that Spark took in each micro-batch, from its checkpoint. After a kill, one may have two files."""
    logs = directory / "checkpoint"
    names, taken = dict[int, str](), dict[str, dict[int, Path]]()
    for source in (logs / "sources").iterdir():
        for log in (path for path in source.iterdir() if path.name.isdecimal()):
            path = Path(urlparse(json.loads(log.read_text().splitlines()[1])["path"]).path)
            names[int(source.name)] = path.parent.name
            taken.setdefault(path.parent.name, {})[int(log.name)] = path
    batches, before = [], dict.fromkeys(taken, -1)
    for log in sorted((logs / "offsets").glob("[0-9]*"), key=lambda path: int(path.name)):
        offsets = [json.loads(line)["logOffset"] for line in log.read_text().splitlines()[2:]]
        now = {names[number]: offset for number, offset in enumerate(offsets)}
        batches.append({name: [taken[name][n] for n in range(before[name] + 1, now[name] + 1)] for name in taken})
        before = now
    return batches


def in_process(directory: Path, query: LogicalQuery) -> list[tuple[Any, ...]]:
    """The answers, in the micro-batches that Spark made. Other micro-batches would shed other rows."""
    machine, found = InProcess(plan_query(query), 2), []
    for batch in files_by_batch(directory):
        machine.feed({name: pa.concat_tables(map(parquet.read_table, files)) for name, files in batch.items() if files})
        found.append(machine.answer())
    assert max(machine.shed.values()) > 50
    return [tuple(row.values()) for row in from_arrow(pa.concat_tables(found))]


def answers_in(spark: Any, directory: Path) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in from_arrow(spark.read.parquet(f"{directory}/out").toArrow())]


def test_as_many_pairs_as_can_be_had(spark: Any, tmp_path: Path) -> None:
    """The window of b has more rows, so the room goes to a, and the pairs are those of the run in process."""
    resumable.write_files(tmp_path, ROWS_PER_FILE, KEYS)
    session = jf.Session(spark)
    resumable.query_over(session, tmp_path)
    query = session.sql(
        "SELECT a.k, a.v AS x, b.v AS y FROM a [2 SECOND], b [4 SECOND] WHERE a.k = b.k SHED TO HOLD 90 ROWS"
    )
    running = query.start("parquet", checkpoint=f"{tmp_path}/checkpoint", trigger="available", path=f"{tmp_path}/out")
    assert running.wait(120)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    found = answers_in(spark, tmp_path)
    assert len(found) > 100
    assert sorted(found) == sorted(in_process(tmp_path, query.logical))


def test_progress_says_what_was_shed(spark: Any, tmp_path: Path) -> None:
    resumable.write_files(tmp_path, ROWS_PER_FILE, KEYS)
    query = resumable.query_over(jf.Session(spark), tmp_path, "SHED TO HOLD 150 ROWS SAMPLE BY KEY")
    running = query.start("parquet", checkpoint=f"{tmp_path}/checkpoint", trigger="available", path=f"{tmp_path}/out")
    assert running.wait(120)
    history = running.history()
    assert history[0].kept == 1.0 and history[0].streams[0].shed_rows == 0
    last = history[-1]
    assert last.kept is not None and 0 < last.kept < 1 and last.missing_groups is None
    assert last.live_entries <= 150 and all(stream.shed_rows > 50 and stream.late_rows == 0 for stream in last.streams)


def test_a_budget_in_wall_clock_time_needs_streams(spark: Any, tmp_path: Path) -> None:
    session = jf.Session(spark)
    for name in ("a", "b"):
        session.stream(name, spark.createDataFrame([], resumable.SCHEMA), time="ts")
    query = session.sql(f"{resumable.TEXT} SHED TO PROCESS 10 ROWS PER SECOND")
    with pytest.raises(jf.UsageError, match="sheds by wall-clock time, but its inputs are bounded"):
        query.collect()
