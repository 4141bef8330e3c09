"""Printing: results on standard output, errors and progress on standard error."""

import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from joinfold.errors import UsageError, printable


def print_error(text: str) -> None:
    """Prints an error, which may quote data, on standard error."""
    sys.stderr.write(printable(text, kept="\n") + "\n")


def print_line(text: str) -> None:
    """Prints a result on standard output."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class ProgressBar:
    """A progress bar on a terminal, and nothing elsewhere."""

    def __init__(self, title: str, total: int | None) -> None:
        columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        console = Console(stderr=True)
        self.bar = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
        self.total = total

    def __enter__(self) -> Callable[[int], None]:
        self.bar.start()
        task = self.bar.add_task("", total=self.total)
        return lambda written: self.bar.advance(task, written)

    def __exit__(self, *_: object) -> None:
        self.bar.stop()


def write_text(path: Path, text: str) -> None:
    """Writes a file that the user has named."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}", "choose another path.") from error
