"""The queries, streams and plans of a calibration: each operation dominates some of them and is rare in others."""

from collections.abc import Iterator

from joinfold.calibration.trial import Streams, Trial
from joinfold.errors import QueryError
from joinfold.kernels.structures import STRUCTURES
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query

BY_KEY = "FROM a {window}, b {window} WHERE a.k = b.k"
SETS = f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s {BY_KEY} GROUP BY a.g"
FLOATING = f"SELECT a.g, COUNT(*) AS n, SUM(b.f) AS s, CORR(a.f, b.f) AS c {BY_KEY} GROUP BY a.g"
TWO_GROUPS = f"SELECT a.g, b.g AS h, COUNT(*) AS n {BY_KEY} GROUP BY a.g, b.g"
EXTREME = f"SELECT a.g, COUNT(*) AS n, MAX(b.v) AS top {BY_KEY} GROUP BY a.g"
CONDITION = f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s {BY_KEY} AND a.g <> b.g GROUP BY a.g"
VALUE = f"SELECT COUNT(*) AS n, SUM(ABS(a.x - b.x)) AS s {BY_KEY}"
ABOVE = f"SELECT COUNT(*) AS n, SUM(b.v) AS s {BY_KEY} AND a.x < b.x"
NEAR = f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s {BY_KEY} AND a.x BETWEEN b.x - 100 AND b.x + 100 GROUP BY a.g"
THREE = (
    "SELECT COUNT(*) AS n, SUM(c.v) AS s FROM a {window}, b {window}, c {window} "
    "WHERE a.k = b.k AND b.k = c.k AND a.g <> b.g"
)

METHODS = ("ic", "tc", "pc")


def band(reach: int, group: str = "") -> str:
    """A band join, grouped by a column of the first stream or not at all."""
    select, tail = (f"SELECT a.{group}, ", f" GROUP BY a.{group}") if group else ("SELECT ", "")
    condition = f"a.x BETWEEN b.x - {reach} AND b.x + {reach}"
    return f"{select}COUNT(*) AS n, SUM(b.v) AS s FROM a {{window}}, b {{window}} WHERE {condition}{tail}"


def trials() -> Iterator[Trial]:
    """All trials."""
    for rate, keys, groups, size, slide in (
        (1_000, 10, 10, 10, 1),
        (5_000, 100, 100, 10, 1),
        (10_000, 1_000, 10, 20, 2),
        (500, 50, 5, 60, 1),
        (20_000, 10_000, 100, 10, 2),
        (20_000, 50, 5, 10, 1),
        (2_000, 2_000, 500, 30, 3),
    ):
        yield Trial(
            f"sets {rate} {keys} {groups}", SETS, Streams((rate, rate), keys, groups, size=size, slide=slide), 4
        )
    for text, rate, keys, groups in (
        (FLOATING, 2_000, 100, 10),
        (FLOATING, 10_000, 2_000, 100),
        (TWO_GROUPS, 2_000, 100, 10),
        (TWO_GROUPS, 10_000, 5_000, 50),
        (EXTREME, 1_000, 100, 10),
        (EXTREME, 10_000, 2_000, 100),
        (CONDITION, 500, 100, 10),
        (CONDITION, 5_000, 2_000, 20),
        (CONDITION, 10_000, 200, 3),
        (VALUE, 500, 100, 1),
        (VALUE, 5_000, 5_000, 1),
        (ABOVE, 500, 100, 1),
        (ABOVE, 5_000, 5_000, 1),
        (NEAR, 1_000, 2, 5),
        (NEAR, 2_000, 20, 500),
    ):
        yield Trial(f"{text[:40]} {rate} {keys}", text, Streams((rate, rate), keys, groups), 4)
    for rate, groups, reach in (
        (1_000, 1, 20),
        (1_000, 1, 10_000),
        (10_000, 1, 20),
        (500, 20, 1_000),
        (3_000, 200, 50),
    ):
        text = band(reach, "g" if groups > 1 else "")
        yield Trial(f"band {rate} {groups} {reach}", text, Streams((rate, rate), 1, groups), 4)
    yield Trial("three", THREE, Streams((500, 500, 500), 200, 10), 4)


def plans(trial: Trial) -> Iterator[tuple[str, PlannedQuery]]:
    """The plans of a trial: the usual one, then every method and structure, with and without early aggregation."""
    names, forced = trial.names, []
    for structure in STRUCTURES:
        index = dict.fromkeys(names, structure)
        forced.append(Plan("ic", (), index))
        forced += [Plan(method, (), index) for method in METHODS[1:] if structure in ("hash", "btree")]
    indexed = [structure for structure in STRUCTURES if structure != "list"]  # an early list would scan at every merge
    forced += [Plan("ic", names, dict.fromkeys(names, structure)) for structure in indexed]
    query, usual = trial.query().logical, plan_query(trial.query().logical)
    yield "usual", usual
    for plan in forced:
        try:
            found = plan_query(query, plan)
        except QueryError:  # the structure or the method does not serve this query
            continue
        if found.choices != usual.choices:
            yield f"{plan.method} {found.choice.indexes[0]} {len(plan.early or ())}", found
