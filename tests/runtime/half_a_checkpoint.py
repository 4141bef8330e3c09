"""One run of a query over the files that are there: `python -m tests.runtime.half_a_checkpoint FOLDER`.

It uses what a user of any version has, so that an earlier version can run it from its own sources.
"""

import json
import sys
from pathlib import Path
from typing import Any


def run(folder: Path, spark: Any = None) -> None:
    """Answers what the files of streams a, b and c give, into a folder of Parquet, and goes on from the checkpoint."""
    import joinfold as jf

    facts = json.loads((folder / "query.json").read_text())
    session = jf.Session(spark)
    for name in "abc":
        path = str(folder / name)
        frame = session.spark.readStream.schema(facts["schema"]).parquet(path)
        session.stream(name, frame, time="ts", delay="2 microseconds")
    query = session.sql(facts["text"])
    handle = query.start(
        "parquet", checkpoint=str(folder / "checkpoint"), trigger="available", path=str(folder / "answers")
    )
    handle.wait()


if __name__ == "__main__":
    run(Path(sys.argv[1]))
