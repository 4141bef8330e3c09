"""Prepares a worker process of Spark, once, and tells what a task of a stateful stage works on."""

import gc
import os
import socket
import stat
from dataclasses import dataclass
from functools import cache

from pyspark import TaskContext

INTERNET = (socket.AF_INET, socket.AF_INET6)
_BATCH = "streaming.sql.batchId"
_PARTITIONS = "spark.sql.shuffle.partitions"  # as the checkpoint has recorded it


@dataclass(frozen=True, slots=True)
class StatefulTask:
    """A task of a stage with state: the number of its micro-batch, its partition, and how many partitions there are."""

    batch: int
    partition: int
    partitions: int

    @classmethod
    def current(cls) -> "StatefulTask | None":
        """The task that this worker runs; None outside of a task."""
        task = TaskContext.get()
        if task is None:
            return None
        batch, partitions = (task.getLocalProperty(name) for name in (_BATCH, _PARTITIONS))
        assert batch is not None and partitions is not None, "Spark tells both to every task of a streaming query"
        return cls(int(batch), task.partitionId(), int(partitions))


@cache
def prepare_worker() -> None:
    """Makes the tasks of this worker end sooner. Later calls do nothing."""
    _freeze_loaded_objects()
    _send_at_once()


def _freeze_loaded_objects() -> None:
    """Excludes all objects loaded so far from garbage collection, which Spark runs after every task."""
    gc.collect()
    gc.freeze()


def _send_at_once() -> None:
    """Makes workers flush after every write (`TCP_NODELAY`).

    A worker writes its last rows, and then a marker that there are no more. Under Nagle's algorithm the marker would
    wait until the rows are acknowledged, and Spark's side delays the acknowledgement by 40 ms.
    """
    for number in map(int, os.listdir("/dev/fd")):
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            with socket.socket(fileno=os.dup(number)) as own:
                if own.family in INTERNET and own.type == socket.SOCK_STREAM:
                    own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:  # the directory itself was open while it was read
            continue
