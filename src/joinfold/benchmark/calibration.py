"""What operations cost on this machine, found out by trying: ``joinfold calibrate``.

A few dozen queries are run in process under several plans each, so that every operation weighs in some of them. What
each run should have done is counted as for an estimate, and the prices are those that fit what the runs took.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from joinfold.benchmark.fitting import prices
from joinfold.benchmark.trials import Measured, Streams, Trial, measure
from joinfold.errors import QueryError
from joinfold.planner.cost.engine import OPERATIONS, Amounts
from joinfold.planner.cost.estimating import Setting, stages_of
from joinfold.planner.cost.weights import Weights, shipped_weights
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.runtime.baselines import crossing_seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRUST = 0.2  # shipped prices against what runs tell, in runs
MOST_SECONDS = 1.5  # of CPU that a slide may take by the shipped prices
LEAST_SECONDS = 1e-5
PATIENCE_SECONDS = 1.5
CROSSED_ROWS = 2_000_000
CROSSED_COLUMNS = (1, 5)

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
STRUCTURES = ("hash", "btree", "ttree", "list")


def band(reach: int, group: str = "") -> str:
    """A band join, with groups of the first stream or without."""
    select, tail = (f"SELECT a.{group}, ", f" GROUP BY a.{group}") if group else ("SELECT ", "")
    condition = f"a.x BETWEEN b.x - {reach} AND b.x + {reach}"
    return f"{select}COUNT(*) AS n, SUM(b.v) AS s FROM a {{window}}, b {{window}} WHERE {condition}{tail}"


def trials() -> Iterator[Trial]:
    """What is tried: every operation is large in some and small in others."""
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
    """The plans that a trial is run under: the usual one, every method, every structure, early and not."""
    names, forced = trial.names, []
    for structure in STRUCTURES:
        index = dict.fromkeys(names, structure)
        forced.append(Plan("ic", (), index))
        forced += [Plan(method, (), index) for method in METHODS[1:] if structure in ("hash", "btree")]
    forced += [Plan("ic", names, dict.fromkeys(names, structure)) for structure in ("hash", "btree", "ttree")]
    query, usual = trial.query().logical, plan_query(trial.query().logical)
    yield "usual", usual
    for plan in forced:
        try:
            found = plan_query(query, plan)
        except QueryError:  # a structure that cannot find, or a method that cannot take back
            continue
        if found.choices != usual.choices:
            yield f"{plan.method} {found.choice.indexes[0]} {len(plan.early or ())}", found


@dataclass(frozen=True, slots=True)
class Bill:
    """What a run did by the model, and what it took: of PACK and of FOLD."""

    measured: Measured
    pack: Amounts
    fold: Amounts


@dataclass(frozen=True, slots=True)
class Calibration:
    """The weights that were found, and the bills that they were found by."""

    weights: Weights
    bills: list[Bill]

    @property
    def error(self) -> float:
        """By how much estimates of FOLD are off, in the middle of all runs: 0.1 is a tenth, up or down."""
        ratios = [self.weights.cost(bill.fold) / max(bill.measured.fold, LEAST_SECONDS) for bill in self.bills]
        return float(np.expm1(np.median(np.abs(np.log(ratios)))))


def calibrate(spark: "SparkSession | None", advance: Callable[[int], None] = lambda done: None) -> Calibration:
    """The weights of this machine; without Spark, what crosses into Python costs what is shipped.

    ``advance`` hears of trials as they are done.
    """
    usual, bills = shipped_weights(), []
    crossing = {} if spark is None else crossing_prices(spark)
    for trial in trials():
        for name, plan in plans(trial):
            pack, fold = _amounts(trial, plan, usual)
            if usual.cost(fold) * trial.streams.slide < MOST_SECONDS:
                bills.append(Bill(measure(trial, name, plan, PATIENCE_SECONDS), pack, fold))
        advance(1)
    weights = fitted(bills, usual)
    return Calibration(Weights({**weights.seconds, **crossing}, weights.origin), bills)


def crossing_prices(spark: "SparkSession") -> dict[str, float]:
    """What a row and each of its columns cost to cross into Python, by crossings of few columns and of many."""
    cores = spark.sparkContext.defaultParallelism
    crossing_seconds(spark, CROSSED_ROWS, max(CROSSED_COLUMNS))  # starts the workers
    few, many = (min(crossing_seconds(spark, CROSSED_ROWS, columns) for _ in range(3)) for columns in CROSSED_COLUMNS)
    column = max(many - few, 0.0) / (CROSSED_COLUMNS[1] - CROSSED_COLUMNS[0])
    row = max(few - CROSSED_COLUMNS[0] * column, 0.0)
    each = cores / CROSSED_ROWS
    return {"row crossed into Python": row * each, "column of a row crossed into Python": column * each}


def fitted(bills: list[Bill], usual: Weights) -> Weights:
    """The prices that fit the bills of PACK and of FOLD, each for itself, since they share no operation."""
    seconds = dict(usual.seconds)
    for own in (
        [(bill.pack, bill.measured.pack) for bill in bills],
        [(bill.fold, bill.measured.fold) for bill in bills],
    ):
        names = [name for name in OPERATIONS if any(amounts[name] > 0 for amounts, _ in own)]
        table = np.array([[amounts[name] for name in names] for amounts, _ in own])
        took = np.maximum([taken for _, taken in own], LEAST_SECONDS)
        found = prices(table, took, np.array([usual.seconds[name] for name in names]), TRUST)
        seconds |= dict(zip(names, found.tolist(), strict=True))
    return Weights(seconds, "calibrated")


def _amounts(trial: Trial, plan: PlannedQuery, weights: Weights) -> tuple[Amounts, Amounts]:
    """What PACK and FOLD should do in a second of stream."""
    setting = Setting.of(plan, trial.statistics, weights, crossed=False)
    pack, fold = Amounts(), Amounts()
    for stage in stages_of(setting, plan):
        if stage.kind == "PACK":
            pack.add(stage.amounts)
        elif stage.kind == "FOLD":
            fold.add(stage.amounts)
    return pack, fold
