"""A local Spark with the settings that joinfold wants, and whether another one has those that it needs."""

import os
import re
import shutil
import subprocess
import sys

from pyspark.sql import SparkSession

from joinfold.errors import SetupError

OLDEST_JAVA = 17


def start_local_spark() -> SparkSession:
    """The Spark session of this process, or a new one on all cores of this machine."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    require_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = str(os.cpu_count() or 1)
    spark: SparkSession = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName("joinfold")
        .config("spark.sql.shuffle.partitions", cores)
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "100000")
        .config(_STATE_STORE, _ROCKSDB)
        .config("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
        .config("spark.driver.extraJavaOptions", _COLLECTOR)
        .config("spark.shuffle.compress", "false")  # blobs are narrow already
        .config("spark.hadoop.fs.AbstractFileSystem.file.impl", _WITHOUT_SIDECARS)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


_COLLECTOR = "-XX:+UseParallelGC"
"""Java's collector for throughput: blobs are large, and its usual one goes through all of its memory for each batch."""

_WITHOUT_SIDECARS = "org.apache.hadoop.fs.local.RawLocalFs"
"""Checkpoints without a second file of checksums beside each file: renaming two costs twice the processes that Hadoop
starts for it, and a crash between them leaves one that cannot be read. joinfold's blobs have checksums of their own."""

_ANSI = "spark.sql.ansi.enabled"
_STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def require_settings(spark: SparkSession, is_streaming: bool) -> None:
    """Says at once which setting of a Spark that is there would make queries fail, or answer something else."""
    if spark.conf.get(_ANSI) != "true":
        raise SetupError(
            "joinfold's arithmetic is that of Spark in ANSI mode, which is switched off in this session",
            f'switch it on: spark.conf.set("{_ANSI}", "true")',
        )
    provider = spark.conf.get(_STATE_STORE) or ""
    if is_streaming and not provider.endswith("RocksDBStateStoreProvider"):
        raise SetupError(
            f"a streaming query keeps its state in RocksDB, and this session's state store is {provider}",
            f'choose the other: spark.conf.set("{_STATE_STORE}", "{_ROCKSDB}")',
        )


def require_java() -> None:
    """Says at once, and with the command that helps, when Spark has no Java to run on."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(os.path.join(home, "bin", "java") if home else "java")
    version = _java_version(java) if java else 0
    if version < OLDEST_JAVA:
        found = f"'{java}' is version {version}" if java else "no 'java' was found"
        raise SetupError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and {found}",
            f"install it (Debian or Ubuntu: apt-get install openjdk-{OLDEST_JAVA}-jre-headless; macOS: "
            f"brew install openjdk@{OLDEST_JAVA}), or point JAVA_HOME at one that is already there.",
        )


def _java_version(java: str) -> int:
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', printed)
    return int(found.group(1)) if found else 0
