"""Starts a local Spark with suitable settings."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

from joinfold.errors import SetupError
from joinfold.runtime.sessions.settings import PARTITIONS, ROCKSDB, STATE_STORE

OLDEST_JAVA = 17
ATTEMPTS = (
    3  # at each task: on a busy machine a worker may not start in time. A local Spark does not try again by itself
)
JAVA_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")


def start_local_spark(
    config: Mapping[str, str] | None = None, cores: int | None = None, memory: str | None = None, ui: bool = False
) -> SparkSession:
    """The Spark session of this process, or a new one on this machine; ``ui`` switches Spark's page on."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    require_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("joinfold")
    cores = cores or os.cpu_count() or 1
    settings = {
        **RECOMMENDED,
        **_ON_ONE_MACHINE,
        "spark.master": f"local[{cores}, {ATTEMPTS}]",
        PARTITIONS: str(cores),
        "spark.driver.defaultJavaOptions": _java_options(),
        "spark.ui.enabled": str(ui).lower(),
        **({} if memory is None else {"spark.driver.memory": memory}),
        **(config or {}),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


RECOMMENDED = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    STATE_STORE: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
}
_ON_ONE_MACHINE = {
    # the default starts processes to make links
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.shuffle.compress": "false",  # blobs are compact already
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def _java_options() -> str:
    """The option for Java's parallel garbage collector, unless the environment chooses a collector.

    Blobs are large, and the default collector goes through all memory for each batch. Java does not start with two
    collectors.
    """
    options = " ".join(os.environ.get(name, "") for name in JAVA_VARIABLES)
    return "" if re.search(r"-XX:\+Use\w+GC\b", options) else "-XX:+UseParallelGC"


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
