"""A checkpoint goes on in another number of buckets, as if it had always had that number.

`operators/state/test_rescaling.py` has more queries, without Spark.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import joinfold as jf
from joinfold.errors import UsageError
from joinfold.runtime.checkpoints.folder import Folder
from joinfold.runtime.checkpoints.manifest import Manifest, write_manifest
from joinfold.runtime.upkeep.rescale import Rescaled, rescale
from tests.crashes.history import check_history
from tests.crashes.matrix import PATIENCE, processes_of
from tests.crashes.victim import keep_attempts
from tests.crashes.workload import KINDS, Running, micro_batches, write_files

pytestmark = pytest.mark.spark

SEED, BEFORE, AFTER = 5, 4, 7
QUICK = ("chain",)


def run(spark: SparkSession, folder: Path, kind: str, checkpoint: str, partitions: int | None = None) -> None:
    """Answers what the files in a folder give, and goes on from the checkpoint."""
    handle = (
        Running(jf.Session(spark), folder, kind)
        .query()
        .start(
            lambda table, batch: keep_attempts(folder / "out", table, batch),
            checkpoint=f"{folder}/{checkpoint}",
            trigger="available",
            partitions=partitions,
        )
    )
    handle.wait()


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "kind", [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.deep) for kind in KINDS]
)
def test_a_copy_goes_on_with_another_number_of_partitions(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    batches = micro_batches(kind, SEED)
    write_files(tmp_path, batches[:BEFORE])
    run(spark, tmp_path, kind, "checkpoint", partitions=2)
    before = listing(tmp_path / "checkpoint")
    done = rescale(spark, f"{tmp_path}/checkpoint", f"{tmp_path}/copy", 3)
    assert done == Rescaled(last=BEFORE - 1, old=2, new=3)
    assert listing(tmp_path / "checkpoint") == before
    shutil.rmtree(tmp_path / "checkpoint")  # the copy does not need it
    assert spark.conf.get("spark.sql.shuffle.partitions") != "3"
    write_files(tmp_path, batches[:AFTER])
    run(spark, tmp_path, kind, "copy")
    assert check_history(kind, "function", tmp_path, batches[:AFTER]) > 0


def test_a_copy_goes_on_after_a_kill_in_its_first_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    kind = "changes"
    batches = micro_batches(kind, SEED)[:AFTER]
    write_files(tmp_path, batches[:BEFORE])
    run(spark, tmp_path, kind, "old", partitions=3)
    (tmp_path / "old" / "commits" / str(BEFORE - 1)).unlink()  # the last micro-batch was begun, and not committed
    done = rescale(spark, f"{tmp_path}/old", f"{tmp_path}/checkpoint", 1)
    assert done == Rescaled(last=BEFORE - 2, old=3, new=1)
    write_files(tmp_path, batches)
    killed_in_micro_batch(BEFORE - 1, tmp_path, kind)
    run(spark, tmp_path, kind, "checkpoint")
    check_history(kind, "function", tmp_path, batches)
    attempts = [path.name for path in (tmp_path / "out").glob(f"{BEFORE - 1:04}-*.parquet")]
    assert len(attempts) == 2  # by the old checkpoint and by the copy, with the same answers


def killed_in_micro_batch(number: int, folder: Path, kind: str) -> None:
    """Starts the query in a process of its own, and kills it as soon as it has begun a micro-batch."""
    command = [sys.executable, "-m", "tests.crashes.victim", str(folder), kind, "function"]
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    until = time.monotonic() + PATIENCE
    while not (workers := processes_of(process.pid)["worker"]):
        assert process.poll() is None and time.monotonic() < until, (folder / "log.txt").read_text(errors="replace")
        time.sleep(0.02)
    for own in {*workers, *(pid for pids in processes_of(process.pid).values() for pid in pids)}:
        os.kill(own, signal.SIGKILL)
    process.wait()
    assert not (folder / "checkpoint" / "commits" / str(number)).exists()


def fake(spark: SparkSession, folder: Path, text: str, partitions: int = 2) -> str:
    """A checkpoint of a query that has not answered anything yet."""
    session = jf.Session()
    for name in ("a", "b"):
        session.stream(name, "ts TIMESTAMP, k INT, v INT", time="ts")
    write_manifest(Folder(spark, str(folder)), Manifest.of(session.sql(text).plan, "UTC", partitions))
    return str(folder)


def test_what_cannot_be_rescaled_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    into, windows = f"{tmp_path}/copy", "a [6 SECOND SLIDE 2 SECOND], b [6 SECOND SLIDE 2 SECOND]"
    with pytest.raises(UsageError, match="there is no checkpoint"):
        rescale(spark, f"{tmp_path}/nothing", into, 3)
    one = fake(spark, tmp_path / "one", "SELECT COUNT(*) AS n FROM a [6 SECOND SLIDE 2 SECOND]")
    with pytest.raises(UsageError, match="has one bucket, whatever the number of partitions"):
        rescale(spark, one, into, 3)
    checkpoint = fake(spark, tmp_path / "two", f"SELECT COUNT(*) AS n FROM {windows} WHERE a.k = b.k")
    with pytest.raises(UsageError, match="cannot have 0 partitions"):
        rescale(spark, checkpoint, into, 0)
    with pytest.raises(UsageError, match="has 2 partitions already"):
        rescale(spark, checkpoint, into, 2)
    with pytest.raises(UsageError, match="is not empty"):
        rescale(spark, checkpoint, one, 3)
    with pytest.raises(UsageError, match=r"no micro-batch .* has ended yet"):
        rescale(spark, checkpoint, into, 3)
    logs = {"offsets/0": "v1\n{}\n{}", "commits/0": "v1\n{}", "metadata": json.dumps({"id": str(uuid.uuid4())})}
    operator = {"operatorInfo": {"operatorName": "dedupe"}}
    for name, text in (logs | {"state/0/_metadata/v2/0": f"v2\n{json.dumps(operator)}"}).items():
        path = tmp_path / "two" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with pytest.raises(UsageError, match="also has the state of 'dedupe'"):
        rescale(spark, checkpoint, into, 3)
    assert not (tmp_path / "copy").exists()
