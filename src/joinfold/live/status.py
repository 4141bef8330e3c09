"""The status of a run: a line at the bottom of a terminal, or a line every few seconds elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TextIO

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.spinner import Spinner
from rich.text import Text

from joinfold.live.report import Tally, silence_line, status_line
from joinfold.live.watch import Show
from joinfold.runtime.progress import Progress as QueryProgress

LINE_SECONDS = 5.0
FIRST = "the first micro-batch starts Python workers and compiles the plan: 10 s or more on a cold machine"


@contextmanager
def busy(what: str, errors: TextIO) -> Iterator[None]:
    """Says what is being done: on a terminal with a spinner and a clock, which are removed at the end.

    ``errors`` is where standard error goes, which may be redirected meanwhile.
    """
    console = Console(file=errors)
    if not console.is_terminal:
        console.print(f"{what} …", highlight=False)
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", style="italic"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        bar.add_task(f"{what} …", total=None)
        yield


@contextmanager
def status(console: Console) -> Iterator[Show]:
    """A function that shows the status of a running query."""
    if not console.is_terminal:
        console.print(FIRST, highlight=False, soft_wrap=True)
        yield _Lines(console)
        return
    # Answers that go to the same terminal are printed above the line.
    waiting = _Waiting()
    with Live(waiting, console=console, redirect_stdout=sys.stdout.isatty(), transient=True) as live:
        yield lambda progress, tally: live.update(
            waiting if progress is None else _drawn(progress, tally), refresh=progress is not None
        )


class _Waiting:
    """A spinner and a clock, while the first micro-batch runs."""

    def __init__(self) -> None:
        self._spinner = Spinner("dots")
        self._since = time.monotonic()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        seconds = time.monotonic() - self._since
        self._spinner.update(text=Text(f"{FIRST} · {seconds:,.0f} s", style="italic"))
        yield self._spinner


def lines_of(progress: QueryProgress, tally: Tally) -> list[str]:
    """The status line, why the query does not answer, and the last change of the plan and the last warning, if any."""
    silence = silence_line(progress, datetime.now(UTC))
    changes = [f"plan changed in {change}" for change in tally.plan_changes[-1:]]
    warnings = [f"Warning: {warning}" for warning in tally.warnings[-1:]]
    return [status_line(progress, tally), *([silence] if silence else []), *changes, *warnings]


def _drawn(progress: QueryProgress, tally: Tally) -> Group:
    styles = ("cyan", "yellow", "yellow", "yellow")
    return Group(*(Text(line, style=style) for line, style in zip(lines_of(progress, tally), styles, strict=False)))


class _Lines:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._last_line = -LINE_SECONDS

    def __call__(self, progress: QueryProgress | None, tally: Tally) -> None:
        if progress is not None and time.monotonic() - self._last_line >= LINE_SECONDS:
            self._last_line = time.monotonic()
            for line in lines_of(progress, tally):
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)
