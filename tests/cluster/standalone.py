"""A real cluster on this machine: a standalone master and workers, each in processes of its own.

Every worker has its own folder for the files that Spark shuffles. Warm buckets are in a folder of their executor
(`runtime.warm`), so no worker finds those of another. All share the folder of the checkpoint.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from tests.crashes.matrix import PATIENCE, descendants

ROOT = Path(__file__).parent.parent.parent
SPARK = Path(pyspark.__file__).parent
HOST = "127.0.0.1"


def environment(**more: str) -> dict[str, str]:
    """The environment of all processes of the cluster, and of its driver."""
    own = {
        "SPARK_HOME": str(SPARK),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
    }
    return os.environ | own | more


@dataclass(slots=True)
class Standalone:
    """A cluster that runs; ``workers`` has the process of each worker, None while it is dead."""

    folder: Path
    port: int
    workers: list[subprocess.Popen[bytes] | None] = field(default_factory=list)
    master: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of the master."""
        return f"spark://{HOST}:{self.port}"

    def local_folder(self, number: int) -> Path:
        """Where a worker keeps the files that it shuffles."""
        return self.folder / f"worker-{number}" / "local"

    def start_worker(self, number: int) -> None:
        """Starts a worker, or starts it again."""
        folder = self.local_folder(number).parent
        self.local_folder(number).mkdir(parents=True, exist_ok=True)
        arguments = ["--host", HOST, "--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(folder)]
        own = {"SPARK_LOCAL_DIRS": str(self.local_folder(number)), "SPARK_WORKER_DIR": str(folder)}
        self.workers[number] = _spark_class("worker.Worker", [*arguments, self.url], folder / "log.txt", own)

    def kill_worker(self, number: int) -> None:
        """Kills a worker with -9, with its executor and all Python workers: as if its machine had lost power."""
        process, self.workers[number] = self.workers[number], None
        assert process is not None
        _kill(process)

    def lose_shuffle_files(self, number: int) -> int:
        """Deletes the files that a worker has shuffled, and returns how many there were."""
        files = [path for path in self.local_folder(number).rglob("shuffle_*") if path.is_file()]
        for path in files:
            path.unlink(missing_ok=True)
        return len(files)

    def slow_down(self, number: int, pulses: int, seconds: float) -> None:
        """Stops the executor of a worker again and again for some time."""
        process = self.workers[number]
        assert process is not None
        for _ in range(pulses):
            stopped = list(descendants(process.pid))
            for signal_ in (signal.SIGSTOP, signal.SIGCONT):
                for own in stopped:
                    with suppress(ProcessLookupError):
                        os.kill(own, signal_)
                time.sleep(seconds)


@contextmanager
def standalone(folder: Path, workers: int) -> Iterator[Standalone]:
    """A cluster with some workers, all of which are killed at the end."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        cluster = Standalone(folder, free.getsockname()[1], [None] * workers)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        arguments = ["--host", HOST, "--port", str(cluster.port), "--webui-port", "0"]
        cluster.master = _spark_class("master.Master", arguments, folder / "master.txt", {})
        _wait_for(cluster.port, cluster.master)
        for number in range(workers):
            cluster.start_worker(number)
        yield cluster
    finally:
        for process in (*cluster.workers, cluster.master):
            if process is not None:
                _kill(process)
        for number in range(workers):
            shutil.rmtree(cluster.local_folder(number), ignore_errors=True)


def _spark_class(name: str, arguments: list[str], log: Path, own: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    with log.open("ab") as file:
        return subprocess.Popen(command, stdout=file, stderr=file, env=environment(**own))


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        with suppress(OSError), socket.create_connection((HOST, port), 1.0):
            return
        assert process.poll() is None and time.monotonic() < until, "the master does not start"
        time.sleep(0.1)


def _kill(process: subprocess.Popen[bytes]) -> None:
    for own in (process.pid, *descendants(process.pid)):
        with suppress(ProcessLookupError):
            os.kill(own, signal.SIGKILL)
    process.wait()
