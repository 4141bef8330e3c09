"""Settings of the user's Spark session: borrowed while joinfold builds its frames and starts a query, then put back.

Spark takes some settings at certain moments, and keeps them:

    ANSI arithmetic         when an expression is built, from the session
    the state store         when a query starts; a later start takes it from the checkpoint
    shuffle partitions      when a query starts; a later start takes it from the checkpoint
    the workers' Python     when a Python function is given to a DataFrame, from the Spark context

So a session with Spark's defaults is enough. The settings are changed for a moment only, under one lock: queries that
start at the same time do not see those of each other.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import RLock

from pyspark.sql import SparkSession

from joinfold.errors import SetupError

ANSI = "spark.sql.ansi.enabled"
PARTITIONS = "spark.sql.shuffle.partitions"
STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_STATE = "spark.sql.streaming.stateStore"
SAFE = {
    f"{_STATE}.rowChecksum.enabled": "true",
    f"{_STATE}.rowChecksum.readVerificationRatio": "1",  # every row that is read; Spark's default is none
    f"{_STATE}.checkpointFormatVersion": "2",  # no two attempts write the same file, so each can have a checksum
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "true",
    f"{_STATE}.autoSnapshotRepair.enabled": "true",
    f"{_STATE}.commitValidation.enabled": "true",
}
"""The profile `safe`: Spark's own guards of state. Spark 4.3 has the last three by default."""

_LOCK = RLock()  # one for all sessions: two objects of Python may stand for the same session of Spark


@contextmanager
def borrowed(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Changes settings of a session for a moment. What was not set before is not set afterwards."""
    with _LOCK:
        before = {name: spark.conf.get(name, None) for name in settings}
        changed = {name: value for name, value in settings.items() if before[name] != value}
        try:
            for name, value in changed.items():
                spark.conf.set(name, value)
            yield
        finally:
            for name in changed:
                old = before[name]
                if old is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, old)


@contextmanager
def building(spark: SparkSession) -> Iterator[None]:
    """Lets Spark build joinfold's frames: with ANSI arithmetic, and with this Python where the workers are local."""
    if is_connect(spark):
        require_ansi(spark)
        yield
        return
    with borrowed(spark, {ANSI: "true"}):
        context = spark.sparkContext
        before = context.pythonExec
        if (context.master or "").startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            context.pythonExec = sys.executable
        try:
            yield
        finally:
            context.pythonExec = before


def starting(partitions: int) -> dict[str, str]:
    """The settings with which a streaming query starts."""
    return {STATE_STORE: ROCKSDB, PARTITIONS: str(partitions)}


def is_connect(spark: SparkSession) -> bool:
    """Whether the session is one of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def require_ansi(spark: SparkSession) -> None:
    """Raises `SetupError` if arithmetic would give NULL where it must fail. Over Connect, frames are built later."""
    if spark.conf.get(ANSI) != "true":
        raise SetupError(
            "joinfold needs Spark's ANSI mode for its arithmetic, and this session has switched it off",
            f'switch it on: spark.conf.set("{ANSI}", "true")',
        )


def require_state_store(spark: SparkSession) -> None:
    """Raises `SetupError` if somebody else will start a query of ours with a state store that cannot hold its state."""
    provider = spark.conf.get(STATE_STORE) or ""
    if not provider.endswith("RocksDBStateStoreProvider"):
        raise SetupError(
            f"a streaming query needs the RocksDB state store, and this session uses {provider}",
            f'choose RocksDB: spark.conf.set("{STATE_STORE}", "{ROCKSDB}")',
        )


def make_safe(spark: SparkSession) -> None:
    """Switches on the guards of `SAFE` for queries that are started from now on."""
    for name, value in SAFE.items():
        spark.conf.set(name, value)
