"""The output of the demo: a table that is redrawn on a terminal, and plain lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from joinfold.live.alarms import Alarm, Alarms
from joinfold.live.report import Tally, counted, silence_line, size_text
from joinfold.runtime.progress import Progress

ROOMS_SHOWN = 10
NEWS_SHOWN = 4
BAR = 24
LINE_SECONDS = 5.0
FIRST = "the first micro-batch: Spark compiles the plan and starts its Python workers, 10 s or more on a cold machine"


class DemoScreen(Protocol):
    """How the demo is shown."""

    alarms: Alarms

    def busy(self, what: str) -> AbstractContextManager[None]:
        """Says that ``what`` is being done, while the context lasts."""

    def explain(self, query: str, plan: str) -> None:
        """The query and its plan."""

    def live(self) -> AbstractContextManager[None]:
        """Shows the query while the context lasts."""

    def show(self, progress: Progress | None, tally: Tally) -> None:
        """Shows the status of the query."""

    def end(self, summary: str) -> None:
        """Shows the summary."""


class DemoLines:
    """Plain lines: every alarm that is raised or cleared, and the rate every `LINE_SECONDS`."""

    def __init__(self, console: Console) -> None:
        self.alarms = Alarms()
        self._console = console
        self._last_line = 0.0

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """Prints a line at the beginning."""
        self._line(f"{what} …")
        yield

    def explain(self, query: str, plan: str) -> None:
        """The query and its plan."""
        self._line(f"\n{query}\n{plan}\n")

    @contextmanager
    def live(self) -> Iterator[None]:
        """Prints a line at the beginning."""
        self._line(f"{FIRST} …")
        yield

    def show(self, progress: Progress | None, tally: Tally) -> None:
        """Prints the news, and now and then the rate."""
        for news in self.alarms.tell():
            self._line(f"{'+' if news.is_raised else '-'} {news}")
        if progress is not None and time.monotonic() - self._last_line >= LINE_SECONDS:
            self._last_line = time.monotonic()
            self._line(f"  {rate_text(progress, tally)}; {counted(len(self.alarms.rooms), 'room')} in alarm")

    def end(self, summary: str) -> None:
        """The summary."""
        self._line(summary)

    def _line(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        self._console.file.flush()


class DemoTable:
    """A table of the rooms in alarm, redrawn when they change."""

    def __init__(self, console: Console, seconds: float) -> None:
        self.alarms = Alarms()
        self._console = console
        self._seconds = seconds
        self._began: float | None = None
        self._live = Live(console=console, refresh_per_second=8)

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """Shows a spinner."""
        with self._console.status(f"{what} …"):
            yield

    def explain(self, query: str, plan: str) -> None:
        """The query and its plan."""
        self._console.print(Text(query, style="bold"))
        self._console.print(Text(plan, style="dim"))
        self._console.print()

    @contextmanager
    def live(self) -> Iterator[None]:
        """Draws the table while the context lasts."""
        self._live.update(Text(f"{FIRST} …", style="italic"))
        with self._live:
            yield

    def show(self, progress: Progress | None, tally: Tally) -> None:
        """Draws the rooms in alarm, the last news, and the rate."""
        if progress is None:
            return
        self._began = self._began or time.monotonic()
        parts: list[RenderableType] = [_table(self.alarms.active(), progress)]
        for news in list(self.alarms.latest)[-NEWS_SHOWN:]:
            mark, style = ("▲", "red") if news.is_raised else ("▼", "green")
            parts.append(Text(f"{mark} {news}", style=style))
        parts.append(Text(rate_text(progress, tally), style="cyan"))
        silence = silence_line(progress, datetime.now(UTC))
        if silence:
            parts.append(Text(silence, style="yellow"))
        passed = min(time.monotonic() - self._began, self._seconds)
        parts.append(ProgressBar(total=self._seconds, completed=passed, width=60))
        self._live.update(Group(*parts))

    def end(self, summary: str) -> None:
        """The summary."""
        self._console.print()
        self._console.print(Text(summary, style="bold"))


def rate_text(progress: Progress, tally: Tally) -> str:
    """The rows per second of the last micro-batch, the rows and instants so far, and the size of the state."""
    rate = sum(stream.rows_per_second for stream in progress.streams)
    return (
        f"{rate:,.0f} rows/s · {sum(tally.rows.values()):,} rows · {counted(tally.instants, 'instant')} answered · "
        f"{progress.live_cells:,} live cells in {size_text(progress.state_bytes)} of state"
    )


def _table(alarms: list[Alarm], progress: Progress) -> Table:
    title = f"rooms in alarm at {(progress.watermark or 'the beginning')[:19]} (building time)"
    table = Table(title=title, title_justify="left", min_width=76)
    for name, justify in (("room", "left"), ("since", "left"), ("hot and smoky pairs", "right"), ("smoke", "left")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for alarm in alarms[:ROOMS_SHOWN]:
        bar = Text("█" * round(alarm.smoke * BAR), style="red") + Text(f" {alarm.smoke:.2f}")
        table.add_row(alarm.room, f"{alarm.since:%H:%M:%S}", f"{alarm.combinations:,}", bar)
    if len(alarms) > ROOMS_SHOWN:
        table.add_row(f"… and {len(alarms) - ROOMS_SHOWN} more", "", "", "")
    if not alarms:
        table.add_row("none", "", "", "")
    return table
