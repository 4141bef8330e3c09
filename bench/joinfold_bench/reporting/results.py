"""What a suite found out: one type for all suites, so that one report prints and writes them.

    Results              answers that differ, where and how long it was measured
    └── EngineResults    engines over the same files
        └── MixedResults    and joinfold's plans beside each other, in process

Whoever adds a suite says what its tables are and which figures go to JSON; the rest is here and in ``writing``.
"""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from rich.table import Table

from joinfold_bench.engines.answers import Check
from joinfold_bench.engines.measurements import Comparison, Measurement, SweepPoint
from joinfold_bench.plans.comparing import PlanComparison
from joinfold_bench.plans.courses import PlanRun
from joinfold_bench.plans.sharing import ShareRun
from joinfold_bench.reporting.tables import bar_table, check_table, comparison_table, rate_table


@dataclass(slots=True)
class Results(ABC):
    """What was found out, in the order in which it was; ``differences`` says whose answers were not as they should."""

    differences: list[str] = field(default_factory=list, kw_only=True)
    environment: dict[str, Any] = field(default_factory=dict, kw_only=True)
    seconds: float = field(default=0.0, kw_only=True)

    @abstractmethod
    def tables(self) -> list[Table]:
        """What is worth printing, in order."""

    @abstractmethod
    def figures(self) -> dict[str, Any]:
        """What goes to JSON beside the environment and the seconds: everything but the answers themselves."""

    @property
    def wrong(self) -> list[str]:
        """All answers that were not equal to others, in words."""
        return self.differences

    def to_json(self) -> dict[str, Any]:
        """Everything but the answers themselves."""
        return {"environment": self.environment, "seconds": self.seconds, **self.figures()}

    def files(self) -> dict[str, str]:
        """What is written beside the JSON: names of files and their texts."""
        return {}


@dataclass(slots=True)
class EngineResults(Results):
    """What engines did over the same files, how fast joinfold is beside them, and whose answers were compared."""

    measurements: list[Measurement] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    sweeps: list[SweepPoint] = field(default_factory=list)

    @property
    def wrong(self) -> list[str]:
        """Answers of engines that were not equal, and other differences."""
        checks = [check for check in self.checks if check.verdict == "different"]
        return [*(f"{check.dataset}, {check.left} and {check.right}" for check in checks), *self.differences]

    def tables(self) -> list[Table]:
        """Rates, ratios, and which answers were compared."""
        return [rate_table(self.measurements), comparison_table(self.comparisons), check_table(self.checks)]

    def figures(self) -> dict[str, Any]:
        """Every run of every engine."""
        return {
            "measurements": [_measurement(measurement) for measurement in self.measurements],
            "comparisons": [asdict(item) | {"met": item.is_met} for item in self.comparisons],
            "checks": [asdict(check) for check in self.checks],
            "sweeps": [
                {"sweep": point.sweep, "value": point.value, "measurement": _measurement(point.measurement)}
                for point in self.sweeps
            ],
        }


@dataclass(slots=True)
class MixedResults(EngineResults):
    """What engines did, and plans in process beside each other."""

    plan_comparisons: list[PlanComparison] = field(default_factory=list)

    def tables_with(self, *between: Table) -> list[Table]:
        """The tables of the engines, others of the suite, and how plans compare."""
        return [*EngineResults.tables(self), *between, bar_table(self.plan_comparisons)]

    def figures(self) -> dict[str, Any]:
        """The engines, and how plans compare."""
        return EngineResults.figures(self) | {
            "plan_comparisons": [asdict(item) | {"met": item.is_met} for item in self.plan_comparisons],
            "differences": self.differences,
        }


def plan_json(run: PlanRun | ShareRun) -> dict[str, Any]:
    """What was measured of a plan, without its answers."""
    return {item.name: getattr(run, item.name) for item in fields(run) if item.name != "answers"}


def _measurement(measurement: Measurement) -> dict[str, Any]:
    return {
        "engine": measurement.engine,
        "dataset": asdict(measurement.dataset),
        "slide_us": measurement.slide_us,
        "rows_per_second": asdict(measurement.rate),
        "runs": [asdict(run) for run in measurement.runs],
    }
