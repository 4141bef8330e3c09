"""Runs, measurements (repeated runs), and comparisons of measurements with a bar."""

from dataclasses import dataclass, field

import pyarrow as pa

from joinfold_bench.data import AuctionData, Dataset
from joinfold_bench.engines.measure import Batch
from joinfold_bench.engines.rates import Rate, Spread


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an engine, over micro-batches, or over instants that it computes one by one."""

    rate: Rate
    seconds: float
    startup_seconds: float | None = None
    capped: bool = False
    state_bytes: int = 0
    batches: tuple[Batch, ...] = ()
    instant_seconds: tuple[float, ...] = ()


@dataclass(slots=True)
class Measurement:
    """The runs of one engine on one dataset, and the answers of the runs that kept them."""

    engine: str
    dataset: Dataset | AuctionData
    slide_us: int
    runs: list[Run] = field(default_factory=list)
    answers: list[pa.Table] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        """Rows per second of every run."""
        return [run.rate.rows_per_second for run in self.runs]

    @property
    def rate(self) -> Spread:
        """The median rows per second, with the slowest and the fastest run."""
        return Spread.of(self.rates)

    @property
    def startup(self) -> Spread | None:
        """Seconds until the second micro-batch had finished; None if it never did."""
        known = [run.startup_seconds for run in self.runs if run.startup_seconds is not None]
        return Spread.of(known) if known else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many times as fast as something else joinfold is, and how many times it should at least be.

    ``bar`` is None if no ratio is required.
    """

    against: str
    dataset: str
    slide_us: int
    ratio: Spread
    bar: float | None

    @property
    def is_met(self) -> bool | None:
        """Whether the median reaches the bar; None if there is no bar."""
        return None if self.bar is None else self.ratio.middle >= self.bar

    @classmethod
    def of(cls, ours: Measurement, theirs: Measurement, bar: float | None, against: str | None = None) -> "Comparison":
        """Compares two measurements. Runs that alternated are compared pair by pair, so that other load cancels out."""
        ratio = ratio_of(ours.rates, theirs.rates)
        return cls(against or theirs.engine, ours.dataset.name, ours.slide_us, ratio, bar)


def ratio_of(ours: list[float], theirs: list[float]) -> Spread:
    """The ratio of two repeated measurements, pair by pair if both have the same number of runs.

    >>> ratio_of([6.0, 8.0, 9.0], [2.0, 2.0, 3.0])
    Spread(middle=3.0, low=3.0, high=4.0)
    >>> ratio_of([6.0, 8.0, 9.0], [2.0])
    Spread(middle=4.0, low=3.0, high=4.5)
    """
    if len(ours) == len(theirs):
        return Spread.of([our / their for our, their in zip(ours, theirs, strict=True)])
    our, their = Spread.of(ours), Spread.of(theirs)
    return Spread(our.middle / their.middle, our.low / their.high, our.high / their.low)


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """joinfold, measured at one value of the property that a sweep varies."""

    sweep: str
    value: str
    measurement: Measurement
