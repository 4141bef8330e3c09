"""Draws something again and again while a query runs: in a notebook in place, in a terminal in place, elsewhere once.

Ctrl-C, or the stop button of a notebook, ends the drawing and not the query. Spark installs a handler of its own for
Ctrl-C, which would cancel the jobs of the query; meanwhile Python's own stands in its place.
"""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from rich.console import Console
from rich.live import Live
from rich.text import Text

REDRAW_SECONDS = 0.5


class Drawing(Protocol):
    """What is drawn: HTML or a picture for a notebook, text for a terminal."""

    def __str__(self) -> str: ...

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]: ...


Show = Callable[[Drawing], None]


def follow(
    is_active: Callable[[], bool], draw: Callable[[], Drawing], seconds: float | None, console: Console | None = None
) -> Drawing:
    """Draws until the query has ended, so many seconds have passed, or Ctrl-C; returns what was drawn last."""
    until = None if seconds is None else time.monotonic() + seconds
    with python_interrupts(), _canvas(console or Console()) as show:
        drawn = draw()
        with suppress(KeyboardInterrupt):
            while is_active() and (until is None or time.monotonic() < until):
                show(drawn)
                time.sleep(REDRAW_SECONDS if until is None else max(0, min(REDRAW_SECONDS, until - time.monotonic())))
                drawn = draw()
        show(drawn)
    return drawn


@contextmanager
def python_interrupts() -> Iterator[None]:
    """Ctrl-C raises `KeyboardInterrupt` in the block and does nothing else. In other threads nothing changes."""
    try:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _canvas(console: Console) -> Iterator[Show]:
    """A function that draws in place; where nothing can be drawn in place, only the last drawing is printed."""
    display = notebook_display()
    if display is not None:
        handle: list[Any] = []

        def show(drawn: Drawing) -> None:
            if handle:
                handle[0].update(drawn)
            else:
                handle.append(display(drawn, display_id=True))

        yield show
    elif console.is_terminal:
        with Live(console=console, refresh_per_second=4, redirect_stdout=sys.stdout.isatty()) as live:
            yield lambda drawn: live.update(Text(str(drawn)))
    else:
        last: list[Drawing] = []
        yield last.append
        console.print(str(last[-1]), markup=False, highlight=False, soft_wrap=True)


def notebook_display() -> Callable[..., Any] | None:
    """The function that shows an object in the notebook that this code runs in; None if it does not."""
    if "IPython" not in sys.modules:
        return None
    from IPython import display, get_ipython

    shell = get_ipython()
    return display.display if getattr(shell, "kernel", None) is not None else None
