"""The event times of rows, and the order in which rows arrive.

Row n has a random position in the unit interval [n, n+1). The inverse of the cumulative rate turns this position into
the event time. So rows come in the order of time without a sort, a second with rate r has exactly r rows, and bursts
are a rate that varies::

    rows  0    1    2    3    4 | 5    6 | 7           one random position in each unit interval
          ·  |  · |·   |  · | · |  · | · |  ·
    time  0s                    1s       2s            rates 5, 2, 1, …: bursts=(5, 2, 1)

Disorder delays a share of the rows. Rows are sorted by their arrival ts + delay, where 0 < delay ≤ depth for delayed
rows and delay = 0 for the others. So the event times of earlier rows are at most ``depth`` ahead of a row. Rows that
arrive after the last event time of a block wait for the next block: about share · rate · depth rows are in memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from joinfold.workloads.draws import Block, Real, Whole, seeded_generator
from joinfold.workloads.tables import event_times_us

START_US = 1_735_689_600_000_000
"""2025-01-01T00:00:00Z"""

SECOND_US = 1_000_000
JITTER_STEPS = 2**20
"""The number of possible positions in a unit interval; a power of two, so that n + position is exact."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Event times from row numbers: ``profile`` has the numbers of rows in second 0, 1, …, and repeats."""

    profile: tuple[float, ...]
    start_us: int = START_US

    def times_us(self, positions: Real | Whole) -> Whole:
        """The times at which the cumulative rate reaches ``positions``."""
        rows_until, elapsed_us = _cumulative(self.profile)
        rounds = np.floor_divide(positions, rows_until[-1])
        within_us = np.interp(positions - rounds * rows_until[-1], rows_until, elapsed_us)
        times_us: Whole = rounds.astype(np.int64) * int(elapsed_us[-1]) + within_us.astype(np.int64)
        return self.start_us + times_us

    def scattered_us(self, block: Block) -> Whole:
        """The event times of the rows of a block, each at a random position in its unit interval."""
        points = block.whole_numbers("ts", JITTER_STEPS) / JITTER_STEPS
        return self.times_us(block.row_numbers + points)

    def rows_within(self, seconds: float) -> int:
        """The number of rows in the first ``seconds``."""
        rows_until, elapsed_us = _cumulative(self.profile)
        rounds, rest_us = divmod(seconds * SECOND_US, elapsed_us[-1])
        return round(float(rounds * rows_until[-1] + np.interp(rest_us, elapsed_us, rows_until)))


@lru_cache(maxsize=16)
def _cumulative(profile: tuple[float, ...]) -> tuple[Real, Real]:
    """The number of rows before each second of the profile, and the time at which that second begins."""
    rows_until = np.concatenate(([0.0], np.cumsum(np.asarray(profile, dtype=np.float64))))
    return rows_until, np.arange(len(profile) + 1, dtype=np.float64) * SECOND_US


def in_arrival_order(
    steps: Iterator[dict[str, pa.Table]], *, seed: int, share: float, depth_seconds: float
) -> Iterator[dict[str, pa.Table]]:
    """Delays ``share`` of the rows of every stream by up to ``depth_seconds``; if the share is 0, none."""
    if share == 0:
        yield from steps
        return
    depth_us = max(1, round(depth_seconds * SECOND_US))
    waiting: dict[str, _Waiting] = {}
    for index, tables in enumerate(steps):
        arrived = {}
        for stream, table in tables.items():
            early = waiting.get(stream) or _Waiting(table.slice(0, 0), np.empty(0, dtype=np.int64))
            generator = seeded_generator(seed, stream, index, "disorder")
            delays_us = _delays_us(generator, table.num_rows, share, depth_us)
            arrived[stream], waiting[stream] = early.advance(table, delays_us)
        yield arrived
    yield {stream: late.table for stream, late in waiting.items()}


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Rows that have happened but not yet arrived, in the order of their arrival."""

    table: pa.Table
    arrivals_us: Whole

    def advance(self, happened: pa.Table, delays_us: Whole) -> "tuple[pa.Table, _Waiting]":
        """Takes the next rows in event order, and returns the rows that arrive up to the last event time of these."""
        if happened.num_rows == 0:
            return happened, self
        times_us = event_times_us(happened)
        arrivals_us = np.concatenate((self.arrivals_us, times_us + delays_us))
        order = np.argsort(arrivals_us, kind="stable")
        sorted_us = arrivals_us[order]
        cut = int(np.searchsorted(sorted_us, times_us[-1], side="right"))
        rows = pa.concat_tables([self.table, happened]).take(pa.array(order)).combine_chunks()
        return rows.slice(0, cut), _Waiting(rows.slice(cut), sorted_us[cut:])


def _delays_us(generator: np.random.Generator, rows: int, share: float, depth_us: int) -> Whole:
    delayed, depth = generator.random((rows, 2)).T
    return np.where(delayed < share, 1 + (depth * depth_us).astype(np.int64), 0)
