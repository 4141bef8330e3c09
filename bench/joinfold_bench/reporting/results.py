"""The results of a suite. All suites share these types, so one report prints and writes them.

    Results                 answers that differ, environment, duration
    └── EngineResults       adds engines over the same files
        └── MixedResults    adds joinfold's plans beside each other, in process

A new suite defines its tables and its figures for JSON. The rest is here and in ``writing``.
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
    """The results of a suite. ``differences`` names answers that should be equal and are not."""

    differences: list[str] = field(default_factory=list, kw_only=True)
    environment: dict[str, Any] = field(default_factory=dict, kw_only=True)
    seconds: float = field(default=0.0, kw_only=True)

    @abstractmethod
    def tables(self) -> list[Table]:
        """The tables to print, in order."""

    @abstractmethod
    def figures(self) -> dict[str, Any]:
        """Everything for JSON except the environment, the seconds and the answers."""

    @property
    def wrong(self) -> list[str]:
        """All answers that should be equal and are not, in words."""
        return self.differences

    def to_json(self) -> dict[str, Any]:
        """Everything except the answers."""
        return {"environment": self.environment, "seconds": self.seconds, **self.figures()}

    def files(self) -> dict[str, str]:
        """Files to write beside the JSON: their names and texts."""
        return {}


@dataclass(slots=True)
class EngineResults(Results):
    """Engines over the same files: their rates, how joinfold compares with them, and which answers were compared."""

    measurements: list[Measurement] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    sweeps: list[SweepPoint] = field(default_factory=list)

    @property
    def wrong(self) -> list[str]:
        """Engines whose answers differ, and other differences."""
        checks = [check for check in self.checks if check.verdict == "different"]
        return [*(f"{check.dataset}, {check.left} and {check.right}" for check in checks), *self.differences]

    def tables(self) -> list[Table]:
        """The rates, the ratios, and which answers were compared."""
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
    """Engines over the same files, and plans beside each other in process."""

    plan_comparisons: list[PlanComparison] = field(default_factory=list)

    def tables_with(self, *between: Table) -> list[Table]:
        """The tables of the engines, then those given, then the comparisons of plans."""
        return [*EngineResults.tables(self), *between, bar_table(self.plan_comparisons)]

    def figures(self) -> dict[str, Any]:
        """The engines, and the comparisons of plans."""
        return EngineResults.figures(self) | {
            "plan_comparisons": [asdict(item) | {"met": item.is_met} for item in self.plan_comparisons],
            "differences": self.differences,
        }


def plan_json(run: PlanRun | ShareRun) -> dict[str, Any]:
    """The measurements of a plan, without its answers."""
    return {item.name: getattr(run, item.name) for item in fields(run) if item.name != "answers"}


def _measurement(measurement: Measurement) -> dict[str, Any]:
    return {
        "engine": measurement.engine,
        "dataset": asdict(measurement.dataset),
        "slide_us": measurement.slide_us,
        "rows_per_second": asdict(measurement.rate),
        "runs": [asdict(run) for run in measurement.runs],
    }
