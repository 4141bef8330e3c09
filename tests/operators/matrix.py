"""Every combination of method, early aggregation, structures, predicate, aggregate and groups, as queries with plans.

`make test` runs a sample of them and `make test-deep` all (`test_matrix`), as does `python -m tests.operators.matrix`.
"""

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from joinfold.dialect import bind, parse, read_schema
from joinfold.errors import QueryError
from joinfold.inprocess import InProcess
from joinfold.logical.query import LogicalQuery, Source
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.reference import naive
from tests.operators.runs import Data, answer, feed
from tests.refusals import Asked, check_refusal
from tests.strategies import assert_same_answers

SCHEMA = "ts TIMESTAMP, k INT, g STRING, v BIGINT, d DOUBLE"
WINDOWS = ("[12 MICROSECOND SLIDE 4 MICROSECOND]", "[6 MICROSECOND SLIDE 3 MICROSECOND]")

METHODS = ("pc", "ic", "tc")
EARLY = ((), ("a",), ("b",), ("a", "b"))
STRUCTURES = ("list", "hash(bucket_size=4)", "btree(order=4)", "ttree(node_size=4)")
PREDICATES = {
    "equality": "a.k = b.k",
    "equality and band": "a.k = b.k AND a.v BETWEEN b.v - 2 AND b.v + 1",
    "band": "a.v BETWEEN b.v - 2 AND b.v + 1",
    "inequality": "a.v < b.v",
    "two inequalities": "a.v < b.v AND a.d >= b.d",
    "residual": "a.v % 3 = b.v % 2 OR a.g < b.g",
    "equality and residual": "a.k = b.k AND a.v + b.v > 1",
}
AGGREGATES = {
    "count": "COUNT(*)",
    "sum": "SUM(b.v), COUNT(a.v)",
    "avg": "AVG(a.d), SUM(a.v * b.v)",
    "statistics": "VAR_POP(a.d), COVAR_POP(a.v, b.d)",
    "extremes": "MAX(a.v), MIN(b.g)",
    "combined": "SUM(a.v + b.v), MAX(a.v - b.v) FILTER (WHERE a.d < b.d)",
}
GROUPS = ("", "a.g", "b.g", "a.g, b.k")


@dataclass(frozen=True)
class Combination:
    """One cell of the matrix."""

    method: str
    early: tuple[str, ...]
    structures: tuple[str, str]
    predicate: str
    aggregate: str
    groups: str

    @property
    def text(self) -> str:
        shown = ", ".join(filter(None, (self.groups, AGGREGATES[self.aggregate])))
        named = ", ".join(f"{part} AS o{ordinal}" for ordinal, part in enumerate(split(shown)))
        windows = f"a {WINDOWS[0]}, b {WINDOWS[1]}"
        grouped = f" GROUP BY {self.groups}" if self.groups else ""
        return f"SELECT {named} FROM {windows} WHERE {PREDICATES[self.predicate]}{grouped}"

    @property
    def query(self) -> LogicalQuery:
        schema = read_schema(SCHEMA)
        return bind(parse(self.text), {name: Source(name, schema, True, "ts", 0) for name in ("a", "b")})

    @property
    def plan(self) -> PlannedQuery | None:
        """The plan; None where it is not defined."""
        forced = Plan(self.method, self.early, dict(zip("ab", self.structures, strict=True)))
        try:
            return plan_query(self.query, forced)
        except QueryError as error:
            check_refusal(error, Asked(self.text, self.query, forced))
            return None

    @property
    def is_defined(self) -> bool:
        """What the papers define: IC has no extremes, hash needs an equality."""
        extremes = "MAX" in AGGREGATES[self.aggregate]
        hashed = any(name.startswith("hash") for name in self.structures)
        return not (self.method == "ic" and extremes) and not (hashed and "equality" not in self.predicate.split())


def split(shown: str) -> list[str]:
    """The parts of a SELECT list; commas in parentheses do not separate."""
    parts, depth = [""], 0
    for letter in shown:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def combinations() -> Iterator[Combination]:
    """All cells, whether they are defined or not."""
    structures = product(STRUCTURES, STRUCTURES)
    for cell in product(METHODS, EARLY, structures, PREDICATES, AGGREGATES, GROUPS):
        yield Combination(*cell)


def random_data(seed: int) -> Data:
    chance = random.Random(seed)

    def row() -> dict[str, Any]:
        found: dict[str, Any] = {
            "ts": chance.randrange(24),
            "k": chance.randrange(3),
            "g": chance.choice("pq"),
            "v": chance.randrange(-3, 4),
            "d": chance.choice([-1.5, 0.0, 0.25, 2.0]),
        }
        return {name: None if name != "ts" and chance.random() < 0.08 else value for name, value in found.items()}

    return {name: [row() for _ in range(chance.randrange(2, 9))] for name in ("a", "b")}


def check(cell: Combination, seed: int) -> bool:
    """Whether the cell is defined; if it is, its answers are those of the definition."""
    plan = cell.plan
    assert (plan is not None) == cell.is_defined, cell
    if plan is None:
        return False
    data = random_data(seed)
    machine = InProcess(plan, 1 + seed % 3)
    feed(machine, data)
    assert_same_answers(naive.answers(plan.query, data), answer(machine, to_the_end=True))
    return True


def check_share(share: int, shares: int) -> tuple[int, int]:
    """Checks every so many-th cell, from one on: how many there are, and how many of them are defined."""
    cells, defined = list(enumerate(combinations()))[share::shares], 0
    for seed, cell in cells:
        try:
            defined += check(cell, seed)
        except Exception as error:
            error.add_note(f"seed {seed}: {cell}\n{cell.text}")
            raise
    return len(cells), defined


def main() -> None:
    share, shares = (int(word) for word in (sys.argv[1:] or ["0", "1"]))
    cells, defined = check_share(share, shares)
    sys.stdout.write(f"{cells} cells, {defined} of them defined: all as in the definition\n")


if __name__ == "__main__":
    main()
