"""States that an earlier joinfold has written, one file for each kind of query.

A file has what a checkpoint has, the manifest and the map of each bucket, and the rows of before and of after. They are
what users have on their disks: `python -m tests.operators.state.golden` writes them only where the version of blobs
changes on purpose.
"""

import json
from base64 import b64decode, b64encode
from dataclasses import asdict
from pathlib import Path
from typing import Any

from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import LogicalQuery, Source
from joinfold.planner.planning import plan_query
from joinfold.runtime.checkpoints.manifest import Manifest
from tests.operators.runs import Data
from tests.operators.state.kept import LABELS, Query, going_on
from tests.operators.state.memory import Memory

FOLDER = Path(__file__).parent.parent.parent / "golden" / "states"
SCHEMA = "ts TIMESTAMP, k INT, j INT, v BIGINT"
BEFORE, TO_COME = 10, 5
WINDOW = "[8 MICROSECOND SLIDE 4 MICROSECOND]"
SUMS = "COUNT(*) AS n, SUM(a.v) AS t, AVG(a.v / 4) AS s, MAX(b.v) AS x"
TEXTS = {
    "sliding": f"SELECT a.j, {SUMS} FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k GROUP BY a.j",
    "sliding_with_a_condition": f"SELECT a.j, {SUMS} FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k AND a.v <> b.v + 1 "
    "AND a.v > 1 GROUP BY a.j CHANGES",
    "landmark": f"SELECT a.j, {SUMS} FROM a [UNBOUNDED], b {WINDOW} WHERE a.k = b.k GROUP BY a.j",
    "trigger": "SELECT COUNT(*) AS n, MIN(a.v) AS x FROM a [9 MICROSECOND], b [5 MICROSECOND] "
    "WHERE a.k = b.k EMIT ON TRIGGER",
    "rows": f"SELECT a.j, {SUMS} FROM a [ROWS 12 SLIDE 4], b {WINDOW} WHERE a.k = b.k GROUP BY a.j",
    "range_by_rows": "SELECT COUNT(*) AS n, SUM(a.v) AS x FROM a [RANGE 9 MICROSECOND SLIDE 3 ROWS], b [ROWS 5] "
    "WHERE a.k = b.k",
    "per_key": f"SELECT b.j, COUNT(*) AS n, MAX(a.v) AS x FROM a [PARTITION BY j ROWS 3], b {WINDOW} "
    "WHERE a.k = b.k GROUP BY b.j",
    "window_ids_with_mod": f"SELECT COUNT(*) AS n, MAX(b.v) AS x FROM a {WINDOW}, b [ROWS 4 SLIDE 2] "
    "WHERE a.k = b.k SYNC ON WINDOW ID MOD 3",
    "arrivals": "SELECT a.j, COUNT(*) AS n, MAX(b.v) AS x FROM a [9 MICROSECOND], b [ROWS 3] WHERE a.k = b.k "
    "GROUP BY a.j EMIT ON ARRIVAL",
    "plain_join_on_entry": "SELECT a.v AS x, b.v AS y FROM a [9 MICROSECOND], b [5 MICROSECOND] "
    "WHERE a.k = b.k AND a.j < b.j",
    "plain_join_at_moves": f"SELECT a.v AS x, b.v AS y FROM a [ROWS 6 SLIDE 4], b {WINDOW} WHERE a.k = b.k",
    "chain": f"SELECT a.j, COUNT(*) AS n, SUM(c.v / 2) AS s, MAX(b.v) AS x FROM a {WINDOW}, b {WINDOW}, c {WINDOW} "
    "WHERE a.k = b.k AND b.j = c.j GROUP BY a.j OPTION (root = c)",
}


def bound(text: str) -> LogicalQuery:
    """A query over streams of one schema."""
    columns = read_schema(SCHEMA)
    return bind(parse(text), {name: Source(name, columns, True, "ts", 2) for name in "abc"})


def written(name: str) -> dict[str, Any]:
    """What a file says."""
    plan = plan_query(bound(TEXTS[name]))
    query, batches = Query(plan), going_on(BEFORE + TO_COME, rows=5, each_us=4, names="abc")
    for batch in batches[:BEFORE]:
        query.run(batch)
    stores = [[_text(own.store) for own in stage] for stage in query.stages]
    manifest = Manifest.of(plan, "UTC", len(LABELS))
    return {"manifest": asdict(manifest), "state": stores, "before": batches[:BEFORE], "to_come": batches[BEFORE:]}


def read(name: str) -> tuple[Manifest, list[list[Memory]], list[Data], list[Data]]:
    """The manifest, the maps of all buckets, and the rows of before and of after."""
    facts = json.loads((FOLDER / f"{name}.json").read_text())
    stores = [[_store(own) for own in stage] for stage in facts["state"]]
    return Manifest.from_facts(facts["manifest"]), stores, facts["before"], facts["to_come"]


def _text(store: Memory) -> dict[str, str]:
    return {str(number): b64encode(blob).decode("ascii") for (number,), (blob,) in sorted(store.held.items())}


def _store(facts: dict[str, str]) -> Memory:
    return Memory({(int(number),): (b64decode(blob),) for number, blob in facts.items()})


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in TEXTS:
        (FOLDER / f"{name}.json").write_text(json.dumps(written(name)) + "\n")


if __name__ == "__main__":
    main()
