"""DuckDB, which computes the answer of every instant anew from the rows of the windows, all in memory.

There are two query texts: the query as written, and the query with b aggregated by key before the join, as an expert
would write it. The rows are in one of two forms:

- in DuckDB's own tables. DuckDB has statistics of these, and aggregates both sides early by itself.
- in Arrow tables, like rows that a program has just received. DuckDB has no statistics of these, and joins first.

DuckDB does not stream. Its rate is the number of rows that a slide brings, divided by the time to load them and to
answer the instant of the slide.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from joinfold_bench.data import STREAMS

DUCK = "DuckDB recomputing"
PAIR_COLUMNS = dict.fromkeys(STREAMS, "key, g, v")

AS_WRITTEN = """
SELECT $2::BIGINT AS instant, a.g, count(*)::BIGINT AS n, sum(b.v)::BIGINT AS s
FROM (FROM a WHERE ts >= $1 AND ts < $2) a JOIN (FROM b WHERE ts >= $1 AND ts < $2) b USING (key)
GROUP BY a.g
"""

AGGREGATED_FIRST = """
SELECT $2::BIGINT AS instant, a.g, sum(b.n)::BIGINT AS n, sum(b.s)::BIGINT AS s
FROM (FROM a WHERE ts >= $1 AND ts < $2) a
JOIN (SELECT key, count(*) AS n, sum(v) AS s FROM b WHERE ts >= $1 AND ts < $2 GROUP BY key) b USING (key)
GROUP BY a.g
"""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """The answers at some instants, and the seconds that each took."""

    answers: pa.Table
    seconds: tuple[float, ...]


class DuckTables:
    """The streams of a folder as tables of DuckDB in memory, sorted by time: the event time and the named columns."""

    def __init__(self, directory: Path, columns: Mapping[str, str] = PAIR_COLUMNS) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        began = time.perf_counter()
        for stream, named in columns.items():
            files = str(directory / stream / "*.parquet")
            read = f"SELECT epoch_us(ts) AS ts, {named} FROM read_parquet(?) ORDER BY 1"
            self.connection.execute(f"CREATE TABLE {stream} AS {read}", [files])
        self.load_seconds = time.perf_counter() - began

    def recompute(self, text: str, instants: Sequence[int], size_us: int, cap_seconds: float) -> Recomputed:
        """The answers at the instants, in order. Stops after the first answer beyond the cap."""
        answers, seconds = [], []
        began = time.perf_counter()
        for instant in instants:
            before = time.perf_counter()
            answers.append(self.answer(text, instant - size_us, instant))
            seconds.append(time.perf_counter() - before)
            if time.perf_counter() - began > cap_seconds:
                break
        return Recomputed(pa.concat_tables(answers), tuple(seconds))

    def answer(self, text: str, begin: int, end: int) -> pa.Table:
        """The answer for windows that hold [begin, end)."""
        return self.connection.sql(text, params=[begin, end]).to_arrow_table()

    def close(self) -> None:
        """Releases the memory."""
        self.connection.close()


class ArrowTables(DuckTables):
    """The same streams as Arrow tables. For each answer, DuckDB gets only the rows of its windows."""

    def __init__(self, directory: Path, columns: Mapping[str, str] = PAIR_COLUMNS) -> None:
        super().__init__(directory, columns)  # times the loading; the conversion to Arrow is not timed
        self.rows = {stream: self.connection.table(stream).to_arrow_table().combine_chunks() for stream in columns}
        self.times = {stream: rows.column("ts").to_numpy() for stream, rows in self.rows.items()}
        for stream in columns:
            self.connection.execute(f"DROP TABLE {stream}")

    def answer(self, text: str, begin: int, end: int) -> pa.Table:
        """The answer for windows that hold [begin, end)."""
        for stream, rows in self.rows.items():
            first, last = np.searchsorted(self.times[stream], (begin, end))
            self.connection.register(stream, rows.slice(first, last - first))
        return super().answer(text, begin, end)
