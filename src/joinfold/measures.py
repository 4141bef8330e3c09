"""Aggregates for the builder: each names one of the language, over an expression written as text."""

from joinfold.builder import Measure


def count(expression: str = "*") -> Measure:
    """Combinations, or those for which the expression is not NULL."""
    return Measure(f"COUNT({expression})")


def sum(expression: str) -> Measure:
    """The total."""
    return Measure(f"SUM({expression})")


def avg(expression: str) -> Measure:
    """The mean."""
    return Measure(f"AVG({expression})")


def min(expression: str) -> Measure:
    """The smallest value."""
    return Measure(f"MIN({expression})")


def max(expression: str) -> Measure:
    """The largest value."""
    return Measure(f"MAX({expression})")


def var_pop(expression: str) -> Measure:
    """The population variance."""
    return Measure(f"VAR_POP({expression})")


def var_samp(expression: str) -> Measure:
    """The sample variance."""
    return Measure(f"VAR_SAMP({expression})")


def stddev_pop(expression: str) -> Measure:
    """The population standard deviation."""
    return Measure(f"STDDEV_POP({expression})")


def stddev_samp(expression: str) -> Measure:
    """The sample standard deviation."""
    return Measure(f"STDDEV_SAMP({expression})")


def covar_pop(left: str, right: str) -> Measure:
    """The population covariance."""
    return Measure(f"COVAR_POP({left}, {right})")


def covar_samp(left: str, right: str) -> Measure:
    """The sample covariance."""
    return Measure(f"COVAR_SAMP({left}, {right})")


def corr(left: str, right: str) -> Measure:
    """The correlation."""
    return Measure(f"CORR({left}, {right})")


def regr_slope(dependent: str, independent: str) -> Measure:
    """The slope of the regression line."""
    return Measure(f"REGR_SLOPE({dependent}, {independent})")


def regr_intercept(dependent: str, independent: str) -> Measure:
    """The intercept of the regression line."""
    return Measure(f"REGR_INTERCEPT({dependent}, {independent})")
