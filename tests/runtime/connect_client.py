"""A process that runs queries over Spark Connect, on a local server that it starts; `found.json` has what came out.

python -m tests.runtime.connect_client FOLDER
"""

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
from pyspark.sql import SparkSession

import joinfold as jf
from joinfold.runtime.checkpoints.served_folder import ServedFolder
from joinfold.runtime.progress import Progress

TEXT = """
    SELECT a.k, COUNT(*) AS n, SUM(b.v) AS s FROM a [20 SECOND SLIDE 10 SECOND], b [20 SECOND SLIDE 10 SECOND]
    WHERE a.k = b.k AND a.v < 250 GROUP BY a.k
"""
CHAIN = """
    SELECT COUNT(*) AS n
    FROM   a [20 SECOND SLIDE 10 SECOND], b [20 SECOND SLIDE 10 SECOND], c [20 SECOND SLIDE 10 SECOND]
    WHERE a.k = b.k AND b.v = c.v
"""
SCHEMA = "k BIGINT, v BIGINT, ts TIMESTAMP"
NAMES = ("a", "b", "c")


def rows(first: int) -> pa.Table:
    """150 rows, one per second."""
    numbers = range(first, first + 150)
    times = pa.array([number * 1_000_000 for number in numbers]).cast(pa.timestamp("us", tz="UTC"))
    return pa.table({"k": [number % 7 for number in numbers], "v": list(numbers), "ts": times})


def write(folder: Path, part: int) -> None:
    """Adds a file to each stream."""
    for name in NAMES:
        (folder / name).mkdir(exist_ok=True)
        parquet.write_table(rows(150 * part), folder / name / f"{part}.parquet")


def bounded() -> jf.Session:
    """The same rows, as Arrow tables."""
    session = jf.Session()
    for name in NAMES:
        session.stream(name, pa.concat_tables([rows(0), rows(150)]))
    return session


def streams(spark: Any, folder: Path) -> jf.Session:
    """The files as streams."""
    session = jf.Session(spark)
    for name in NAMES:
        session.stream(name, spark.readStream.schema(SCHEMA).parquet(str(folder / name)))
    return session


def run(session: jf.Session, text: str, folder: Path, name: str) -> Progress | None:
    """Runs a query to the end of what is there."""
    handle = session.sql(text).start(
        "parquet", path=str(folder / name), checkpoint=folder / f"{name}-checkpoint", trigger="available"
    )
    assert handle.wait(300)
    return handle.progress()


def told(action: Any) -> str:
    """The message of the error that an action raises."""
    try:
        action()
    except jf.JoinfoldError as error:
        return error.report()
    return "nothing"


def main() -> None:
    """Runs all of it."""
    folder = Path(sys.argv[1])
    write(folder, 0)
    spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session, found = streams(spark, folder), dict[str, Any]()
    for part in range(2):
        if part:
            write(folder, part)
        for name, text in (("fold", TEXT), ("chain", CHAIN)):
            progress = run(session, text, folder, name)
            assert progress is not None
            first = progress.streams[0]
            found[f"{name} {part}"] = [first.rows, first.late_rows, progress.state_bytes > 0]
    directory = ServedFolder(spark, str(folder / "fold-checkpoint"))
    found["names"] = [directory.names(name) for name in ("_joinfold", "offsets", "sources", "none")]
    found["text"] = [directory.text(name) for name in ("metadata", "none")]
    found["long"] = directory.text("metadata", most_bytes=1)
    found["again"] = directory.create("_joinfold/1", "another manifest")
    checkpoint = folder / "fold-checkpoint"
    found["function"] = told(lambda: session.sql(TEXT).start(print, checkpoint=folder / "other"))
    found["another"] = told(lambda: session.sql(CHAIN).start("noop", checkpoint=checkpoint))
    (part_file,) = (checkpoint / "_joinfold/1").glob("part-*")
    part_file.write_text(part_file.read_text()[:-9])
    (part_file.parent / f".{part_file.name}.crc").unlink(missing_ok=True)
    found["torn"] = told(lambda: session.sql(TEXT).start("noop", checkpoint=checkpoint))
    table = jf.Session(spark)
    for name in NAMES:
        table.stream(name, pa.concat_tables([rows(0), rows(150)]))
    order = [("instant", "ascending"), ("k", "ascending")]
    found["collected"] = table.sql(TEXT).collect().sort_by(order).equals(answers_in_process(TEXT).sort_by(order))
    spark.conf.set("spark.sql.ansi.enabled", "false")
    found["ansi"] = told(lambda: table.sql(TEXT).collect())
    (folder / "found.json").write_text(json.dumps(found))
    spark.stop()


def answers_in_process(text: str) -> pa.Table:
    """All answers over the same rows."""
    return bounded().sql(text).run_in_process().answers


if __name__ == "__main__":
    main()
