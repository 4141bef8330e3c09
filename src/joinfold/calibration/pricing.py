"""The prices of this machine, from runs in process.

A few dozen queries run under several plans each, so that every operation dominates some of the runs. The cost model
counts the operations of each run, and the prices are fitted to the seconds that the runs took.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from joinfold.calibration.fitting import prices
from joinfold.calibration.queries import plans, trials
from joinfold.calibration.trial import Measured, Trial, measure
from joinfold.planner.cost.engine import OPERATIONS, Amounts
from joinfold.planner.cost.estimating import Setting, stages_of
from joinfold.planner.cost.weights import Weights, shipped_weights
from joinfold.planner.planned_query import PlannedQuery
from joinfold.runtime.crossing import crossing_seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRUST = 0.2  # how many runs the shipped prices count for
MOST_SECONDS = 1.5  # of CPU per slide, estimated by the shipped prices; slower plans are skipped
LEAST_SECONDS = 1e-5
PATIENCE_SECONDS = 1.5
CROSSED_ROWS = 2_000_000
CROSSED_COLUMNS = (1, 5)


@dataclass(frozen=True, slots=True)
class Bill:
    """The operations of a run, counted by the cost model, and the seconds it took, for PACK and for FOLD."""

    measured: Measured
    pack: Amounts
    fold: Amounts


@dataclass(frozen=True, slots=True)
class Calibration:
    """The prices, and the runs that they were fitted to."""

    weights: Weights
    bills: list[Bill]

    @property
    def error(self) -> float:
        """The median error of the estimates of FOLD: 0.1 means a tenth too high or too low."""
        ratios = [self.weights.cost(bill.fold) / max(bill.measured.fold, LEAST_SECONDS) for bill in self.bills]
        return float(np.expm1(np.median(np.abs(np.log(ratios)))))


def calibrate(spark: "SparkSession | None", advance: Callable[[int], None] = lambda done: None) -> Calibration:
    """The prices of this machine. Without Spark, the prices of crossing into Python stay the shipped ones.

    ``advance`` is called with 1 after each trial.
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
    """The prices of a row and of a column that cross into Python, from runs with few and with many columns."""
    cores = spark.sparkContext.defaultParallelism
    crossing_seconds(spark, CROSSED_ROWS, max(CROSSED_COLUMNS))  # starts the workers
    few, many = (min(crossing_seconds(spark, CROSSED_ROWS, columns) for _ in range(3)) for columns in CROSSED_COLUMNS)
    column = max(many - few, 0.0) / (CROSSED_COLUMNS[1] - CROSSED_COLUMNS[0])
    row = max(few - CROSSED_COLUMNS[0] * column, 0.0)
    each = cores / CROSSED_ROWS
    return {"row crossed into Python": row * each, "column of a row crossed into Python": column * each}


def fitted(bills: list[Bill], usual: Weights) -> Weights:
    """The prices that fit the runs. PACK and FOLD share no operation, so they are fitted separately."""
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
    """The operations of PACK and of FOLD per second of stream, by the cost model."""
    setting = Setting.of(plan, trial.statistics, weights, crossed=False)
    pack, fold = Amounts(), Amounts()
    for stage in stages_of(setting, plan):
        if stage.kind == "PACK":
            pack.add(stage.amounts)
        elif stage.kind == "FOLD":
            fold.add(stage.amounts)
    return pack, fold
