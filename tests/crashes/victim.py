"""A process that runs a query over files until it is killed: ``python -m tests.crashes.victim FOLDER KIND SINK``.

The sink is Parquet, or a function. The function keeps each attempt at a micro-batch in a file of its own, and tries to
hand over nothing by halves.
"""

import os
import sys
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

import joinfold as jf
from tests.crashes.workload import Running

FAILED = 3
"""The exit status of a query that has failed with an error of joinfold's own."""


def keep_attempts(folder: Path, table: pa.Table, batch: int) -> None:
    """Writes the answers of an attempt at a micro-batch."""
    folder.mkdir(exist_ok=True)
    name = f"{batch:04}-{uuid.uuid4().hex}"
    parquet.write_table(table, folder / f"{name}.part")
    os.replace(folder / f"{name}.part", folder / f"{name}.parquet")


def main(folder: Path, kind: str, sink: str) -> None:
    """Runs the query until it has read all files."""
    query = Running(jf.Session(), folder, kind).query()
    checkpoint, out = f"{folder}/checkpoint", folder / "out"
    if sink == "parquet":
        handle = query.start("parquet", checkpoint=checkpoint, trigger="available", path=str(out))
    else:
        handle = query.start(
            lambda table, batch: keep_attempts(out, table, batch), checkpoint=checkpoint, trigger="available"
        )
    handle.wait()


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), *sys.argv[2:])
    except jf.JoinfoldError:
        os._exit(FAILED)  # a JVM that is dead cannot be stopped
