"""Asks the workers of a Spark, before anything starts, which Python they run and whether it has joinfold.

One small job has a task for each core. Its function does not come from a module of joinfold, so it runs also where
joinfold is missing.
"""

import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from joinfold.errors import SetupError
from joinfold.runtime.failures import clear_error
from joinfold.runtime.sessions.settings import building
from joinfold.version import __version__

HOW_TO = "docs/how-to/run-a-query.md"
_FACTS = "host STRING, executable STRING, python STRING, joinfold STRING, problem STRING"


@dataclass(frozen=True, slots=True)
class Worker:
    """What a worker told: its host, its Python, and the version of joinfold there, or the problem with importing it."""

    host: str
    executable: str
    python: str
    joinfold: str | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class Workers:
    """The workers of a Spark: how many tasks can run at once, and what each kind of worker told."""

    cores: int
    kinds: frozenset[Worker]


def _question() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function that Spark pickles by value, because no module has it under a name."""

    def tell(batches: Iterator[Any]) -> Iterator[Any]:
        import platform
        import socket
        import sys

        import pyarrow

        for _ in batches:
            pass
        found = problem = None
        try:
            import joinfold.runtime.streaming  # noqa: F401 - everything that a worker needs
            from joinfold.version import __version__

            found = __version__
        except Exception as error:  # noqa: BLE001 - whatever it is, the driver will tell it
            problem = f"{type(error).__name__}: {error}"
        facts = [socket.gethostname(), sys.executable, platform.python_version(), found, problem]
        names = ["host", "executable", "python", "joinfold", "problem"]
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array([fact], pyarrow.string()) for fact in facts], names)

    tell.__module__ = "__main__"
    tell.__annotations__.clear()
    return tell


_ANSWERS: dict[str, Workers] = {}


def ask_workers(spark: SparkSession) -> Workers:
    """What the workers tell. They are asked once: all sessions of an application have the same workers."""
    application = spark.conf.get("spark.app.id", None) or ""
    if application not in _ANSWERS:
        _ANSWERS[application] = _asked(spark)
    return _ANSWERS[application]


def _asked(spark: SparkSession) -> Workers:
    try:
        with building(spark):
            told = spark.range(10_000).mapInArrow(_question(), _FACTS)
        rows = told.toArrow().to_pylist()
    except PySparkException as error:
        raise SetupError(
            f"the workers of this Spark do not run Python: {clear_error(error).message}",
            _python_hint(),
        ) from error
    return Workers(len(rows), frozenset(Worker(**row) for row in rows))


def require_workers(spark: SparkSession) -> Workers:
    """The workers, if all of them have this version of joinfold; raises `SetupError` otherwise."""
    workers = ask_workers(spark)
    for worker in sorted(workers.kinds, key=str):
        if worker.joinfold is None:
            raise SetupError(
                f"the workers of this Spark cannot import joinfold: on '{worker.host}' they run {worker.executable} "
                f"(Python {worker.python}), which says: {worker.problem}",
                _python_hint(),
            )
        if worker.joinfold != __version__:
            raise SetupError(
                f"the workers of this Spark have joinfold {worker.joinfold}, and this process has {__version__}",
                f"install the same version on both. On '{worker.host}' workers run {worker.executable}.",
            )
        if worker.python.split(".")[:2] != platform.python_version().split(".")[:2]:
            raise SetupError(
                f"the workers of this Spark run Python {worker.python}, and this process runs "
                f"{platform.python_version()}",
                "use the same version for both, by PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON.",
            )
    return workers


def _python_hint() -> str:
    return (
        f"start Spark with PYSPARK_PYTHON={sys.executable}, if workers are on this machine. On a cluster, each worker "
        f"needs a Python with joinfold: {HOW_TO}."
    )
