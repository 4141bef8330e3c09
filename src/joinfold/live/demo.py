"""The demo: sensors of a building in which rooms burn, one hour of its time per minute, and the rooms in alarm.

Readings are written to a temporary folder `SPEED` times faster than real time. Spark reads them as streams, and the
query from the README finds the rooms that are hot and smoky at the same time.
"""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from joinfold.live.alarms import Alarms
from joinfold.live.interrupts import Interrupts, errors_to
from joinfold.live.report import Tally, counted, size_text
from joinfold.live.screens import DemoLines, DemoScreen, DemoTable
from joinfold.live.watch import watch
from joinfold.query import Query
from joinfold.runtime.failures import clear_errors
from joinfold.runtime.progress import Progress
from joinfold.runtime.sources import FileStream, open_stream
from joinfold.session import Session
from joinfold.workloads.feed import Feed

QUERY = """\
SELECT a.location, COUNT(*) AS alarms, MAX(b.strength) AS smoke
FROM   temperature a [10 MINUTE SLIDE 10 SECOND], smoke b [10 MINUTE SLIDE 10 SECOND]
WHERE  a.location = b.location AND a.celsius >= 40 AND b.strength > 0.6
GROUP BY a.location
HAVING COUNT(*) > 5
CHANGES"""
BUILDING: dict[str, Any] = {"rooms": 500, "report_seconds": 1.0, "fires": 8}
SPEED = 60
BEFORE_SECONDS = 600.0
"""How much of the building's time is in the folders when the query starts: a whole window."""
DROP_SECONDS = 0.5


def demo(seconds: float, console: Console) -> None:
    """Runs the demo until ``seconds`` after its first micro-batch, or until Ctrl-C."""
    screen: DemoScreen = DemoTable(console, seconds) if console.is_terminal else DemoLines(console)
    with (
        tempfile.TemporaryDirectory(prefix="joinfold-demo-", ignore_cleanup_errors=True) as name,
        Interrupts() as interrupts,
        clear_errors(),
    ):
        folder = Path(name)
        feed = Feed("sensors", folder, **BUILDING)
        feed.advance(BEFORE_SECONDS)
        with screen.busy("starting Spark"), errors_to(f"{folder}/spark.log"):
            query = _query(folder)
        interrupts.take()
        screen.explain(QUERY, query.explain("logical"))
        began = time.monotonic()
        tally = _run(query, feed, folder, seconds, screen, interrupts)
        screen.end("\n".join(_summary(tally, screen.alarms, time.monotonic() - began)))


def _query(folder: Path) -> Query:
    session = Session()
    session.spark.conf.set("spark.sql.session.timeZone", "UTC")
    for stream in ("temperature", "smoke"):
        source = FileStream("parquet", str(folder / stream), None)
        session.stream(stream, open_stream(session.spark, source), time="ts")
    return session.sql(QUERY)


def _run(query: Query, feed: Feed, folder: Path, seconds: float, screen: DemoScreen, interrupts: Interrupts) -> Tally:
    """Runs the query, and after its first micro-batch feeds it with new readings until the time is over."""
    first: list[float] = []

    def show(progress: Progress | None, tally: Tally) -> None:
        if progress is not None and not first:
            first.append(time.monotonic())
            flowing.start()
        screen.show(progress, tally)

    with _flow(feed) as flowing, screen.live():
        handle = query.start(screen.alarms.take, checkpoint=str(folder / "checkpoint"))
        return watch(handle, interrupts, show, lambda: bool(first) and time.monotonic() - first[0] >= seconds)


@contextmanager
def _flow(feed: Feed) -> Iterator[threading.Thread]:
    """A thread that writes new readings as time passes, once it is started; it ends with the context."""
    over = threading.Event()

    def drop() -> None:
        began = time.monotonic()
        while not over.wait(DROP_SECONDS):
            feed.advance(BEFORE_SECONDS + SPEED * (time.monotonic() - began))

    thread = threading.Thread(target=drop, name="joinfold-demo-feed", daemon=True)
    try:
        yield thread
    finally:
        over.set()
        if thread.is_alive():
            thread.join()


def _summary(tally: Tally, alarms: Alarms, seconds: float) -> list[str]:
    if tally.last is None:
        return ["stopped before the first answer"]
    rows = sum(tally.rows.values())
    return [
        f"{rows:,} readings and {counted(tally.instants, 'instant')} answered in {seconds:.0f} s, "
        f"{counted(tally.batches, 'micro-batch')}; {tally.late_rows:,} readings were late",
        f"{counted(alarms.raised, 'alarm')} raised, {alarms.cleared:,} cleared; the worst room had "
        f"{alarms.most_combinations:,} pairs at one instant",
        f"no pair was built: all windows together need {size_text(tally.last.state_bytes)} of state",
    ]
