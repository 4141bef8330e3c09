"""A workload written step by step, as time passes: every step adds a file to the folder of each stream.

Rows are assigned to steps by event time. So a reader that takes the files as they appear sees all streams up to the
same time.
"""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from joinfold.workloads.arrival import SECOND_US
from joinfold.workloads.catalog import DEFAULT_SEED, batches
from joinfold.workloads.tables import event_times_us

ENDLESS = 10**12


class Feed:
    """The streams of a workload, written up to a time that only advances."""

    def __init__(
        self, name: str, directory: Path, *, rows: int = ENDLESS, seed: int = DEFAULT_SEED, **parameters: object
    ) -> None:
        self.directory = directory
        self._tables = batches(name, rows=rows, seed=seed, **parameters)
        self._waiting: dict[str, pa.Table] = next(self._tables)
        self._first_us = min(int(event_times_us(table)[0]) for table in self._waiting.values() if table.num_rows)
        self._files = 0
        for stream in self._waiting:
            (directory / stream).mkdir(parents=True)

    def advance(self, seconds: float) -> int:
        """Writes the rows up to ``seconds`` after the first row, one file per stream; returns how many were written."""
        until_us = self._first_us + round(seconds * SECOND_US)
        while min(map(_reached_us, self._waiting.values())) < until_us and self._read_more():
            pass
        written = 0
        for stream, table in self._waiting.items():
            rows = int(np.searchsorted(event_times_us(table), until_us))
            if rows:
                _write(table.slice(0, rows), self.directory / stream / f"part-{self._files:05d}.parquet")
                self._waiting[stream] = table.slice(rows)
                written += rows
        self._files += 1
        return written

    def _read_more(self) -> bool:
        step = next(self._tables, None)
        for stream, table in (step or {}).items():
            self._waiting[stream] = pa.concat_tables([self._waiting[stream], table])
        return step is not None


def _reached_us(table: pa.Table) -> int:
    return int(event_times_us(table)[-1]) if table.num_rows else 0


def _write(table: pa.Table, path: Path) -> None:
    """Writes under a hidden name and renames, so that readers see only complete files."""
    hidden = path.with_name(f".{path.name}.tmp")
    parquet.write_table(table, hidden)
    os.replace(hidden, path)
