"""Starts a local Spark with suitable settings, and checks the settings of a Spark session that exists already."""

import os
import re
import shutil
import subprocess
import sys

from pyspark.sql import SparkSession

from joinfold.errors import SetupError

OLDEST_JAVA = 17
JAVA_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")


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
        .config("spark.sql.streaming.checkpointFileManagerClass", _FILES)  # the default starts processes to make links
        .config("spark.driver.defaultJavaOptions", _java_options())
        .config("spark.shuffle.compress", "false")  # blobs are compact already
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


_ANSI = "spark.sql.ansi.enabled"
_STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def _java_options() -> str:
    """The option for Java's parallel garbage collector, unless the environment chooses a collector.

    Blobs are large, and the default collector goes through all memory for each batch. Java does not start with two
    collectors.
    """
    options = " ".join(os.environ.get(name, "") for name in JAVA_VARIABLES)
    return "" if re.search(r"-XX:\+Use\w+GC\b", options) else "-XX:+UseParallelGC"


def require_settings(spark: SparkSession, is_streaming: bool) -> None:
    """Raises `SetupError` for settings of a Spark session that make queries fail or give other answers."""
    if spark.conf.get(_ANSI) != "true":
        raise SetupError(
            "joinfold needs Spark's ANSI mode for its arithmetic, and this session has switched it off",
            f'switch it on: spark.conf.set("{_ANSI}", "true")',
        )
    provider = spark.conf.get(_STATE_STORE) or ""
    if is_streaming and not provider.endswith("RocksDBStateStoreProvider"):
        raise SetupError(
            f"a streaming query needs the RocksDB state store, and this session uses {provider}",
            f'choose RocksDB: spark.conf.set("{_STATE_STORE}", "{_ROCKSDB}")',
        )


def require_java() -> None:
    """Raises `SetupError`, with the command that installs it, if Spark has no suitable Java."""
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
