"""Draws: a uniform number for each row or key, by which SHED decides what is kept.

A draw is a hash, so a replay draws alike, and so do all inputs that have the same key. The seed makes the sample of one
query differ from that of another. It is mixed in after the hash that finds the bucket of a key, so that each bucket has
the same share of kept keys.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from joinfold.kernels.grouping import group_rows, mix, sum_ints
from joinfold.operators.entries import Integers
from joinfold.operators.values import stable_hash
from joinfold.physical.column_names import COUNT, DRAW
from joinfold.physical.shedding import DRAWS, MOST_ROWS_FOR_ONE, REPLICATES, KeySampling, Shedding
from joinfold.shedding.heavy_keys import MULTIPLIER, REMEMBERED, SMALLEST

SALT = 0x5EED


def draws(columns: list[pa.Array], seed: int) -> Integers:
    """The draw of each row, at least 0 and below `DRAWS`."""
    hashed = stable_hash(columns).view(np.int64)
    salted = mix(np.stack([hashed, np.full(len(hashed), seed, np.int64), np.full(len(hashed), SALT, np.int64)]))
    return (salted // np.uint64(2**64 // DRAWS)).astype(np.int64)


def row_draws(columns: list[pa.Array], seed: int) -> Integers:
    """The draws of single rows, rounded so that few of them differ, and rows can be added up.

    A sample of one row in m has the rows whose draw is below 1/m. Only the largest such m of a row matters, and its
    replicate, which the last bits of a draw hold.
    """
    exact = draws(columns, seed)
    largest = np.minimum(DRAWS // (exact + 1), MOST_ROWS_FOR_ONE)
    above = -(-(DRAWS // (largest + 1)) // REPLICATES["row"]) * REPLICATES["row"]
    return above + exact % REPLICATES["row"]


def with_draws(entries: pa.RecordBatch, names: tuple[str, ...], seed: int) -> pa.RecordBatch:
    """Entries with a draw for each, from the columns of these names."""
    return entries.append_column(DRAW, pa.array(draws([entries.column(name) for name in names], seed)))


def seed_of(shedding: Shedding, stream: int) -> int:
    """The seed of a stream's draws: the same for all streams if keys are sampled, as these have them in common."""
    return shedding.seed if isinstance(shedding, KeySampling) else shedding.seed ^ (stream + 1) << 48


def weigh_keys(entries: pa.RecordBatch) -> tuple[list[Any], list[int]]:
    """The heaviest keys of a batch, with the draw, the rows and the entries of each, and the smallest draws."""
    if not entries.num_rows:
        return [], []
    drawn = entries.column(DRAW).to_numpy()
    key_of_entry, first = group_rows(drawn[np.newaxis])
    rows = sum_ints(key_of_entry, len(first), entries.column(COUNT).to_numpy())
    own = np.bincount(key_of_entry, minlength=len(first))
    keys = drawn[first]
    tie_breaks = keys.view(np.uint64) * np.uint64(MULTIPLIER)  # as `heavy_keys.tie_break`
    heavy = np.lexsort((tie_breaks, -rows))[:REMEMBERED]
    return np.stack([keys[heavy], rows[heavy], own[heavy]], axis=1).tolist(), smallest_draws(keys)


def smallest_draws(keys: Integers) -> list[int]:
    """The smallest of different draws. They tell how many there are."""
    found: list[int] = np.sort(keys if len(keys) <= SMALLEST else np.partition(keys, SMALLEST)[:SMALLEST]).tolist()
    return found
