"""Workers are asked for their Python and their joinfold before a query starts."""

import os
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import joinfold as jf
from joinfold.runtime.sessions import asking
from joinfold.runtime.sessions.asking import Worker, Workers, ask_workers, require_workers
from joinfold.version import __version__

pytestmark = pytest.mark.spark

GOOD = Worker("here", "/usr/bin/python", platform.python_version(), __version__, None)


def test_workers_tell_their_python_and_their_cores(spark: Any) -> None:
    told = ask_workers(spark)
    assert told.cores == spark.sparkContext.defaultParallelism
    (worker,) = told.kinds
    assert (worker.python, worker.joinfold, worker.problem) == (platform.python_version(), __version__, None)


def test_they_are_asked_once(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_workers(spark)
    monkeypatch.setattr(asking, "_asked", lambda spark: pytest.fail("asked again"))
    ask_workers(spark.newSession())


@pytest.mark.parametrize(
    ("worker", "told"),
    [
        (
            replace(GOOD, joinfold=None, problem="No module named 'joinfold'"),
            "on 'here' they run /usr/bin/python (Python {}), which says: No module named 'joinfold'",
        ),
        (replace(GOOD, joinfold="0.0.7"), "the workers of this Spark have joinfold 0.0.7, and this process has"),
        (replace(GOOD, python="3.9.2"), "the workers of this Spark run Python 3.9.2, and this process runs"),
    ],
)
def test_other_workers_are_refused(monkeypatch: pytest.MonkeyPatch, worker: Worker, told: str) -> None:
    monkeypatch.setattr(asking, "ask_workers", lambda spark: Workers(2, frozenset({GOOD, worker})))
    with pytest.raises(jf.SetupError) as refused:
        require_workers(None)  # type: ignore[arg-type]
    assert told.format(worker.python) in refused.value.message


SCRIPT = """
import sys
from pyspark.sql import SparkSession
import joinfold as jf

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
session = jf.Session(spark)
session.stream("r", spark.readStream.format("rate").load(), time="timestamp")
try:
    session.sql("SELECT COUNT(*) AS n FROM r [TUMBLE 1s]").start("noop", checkpoint=sys.argv[1]).stop()
    print("started")
except jf.SetupError as error:
    print(error)
"""


@pytest.mark.parametrize("chosen", [None, "another"])
def test_a_default_spark_needs_no_activated_environment(tmp_path: Path, chosen: str | None) -> None:
    """Without PYSPARK_PYTHON, local workers run the Python of this process. Another Python must have joinfold."""
    another = tmp_path / "another"
    another.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # without site-packages
    another.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")}
    environment |= {"PATH": "/usr/bin:/bin"} | ({"PYSPARK_PYTHON": str(another)} if chosen else {})
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "checkpoint")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if chosen is None:
        assert done.stdout.splitlines()[-1:] == ["started"], done.stderr[-2000:]
    else:
        assert "do not run Python" in done.stdout or "cannot import joinfold" in done.stdout, done.stdout
        assert not (tmp_path / "checkpoint").exists()
