"""joinfold: continuous join-aggregate queries over sliding windows of streams, without building the join."""

from joinfold.builder import Builder, Measure
from joinfold.errors import EvaluationError, JoinfoldError, QueryError, RunError, SetupError, UsageError
from joinfold.measures import (
    avg,
    corr,
    count,
    covar_pop,
    covar_samp,
    max,
    min,
    regr_intercept,
    regr_slope,
    stddev_pop,
    stddev_samp,
    sum,
    var_pop,
    var_samp,
)
from joinfold.planner.forcing import Plan
from joinfold.query import Query
from joinfold.session import Session

__all__ = [
    "Builder",
    "EvaluationError",
    "JoinfoldError",
    "Measure",
    "Plan",
    "Query",
    "QueryError",
    "RunError",
    "Session",
    "SetupError",
    "UsageError",
    "avg",
    "corr",
    "count",
    "covar_pop",
    "covar_samp",
    "max",
    "min",
    "regr_intercept",
    "regr_slope",
    "stddev_pop",
    "stddev_samp",
    "sum",
    "var_pop",
    "var_samp",
]
