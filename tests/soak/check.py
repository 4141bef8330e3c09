"""Checks all answers of a soak, in DuckDB, so that hours of rows can be checked.

The logs of Spark say which file was in which micro-batch, and when that was. The watermarks follow from these by the
definition (`reference.streaming.watermark_history`), from the watermarks which rows are late, and from the others the
answers.

attempts    all attempts at a micro-batch hand over the same answers
once        an instant is answered in one micro-batch only
answers     all answers together are those of the rows that are neither late nor ahead
counters    late rows and rows ahead are counted, each once
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import duckdb

from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import LogicalQuery, Source
from joinfold.reference.streaming import watermark_history
from joinfold.timetext import duration_us
from tests.soak.feed import DAY_US, DELAY, IDLE, QUERY, SCHEMA, SECOND_US, SIZE, SLIDE, STREAMS
from tests.soak.victim import CHECKPOINT, OUT, PROGRESS

BATCHES = "batches.jsonl"
CHUNK = 600


@dataclass(frozen=True, slots=True)
class Checked:
    """How much was checked."""

    rows: int
    late_rows: int
    ahead_rows: int
    micro_batches: int
    attempts: int
    answers: int


def note_batches(folder: Path, known: set[int]) -> None:
    """Writes the micro-batches that Spark has planned since the last call: it removes old ones from its log."""
    with (folder / BATCHES).open("a") as file:
        for path in sorted((folder / CHECKPOINT / "offsets").glob("[0-9]*")):
            if int(path.name) not in known:
                lines = path.read_text().splitlines()
                if len(lines) < 2 + len(STREAMS):  # it is being written
                    continue
                offsets = [-1 if line == "-" else json.loads(line)["logOffset"] for line in lines[2:]]
                clock_ms = json.loads(lines[1])["batchTimestampMs"]
                file.write(json.dumps({"batch": int(path.name), "clock_ms": clock_ms, "offsets": offsets}) + "\n")
                known.add(int(path.name))


def check(folder: Path) -> Checked:
    """Checks everything that the sink has got; raises `AssertionError` with the first differences."""
    batches = sorted((json.loads(line) for line in (folder / BATCHES).read_text().splitlines()), key=_number)
    numbers = [own["batch"] for own in batches]
    assert numbers == list(range(len(batches))), "a micro-batch was not noted"
    with duckdb.connect() as base:
        base.execute("SET TimeZone = 'UTC'; SET threads = 1")
        _load_rows(base, folder, batches)
        watermarks = _watermarks(base, batches)
        base.execute("CREATE TABLE clocks (batch BIGINT, watermark BIGINT)")
        base.executemany("INSERT INTO clocks VALUES (?, ?)", list(enumerate(watermarks[:-1])))
        late = {name: _drop_late(base, name) for name in STREAMS}
        ahead = {name: _count(base, f"SELECT count(*) FROM {name}_rows WHERE is_ahead") for name in STREAMS}
        _load_answers(base, folder, numbers[-1])
        _compare(base, watermarks[-1])
        told = json.loads((folder / PROGRESS).read_text().splitlines()[-1])
        assert (told["late"], told["ahead"]) == (late, ahead), f"counters: {told}, but late {late} and ahead {ahead}"
        rows = sum(_count(base, f"SELECT count(*) FROM {name}_rows") for name in STREAMS)
        return Checked(
            rows,
            sum(late.values()),
            sum(ahead.values()),
            len(batches),
            _count(base, "SELECT count(DISTINCT filename) FROM attempts"),
            _count(base, "SELECT count(*) FROM found"),
        )


def _number(batch: dict[str, Any]) -> int:
    return int(batch["batch"])


def _query() -> LogicalQuery:
    columns, delay = read_schema(SCHEMA), duration_us(DELAY)
    idle = {"b": duration_us(IDLE)}
    return bind(
        parse(QUERY), {name: Source(name, columns, True, "ts", delay, DAY_US, idle.get(name)) for name in STREAMS}
    )


def _load_rows(base: duckdb.DuckDBPyConnection, folder: Path, batches: list[dict[str, Any]]) -> None:
    """Every row with its micro-batch, and whether it is ahead of it."""
    logs = [_log(folder / CHECKPOINT / "sources" / str(number)) for number in range(len(STREAMS))]
    base.execute("CREATE TABLE files (path VARCHAR, batch BIGINT, clock BIGINT)")
    for number, log in enumerate(logs):
        entries = sorted(log.items(), key=lambda entry: entry[1])
        batch = 0
        for path, offset in entries:
            while batch < len(batches) and batches[batch]["offsets"][number] < offset:
                batch += 1
            if batch < len(batches):
                base.execute("INSERT INTO files VALUES (?, ?, ?)", [path, batch, 1000 * batches[batch]["clock_ms"]])
    for name in STREAMS:
        base.execute(
            f"CREATE TABLE {name}_rows AS SELECT batch, epoch_us(ts) AS ts, k, g, v, epoch_us(ts) > clock + {DAY_US} "
            f"AS is_ahead FROM read_parquet('{folder / name}/*.parquet', filename = true) JOIN files ON path = filename"
        )


def _log(log: Path) -> dict[str, int]:
    """The files of a source, each with the number of its entry in the log."""
    found = {}
    for path in log.iterdir():
        if path.name.partition(".")[0].isdecimal() and path.suffix in ("", ".compact"):
            for line in path.read_text().splitlines()[1:]:
                entry = json.loads(line)
                found[unquote(urlparse(entry["path"]).path)] = int(entry["batchId"])
    return found


def _watermarks(base: duckdb.DuckDBPyConnection, batches: list[dict[str, Any]]) -> list[int]:
    """The watermark at the start of every micro-batch, and after the last one."""
    largest: list[dict[str, list[dict[str, Any]]]] = [{name: [] for name in STREAMS} for _ in batches]
    for name in STREAMS:
        found = base.execute(f"SELECT batch, max(ts) FROM {name}_rows WHERE NOT is_ahead GROUP BY batch").fetchall()
        for batch, ts in found:
            largest[batch][name] = [{"ts": ts, "k": 0, "g": "", "v": 0}]
    clocks = [1000 * own["clock_ms"] for own in batches]
    history = watermark_history(_query(), largest, range(1, len(batches) + 1), clocks)
    return [-(2**62) if own is None else own for own in history]


def _drop_late(base: duckdb.DuckDBPyConnection, name: str) -> int:
    """Makes the cells of a stream from its rows that are in time; returns how many were late."""
    slide = SLIDE * SECOND_US
    base.execute(
        f"CREATE TABLE {name}_timely AS SELECT ts // {slide} AS cell, k, g, v "
        f"FROM {name}_rows JOIN clocks USING (batch) WHERE NOT is_ahead AND (ts // {slide} + 1) * {slide} > watermark"
    )
    counted = f"(SELECT count(*) FROM {name}_rows WHERE NOT is_ahead) - (SELECT count(*) FROM {name}_timely)"
    return _count(base, f"SELECT {counted}")


def _load_answers(base: duckdb.DuckDBPyConnection, folder: Path, last: int) -> None:
    """All attempts, and of each micro-batch one."""
    paths = [str(path) for path in sorted((folder / OUT).glob("*.parquet")) if int(path.name.split("-")[0]) <= last]
    base.execute(
        "CREATE TABLE attempts AS SELECT filename, "
        "CAST(regexp_extract(filename, '(\\d+)-[^/]*$', 1) AS BIGINT) AS batch, "
        "epoch_us(instant) AS instant, g, n, s FROM read_parquet(?, filename = true)",
        [paths],
    )
    base.execute(
        "CREATE TABLE found AS SELECT batch, instant, g, n, s FROM attempts WHERE filename IN "
        "(SELECT min(filename) FROM attempts GROUP BY batch)"
    )
    each = (
        "SELECT batch, count(*) AS n, sum(hash(instant, g, n, s)::HUGEINT) AS h FROM attempts GROUP BY batch, filename"
    )
    _none(base, f"SELECT batch FROM ({each}) GROUP BY batch HAVING count(DISTINCT (n, h)) > 1", "attempts differ")
    twice = "SELECT instant, count(DISTINCT batch) FROM found GROUP BY instant HAVING count(DISTINCT batch) > 1"
    _none(base, twice, "instants are answered twice")


def _compare(base: duckdb.DuckDBPyConnection, watermark: int) -> None:
    """Compares the answers of all instants, many at a time."""
    base.execute("CREATE TABLE a_cells AS SELECT cell, k, g, count(*) AS n FROM a_timely GROUP BY ALL")
    base.execute("CREATE TABLE b_cells AS SELECT cell, k, count(*) AS n, sum(v) AS s FROM b_timely GROUP BY ALL")
    first = _count(base, "SELECT least((SELECT min(cell) FROM a_cells), (SELECT min(cell) FROM b_cells))")
    last, cells = watermark // (SLIDE * SECOND_US), SIZE // SLIDE
    for start in range(first, last + 1, CHUNK):
        moves = f"(SELECT unnest(range({start}, {min(start + CHUNK, last + 1)})) AS move)"
        held = f"{moves} JOIN {{}} ON cell >= move - {cells} AND cell < move GROUP BY ALL"
        base.execute(
            "CREATE OR REPLACE TABLE expected AS "
            f"WITH a AS (SELECT move, k, g, sum(n) AS n FROM {held.format('a_cells')}), "
            f"b AS (SELECT move, k, sum(n) AS n, sum(s) AS s FROM {held.format('b_cells')}) "
            f"SELECT move * {SLIDE * SECOND_US} AS instant, g, sum(a.n * b.n)::BIGINT AS n, "
            "sum(a.n * b.s)::BIGINT AS s FROM a JOIN b USING (move, k) GROUP BY ALL"
        )
        end = min(start + CHUNK, last + 1) * SLIDE * SECOND_US
        own = f"SELECT instant, g, n, s FROM found WHERE instant >= {start * SLIDE * SECOND_US} AND instant < {end}"
        _none(base, f"SELECT * FROM expected EXCEPT ALL ({own})", "answers are missing")
        _none(base, f"{own} EXCEPT ALL SELECT * FROM expected", "answers are wrong")
    _none(base, f"SELECT * FROM found WHERE instant > {watermark}", "instants after the watermark are answered")


def _none(base: duckdb.DuckDBPyConnection, text: str, what: str) -> None:
    found: Iterable[tuple[Any, ...]] = base.execute(f"SELECT * FROM ({text}) LIMIT 5").fetchall()
    assert not found, f"{what}: {found}"


def _count(base: duckdb.DuckDBPyConnection, text: str) -> int:
    row = base.execute(text).fetchone()
    assert row is not None
    return int(row[0])
