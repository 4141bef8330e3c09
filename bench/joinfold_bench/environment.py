"""The machine, the versions and the settings that a suite ran with. Results cannot be compared without them."""

import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES = ("joinfold", "pyspark", "pyarrow", "numpy", "numba", "pandas", "duckdb")
Say = Callable[[str], None]
SPARK_SETTINGS = (
    "spark.master",
    "spark.driver.memory",
    "spark.driver.defaultJavaOptions",
    "spark.shuffle.compress",
    "spark.sql.shuffle.partitions",
    "spark.sql.execution.arrow.maxRecordsPerBatch",
    "spark.sql.streaming.stateStore.providerClass",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
    "spark.sql.streaming.checkpointFileManagerClass",
)


class TimedResults(Protocol):
    """Results that record where they were measured, and how long that took."""

    environment: dict[str, Any]
    seconds: float


@contextmanager
def watched(results: TimedResults, say: Say, spark: "SparkSession | None" = None) -> Iterator[None]:
    """Records the environment and the duration in the results, and warns if the machine is busy."""
    began = time.perf_counter()
    results.environment = environment(spark)
    warning = busy_warning()
    if warning is not None:
        say(warning)
    yield
    results.environment["machine"]["load_after"] = list(os.getloadavg())
    results.seconds = time.perf_counter() - began


def environment(spark: "SparkSession | None" = None) -> dict[str, Any]:
    """The machine, the versions and the commit; with ``spark`` also its settings, the same for every engine."""
    facts: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "load_before": list(os.getloadavg()),
        },
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "commit": _commit(),
    }
    if spark is not None:
        facts["spark"] = {name: spark.conf.get(name, None) for name in SPARK_SETTINGS}
    return facts


def busy_warning() -> str | None:
    """A warning if the load of the machine is above half of its cores, else None."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load <= cores / 2:
        return None
    return f"this machine is busy (load {load:.1f} on {cores} cores); ratios are more reliable than rates"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the checkout that this file is in, marked if files were changed; None outside of a checkout."""
    here = Path(__file__).parent
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=here,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return described.stdout.strip() or None
