"""What the profile `safe` costs: ``scripts/safe-cost``.

The same query reads the same files, one a micro-batch, with and without the profile, several times in turn.
The first run only warms up. Prints the median seconds of a micro-batch of each run, and the ratio of their medians.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

import joinfold as jf
from joinfold.runtime.sessions.settings import SAFE

SCHEMA = "ts TIMESTAMP, k BIGINT, g BIGINT, v BIGINT"
WINDOW = "[60 SECOND SLIDE 1 SECOND]"
QUERY = f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k GROUP BY a.g"
SECOND_US = 1_000_000
WARMING = 5
"""So many micro-batches of a run are left out: they start workers and open the state."""


def write_files(folder: Path, files: int, rows: int) -> None:
    """Files of both streams, with the rows of five seconds each."""
    draw = np.random.default_rng(1)
    for name in ("a", "b"):
        (folder / name).mkdir()
        for number in range(files):
            times = np.sort(draw.integers(0, 5 * SECOND_US, rows)) + 5 * SECOND_US * number
            columns = {"ts": pa.array(times, pa.timestamp("us", tz="UTC"))}
            columns |= {
                own: pa.array(draw.integers(0, most, rows)) for own, most in (("k", 2000), ("g", 50), ("v", 900))
            }
            path = folder / name / f"{number:04}.parquet"
            parquet.write_table(pa.table(columns), path)
            os.utime(path, (1_700_000_000 + number,) * 2)


def batch_seconds(session: jf.Session, folder: Path, checkpoint: str) -> float:
    """The median time of a micro-batch."""
    for name in ("a", "b"):
        reader = session.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        session.stream(name, reader.parquet(f"{folder}/{name}"), time="ts")
    handle = session.sql(QUERY).start("noop", checkpoint=checkpoint, trigger="available")
    handle.wait()
    steps = [step["durationMs"]["triggerExecution"] / 1000 for step in handle.query.recentProgress]
    return median(steps[WARMING:])


def main() -> None:
    """Measures, and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=40, help="micro-batches of a run")
    parser.add_argument("--rows", type=int, default=20_000, help="rows of a stream in a micro-batch")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each")
    options = parser.parse_args()
    spark = jf.Session().spark
    plain = {name: spark.conf.get(name) or "" for name in SAFE}
    found: dict[str, list[float]] = {"plain": [], "safe": []}
    with tempfile.TemporaryDirectory(prefix="joinfold-safe-") as directory:
        write_files(Path(directory), options.files, options.rows)
        for number in range(1 + 2 * options.repeats):
            which = "safe" if number % 2 else "plain"
            for name, value in (SAFE if which == "safe" else plain).items():
                spark.conf.set(name, value)
            seconds = batch_seconds(jf.Session(spark), Path(directory), f"{directory}/checkpoint-{number}")
            if number:
                found[which].append(seconds)
                sys.stdout.write(f"{which}: {seconds:.3f} s for a micro-batch\n")
                sys.stdout.flush()
    ratio = median(found["safe"]) / median(found["plain"])
    sys.stdout.write(f"a micro-batch takes {ratio:.2f} times as long with the profile safe\n")


if __name__ == "__main__":
    main()
