"""Lines of text about a running query: its status, why it does not answer, and a summary at the end."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from joinfold.runtime.progress import Progress, StreamProgress, lag_text

PATIENCE = timedelta(seconds=3)
_UNITS = ("bytes", "kB", "MB", "GB")


@dataclass(slots=True)
class Tally:
    """What a query has done since it was started; each micro-batch is counted once."""

    rows: dict[str, int] = field(default_factory=dict)
    batches: int = 0
    instants: int = 0
    last: Progress | None = None
    plan_changes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, history: Iterable[Progress]) -> list[Progress]:
        """Counts the micro-batches that were not counted yet, and returns them."""
        new = [step for step in history if self.last is None or step.batch > self.last.batch]
        for step in new:
            self.batches += 1
            self.instants += step.instants
            for stream in step.streams:
                self.rows[stream.alias] = self.rows.get(stream.alias, 0) + stream.rows
            self.plan_changes += [] if step.plan_change is None else [f"micro-batch {step.batch}: {step.plan_change}"]
            self.warnings += [] if step.warning is None else [step.warning]
            self.last = step
        return new

    @property
    def late_rows(self) -> int:
        """The number of late rows of all streams, including earlier runs of the checkpoint."""
        return sum(stream.late_rows for stream in self.last.streams) if self.last else 0

    @property
    def left_out(self) -> str:
        """How many rows were late, and how many lay ahead if there were such."""
        ahead = sum(stream.ahead_rows for stream in self.last.streams) if self.last else 0
        return f"{counted(self.late_rows, 'row')} late" + (f", {counted(ahead, 'row')} ahead" if ahead else "")


def status_line(progress: Progress, tally: Tally) -> str:
    """The status of a query, in one line."""
    rates = [f"{stream.alias} {stream.rows_per_second:,.0f} rows/s" for stream in progress.streams]
    facts = [
        ", ".join(rates),
        f"watermark {progress.watermark or 'not yet'}",
        *([] if progress.latency_seconds is None else [f"latency {lag_text(progress.latency_seconds)}"]),
        f"micro-batch {progress.batch} in {progress.batch_seconds:,.1f} s",
        counted(tally.instants, "instant") + " answered",
        tally.left_out,
        counted(progress.live_cells, "live cell"),
        f"{size_text(progress.state_bytes)} state",
    ]
    return " · ".join(facts)


def silence_line(progress: Progress, now: datetime) -> str | None:
    """Why the query does not answer; None if it has answered in the last `PATIENCE`."""
    if now - progress.silent_since < PATIENCE:
        return None
    seconds = (now - progress.silent_since).total_seconds()
    since = progress.silent_since.astimezone(UTC)
    return f"no answer for {seconds:,.0f} s, since {since:%H:%M:%S} UTC: {progress.waiting_for}"


def summary_line(tally: Tally, seconds: float) -> str:
    """What the query did, in one line."""
    if tally.last is None:
        return f"no micro-batch was finished in {seconds:,.1f} s"
    read = ", ".join(f"{rows:,} of {alias}" for alias, rows in tally.rows.items())
    watermark = tally.last.watermark
    until = f", up to the watermark {watermark}" if watermark else ""
    total = sum(tally.rows.values())
    return (
        f"{counted(total, 'row')} ({read}) in {counted(tally.batches, 'micro-batch')} and {seconds:,.1f} s; "
        f"{counted(tally.instants, 'instant')} answered{until}; {tally.left_out}"
    )


def figures_line(tally: Tally) -> str | None:
    """What was last measured of the streams, in one line; None if nothing was measured."""
    if tally.last is None:
        return None
    known = [text for stream in tally.last.streams if (text := _figures(stream))]
    return f"measured in {'; '.join(known)}" if known else None


def _figures(stream: StreamProgress) -> str | None:
    if stream.rate is None or stream.keys is None or stream.groups is None or stream.passes is None:
        return None
    counts = [counted(round(stream.keys), "key"), counted(round(stream.groups), "group")]
    rate, share = f"{stream.rate:,.0f} rows/s of event time", f"{stream.passes:.0%} of rows pass the filters"
    return f"{stream.alias}: {', '.join([rate, *counts, share])}"


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 row, 2 rows."""
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def size_text(size: float) -> str:
    """A number of bytes: 12 bytes, 3.4 MB."""
    unit = 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:,.0f} {_UNITS[unit]}" if unit == 0 else f"{size:,.1f} {_UNITS[unit]}"
