"""Streams of known rates and keys, and what is sampled of them."""

from typing import Any

import numpy as np
import pyarrow as pa

from joinfold.planner.stream_statistics import Statistics
from joinfold.statistics.sampling import sampled_statistics
from tests.operators.runs import plan_of

SECOND = 1_000_000
WINDOW = "[1 MINUTE SLIDE 10 SECOND]"
SCHEMA = "k INT, g INT, v INT"
JOINED = f"SELECT a.g, COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k AND a.v < 25 GROUP BY a.g"


def table(rows: int, rate: float = 100.0, keys: int = 10, seed: int = 0, **columns: Any) -> pa.Table:
    """Rows at an even rate with random keys; columns may be given."""
    random = np.random.default_rng(seed)
    ts = (np.arange(rows) * SECOND / rate).astype(np.int64)
    found = {
        "ts": ts,
        "k": random.integers(0, keys, rows),
        "g": random.integers(0, 4, rows),
        "v": np.arange(rows) % 100,
    }
    found |= columns
    types = {"ts": pa.int64()} | {name: pa.int32() for name in ("k", "g", "v")}
    read = {name: pa.array(column, types[name]) for name, column in found.items()}
    return pa.table(read | {"ts": read["ts"].cast(pa.timestamp("us", "UTC"))})


def statistics(text: str, **tables: pa.Table) -> Statistics:
    """What is sampled of the streams of a query."""
    return sampled_statistics(plan_of(text, SCHEMA), tables)
