"""The streams that the engines read: R0, R1, variants of R1 for the sweeps, and the auctions J0 and J1.

A suite writes its files once, and every engine reads the same bytes in the same micro-batches. Spark reads files in the
order of their modification times. These are set here, because they would otherwise depend on the speed of the disk.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from joinfold.workloads import batches, generate
from joinfold.workloads.arrival import SECOND_US, START_US
from joinfold.workloads.auctions import KINDS

SEED = 7
STREAMS = ("a", "b")
FIRST_MODIFIED_SECONDS = START_US // SECOND_US


@dataclass(frozen=True, slots=True)
class Dataset:
    """Two streams, and how they are divided into files and micro-batches.

    ``hot_share``: about this share of the rows of both streams has the same key.
    ``shared_keys``: how many keys occur in both streams; all others occur in one stream only. None: all are shared.
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
        parts += [f"{self.hot_share:.0%} of the rows on one key"] if self.hot_share else []
        return ", ".join([*parts, f"{self.groups:,} groups"])

    @property
    def batch_rows(self) -> int:
        """Rows of both streams in a full micro-batch."""
        return len(STREAMS) * self.rows_per_file * self.files_per_batch

    def rows_within(self, us: int) -> float:
        """The number of rows of both streams in ``us`` microseconds of event time."""
        return len(STREAMS) * self.rows_per_second * us / SECOND_US

    def pairs(self, size_us: int) -> float:
        """The expected number of matching pairs in two full windows, for uniform keys."""
        shared = self.keys if self.shared_keys is None else self.shared_keys
        return shared * (self.rows_within(size_us) / len(STREAMS) / self.keys) ** 2

    def keys_for(self, pairs: float, size_us: int) -> int:
        """The number of keys for which full windows have this many matching pairs, if all keys are shared."""
        return max(1, round((self.rows_within(size_us) / len(STREAMS)) ** 2 / pairs))

    def write(self, directory: Path) -> None:
        """Writes a folder for each stream, and sets the order in which its files are read."""
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
        for stream_number, stream in enumerate(STREAMS):
            for number, file in enumerate(sorted((directory / stream).glob("*.parquet"))):
                if self.hot_share or self.shared_keys is not None:
                    self._change_keys(file, stream_number, number)
                set_file_order(file, number)

    def _change_keys(self, file: Path, stream_number: int, number: int) -> None:
        table = parquet.read_table(file)
        keys = table.column("key").to_numpy().copy()
        hot = np.random.default_rng((SEED, stream_number, number)).random(len(keys)) < self.hot_share
        keys[hot] = 0
        if self.shared_keys is not None and stream_number == 1:
            keys += self.keys - self.shared_keys
        parquet.write_table(table.set_column(1, table.schema.field("key"), pa.array(keys)), file)


@dataclass(frozen=True, slots=True)
class AuctionData:
    """Persons, auctions and bids. Files with the same number hold rows of the same time, whatever the stream."""

    name: str
    events: int
    events_per_second: float
    events_per_file: int
    files_per_batch: int

    def __str__(self) -> str:
        return f"{self.name}: {self.events:,} events, {self.events_per_second:,g} per second"

    @property
    def batch_rows(self) -> int:
        """Rows of all three streams in a full micro-batch."""
        return self.events_per_file * self.files_per_batch

    def write(self, directory: Path) -> None:
        """Writes a folder for each stream, and sets the order in which its files are read."""
        blocks = list(batches("auctions", rows=self.events, seed=SEED, events_per_second=self.events_per_second))
        for stream, kind in KINDS.items():
            rows = pa.concat_tables([block[stream] for block in blocks])
            folder = directory / stream
            folder.mkdir(parents=True)
            for number, first in enumerate(range(0, self.events, self.events_per_file)):
                start, end = kind.rows_in(first), kind.rows_in(min(first + self.events_per_file, self.events))
                file = folder / f"part-{number:05d}.parquet"
                parquet.write_table(rows.slice(start, end - start), file)
                set_file_order(file, number)


def set_file_order(file: Path, number: int) -> None:
    """Sets the modification time of a file, so that Spark reads it as file ``number`` of its stream."""
    os.utime(file, (FIRST_MODIFIED_SECONDS + number,) * 2)


R1 = Dataset("R1", files_per_batch=10)
LONG_R1 = replace(R1, seconds=600)
"""R1 three times as long: six micro-batches."""
R0 = Dataset("R0", rows_per_second=1_000, keys=1_000, rows_per_file=5_000)
J1 = AuctionData("J1", events=5_000_000, events_per_second=2_500, events_per_file=100_000, files_per_batch=10)
J0 = AuctionData("J0", events=100_000, events_per_second=50, events_per_file=20_000, files_per_batch=1)
"""Both cover 2,000 s in five micro-batches. Windows of ten minutes are full before the third micro-batch."""
