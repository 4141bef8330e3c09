"""A local Spark with the settings that joinfold wants, and whether another one has those that it needs."""

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
        .config("spark.sql.streaming.checkpointFileManagerClass", _FILES)  # the usual one starts processes for links
        .config("spark.driver.defaultJavaOptions", _java_options())
        .config("spark.shuffle.compress", "false")  # blobs are narrow already
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
    """Java's collector for throughput: blobs are large, and the usual one goes through all memory for each batch.

    Java does not start with two, so one that the environment chooses stays.
    """
    chosen = " ".join(os.environ.get(name, "") for name in JAVA_VARIABLES)
    return "" if re.search(r"-XX:\+Use\w+GC\b", chosen) else "-XX:+UseParallelGC"


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
