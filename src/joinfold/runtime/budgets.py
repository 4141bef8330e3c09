"""Budgets of SHED that depend on how a query is started: the trigger interval, and the memory of the workers."""

import os
import re
from dataclasses import replace

from pyspark.sql import SparkSession

from joinfold.errors import UsageError
from joinfold.logical.shedding import Budget, HoldAvailable, HoldBytes, KeepUp
from joinfold.physical.shedding import Shedding, refuse_clock
from joinfold.planner.planned_query import PlannedQuery
from joinfold.timetext import UNITS_US, duration_us

MEMORY_PART = 8  # entries may have this part of the memory: windows take several times their size, and so does the JVM
USUAL_INTERVAL_US = 5 * UNITS_US["SECOND"]
_SIZES = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def with_budgets(plan: PlannedQuery, spark: SparkSession, trigger: str | None, is_streaming: bool) -> PlannedQuery:
    """The plan with the budgets of this run; ``trigger`` is the time between two micro-batches, if there is one.

    Raises `UsageError` for a budget that has no meaning in this run.
    """
    shedding = plan.pipeline.shedding
    if shedding is None:
        return plan
    if not is_streaming:
        refuse_clock(shedding)
    trigger_us = None if trigger is None or trigger == "available" else duration_us(trigger)
    budgets = tuple(_resolved(budget, shedding, spark, trigger_us) for budget in shedding.budgets)
    shedding = replace(shedding, budgets=budgets, trigger_us=trigger_us)
    return replace(plan, pipeline=replace(plan.pipeline, shedding=shedding))


def _resolved(budget: Budget, shedding: Shedding, spark: SparkSession, trigger_us: int | None) -> Budget:
    match budget:
        case HoldAvailable():
            return HoldBytes(workers_memory_bytes(spark) // MEMORY_PART)
        case KeepUp(within_us=None) if trigger_us is not None:
            return KeepUp(trigger_us)
        case KeepUp(within_us=None) if HoldAvailable() in shedding.budgets:  # SHED alone
            return KeepUp(USUAL_INTERVAL_US)
        case KeepUp(within_us=None):
            raise UsageError(
                "SHED TO KEEP UP needs a time within which a micro-batch has to end",
                "give start a trigger, such as trigger='5 seconds', or write SHED TO KEEP UP WITHIN 5 SECONDS.",
            )
        case _:
            return budget


def workers_memory_bytes(spark: SparkSession) -> int:
    """The memory of all Python workers: as Spark was told, else that of this machine."""
    each = spark.conf.get("spark.executor.pyspark.memory", None)
    if each is None:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    number, unit = re.fullmatch(r"(\d+)([bkmgt]?)b?", each.strip().lower()).groups()  # type: ignore[union-attr]
    return int(number) * _SIZES[unit or "m"] * int(spark.conf.get("spark.executor.instances", "1") or 1)
