"""The suites. Each is one file and one entry in ``SUITES``."""

from collections.abc import Mapping

from joinfold.errors import UsageError, suggestion
from joinfold_bench.suites.engines import ENGINES
from joinfold_bench.suites.joins import JOINS
from joinfold_bench.suites.map import MAP
from joinfold_bench.suites.methods import METHODS
from joinfold_bench.suites.planner import PLANNER
from joinfold_bench.suites.shedding import SHEDDING
from joinfold_bench.suites.suite import Suite
from joinfold_bench.suites.windows import WINDOWS

SUITES: Mapping[str, Suite] = {
    suite.name: suite for suite in (ENGINES, MAP, METHODS, JOINS, WINDOWS, PLANNER, SHEDDING)
}


def suite_named(name: str) -> Suite:
    """The suite with this name."""
    if name in SUITES:
        return SUITES[name]
    near, has = suggestion(name, SUITES), f"There are: {', '.join(SUITES)}."
    raise UsageError(f"unknown suite '{name}'", f"did you mean '{near}'? {has}" if near else has)
