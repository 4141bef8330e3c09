"""Reads and writes what all buckets of a checkpoint have in Spark's state store.

Only a streaming query can write to the state store. So a query of its own writes everything in its micro-batch 0, with
the same operators in the same order as the query that goes on from there:

    one Parquet folder ──▶ stage 0 ──▶ stage 1 ──▶ … ──▶ nothing

Micro-batch n of a query leaves version n + 1 of the state. So the snapshots of version 1 that this query has written
are renamed to the version from which the other query goes on. Snapshots do not tell their version.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from joinfold.errors import UsageError
from joinfold.operators.codec import decode
from joinfold.operators.state.bucket_state import POSITION
from joinfold.operators.state.rescaling import BucketMap
from joinfold.runtime.checkpoints.folder import Folder
from joinfold.runtime.checkpoints.logs import METADATA
from joinfold.runtime.checkpoints.manifest import STATE_NAME

LOGS = ("offsets", "commits")
PARTITIONS = "spark.sql.shuffle.partitions"
_CHANGELOGS = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
_OPERATOR = "transformWithStateInPandasExec"
_ROWS = "stage int, bucket int, number long, blob binary"
_SCRATCH = "rescaling"
_FIRST_VERSION = re.compile(r"1((_[\w-]+)?\.zip)")

State = Sequence[Mapping[int, BucketMap]]  # by stage and shuffle key


def read_state(spark: SparkSession, folder: Folder, batch: int) -> list[dict[int, BucketMap]]:
    """The maps of all buckets of all stages after a micro-batch, by shuffle key.

    Raises `UsageError` if other operators of Spark have state too, or if a version wrote the state that did not tell
    stages apart.
    """
    stages: dict[int, dict[int, BucketMap]] = {}
    for operator in sorted(folder.numbers("state")):
        _refuse_others(folder, operator)
        options = {"path": folder.root, "batchId": str(batch), "operatorId": str(operator), "stateVarName": STATE_NAME}
        rows = spark.read.format("statestore").options(**options).load()
        table = rows.selectExpr("key.bucket", "user_map_key.number", "user_map_value.blob").toArrow()
        maps: dict[int, BucketMap] = {}
        for bucket, number, blob in zip(*(column.to_pylist() for column in table.columns), strict=True):
            maps.setdefault(bucket, BucketMap())[(number,)] = (blob,)
        stages[_stage_of(folder, maps)] = maps
    return [stages[number] for number in sorted(stages)]


def _refuse_others(folder: Folder, operator: int) -> None:
    metadata = f"state/{operator}/_metadata/v2"
    last = max(folder.numbers(metadata), default=None)
    facts = {} if last is None else json.loads(folder.read(f"{metadata}/{last}").splitlines()[1])
    name = facts.get("operatorInfo", {}).get("operatorName")
    if name != _OPERATOR:
        hint = "a stream of the query has state of its own, which cannot be rescaled: start with a new checkpoint."
        raise UsageError(f"the checkpoint '{folder.root}' also has the state of '{name}'", hint)


def _stage_of(folder: Folder, maps: Mapping[int, BucketMap]) -> int:
    found = {decode(own[POSITION][0])[1].get("state_id", {}).get("stage") for own in maps.values() if POSITION in own}
    if len(found) != 1 or None in found:
        hint = "start the query with this version of joinfold, let it finish a micro-batch, stop it, and try again."
        raise UsageError(f"an earlier version of joinfold wrote the state of the checkpoint '{folder.root}'", hint)
    (stage,) = found
    return int(stage)


class StateWriter(StatefulProcessor):
    """Writes the rows of one stage into its state, and passes on those of the others."""

    def __init__(self, stage: int) -> None:
        self.stage = stage

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state, under the name that the stages of a query use."""
        self.kept = handle.getMapState(STATE_NAME, "number long", "blob binary")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Writes what belongs to a bucket."""
        for frame in rows:
            is_own = frame["stage"] == self.stage
            for number, blob in zip(frame["number"][is_own], frame["blob"][is_own], strict=True):
                self.kept.updateValue((int(number),), (blob,))
            yield frame[~is_own]

    def close(self) -> None:
        """There is nothing to close."""


def write_state(
    spark: SparkSession, folder: Folder, stages: State, partitions: int, batch: int, settings: Mapping[str, str]
) -> dict[str, Any]:
    """Writes the maps of all buckets into a new directory, as the state after a micro-batch.

    ``settings`` are those that the offsets of the checkpoint record. Returns what Spark has recorded of the state in
    its log of commits.
    """
    session = spark.newSession()
    for name, value in {**settings, PARTITIONS: str(partitions), _CHANGELOGS: "false"}.items():
        session.conf.set(name, value)
    scratch = f"{folder.root}/{_SCRATCH}"
    _rows_of(spark, stages).write.parquet(scratch)
    rows = session.readStream.schema(_ROWS).parquet(scratch)
    for number in range(len(stages)):
        rows = rows.groupBy("bucket").transformWithStateInPandas(
            statefulProcessor=StateWriter(number), outputStructType=_ROWS, outputMode="Append", timeMode="None"
        )
    writer = rows.writeStream.format("noop").option("checkpointLocation", folder.root).trigger(availableNow=True)
    writer.start().awaitTermination()
    committed: dict[str, Any] = json.loads(folder.read("commits/0").splitlines()[1])
    for path in folder.files("state"):
        parent, _, name = path.rpartition("/")
        found = _FIRST_VERSION.fullmatch(name)
        if found is not None and batch > 0:
            folder.rename(path, f"{parent}/{batch + 1}{found.group(1)}")
    for name in (_SCRATCH, METADATA, "sources"):
        folder.remove(name)
    folder.delete(f"{log}/{number}" for log in LOGS for number in folder.numbers(log))
    return committed


def _rows_of(spark: SparkSession, stages: State) -> DataFrame:
    rows = [
        (stage, bucket, number, blob)
        for stage, maps in enumerate(stages)
        for bucket, own in maps.items()
        for (number,), (blob,) in own.items()
    ]
    types = (pa.int32(), pa.int32(), pa.int64(), pa.binary())
    columns = [pa.array(column, type_) for column, type_ in zip(zip(*rows, strict=True), types, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(columns, names=["stage", "bucket", "number", "blob"]))
