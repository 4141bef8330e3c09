"""Stopping on request, and where Spark's own messages go."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
NAP_SECONDS = 0.1


class Interrupts:
    """Ctrl-C and SIGTERM ask for a clean end; a second one insists.

    Spark takes Ctrl-C for itself when it starts, and then cancels the jobs under the query's feet: `take` it back.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interrupts":
        self._before = {number: signal.getsignal(number) for number in SIGNALS}
        self.take()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def take(self) -> None:
        """Makes the signals ask this object from now on."""
        for number in SIGNALS:
            signal.signal(number, self._ask)

    def wait(self, seconds: float) -> None:
        """Waits this long, or until asked."""
        until = time.monotonic() + seconds
        while not self.asked and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, NAP_SECONDS))

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def errors_to(path: str) -> Iterator[None]:
    """Sends standard error to a file; a JVM that is started meanwhile, and its workers, write there ever after."""
    sys.stderr.flush()
    terminal = os.dup(2)
    try:
        with open(path, "ab") as log:
            os.dup2(log.fileno(), 2)
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
