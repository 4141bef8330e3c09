"""Budgets that depend on how a query is started."""

from typing import Any

import pytest

from joinfold.errors import UsageError
from joinfold.logical.shedding import Budget, HoldBytes, HoldRows, KeepUp, Process
from joinfold.physical.shedding import KeySampling
from joinfold.planner.planning import plan_query
from joinfold.runtime.budgets import MEMORY_PART, USUAL_INTERVAL_US, with_budgets
from tests.planner.known import JOINED, query_of

SECOND_US = 1_000_000


class Settings:
    """A Spark session, as far as its settings go."""

    def __init__(self, **settings: str) -> None:
        self.settings = settings
        self.conf = self

    def get(self, name: str, default: str | None = None) -> str | None:
        return self.settings.get(name.replace(".", "_"), default)


def resolved(shed: str, trigger: str | None, is_streaming: bool = True, **settings: str) -> KeySampling:
    plan = plan_query(query_of(f"SELECT COUNT(*) AS n {JOINED} {shed} SAMPLE BY KEY"))
    spark: Any = Settings(**settings)
    shedding = with_budgets(plan, spark, trigger, is_streaming).pipeline.shedding
    assert isinstance(shedding, KeySampling)
    return shedding


@pytest.mark.parametrize(
    ("shed", "trigger", "budgets", "trigger_us"),
    [
        ("SHED TO KEEP UP", "2 seconds", (KeepUp(2 * SECOND_US),), 2 * SECOND_US),
        ("SHED TO KEEP UP WITHIN 3 SECONDS", None, (KeepUp(3 * SECOND_US),), None),
        ("SHED TO KEEP UP WITHIN 3 SECONDS", "available", (KeepUp(3 * SECOND_US),), None),
        ("SHED TO PROCESS 5 ROWS PER SECOND AND HOLD 7 ROWS", None, (Process(5), HoldRows(7)), None),
    ],
)
def test_the_interval(shed: str, trigger: str | None, budgets: tuple[Budget, ...], trigger_us: int | None) -> None:
    shedding = resolved(shed, trigger)
    assert shedding.budgets == budgets and shedding.trigger_us == trigger_us


def test_keeping_up_needs_an_interval() -> None:
    for trigger in (None, "available"):
        with pytest.raises(UsageError, match="needs a time within which a micro-batch has to end"):
            resolved("SHED TO KEEP UP", trigger)


def test_shed_alone_takes_the_memory_of_the_workers_and_a_usual_interval() -> None:
    shedding = resolved("SHED", None, spark_executor_pyspark_memory="2g", spark_executor_instances="3")
    assert shedding.budgets == (KeepUp(USUAL_INTERVAL_US), HoldBytes(6 * 2**30 // MEMORY_PART))
    (_, hold) = resolved("SHED", "1 second").budgets
    assert isinstance(hold, HoldBytes) and hold.size_bytes > 10**8  # that of this machine


def test_bounded_inputs_have_no_wall_clock_time() -> None:
    with pytest.raises(UsageError, match="its inputs are bounded"):
        resolved("SHED TO PROCESS 5 ROWS PER SECOND", None, is_streaming=False)
    assert resolved("SHED TO HOLD 7 ROWS", None, is_streaming=False).budgets == (HoldRows(7),)


def test_a_query_without_shed_stays_as_it_is() -> None:
    plan = plan_query(query_of(f"SELECT COUNT(*) AS n {JOINED}"))
    spark: Any = Settings()
    assert with_budgets(plan, spark, None, True) is plan
