"""Checks the history of a run that was killed again and again: what its sink has got, against laws and the definition.

attempts    all attempts at a micro-batch hand over the same answers
once        an instant is answered in one micro-batch only, and never again
changes     CHANGES, added up, give the answers of SNAPSHOT at every instant
bank        the total is 0 at every instant
answers     all answers together are those of the definition
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from joinfold.dialect import bind, parse, read_schema
from joinfold.inprocess import InProcess
from joinfold.logical.query import LogicalQuery, Source
from joinfold.planner.planning import plan_query
from joinfold.reference.rows import from_arrow
from joinfold.reference.streaming import stream
from tests.crashes.sink_log import committed_files
from tests.crashes.workload import BANK, KINDS, SCHEMA, SECOND_US, STREAMS, Data, query_of
from tests.operators.runs import Answers, answer, feed
from tests.strategies import assert_same_answers

Rows = list[dict[str, Any]]


def check_history(kind: str, sink: str, folder: Path, batches: list[Data]) -> int:
    """Checks everything that the sink has got, and returns the number of answers."""
    rows = _from_parquet(folder) if sink == "parquet" else _from_attempts(folder)
    query = query_of(kind)
    found = [tuple(row.values()) for row in rows]
    if kind == BANK:
        assert {row["total"] for row in rows} <= {0, None}, "money was made or lost"
    assert_same_answers(expected_answers(kind, query, batches), found)
    if query.changes:
        check_changes(query, kind, rows, batches)
    return len(rows)


def expected_answers(kind: str, query: LogicalQuery, batches: list[Data]) -> Answers:
    """The answers by the definition; of a query that sheds, those of a run in process that nothing interrupts."""
    if query.shed is None:
        return stream(query, batches).answers
    machine, found = InProcess(plan_query(query)), Answers()
    for batch in batches:
        feed(machine, batch)
        found += answer(machine)
    return found


def check_changes(query: LogicalQuery, kind: str, rows: Rows, batches: list[Data]) -> None:
    """Adds up the changes of all groups, instant by instant, and compares them with SNAPSHOT."""
    columns = read_schema(SCHEMA)
    catalog = {name: Source(name, columns, True, "ts", SECOND_US) for name in STREAMS}
    snapshots = stream(bind(parse(KINDS[kind].removesuffix(" CHANGES")), catalog), batches).answers
    by_instant: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for instant, *values in snapshots:
        by_instant[instant].append(tuple(values))
    current: dict[Any, tuple[Any, ...]] = {}
    changes = sorted(rows, key=lambda row: row["instant"])
    for instant in sorted({row["instant"] for row in rows} | set(by_instant)):
        for row in (row for row in changes if row["instant"] == instant):
            _, change, group, *values = row.values()
            is_known = group in current
            assert is_known == (change != "insert"), f"{change} of {group} at {instant}"
            current.pop(group, None)
            if change != "delete":
                current[group] = (group, *values)
        assert_same_answers(by_instant[instant], list(current.values()))


def _from_parquet(folder: Path) -> Rows:
    """The answers that Spark's file sink has committed, as its own reader would find them."""
    tables = [parquet.read_table(path) for path in committed_files(folder / "out")]
    return _rows_of(tables)


def _from_attempts(folder: Path) -> Rows:
    """The answers of each micro-batch once; all attempts must have the same."""
    attempts: dict[str, list[pa.Table]] = defaultdict(list)
    for path in sorted((folder / "out").glob("*.parquet")):
        attempts[path.name.split("-")[0]].append(parquet.read_table(path))
    for batch, tables in attempts.items():
        first, *others = ([tuple(row.values()) for row in from_arrow(table)] for table in tables)
        for other in others:
            try:
                assert_same_answers(first, other, 0.0)
            except AssertionError as error:
                raise AssertionError(f"attempts at micro-batch {int(batch)} differ: {error}") from error
    return _rows_of(tables[0] for tables in attempts.values())


def _rows_of(tables: Iterable[pa.Table]) -> Rows:
    return [row for table in tables for row in from_arrow(table)]
