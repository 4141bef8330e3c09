"""The queries of the map: one for every kind of window, join, aggregate and emit rule, and for some sizes.

What a query shows is read from its meaning, not from its name (`shown`). A test compares it with the language: with the
unions of windows, emit and sync rules, with the table AGGREGATES and with the kinds of conditions of the join graph.
Aggregates are taken from their table, so a new one is in the map at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import product

from joinfold.algebra import AGGREGATES
from joinfold.logical.graph import JoinGraph
from joinfold.logical.query import LogicalQuery
from joinfold.types import BIGINT, BOOLEAN

WINDOW = "[10 SECOND SLIDE 1 SECOND]"
FINE = "[10 SECOND SLIDE 10 MILLISECOND]"
SAME_KEY = "a.key = b.key"
TWO = f"FROM a {WINDOW}, b {WINDOW}"
THREE = f"{TWO}, c {WINDOW}"
SUMS = "COUNT(*) AS n, SUM(b.v) AS s"
GROUPED = f"SELECT a.g, {SUMS}"
ARRIVING = f"FROM a [10 SECOND], b [10 SECOND] WHERE {SAME_KEY}"
PLAIN = "plain"

CONDITIONS = tuple(item.name for item in fields(JoinGraph) if item.name != "inputs")


@dataclass(frozen=True, slots=True)
class MapQuery:
    """A query of the map."""

    name: str
    text: str


WINDOWS = (
    MapQuery(
        "window: tumbling", f"{GROUPED} FROM a [TUMBLE 1 SECOND], b [TUMBLE 1 SECOND] WHERE {SAME_KEY} GROUP BY a.g"
    ),
    MapQuery(
        "window: RANGE, EMIT EVERY 1 s",
        f"{GROUPED} FROM a [10 SECOND], b [10 SECOND] WHERE {SAME_KEY} GROUP BY a.g EMIT EVERY 1 SECOND",
    ),
    MapQuery(
        "window: ROWS",
        f"{GROUPED} FROM a [ROWS 50000 SLIDE 5000], b [ROWS 50000 SLIDE 5000] WHERE {SAME_KEY} GROUP BY a.g",
    ),
    MapQuery(
        "window: PARTITION BY key ROWS 3",
        f"{GROUPED} FROM a [PARTITION BY key ROWS 3], b [10 SECOND] WHERE {SAME_KEY} GROUP BY a.g EMIT EVERY 1 SECOND",
    ),
    MapQuery(
        "window: RANGE SLIDE ROWS",
        f"{GROUPED} FROM a [RANGE 10 SECOND SLIDE 5000 ROWS], b {WINDOW} WHERE {SAME_KEY} GROUP BY a.g",
    ),
    MapQuery("window: landmark", f"{GROUPED} FROM a [UNBOUNDED], b {WINDOW} WHERE {SAME_KEY} GROUP BY a.g"),
    MapQuery(
        "size: slide of 10 ms",
        f"{GROUPED} FROM a {FINE}, b {FINE} WHERE {SAME_KEY} GROUP BY a.g",
    ),
    MapQuery("size: no groups", f"SELECT {SUMS} {TWO} WHERE {SAME_KEY}"),
    MapQuery("size: 1,000 groups", f"SELECT a.key, {SUMS} {TWO} WHERE {SAME_KEY} GROUP BY a.key"),
    MapQuery("size: groups on both sides", f"SELECT a.g, b.g AS h, {SUMS} {TWO} WHERE {SAME_KEY} GROUP BY a.g, b.g"),
)

EMISSIONS = (
    MapQuery(
        "emit: ON SLIDE, at every row of PARTITION BY",
        f"{GROUPED} FROM a [PARTITION BY key ROWS 3], b {WINDOW} WHERE {SAME_KEY} GROUP BY a.g",
    ),
    MapQuery("emit: ON TRIGGER", f"{GROUPED} {ARRIVING} GROUP BY a.g EMIT ON TRIGGER"),
    MapQuery("emit: ON ARRIVAL, no groups", f"SELECT {SUMS} {ARRIVING} EMIT ON ARRIVAL"),
    MapQuery("emit: ON ARRIVAL, 20 groups", f"{GROUPED} {ARRIVING} GROUP BY a.g EMIT ON ARRIVAL"),
    MapQuery("emit: ON ARRIVAL CHANGES, 20 groups", f"{GROUPED} {ARRIVING} GROUP BY a.g EMIT ON ARRIVAL CHANGES"),
    MapQuery(
        "emit: ON ARRIVAL, ROWS",
        f"SELECT {SUMS} FROM a [ROWS 50000], b [10 SECOND] WHERE {SAME_KEY} EMIT ON ARRIVAL",
    ),
    MapQuery("emit: ON SLIDE CHANGES", f"{GROUPED} {TWO} WHERE {SAME_KEY} GROUP BY a.g EMIT ON SLIDE CHANGES"),
    MapQuery("sync: ON FULL", f"{GROUPED} {TWO} WHERE {SAME_KEY} GROUP BY a.g SYNC ON FULL"),
    MapQuery("sync: ON WINDOW ID", f"{GROUPED} {TWO} WHERE {SAME_KEY} GROUP BY a.g SYNC ON WINDOW ID"),
    MapQuery(
        "emit: ON TRIGGER, landmark and relation",
        "SELECT r.name, COUNT(*) AS n, AVG(b.v) AS m FROM a [10 SECOND], b [UNBOUNDED], r "
        f"WHERE {SAME_KEY} AND a.g = r.g GROUP BY r.name EMIT ON TRIGGER",
    ),
)

JOINS = (
    MapQuery("join: one stream", f"SELECT b.g, COUNT(*) AS n, SUM(b.v) AS s FROM b {WINDOW} GROUP BY b.g"),
    MapQuery("join: band", f"SELECT {SUMS} {TWO} WHERE a.v BETWEEN b.v - 1 AND b.v + 1"),
    MapQuery("join: inequality", f"SELECT {SUMS} {TWO} WHERE a.v < b.v"),
    MapQuery("join: key and band", f"SELECT {SUMS} {TWO} WHERE {SAME_KEY} AND a.v BETWEEN b.v - 5 AND b.v + 5"),
    MapQuery("join: key and inequality, 20 groups", f"{GROUPED} {TWO} WHERE {SAME_KEY} AND a.v < b.v GROUP BY a.g"),
    MapQuery("join: key and residual condition", f"{GROUPED} {TWO} WHERE {SAME_KEY} AND a.v + b.v > 150 GROUP BY a.g"),
    MapQuery("join: with a relation", f"SELECT r.name, {SUMS} {TWO}, r WHERE {SAME_KEY} AND a.g = r.g GROUP BY r.name"),
    MapQuery("join: three inputs, one key", f"{GROUPED} {THREE} WHERE {SAME_KEY} AND b.key = c.key GROUP BY a.g"),
    MapQuery("join: three inputs, chain", f"{GROUPED} {THREE} WHERE {SAME_KEY} AND b.g = c.g GROUP BY a.g"),
    MapQuery("join: three inputs, triangle", f"SELECT {SUMS} {THREE} WHERE {SAME_KEY} AND b.g = c.g AND c.v = a.v"),
    MapQuery(
        "join: the rows themselves",
        f"SELECT a.v AS v, b.v AS w FROM a [100 MILLISECOND], b [100 MILLISECOND] WHERE {SAME_KEY}",
    ),
)

VALUES = (
    MapQuery(
        "value: MAX, three inputs, one key",
        f"SELECT a.g, MAX(b.v) AS x {THREE} WHERE {SAME_KEY} AND b.key = c.key GROUP BY a.g",
    ),
    MapQuery("value: MAX of a sum over inputs", f"SELECT a.g, MAX(a.v + b.v) AS x {TWO} WHERE {SAME_KEY} GROUP BY a.g"),
    MapQuery(
        "value: SUM of a CASE over inputs",
        f"SELECT a.g, SUM(CASE WHEN a.v > b.v THEN b.v END) AS x {TWO} WHERE {SAME_KEY} GROUP BY a.g",
    ),
    MapQuery("value: SUM over inputs", f"SELECT a.g, SUM(ABS(a.v - b.v)) AS x {TWO} WHERE {SAME_KEY} GROUP BY a.g"),
    MapQuery(
        "value: SUM with FILTER",
        f"SELECT a.g, SUM(b.v) FILTER (WHERE a.v > 50) AS x {TWO} WHERE {SAME_KEY} GROUP BY a.g",
    ),
    MapQuery("value: HAVING", f"{GROUPED} {TWO} WHERE {SAME_KEY} GROUP BY a.g HAVING COUNT(*) > 1000"),
)

ARGUMENTS = {"a.v": BIGINT, "b.v": BIGINT, "a.v > 50": BOOLEAN, "b.v > 50": BOOLEAN}


def aggregate_queries() -> Iterator[MapQuery]:
    """A query for every aggregate, with the first arguments that it takes; the second of two is of another input."""
    for name, entry in AGGREGATES.items():
        tried = product(ARGUMENTS, repeat=len(entry.arguments))
        taken = next(own for own in tried if entry.accepts(tuple(ARGUMENTS[text] for text in own)) and _differ(own))
        call = f"{name.upper()}({', '.join(taken)})"
        yield MapQuery(f"aggregate: {name.upper()}", f"SELECT a.g, {call} AS x {TWO} WHERE {SAME_KEY} GROUP BY a.g")


def _differ(arguments: tuple[str, ...]) -> bool:
    return len({text.partition(".")[0] for text in arguments}) == len(arguments)


def map_queries() -> tuple[MapQuery, ...]:
    """All queries of the map, the plain one first."""
    plain = MapQuery(PLAIN, f"{GROUPED} {TWO} WHERE {SAME_KEY} GROUP BY a.g")
    return (plain, *WINDOWS, *EMISSIONS, *JOINS, *VALUES, *aggregate_queries())


def shown(query: LogicalQuery) -> set[str | type]:
    """What a query shows of the language: windows, emit and sync rules, aggregates, and conditions that join."""
    found: set[str | type] = {type(input_.window) for input_ in query.streams}
    found |= {type(query.emit), type(query.sync)}
    found |= {aggregate.function for aggregate in query.aggregates}
    found |= {name for name in CONDITIONS if getattr(query.graph, name)}
    return found
