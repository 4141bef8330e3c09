"""Every random column is a pure function of (seed, stream, block, column).

A stream is divided into blocks of a fixed number of rows. Each column of a block has its own random generator, seeded
with these four. So

* the same seed gives the same data on every run, in whatever order blocks and columns are made;
* a short stream is the beginning of a long one: a shorter block draws the first of the same numbers;
* a new column does not change other columns.

Only one block per stream is in memory at a time, so streams may have hundreds of millions of rows.
"""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Real = NDArray[np.float64]

ROWS_PER_BLOCK = 64_000
"""The rows of all streams together in one block: few enough for the processor's cache, and a multiple of 50."""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows ``first_row`` to ``first_row + rows`` (exclusive) of one stream, and the random numbers for them."""

    seed: int
    stream: str
    index: int
    first_row: int
    rows: int

    @property
    def row_numbers(self) -> Whole:
        """The number of each row in its stream, from 0."""
        return np.arange(self.first_row, self.first_row + self.rows, dtype=np.int64)

    def uniform(self, column: str) -> Real:
        """Uniform real numbers in [0, 1)."""
        return self._generator(column).random(self.rows)

    def normal(self, column: str) -> Real:
        """Normally distributed real numbers with mean 0 and standard deviation 1."""
        return self._generator(column).standard_normal(self.rows)

    def whole_numbers(self, column: str, below: int) -> Whole:
        """Uniform integers in [0, below)."""
        return self._generator(column).integers(0, below, self.rows, dtype=np.int64)

    def chosen(self, column: str, share: float) -> NDArray[np.bool_]:
        """True with probability ``share`` for each row."""
        return self.uniform(column) < share

    def between(self, column: str, low: Whole, high: Whole) -> Whole:
        """Uniform integers in [low, high], with bounds for each row."""
        return low + (self.uniform(column) * (high - low + 1)).astype(np.int64)

    def zipf(self, column: str, keys: int, exponent: float) -> Whole:
        """Integers in [0, keys) with P(k) proportional to 1/(k+1)^exponent; exponent 0 is uniform."""
        if exponent == 0:
            return self.whole_numbers(column, keys)
        drawn = np.searchsorted(zipf_cumulative(keys, exponent), self.uniform(column), side="right")
        return np.minimum(drawn, keys - 1)

    def _generator(self, column: str) -> np.random.Generator:
        return seeded_generator(self.seed, self.stream, self.index, column)


def seeded_generator(seed: int, stream: str, index: int, column: str) -> np.random.Generator:
    """The random generator of one column of one block; also for facts that belong to no row, such as fires."""
    entropy = [seed, zlib.crc32(stream.encode()), index, zlib.crc32(column.encode())]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))


@lru_cache(maxsize=4)
def zipf_cumulative(keys: int, exponent: float) -> Real:
    """P(key ≤ k) for k = 0 … keys−1 in the bounded Zipf distribution. Cost: O(keys) once; a draw is O(log keys)."""
    cumulative = np.cumsum(np.arange(1, keys + 1, dtype=np.float64) ** -exponent)
    cumulative /= cumulative[-1]
    cumulative.flags.writeable = False
    return cumulative


def blocks(seed: int, rows: Mapping[str, int], rows_per_block: Mapping[str, int]) -> Iterator[dict[str, Block]]:
    """Divides every stream into blocks, and yields one block of each at a time; it is empty if a stream has ended."""
    count = max(-(-rows[stream] // rows_per_block[stream]) for stream in rows)
    for index in range(count):
        step = {}
        for stream, total in rows.items():
            first_row = min(index * rows_per_block[stream], total)
            size = min(rows_per_block[stream], total - first_row)
            step[stream] = Block(seed, stream, index, first_row, size)
        yield step


def share_out(total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Divides ``total`` rows in proportion to the weights; the rest goes to the streams with the largest remainders."""
    scale = total / sum(weights.values())
    exact = {stream: weight * scale for stream, weight in weights.items()}
    shares = {stream: int(value) for stream, value in exact.items()}
    by_remainder = sorted(weights, key=lambda stream: shares[stream] - exact[stream])
    for stream in by_remainder[: total - sum(shares.values())]:
        shares[stream] += 1
    return shares
