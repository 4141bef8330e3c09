"""Aggregates as their definitions: a list of argument tuples without NULL in, a value out.

Independent of `algebra`: sums are taken over all values at once, moments about the mean in two passes, exactly
(`Fraction`) where the values are finite.
"""

import decimal
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from joinfold.reference.values import canonical, in_range, order_key, to_scale
from joinfold.types import DataType

Arguments = Sequence[tuple[Any, ...]]


def aggregate_value(function: str, arguments: Arguments, result: DataType) -> Any:
    """The aggregate over the tuples; NULL (None) where it is not defined."""
    if function == "count":
        return len(arguments)
    if not arguments:
        return None
    if function in ("min", "max"):
        chosen = min if function == "min" else max
        value = canonical(chosen((value for (value,) in arguments), key=order_key))
        return in_range(value, result) if result.is_integer else value
    if function in ("sum", "avg"):
        return _sum_or_average(function, [value for (value,) in arguments], result)
    finite = all(math.isfinite(value) for values in arguments for value in values)
    value = _DEVIATIONS[function]([tuple(map(Fraction, values)) for values in arguments]) if finite else math.nan
    few = function.endswith("_samp") and len(arguments) < 2
    return None if few or value is None else double(value)


def _sum_or_average(function: str, values: list[Any], result: DataType) -> Any:
    if result.is_floating and any(isinstance(value, float) for value in values):
        total = _float_sum(values)
        return total if function == "sum" else total / len(values)
    exact = sum(map(Fraction, values), Fraction(0))
    if function == "avg":
        exact /= len(values)
    if result.is_decimal:
        with decimal.localcontext(prec=200):
            return to_scale(decimal.Decimal(exact.numerator) / exact.denominator, result)
    return in_range(int(exact), result) if result.is_integer else float(exact)


def _float_sum(values: list[float]) -> float:
    specials = {value for value in values if math.isinf(value)}
    if any(math.isnan(value) for value in values) or len(specials) == 2:
        return math.nan
    if specials:
        return specials.pop()
    try:
        return math.fsum(values)
    except OverflowError:
        return double(sum(map(Fraction, values), Fraction(0)))


def double(exact: Fraction | float) -> float:
    """The nearest double, ±∞ beyond the largest."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _deviation(rows: list[tuple[Fraction, ...]], left: int, right: int) -> Fraction:
    """Σ (x − mean x)·(y − mean y)."""
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return sum(((row[left] - means[left]) * (row[right] - means[right]) for row in rows), Fraction(0))


def _sample(rows: list[tuple[Fraction, ...]], total: Fraction) -> Fraction:
    return total / (len(rows) - 1) if len(rows) > 1 else Fraction(0)


def _root(value: Fraction) -> float:
    return math.sqrt(double(value))


def _correlation(rows: list[tuple[Fraction, ...]]) -> float | None:
    spread = _deviation(rows, 0, 0) * _deviation(rows, 1, 1)
    if spread == 0:
        return None
    with decimal.localcontext(prec=60):
        root = (decimal.Decimal(spread.numerator) / spread.denominator).sqrt()
        shared = _deviation(rows, 0, 1)
        return float(decimal.Decimal(shared.numerator) / shared.denominator / root)


def _slope(rows: list[tuple[Fraction, ...]]) -> Fraction | None:
    """Of y, the first argument, by x, the second."""
    spread = _deviation(rows, 1, 1)
    return None if spread == 0 else _deviation(rows, 0, 1) / spread


def _intercept(rows: list[tuple[Fraction, ...]]) -> Fraction | None:
    slope = _slope(rows)
    mean_y, mean_x = (sum(column) / len(rows) for column in zip(*rows, strict=True))
    return None if slope is None else mean_y - slope * mean_x


_DEVIATIONS: dict[str, Callable[[list[tuple[Fraction, ...]]], Fraction | float | None]] = {
    "var_pop": lambda rows: _deviation(rows, 0, 0) / len(rows),
    "var_samp": lambda rows: _sample(rows, _deviation(rows, 0, 0)),
    "stddev_pop": lambda rows: _root(_deviation(rows, 0, 0) / len(rows)),
    "stddev_samp": lambda rows: _root(_sample(rows, _deviation(rows, 0, 0))),
    "covar_pop": lambda rows: _deviation(rows, 0, 1) / len(rows),
    "covar_samp": lambda rows: _sample(rows, _deviation(rows, 0, 1)),
    "corr": _correlation,
    "regr_slope": _slope,
    "regr_intercept": _intercept,
}
