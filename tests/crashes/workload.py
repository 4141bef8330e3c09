"""Queries of every kind, and files of rows for them: each file of a stream is one micro-batch.

Rows overlap in time from file to file, and some are late. For the bank, every transfer is two rows whose amounts add up
to 0, so the total is 0 at every instant, whatever the window.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow.parquet as parquet

import joinfold as jf
from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import LogicalQuery, Source
from joinfold.reference.rows import Row, to_arrow

SCHEMA = "ts TIMESTAMP, k INT, g STRING, v BIGINT"
STREAMS = ("a", "b", "c")
FILES, ROWS, ACCOUNTS = 30, 8, 5
SECOND_US = 1_000_000
DELAY = "1 second"
SIX, FOUR = "[6 SECOND SLIDE 1 SECOND]", "[4 SECOND SLIDE 2 SECOND]"
GROUPED = f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s FROM a {SIX}, b {FOUR} WHERE a.k = b.k GROUP BY a.g"
KINDS = {
    "fold": GROUPED,
    "extremes": GROUPED.replace("SUM(b.v) AS s", "MAX(b.v) AS s, MIN(a.v) AS low"),
    "changes": f"{GROUPED} CHANGES",
    "chain": f"SELECT COUNT(*) AS n, SUM(c.v) AS s FROM a {SIX}, b {SIX}, c {FOUR} WHERE a.k = b.k AND b.g = c.g",
    "rows": "SELECT COUNT(*) AS n, SUM(a.v) AS s FROM a [ROWS 20 SLIDE 5], b [6 SECOND] WHERE a.k = b.k "
    "EMIT EVERY 1 SECOND",
    "per key": f"SELECT a.k, COUNT(*) AS n FROM a [PARTITION BY k ROWS 3], b {SIX} WHERE a.k = b.k GROUP BY a.k",
    "window ids": f"SELECT COUNT(*) AS n, SUM(b.v) AS s FROM a {SIX}, b [ROWS 12 SLIDE 6] WHERE a.k = b.k "
    "SYNC ON WINDOW ID",
    "arrival": "SELECT COUNT(*) AS n, SUM(b.v) AS s FROM a [6 SECOND], b [4 SECOND] WHERE a.k = b.k EMIT ON ARRIVAL",
    "plain join": "SELECT a.k, a.v, b.v AS w FROM a [3 SECOND], b [2 SECOND] WHERE a.k = b.k",
    "residual": f"SELECT COUNT(*) AS n FROM a {SIX}, b {SIX} WHERE a.k = b.k AND a.v + b.v > 10",
    "bank": "SELECT COUNT(*) AS n, SUM(a.v) AS total FROM a [6 SECOND SLIDE 1 SECOND], b [UNBOUNDED] WHERE a.k = b.k",
    "shed keys": f"{GROUPED} SHED TO HOLD 40 ROWS SAMPLE BY KEY",
    "shed rows": f"{GROUPED} SHED TO HOLD 40 ROWS SAMPLE BY ROW",
}
BANK = "bank"

Data = dict[str, list[Row]]


def micro_batches(kind: str, seed: int) -> list[Data]:
    """The rows of a run, micro-batch by micro-batch."""
    draw = Random(f"{kind} {seed}")
    return [_bank(number, draw) if kind == BANK else _rows(number, draw) for number in range(FILES)]


def _rows(number: int, draw: Random) -> Data:
    return {
        name: [
            {
                "ts": max(0, _time(number, draw) - (8 * SECOND_US if draw.random() < 0.05 else 0)),
                "k": draw.choice([0, 0, 1, 2, 3, None]),
                "g": draw.choice(["x", "y", "é", None]),
                "v": draw.randrange(-9, 20),
            }
            for _ in range(ROWS)
        ]
        for name in STREAMS
    }


def _bank(number: int, draw: Random) -> Data:
    transfers: list[Row] = []
    for _ in range(ROWS // 2):
        time, amount = _time(number, draw), draw.randrange(1, 100)
        for account, own in zip(draw.sample(range(ACCOUNTS), 2), (amount, -amount), strict=True):
            transfers.append({"ts": time, "k": account, "g": None, "v": own})
    first = 0 if number == 0 else number * SECOND_US
    keys = range(ACCOUNTS) if number == 0 else [None]
    accounts: list[Row] = [{"ts": first, "k": account, "g": None, "v": 0} for account in keys]
    return {"a": transfers, "b": accounts, "c": []}


def _time(number: int, draw: Random) -> int:
    """A time in the second of a file, or in the one before it."""
    return max(0, number - draw.randrange(2)) * SECOND_US + draw.randrange(SECOND_US)


def write_files(folder: Path, batches: list[Data]) -> None:
    """One file for each micro-batch of a stream."""
    for name in STREAMS:
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number, batch in enumerate(batches):
            path = folder / name / f"{number:03}.parquet"
            parquet.write_table(to_arrow(batch[name], read_schema(SCHEMA)), path)
            os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes files by their age


def query_of(kind: str) -> LogicalQuery:
    """The query of a kind, as the definition reads it."""
    columns = read_schema(SCHEMA)
    return bind(parse(KINDS[kind]), {name: Source(name, columns, True, "ts", SECOND_US) for name in STREAMS})


@dataclass(frozen=True, slots=True)
class Running:
    """A query of some kind over the files of a folder."""

    session: jf.Session
    folder: Path
    kind: str

    def query(self) -> jf.Query:
        """The query over Spark's file source."""
        for name in STREAMS:
            reader = self.session.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
            self.session.stream(name, reader.parquet(f"{self.folder}/{name}"), time="ts", delay=DELAY)
        return self.session.sql(KINDS[self.kind])
