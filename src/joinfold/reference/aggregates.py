"""The definitions of the aggregates: from a list of argument tuples to a value.

They are independent of `algebra`: sums are computed over all values at once, and moments about the mean in two passes.
Both are exact (`Fraction`) if the values are finite. A tuple of a sample counts for several: that is its weight.
"""

import decimal
import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from joinfold.reference.values import canonical, in_range, order_key, to_scale
from joinfold.types import DataType

Arguments = Sequence[tuple[Any, ...]]
Weight = Fraction | int
Rows = list[tuple[Weight, tuple[Fraction, ...]]]


def aggregate_value(
    function: str, arguments: Arguments, result: DataType, weights: Sequence[Weight] | None = None
) -> Any:
    """The aggregate over the argument tuples; None (NULL) if it is not defined for them.

    ``weights`` say for how many each tuple counts. Extremes, truths and bits are those of the tuples that are there.
    """
    if function in ("min_by", "max_by"):
        return _extreme_by(function, arguments, result)
    weighted = zip([1] * len(arguments) if weights is None else weights, arguments, strict=True)
    rows = [(weight, values) for weight, values in weighted if None not in values]
    if function in ("count", "regr_count"):
        return half_up(_size(rows))
    if not rows:
        return None
    arguments = [values for _, values in rows]
    if function in _FOLDED:
        return reduce(_FOLDED[function], (value for (value,) in arguments))
    if function in _BITWISE:
        return reduce(_BITWISE[function], (in_range(value, result) for (value,) in arguments))
    if function in ("min", "max"):
        chosen = min if function == "min" else max
        value = canonical(chosen((value for (value,) in arguments), key=order_key))
        return in_range(value, result) if result.is_integer else value
    if function in ("sum", "avg"):
        return _sum_or_average(function, [(weight, value) for weight, (value,) in rows], result)
    finite = all(math.isfinite(value) for values in arguments for value in values)
    exact = [(weight, tuple(map(Fraction, values))) for weight, values in rows] if finite else []
    value = _DEVIATIONS[function](exact) if finite else math.nan
    few = function.endswith("_samp") and len(arguments) < 2
    return None if few or value is None else double(value)


def half_up(value: Weight) -> int:
    """The nearest integer; halves away from zero."""
    nearest = math.floor(abs(Fraction(value)) + Fraction(1, 2))
    return nearest if value >= 0 else -nearest


def _size(rows: Sequence[tuple[Weight, Any]]) -> Weight:
    return sum(weight for weight, _ in rows)


def _extreme_by(function: str, arguments: Arguments, result: DataType) -> Any:
    """x where y is extreme. Among rows with the same y, the extreme x, or NULL if every x is NULL."""
    chosen = min if function == "min_by" else max
    ordered = [(x, y) for x, y in arguments if y is not None]
    if not ordered:
        return None
    best = chosen(order_key(y) for _, y in ordered)
    tied = [x for x, y in ordered if order_key(y) == best and x is not None]
    value = canonical(chosen(tied, key=order_key)) if tied else None
    return in_range(value, result) if result.is_integer and value is not None else value


def _sum_or_average(function: str, rows: list[tuple[Weight, Any]], result: DataType) -> Any:
    count = _size(rows)
    if result.is_floating and any(isinstance(value, float) for _, value in rows):
        total = _float_sum(rows)
        return total if function == "sum" else total / count if isinstance(count, int) else _float_mean(rows, total)
    exact = sum((weight * Fraction(value) for weight, value in rows), Fraction(0))
    if function == "avg":
        exact /= count
    if result.is_decimal:
        with decimal.localcontext(prec=200):
            return to_scale(decimal.Decimal(exact.numerator) / exact.denominator, result)
    return in_range(half_up(exact), result) if result.is_integer else float(exact)


def _float_sum(rows: list[tuple[Weight, float]]) -> float:
    values = [value for _, value in rows]
    specials = {value for value in values if math.isinf(value)}
    if any(math.isnan(value) for value in values) or len(specials) == 2:
        return math.nan
    if specials:
        return specials.pop()
    if all(weight == 1 for weight, _ in rows):
        try:
            return math.fsum(values)
        except OverflowError:
            pass
    return double(_exact_sum(rows))


def _float_mean(rows: list[tuple[Weight, float]], total: float) -> float:
    return double(_exact_sum(rows) / _size(rows)) if math.isfinite(total) else total


def _exact_sum(rows: list[tuple[Weight, float]]) -> Fraction:
    return sum((weight * Fraction(value) for weight, value in rows), Fraction(0))


def double(exact: Fraction | float) -> float:
    """The nearest double, ±∞ beyond the largest."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _mean(rows: Rows, argument: int) -> Fraction:
    return sum((weight * row[argument] for weight, row in rows), Fraction(0)) / _size(rows)


def _deviation(rows: Rows, left: int, right: int) -> Fraction:
    """Σ (x − mean x)·(y − mean y)."""
    means = _mean(rows, left), _mean(rows, right)
    return sum((weight * (row[left] - means[0]) * (row[right] - means[1]) for weight, row in rows), Fraction(0))


def _sample(rows: Rows, total: Fraction) -> Fraction:
    return total / (_size(rows) - 1) if len(rows) > 1 else Fraction(0)


def _root(value: Fraction) -> float:
    return math.sqrt(double(value))


def _correlation(rows: Rows) -> float | None:
    spread = _deviation(rows, 0, 0) * _deviation(rows, 1, 1)
    if spread == 0:
        return None
    with decimal.localcontext(prec=60):
        root = (decimal.Decimal(spread.numerator) / spread.denominator).sqrt()
        shared = _deviation(rows, 0, 1)
        return float(decimal.Decimal(shared.numerator) / shared.denominator / root)


def _slope(rows: Rows) -> Fraction | None:
    """The slope of y, the first argument, over x, the second."""
    spread = _deviation(rows, 1, 1)
    return None if spread == 0 else _deviation(rows, 0, 1) / spread


def _intercept(rows: Rows) -> Fraction | None:
    slope = _slope(rows)
    return None if slope is None else _mean(rows, 0) - slope * _mean(rows, 1)


def _determination(rows: Rows) -> Fraction | None:
    spread_y, spread_x = _deviation(rows, 0, 0), _deviation(rows, 1, 1)
    if spread_x == 0:
        return None
    return _deviation(rows, 0, 1) ** 2 / (spread_y * spread_x) if spread_y else Fraction(1)


def _standardized(rows: Rows, power: int) -> float | None:
    """The mean of ((x − mean)/deviation)^power; None if the deviation is 0."""
    mean = _mean(rows, 0)
    variance, moment = (_mean_power(rows, mean, order) for order in (2, power))
    if variance == 0:
        return None
    with decimal.localcontext(prec=60):
        root = (decimal.Decimal(variance.numerator) / variance.denominator).sqrt()
        return float(decimal.Decimal(moment.numerator) / moment.denominator / root**power)


def _mean_power(rows: Rows, mean: Fraction, power: int) -> Fraction:
    return sum((weight * (row[0] - mean) ** power for weight, row in rows), Fraction(0)) / _size(rows)


def _excess(rows: Rows) -> float | None:
    fourth = _standardized(rows, 4)
    return None if fourth is None else fourth - 3


_FOLDED: dict[str, Callable[[bool, bool], bool]] = {
    "bool_and": lambda left, right: left and right,
    "bool_or": lambda left, right: left or right,
}
_BITWISE: dict[str, Callable[[int, int], int]] = {
    "bit_and": operator.and_,
    "bit_or": operator.or_,
    "bit_xor": operator.xor,
}
_DEVIATIONS: dict[str, Callable[[Rows], Fraction | float | None]] = {
    "var_pop": lambda rows: _deviation(rows, 0, 0) / _size(rows),
    "var_samp": lambda rows: _sample(rows, _deviation(rows, 0, 0)),
    "stddev_pop": lambda rows: _root(_deviation(rows, 0, 0) / _size(rows)),
    "stddev_samp": lambda rows: _root(_sample(rows, _deviation(rows, 0, 0))),
    "covar_pop": lambda rows: _deviation(rows, 0, 1) / _size(rows),
    "covar_samp": lambda rows: _sample(rows, _deviation(rows, 0, 1)),
    "skewness": lambda rows: _standardized(rows, 3),
    "kurtosis": _excess,
    "corr": _correlation,
    "regr_r2": _determination,
    "regr_slope": _slope,
    "regr_intercept": _intercept,
}
