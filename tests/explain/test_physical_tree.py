"""Physical plans as trees. `REGENERATE=1` writes the golden files; read them as a user would."""

import os
from pathlib import Path

import pytest

from joinfold import QueryError, Session

GOLDEN = Path(__file__).parent.parent / "golden" / "plans"

QUERIES = {
    "alarms": """
        SELECT a.location, COUNT(*) AS alarms, MAX(b.strength) AS smoke
        FROM   temperature a [10 MINUTE SLIDE 10 SECOND], smoke b [10 MINUTE SLIDE 10 SECOND]
        WHERE  a.location = b.location AND a.celsius >= 40 AND b.strength > 0.6
        GROUP BY a.location
        HAVING COUNT(*) > 5""",
    "group_across_keys": """
        SELECT a.floor, AVG(a.celsius) AS mean, CORR(a.celsius, b.strength) AS together
        FROM   temperature a [10 MINUTE SLIDE 4 MINUTE], smoke b [6 MINUTE]
        WHERE  a.location = b.location AND a.floor = b.floor GROUP BY a.floor CHANGES""",
    "no_group": """
        SELECT SUM(a.floor) AS floors FROM temperature a [TUMBLE 1 HOUR], smoke b [UNBOUNDED]
        WHERE a.location = b.location EMIT EVERY 30 MINUTE""",
    "one_input": "SELECT location, MIN(celsius) AS coldest FROM temperature [1 HOUR] GROUP BY location EMIT ON TRIGGER",
    "arrivals": """
        SELECT a.location, COUNT(*) AS n FROM temperature a [10 MINUTE], smoke b [10 MINUTE]
        WHERE a.location = b.location GROUP BY a.location EMIT ON ARRIVAL""",
    "plain_join": """
        SELECT a.location, b.strength FROM temperature a [1 MINUTE], smoke b [1 MINUTE]
        WHERE a.location = b.location""",
    "band": """
        SELECT COUNT(*) AS n, SUM(a.floor) AS s FROM temperature a [1 MINUTE SLIDE 1 SECOND], smoke b [TUMBLE 1 MINUTE]
        WHERE a.celsius BETWEEN b.strength - 1 AND b.strength + 1""",
    "residual": """
        SELECT b.floor, MAX(a.celsius + b.strength) AS most
        FROM   temperature a [1 MINUTE SLIDE 1 SECOND], smoke b [1 MINUTE SLIDE 1 SECOND]
        WHERE  a.location = b.location AND a.floor < b.floor AND a.celsius * b.strength > 2 GROUP BY b.floor""",
    "forced": """
        SELECT a.floor, COUNT(*) AS n FROM temperature a [1 MINUTE SLIDE 1 SECOND], smoke b [1 MINUTE SLIDE 1 SECOND]
        WHERE  a.location = b.location GROUP BY a.floor
        OPTION (method = tc, early = 'a', index = 'b btree(order=50)')""",
    "three_streams": """
        SELECT b.floor, COUNT(*) AS n
        FROM   temperature a [1 MINUTE SLIDE 1 SECOND], smoke b [1 MINUTE SLIDE 1 SECOND], smoke c [TUMBLE 1 HOUR]
        WHERE  a.location = b.location AND b.floor = c.floor GROUP BY b.floor""",
    "relations": """
        SELECT r.wing, k.name, COUNT(*) AS n, SUM(b.strength * r.area) AS smoke
        FROM   room r, temperature a [1 MINUTE SLIDE 1 SECOND], smoke b [1 MINUTE SLIDE 1 SECOND], keeper k
        WHERE  a.location = r.location AND r.keeper = k.id AND k.name <> 'nobody' AND a.celsius > r.limit
               AND r.wing = b.floor AND b.strength > 0.6
        GROUP BY r.wing, k.name""",
    "relation_without_equality": """
        SELECT r.location AS limited, a.location FROM temperature a [1 MINUTE], room r
        WHERE  a.celsius > r.limit AND r.wing = 2""",
    "forced_relation": """
        SELECT COUNT(*) AS n FROM temperature a [1 MINUTE SLIDE 1 SECOND], room r WHERE a.location = r.location
        OPTION (index = 'r hash')""",
    "rows": """
        SELECT a.location, COUNT(*) AS n, MAX(b.strength) AS s
        FROM   temperature a [ROWS 5000 SLIDE 1000], smoke b [10 MINUTE SLIDE 1 MINUTE]
        WHERE  a.location = b.location GROUP BY a.location""",
    "last_rows": """
        SELECT COUNT(*) AS n FROM temperature a [PARTITION BY floor ROWS 3], smoke b [1 MINUTE SLIDE 1 SECOND]
        WHERE  a.location = b.location""",
    "window_ids": """
        SELECT COUNT(*) AS n FROM temperature a [ROWS 5000 SLIDE 1000], smoke b [5 MINUTE SLIDE 1 MINUTE]
        WHERE  a.location = b.location SYNC ON WINDOW ID""",
    "refused": "SELECT COUNT(*) AS n FROM temperature [PARTITION BY location ROWS 10] EMIT ON ARRIVAL",
}


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session()
    session.stream("temperature", "location STRING, floor INT, ts TIMESTAMP, celsius DOUBLE", time="ts")
    session.stream("smoke", "location STRING, floor INT, ts TIMESTAMP, strength DOUBLE", time="ts")
    session.table("room", "location STRING, wing INT, area INT, limit DOUBLE, keeper INT")
    session.table("keeper", "id INT, name STRING")
    return session


@pytest.mark.parametrize("name", QUERIES)
def test_plans(session: Session, name: str) -> None:
    try:
        tree = session.sql(QUERIES[name]).explain("physical") + "\n"
    except QueryError as error:
        tree = error.report() + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("REGENERATE"):
        path.write_text(tree, encoding="utf-8")
    assert tree == path.read_text(encoding="utf-8")


def test_every_golden_file_has_its_query() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(QUERIES)


@pytest.mark.parametrize(
    ("select", "streams", "clause", "way"),
    [
        ("COUNT(*) AS n, SUM(a.v) AS s", "ab", "", "in one compiled loop"),
        ("MAX(a.v) AS m", "ab", "", "a MIN or MAX cannot be taken back"),
        ("COUNT(*) AS n", "abc", "", "more than two inputs are joined"),
        ("SUM(ABS(a.v - b.v)) AS s", "ab", "", "conditions or values read pairs"),
        ("COUNT(*) AS n", "ab", " SHED TO HOLD 100 ROWS", "the sample may change at each"),
    ],
)
def test_how_arrivals_are_gone_through(select: str, streams: str, clause: str, way: str) -> None:
    session = Session()
    for name in streams:
        session.stream(name, "k INT, v INT, ts TIMESTAMP", time="ts")
    inputs = ", ".join(f"{name} [4 SECOND]" for name in streams)
    keys = " AND ".join(f"a.k = {name}.k" for name in streams[1:])
    text = f"SELECT {select} FROM {inputs} WHERE {keys} EMIT ON ARRIVAL{clause}"
    found = [
        line for line in session.sql(text).explain("physical").splitlines() if "arrival" in line and "goes" in line
    ]
    assert len(found) == 1 and way in found[0]
