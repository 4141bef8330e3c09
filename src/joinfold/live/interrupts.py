"""Ctrl-C and SIGTERM, and the redirection of Spark's messages."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TextIO

SIGNALS = (signal.SIGINT, signal.SIGTERM)
NAP_SECONDS = 0.1


class Interrupts:
    """The first Ctrl-C or SIGTERM asks for a clean end; the second raises `KeyboardInterrupt`.

    When Spark starts, it installs its own handler for Ctrl-C, which cancels the jobs of the query. Call `take` after
    that.
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
        """Installs this object as the handler of the signals."""
        for number in SIGNALS:
            signal.signal(number, self._ask)

    def wait(self, seconds: float) -> None:
        """Waits for so many seconds, or until asked to end."""
        until = time.monotonic() + seconds
        while not self.asked and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, NAP_SECONDS))

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def errors_to(path: str) -> Iterator[TextIO]:
    """Redirects standard error to a file, and yields where it went before.

    A JVM that is started meanwhile keeps writing to the file afterwards.
    """
    sys.stderr.flush()
    terminal = os.dup(2)
    try:
        with open(path, "ab") as log:
            os.dup2(log.fileno(), 2)
        with os.fdopen(os.dup(terminal), "w", encoding="utf-8", errors="replace") as before:
            yield before
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
