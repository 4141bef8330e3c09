"""The aggregate functions for the builder. Their arguments are expressions as SQL text."""

from joinfold.builder import Measure


def count(expression: str = "*") -> Measure:
    """The number of combinations, or of those for which the expression is not NULL."""
    return Measure(f"COUNT({expression})")


def sum(expression: str) -> Measure:
    """The sum."""
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


def min_by(value: str, by: str) -> Measure:
    """The ``value`` of the combination with the smallest ``by``."""
    return Measure(f"MIN_BY({value}, {by})")


def max_by(value: str, by: str) -> Measure:
    """The ``value`` of the combination with the largest ``by``."""
    return Measure(f"MAX_BY({value}, {by})")


def bool_and(condition: str) -> Measure:
    """Whether the condition is always true."""
    return Measure(f"BOOL_AND({condition})")


def bool_or(condition: str) -> Measure:
    """Whether the condition is true at least once."""
    return Measure(f"BOOL_OR({condition})")


def bit_and(expression: str) -> Measure:
    """The bits that are set in all integers."""
    return Measure(f"BIT_AND({expression})")


def bit_or(expression: str) -> Measure:
    """The bits that are set in at least one integer."""
    return Measure(f"BIT_OR({expression})")


def bit_xor(expression: str) -> Measure:
    """The bits that are set in an odd number of integers."""
    return Measure(f"BIT_XOR({expression})")


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


def skewness(expression: str) -> Measure:
    """The skewness of the population."""
    return Measure(f"SKEWNESS({expression})")


def kurtosis(expression: str) -> Measure:
    """The excess kurtosis of the population: the kurtosis minus 3."""
    return Measure(f"KURTOSIS({expression})")


def covar_pop(left: str, right: str) -> Measure:
    """The population covariance."""
    return Measure(f"COVAR_POP({left}, {right})")


def covar_samp(left: str, right: str) -> Measure:
    """The sample covariance."""
    return Measure(f"COVAR_SAMP({left}, {right})")


def corr(left: str, right: str) -> Measure:
    """The correlation."""
    return Measure(f"CORR({left}, {right})")


def regr_count(dependent: str, independent: str) -> Measure:
    """The number of combinations in which neither argument is NULL."""
    return Measure(f"REGR_COUNT({dependent}, {independent})")


def regr_r2(dependent: str, independent: str) -> Measure:
    """The share of the variance that the regression line explains."""
    return Measure(f"REGR_R2({dependent}, {independent})")


def regr_slope(dependent: str, independent: str) -> Measure:
    """The slope of the regression line."""
    return Measure(f"REGR_SLOPE({dependent}, {independent})")


def regr_intercept(dependent: str, independent: str) -> Measure:
    """The intercept of the regression line."""
    return Measure(f"REGR_INTERCEPT({dependent}, {independent})")
