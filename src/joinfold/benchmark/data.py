"""The streams that the engines read: R0 and R1 of the design, and what the sweeps make of R1.

The files are written once for a suite, and every engine reads the same bytes in the same micro-batches. Spark takes
files in the order of their modification, so that order is set here and not left to the speed of the disk.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from joinfold.workloads import generate
from joinfold.workloads.arrival import SECOND_US, START_US

SEED = 7
STREAMS = ("a", "b")
FIRST_MODIFIED_SECONDS = START_US // SECOND_US


@dataclass(frozen=True, slots=True)
class Dataset:
    """Two streams and how they are cut into micro-batches.

    ``hot_share``: this share of the rows of both streams has one and the same key.
    ``shared_keys``: so many keys occur in both streams, the others in one of them only; None is all.
    """

    name: str
    rows_per_second: int = 10_000
    seconds: int = 200
    keys: int = 10_000
    groups: int = 100
    rows_per_file: int = 100_000
    files_per_batch: int = 5
    hot_share: float = 0.0
    shared_keys: int | None = None

    def __str__(self) -> str:
        parts = [f"{self.name}: {self.rows_per_second:,} rows/s for {self.seconds} s", f"{self.keys:,} keys"]
        parts += [f"{self.shared_keys:,} of them shared"] if self.shared_keys is not None else []
        parts += [f"{self.hot_share:.0%} of the rows on one"] if self.hot_share else []
        return ", ".join([*parts, f"{self.groups:,} groups"])

    @property
    def batch_rows(self) -> int:
        """Rows of both streams in a full micro-batch."""
        return len(STREAMS) * self.rows_per_file * self.files_per_batch

    def rows_within(self, us: int) -> float:
        """Rows of both streams in so much event time."""
        return len(STREAMS) * self.rows_per_second * us / SECOND_US

    def pairs(self, size_us: int) -> float:
        """Expected number of matching pairs in two full windows of uniform keys."""
        shared = self.keys if self.shared_keys is None else self.shared_keys
        return shared * (self.rows_within(size_us) / len(STREAMS) / self.keys) ** 2

    def keys_for(self, pairs: float, size_us: int) -> int:
        """How many keys make so many pairs, if all are shared."""
        return max(1, round((self.rows_within(size_us) / len(STREAMS)) ** 2 / pairs))

    def write(self, directory: Path) -> None:
        """A folder for each stream, with files in the order in which they are to be read."""
        generate(
            "synthetic",
            directory=directory,
            seed=SEED,
            rows_per_file=self.rows_per_file,
            rows_per_second=self.rows_per_second,
            seconds=self.seconds,
            keys=self.keys,
            groups=self.groups,
        )
        for place, stream in enumerate(STREAMS):
            for number, file in enumerate(sorted((directory / stream).glob("*.parquet"))):
                if self.hot_share or self.shared_keys is not None:
                    self._change_keys(file, place, number)
                os.utime(file, (FIRST_MODIFIED_SECONDS + number,) * 2)

    def _change_keys(self, file: Path, place: int, number: int) -> None:
        table = parquet.read_table(file)
        keys = table.column("key").to_numpy().copy()
        hot = np.random.default_rng((SEED, place, number)).random(len(keys)) < self.hot_share
        keys[hot] = 0
        if self.shared_keys is not None and place == 1:
            keys += self.keys - self.shared_keys
        parquet.write_table(table.set_column(1, table.schema.field("key"), pa.array(keys)), file)


R1 = Dataset("R1", files_per_batch=10)
R0 = Dataset("R0", rows_per_second=1_000, keys=1_000, rows_per_file=5_000)
