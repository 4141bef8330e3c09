"""A join that is too much for the machine, with SHED TO KEEP UP and without: does it stay near its streams?

The join has a condition that only whole combinations can be checked by, so FOLD takes most of the time. Its streams are
Spark's rate source, whose event time is wall-clock time. First the *capacity* is found: the rate at which a micro-batch
without SHED takes as long as its interval. The loads are multiples of it:

    constant   ████████████   2
    step       ▂▂▂▂████████   1/2, then 2
    burst      ▂▂▂▂███▂▂▂▂▂   1/2, then 3, then 1/2
"""

import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from joinfold.session import Session
from joinfold.workloads.arrival import SECOND_US
from joinfold_bench.data import STREAMS
from joinfold_bench.engines.watching import WatchedBatch, watch
from joinfold_bench.environment import Say

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

QUERY = "SELECT COUNT(*) AS n, SUM(a.v) AS s FROM a {window}, b {window} WHERE a.k = b.k AND a.v <> b.v"
WINDOW = "[{size} SECOND SLIDE 1 SECOND]"
KEEP_UP = " SHED TO KEEP UP SAMPLE BY KEY"
VALUES = 1_000
PARTS = 1_000  # loads are multiples of 1/1000 of the largest
TRIALS, LONG = 8, 0.5  # how many rates are tried, and the part of an interval from which on a duration says enough
SETTLING = 0.1  # the part of the time in which workers start, and the rate is found
OVER_BAR, BEHIND_BAR = 0.0, 1.0
"""No micro-batch should take longer than its interval after it has settled, and no end be further behind than one."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a load: where it ends, as a part of the whole, and how many times the capacity comes."""

    until: float
    times: float


@dataclass(frozen=True, slots=True)
class Load:
    """A load: its phases in order, and how long it lasts in comparison with the constant one."""

    name: str
    phases: tuple[Phase, ...]
    length: float = 1.0

    @property
    def most(self) -> float:
        """The largest multiple of the capacity."""
        return max(phase.times for phase in self.phases)

    @property
    def change(self) -> float:
        """When the load changes for the first time, as a part of the whole; 0 if it is constant."""
        return self.phases[0].until if len(self.phases) > 1 else 0.0


LOADS = (
    Load("constant", (Phase(1.0, 2.0),)),
    Load("step", (Phase(1 / 3, 0.5), Phase(1.0, 2.0)), 0.5),
    Load("burst", (Phase(1 / 3, 0.5), Phase(1 / 2, 3.0), Phase(1.0, 0.5)), 0.5),
)

STEADY = Load("steady", (Phase(1.0, 1.0),))
STARTING_ROWS, STARTING_SECONDS, STARTING_BATCHES = 100, 300.0, 3


@dataclass(frozen=True, slots=True)
class KeepUpSettings:
    """How long the constant load lasts, the interval between micro-batches, and the query's windows and keys.

    ``rows_per_second`` is the capacity, of each stream; None: it is measured. A run ends earlier if ``most_batches``
    micro-batches have ended.
    """

    seconds: float = 600.0
    interval: int = 5
    window: int = 30
    keys: int = 1_000
    rows_per_second: int | None = None
    trial_seconds: float = 75.0
    loads: tuple[Load, ...] = LOADS
    most_batches: int | None = None

    @property
    def settled(self) -> float:
        """The time from which on micro-batches count."""
        return SETTLING * self.seconds

    @property
    def text(self) -> str:
        """The query without SHED."""
        return QUERY.format(window=WINDOW.format(size=self.window))


@dataclass(frozen=True, slots=True)
class KeepUpRun:
    """A load, with SHED or without, and its micro-batches. They count from the time ``settled`` on.

    ``changed`` is the time at which the load rises, 0 if it is constant.
    """

    load: str
    sheds: bool
    rows_per_second: int
    interval: int
    settled: float
    changed: float
    batches: tuple[WatchedBatch, ...]

    @property
    def timed(self) -> list[WatchedBatch]:
        """The micro-batches whose duration is known: they are finished, or take longer than the interval already."""
        return [batch for batch in self.batches if batch.is_finished or batch.seconds > self.interval]

    @property
    def counted(self) -> list[WatchedBatch]:
        """Those that started when it had settled; the last one if it had started before and ran on."""
        return [batch for batch in self.timed if batch.started >= self.settled] or self.timed[-1:]

    @property
    def over(self) -> float:
        """The share of micro-batches that took longer than the interval."""
        return sum(batch.seconds > self.interval for batch in self.counted) / max(len(self.counted), 1)

    @property
    def most_behind(self) -> float:
        """How far behind the query was at most at the end of a micro-batch, in intervals."""
        return max((batch.behind for batch in self.counted), default=0.0) / self.interval

    @property
    def recovery(self) -> float | None:
        """Seconds from the rise of the load to the end of the last micro-batch that took too long; None if none did."""
        late = [batch.ended for batch in self.counted if batch.seconds > self.interval]
        return max(late) - self.changed if late else None

    @property
    def usual_seconds(self) -> float | None:
        """The median of the durations; None if no micro-batch has ended."""
        return median(batch.seconds for batch in self.counted) if self.counted else None

    @property
    def least_kept(self) -> float | None:
        """The smallest probability with which a combination was kept; None without SHED."""
        return min((batch.kept for batch in self.counted if batch.kept is not None), default=None)

    @property
    def last_kept(self) -> float | None:
        """The same of the last micro-batch."""
        return self.batches[-1].kept if self.batches else None

    @property
    def is_met(self) -> bool | None:
        """Whether it stays near its streams; None without SHED, and if a load rises, which it has to notice first."""
        if self.changed or not self.sheds:
            return None
        return self.over <= OVER_BAR and self.most_behind <= BEHIND_BAR


def run_keeping_up(session: Session, settings: KeepUpSettings, say: Say) -> list[KeepUpRun]:
    """Runs every load with SHED and without. Before that, workers start and compile, which takes long once."""
    for shed in ("", KEEP_UP):
        say(f"starting{shed}")
        _watched(session, settings, STEADY, STARTING_ROWS, STARTING_SECONDS, shed, STARTING_BATCHES)
    capacity = settings.rows_per_second or find_capacity(session, settings, say)
    runs = []
    for load in settings.loads:
        for sheds in (True, False):
            run = run_load(session, settings, load, capacity, sheds)
            runs.append(run)
            over = f"{run.over:.0%} of micro-batches over the interval, at most {run.most_behind:.1f} intervals behind"
            say(f"{load.name}{', SHED TO KEEP UP' if sheds else ''}: {over}")
    return runs


def run_load(session: Session, settings: KeepUpSettings, load: Load, capacity: int, sheds: bool) -> KeepUpRun:
    """Runs the query under a load."""
    seconds = load.length * settings.seconds
    batches = _watched(session, settings, load, capacity, seconds, KEEP_UP if sheds else "", settings.most_batches)
    changed = load.change * seconds
    return KeepUpRun(load.name, sheds, capacity, settings.interval, settings.settled, changed, batches)


def find_capacity(session: Session, settings: KeepUpSettings, say: Say) -> int:
    """The rows per second of each stream at which micro-batches take as long as the interval.

    Doubles the rate until micro-batches take long enough. Then two rates and their durations tell by which power of the
    rate the duration grows.
    """
    rate, known = 1_000, list[tuple[int, float]]()
    for _ in range(TRIALS):
        batches = _watched(session, settings, STEADY, rate, settings.trial_seconds, "")
        full = [batch for batch in batches if batch.is_finished and batch.started >= settings.window]
        seconds = median(batch.seconds for batch in full or batches)
        known.append((rate, seconds / settings.interval))
        say(f"{rate:,} rows/s of each stream: a micro-batch takes {seconds:.1f} s")
        if known[-1][1] >= LONG:
            break
        rate *= 2
    return capacity_from(known)


def capacity_from(known: Sequence[tuple[int, float]]) -> int:
    """The rate at which the duration, in intervals, is 1, from rates and durations."""
    rate, duration = known[-1]
    power = 1.0
    if len(known) > 1:
        before, shorter = known[-2]
        power = min(max(math.log(duration / shorter) / math.log(rate / before), 1.0), 2.0)
    return int(rate * duration ** (-1 / power))


def _watched(
    session: Session,
    settings: KeepUpSettings,
    load: Load,
    capacity: int,
    seconds: float,
    shed: str,
    most: int | None = None,
) -> tuple[WatchedBatch, ...]:
    began = time.time()
    registered = Session(session.spark)
    for number, name in enumerate(STREAMS):
        frame = stream_of(session, settings, load, capacity, began, seconds, number)
        rate = capacity * load.phases[0].times
        registered.stream(name, frame, time="ts", rate=rate, keys={"k": settings.keys, "v": VALUES})
    with tempfile.TemporaryDirectory(prefix="joinfold-keep-up-", ignore_cleanup_errors=True) as checkpoint:
        query = registered.sql(settings.text + shed)
        handle = query.start("noop", checkpoint=checkpoint, trigger=f"{settings.interval} seconds")
        return watch(handle, session.spark, began, seconds, most)


def stream_of(
    session: Session, settings: KeepUpSettings, load: Load, capacity: int, began: float, seconds: float, number: int
) -> "DataFrame":
    """One stream of a load that begins at a time of the clock: the rate source, without the rows that are too many."""
    rows = max(round(load.most * capacity), 1)
    source = session.spark.readStream.format("rate").option("rowsPerSecond", rows).load()
    cases = [
        f"WHEN timestamp < timestamp_micros({round((began + phase.until * seconds) * SECOND_US)}) "
        f"THEN value % {PARTS} < {round(PARTS * phase.times / load.most)}"
        for phase in load.phases
    ]
    passing = source.where(f"CASE {' '.join(cases)} ELSE TRUE END")
    return passing.selectExpr(
        "timestamp AS ts",
        f"pmod(xxhash64(value, {number}), {settings.keys}) AS k",
        f"pmod(xxhash64(value, {number}, 'v'), {VALUES}) AS v",
    )
