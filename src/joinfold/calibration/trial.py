"""A trial: a query over generated streams, run in process under one plan after another, to measure CPU and memory.

Rows come at random times and are fed slide by slide, like micro-batches. The windows are full before the first measured
slide. Estimates come from a sample of the rows, as for any bounded data.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import median

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.inprocess import InProcess
from joinfold.planner.cost.estimates import Estimate
from joinfold.planner.cost.estimating import Setting, estimate
from joinfold.planner.cost.weights import Weights
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.stream_statistics import Statistics
from joinfold.query import Query
from joinfold.session import Session
from joinfold.workloads.arrival import SECOND_US, START_US

SEED = 11
VALUES = 1_000_000  # of the column that bands and inequalities compare
LARGEST = 100  # the bound of summed values
FILLING_SLIDES = 2
FEWEST_SLIDES = 2
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Streams:
    """Rows per second, number of keys and groups, skew of the keys, and the window in seconds."""

    rates: tuple[float, ...]
    keys: int = 1
    groups: int = 1
    zipf: float = 0.0
    size: int = 10
    slide: int = 1


@dataclass(frozen=True)
class Trial:
    """A query over streams named a, b, c, …; ``{window}`` in its text stands for their window."""

    name: str
    text: str
    streams: Streams
    measured: int = 6

    @property
    def names(self) -> tuple[str, ...]:
        """The streams."""
        return tuple("abcdefgh"[: len(self.streams.rates)])

    @property
    def sql(self) -> str:
        """The query."""
        streams = self.streams
        return self.text.format(window=f"[{streams.size} SECOND SLIDE {streams.slide} SECOND]")

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """The rows of all streams."""
        streams = self.streams
        seconds = streams.size + (FILLING_SLIDES + self.measured + 1) * streams.slide
        return {
            name: _rows(np.random.default_rng((SEED, number)), rate, seconds, streams)
            for number, (name, rate) in enumerate(zip(self.names, streams.rates, strict=True))
        }

    def query(self, plan: Plan | None = None) -> Query:
        """The query over its rows, with a forced plan if one is given."""
        session = Session()
        for name, table in self.tables.items():
            session.stream(name, table, time="ts")
        return session.sql(self.sql, plan)

    @cached_property
    def statistics(self) -> Statistics:
        """Statistics from a sample of the rows."""
        return self.query().statistics

    def expected(self, plan: PlannedQuery, weights: Weights) -> Estimate:
        """The estimated cost of a plan in process."""
        return estimate(Setting.of(plan, self.statistics, weights, crossed=False), plan)

    def slides(self, plan: PlannedQuery) -> Iterator["Slide"]:
        """Runs a plan and yields its slides, from the first one with full windows."""
        machine, streams = InProcess(plan), self.streams
        first = streams.size // streams.slide + FILLING_SLIDES
        edges = START_US + np.arange(first + self.measured + 1) * streams.slide * SECOND_US
        cuts = {name: np.searchsorted(_times(table), edges) for name, table in self.tables.items()}

        def feed(start: int, end: int) -> None:
            machine.feed(
                {name: self.tables[name].slice(cut[start], cut[end] - cut[start]) for name, cut in cuts.items()}
            )
            machine.answer()

        feed(0, first - FILLING_SLIDES)
        for number in range(first - FILLING_SLIDES, first + self.measured):
            before = machine.measures.pack_seconds, machine.measures.fold_seconds
            feed(number, number + 1)
            pack, fold = machine.measures.pack_seconds - before[0], machine.measures.fold_seconds - before[1]
            if number >= first:
                yield Slide(pack / streams.slide, fold / streams.slide, machine.measures.bytes_held)


@dataclass(frozen=True, slots=True)
class Slide:
    """Seconds of CPU per second of stream, and the memory after the slide."""

    pack: float
    fold: float
    bytes_held: int


@dataclass(frozen=True, slots=True)
class Measured:
    """The cost of a plan on a trial: the median of its slides."""

    trial: str
    plan: str
    pack: float
    fold: float
    bytes_held: int

    @property
    def cpu(self) -> float:
        """Seconds of CPU per second of stream."""
        return self.pack + self.fold


def measure(trial: Trial, name: str, plan: PlannedQuery, patience_seconds: float = 4.0) -> Measured:
    """Measures one plan on one trial. A plan that exceeds the patience is measured on fewer slides."""
    began, slides = time.perf_counter(), []
    for slide in trial.slides(plan):
        slides.append(slide)
        if time.perf_counter() - began > patience_seconds and len(slides) >= FEWEST_SLIDES:
            break
    return Measured(
        trial.name,
        name,
        median(slide.pack for slide in slides),
        median(slide.fold for slide in slides),
        max(slide.bytes_held for slide in slides),
    )


def _rows(draw: np.random.Generator, rate: float, seconds: int, streams: Streams) -> pa.Table:
    count = int(rate * seconds)
    shares = 1 / np.arange(1, streams.keys + 1) ** streams.zipf
    return pa.table(
        {
            "ts": pa.array(
                START_US + np.sort(draw.integers(0, seconds * SECOND_US, count)), pa.timestamp("us", tz="UTC")
            ),
            "k": draw.choice(streams.keys, count, p=shares / shares.sum()),
            "g": draw.integers(0, streams.groups, count),
            "x": draw.integers(0, VALUES, count),
            "v": draw.integers(0, LARGEST, count),
            "f": draw.random(count),
        }
    )


def _times(table: pa.Table) -> Integers:
    return np.asarray(table.column("ts").cast(pa.int64()).to_numpy(), np.int64)
