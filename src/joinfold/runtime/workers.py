"""What joinfold does in a worker process of Spark, once."""

import gc
import os
import socket
import stat
from functools import cache

INTERNET = (socket.AF_INET, socket.AF_INET6)


@cache
def prepare_worker() -> None:
    """Makes the tasks of this worker end sooner."""
    _hide_what_is_loaded()
    _send_at_once()


def _hide_what_is_loaded() -> None:
    """Hides what is loaded by now, which stays, from the garbage collector: Spark runs it after every task."""
    gc.collect()
    gc.freeze()


def _send_at_once() -> None:
    """Has the kernel send what a worker writes to Spark at once.

    A worker writes its last rows and then that there are no more. By Nagle's algorithm the second waits until the first
    is acknowledged, which Spark's side puts off for 40 ms, since it has nothing to say.
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
