"""Writes the files of two streams by the clock: event time is wall-clock time, and a file has the rows of one second.

A period has every kind of weather, at the same part of it:

    0         0.25        0.4         0.6         0.75   0.85      1
    ├─ steady ─┼─ burst ──┼─ steady ──┼─ b is silent ┼── late ┼ ahead ┤
                 × 5                                   flood    a row two days in the future
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

SCHEMA = "ts TIMESTAMP, k INT, g STRING, v BIGINT"
STREAMS = ("a", "b")
SIZE, SLIDE = 10, 1
WINDOW = f"[{SIZE} SECOND SLIDE {SLIDE} SECOND]"
QUERY = f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k GROUP BY a.g"
DELAY, IDLE = "1 second", "3 seconds"
SECOND_US = 1_000_000
DAY_US = 86_400 * SECOND_US
KEYS, GROUPS, VALUES = 500, 20, 1_000
BURST, FLOOD_SECONDS = 5, 40
COLUMNS = pa.schema({"ts": pa.timestamp("us", tz="UTC"), "k": pa.int32(), "g": pa.string(), "v": pa.int64()}.items())


@dataclass(frozen=True, slots=True)
class Feed:
    """The streams of a soak: ``rate`` rows per second of each, in periods of ``period`` seconds."""

    folder: Path
    seed: int
    rate: int
    period: int

    def write(self, second: int) -> None:
        """Writes the rows of a second that has just passed."""
        for number, name in enumerate(STREAMS):
            rows = self._rows(number, second)
            if rows.num_rows:
                folder = self.folder / name
                folder.mkdir(parents=True, exist_ok=True)
                unfinished = folder / f".{second}"  # Spark does not read hidden files
                parquet.write_table(rows, unfinished)
                os.replace(unfinished, folder / f"{second}.parquet")

    def _rows(self, number: int, second: int) -> pa.Table:
        part = second % self.period / self.period
        draw = np.random.default_rng((self.seed, second, number))
        count = self.rate * (BURST if 0.25 <= part < 0.4 else 1)
        if STREAMS[number] == "b" and 0.6 <= part < 0.75:
            count = 0
        times = second * SECOND_US + draw.integers(0, SECOND_US, count)
        if 0.75 <= part < 0.85:
            flood = draw.integers(0, FLOOD_SECONDS * SECOND_US, self.rate)
            times = np.concatenate([times, second * SECOND_US - flood])
        if 0.85 <= part < 0.85 + 1 / self.period:
            times = np.append(times, second * SECOND_US + 2 * DAY_US)
        rows = len(times)
        columns = (
            pa.array(times, pa.timestamp("us", tz="UTC")),
            pa.array(draw.integers(0, KEYS, rows).astype(np.int32)),
            pa.array([f"g{own}" for own in draw.integers(0, GROUPS, rows)], pa.string()),
            pa.array(draw.integers(0, VALUES, rows)),
        )
        return pa.Table.from_arrays(list(columns), schema=COLUMNS)
