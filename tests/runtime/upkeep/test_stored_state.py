"""What is written into Spark's state store is read again, as the state after a later micro-batch."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from joinfold.errors import UsageError
from joinfold.operators.codec import encode
from joinfold.operators.packing.routing import NO_ROWS
from joinfold.operators.state.bucket_state import POSITION
from joinfold.operators.state.rescaling import BucketMap
from joinfold.runtime.checkpoints.folder import Folder
from joinfold.runtime.shuffle_keys import spread_shuffle_keys
from joinfold.runtime.upkeep.stored_state import LOGS, PARTITIONS, read_state, write_state

pytestmark = pytest.mark.spark

BATCH, BUCKETS = 41, 2
CHANGELOGS = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


def position(stage: int | None) -> tuple[bytes]:
    return (encode(NO_ROWS, {} if stage is None else {"state_id": {"stage": stage}}),)


def finish(folder: Folder, committed: dict[str, object]) -> None:
    """Writes the logs that a query would have."""
    facts = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {PARTITIONS: str(BUCKETS)}}
    folder.write(f"offsets/{BATCH}", f"v1\n{json.dumps(facts)}\n{{}}")
    folder.write(f"commits/{BATCH}", f"v1\n{json.dumps(committed)}")


def test_state_is_read_as_it_was_written(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, f"{tmp_path}/checkpoint")
    maps = [
        {
            key: BucketMap({POSITION: position(stage), (0,): (b"chunk" * 1000 * (key + 1),), (7,): (bytes([stage]),)})
            for key in spread_shuffle_keys(BUCKETS)
        }
        for stage in range(2)
    ]
    settings = {name: spark.conf.get(name) for name in (PARTITIONS, CHANGELOGS)}
    finish(folder, write_state(spark, folder, maps, BUCKETS, BATCH, {}))
    assert {name: spark.conf.get(name) for name in settings} == settings
    assert sorted(folder.names("")) == [*sorted(LOGS), "state"]
    assert read_state(spark, folder, BATCH) == maps
    active = SparkSession.getActiveSession()
    assert active is not None and active.conf.get(CHANGELOGS) == settings[CHANGELOGS]


def test_state_without_an_id_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, f"{tmp_path}/checkpoint")
    maps = [{key: BucketMap({POSITION: position(None)}) for key in spread_shuffle_keys(BUCKETS)}]
    finish(folder, write_state(spark, folder, maps, BUCKETS, BATCH, {}))
    with pytest.raises(UsageError, match="an earlier version of joinfold wrote the state"):
        read_state(spark, folder, BATCH)
