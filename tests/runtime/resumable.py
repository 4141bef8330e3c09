"""A process that runs a streaming query over files, to be killed: ``python -m … DIRECTORY [SHED …]``.

One file of each stream makes a micro-batch.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet

import joinfold as jf
from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import LogicalQuery, Source
from joinfold.reference.rows import Row, to_arrow

SCHEMA = "ts TIMESTAMP, k INT, g STRING, v DOUBLE"
TEXT = (
    "SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s, MAX(b.g) AS m "
    "FROM a [6 SECOND SLIDE 1 SECOND], b [4 SECOND SLIDE 2 SECOND] WHERE a.k = b.k GROUP BY a.g"
)
FILES = 8
SECOND = 1_000_000


def write_files(directory: Path, rows_per_file: int = 6, keys: int = 3) -> dict[str, list[Row]]:
    """Some seconds of each stream, one file a second; gives back the rows."""
    random = np.random.default_rng(7)
    written: dict[str, list[Row]] = {"a": [], "b": []}
    for name, rows in written.items():
        (directory / name).mkdir(parents=True)
        for number in range(FILES):
            times = np.sort(random.integers(number * SECOND, (number + 1) * SECOND, rows_per_file))
            part = [
                {
                    "ts": int(ts),
                    "k": int(random.integers(keys)),
                    "g": random.choice(["x", "y", "é"]),
                    "v": random.random(),
                }
                for ts in times
            ]
            part = [{**row, "g": None if row["v"] < 0.1 else str(row["g"])} for row in part]
            path = directory / name / f"{number:03}.parquet"
            parquet.write_table(to_arrow(part, read_schema(SCHEMA)), path)
            os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes files by their age
            rows += part
    return written


def logical(shed: str = "") -> LogicalQuery:
    columns = read_schema(SCHEMA)
    return bind(parse(f"{TEXT} {shed}"), {name: Source(name, columns, True, "ts") for name in ("a", "b")})


def query_over(session: jf.Session, directory: Path, shed: str = "") -> jf.Query:
    for name in ("a", "b"):
        reader = session.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        session.stream(name, reader.parquet(f"{directory}/{name}"), time="ts")
    return session.sql(f"{TEXT} {shed}")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    running = query_over(jf.Session(), target, *sys.argv[2:]).start(
        "parquet", checkpoint=f"{target}/checkpoint", trigger="available", path=f"{target}/out"
    )
    running.wait()
