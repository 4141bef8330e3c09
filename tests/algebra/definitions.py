"""Every aggregate by its textbook definition: two passes over the values, in Fractions, without moments.

``DIRECT[name](rows)`` takes the tuples of arguments of all combinations, NULLs included.
"""

import math
import operator
import statistics
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

Row = tuple[Any, ...]


def complete(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if None not in row]


def _mean(values: Sequence[int]) -> Fraction:
    return Fraction(sum(values), len(values))


def _deviations(values: Sequence[int]) -> list[Fraction]:
    return [value - _mean(values) for value in values]


def _inner(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(left, right, strict=True)), start=Fraction(0))


def _values(rows: Sequence[Row]) -> list[Fraction]:
    return [Fraction(row[0]) for row in complete(rows)]


def _covariance(rows: Sequence[Row], lost: int) -> float | None:
    pairs = complete(rows)
    if len(pairs) <= lost:
        return None
    ys, xs = zip(*pairs, strict=True)
    return float(_inner(_deviations(ys), _deviations(xs)) / (len(pairs) - lost))


def _correlation(rows: Sequence[Row]) -> float | None:
    pairs = complete(rows)
    if len({y for y, _ in pairs}) < 2 or len({x for _, x in pairs}) < 2:
        return None
    return statistics.correlation([y for y, _ in pairs], [x for _, x in pairs])


def _line(rows: Sequence[Row]) -> tuple[float, float] | None:
    pairs = complete(rows)
    if len({x for _, x in pairs}) < 2:
        return None
    ys, xs = zip(*pairs, strict=True)
    slope = _inner(_deviations(ys), _deviations(xs)) / _inner(_deviations(xs), _deviations(xs))
    return float(slope), float(_mean(ys) - slope * _mean(xs))


def _at_least(fewest: int, function: Callable[[list[Fraction]], Any]) -> Callable[[Sequence[Row]], Any]:
    return lambda rows: function(_values(rows)) if len(complete(rows)) >= fewest else None


def _standardized(values: Sequence[Fraction], power: int, less: int) -> float | None:
    deviations = _deviations(values)
    variance = _inner(deviations, deviations) / len(values)
    if variance == 0:
        return None
    return sum((float(deviation) / math.sqrt(variance)) ** power for deviation in deviations) / len(values) - less


def _determination(rows: Sequence[Row]) -> float | None:
    pairs = complete(rows)
    if len({x for _, x in pairs}) < 2:
        return None
    return 1.0 if len({y for y, _ in pairs}) < 2 else (_correlation(rows) or 0.0) ** 2


def _by(rows: Sequence[Row], largest: bool) -> Any:
    """MIN_BY and MAX_BY by sorting: NULL sorts so that it is taken only if there is no other value."""
    ordered = [(y, x is not None, x or 0) for x, y in rows if y is not None]
    smallest_first = [(-y, has, -x) for y, has, x in ordered]
    if not ordered:
        return None
    _, has, x = max(ordered if largest else smallest_first)
    return (x if largest else -x) if has else None


def _folded(function: Callable[[Any, Any], Any]) -> Callable[[Sequence[Row]], Any]:
    return lambda rows: reduce(function, [row[0] for row in complete(rows)]) if complete(rows) else None


DIRECT: dict[str, Callable[[Sequence[Row]], Any]] = {
    "count": lambda rows: len(complete(rows)),
    "sum": _at_least(1, sum),
    "avg": _at_least(1, lambda values: float(statistics.mean(values))),
    "min": _at_least(1, min),
    "max": _at_least(1, max),
    "var_pop": _at_least(1, lambda values: float(statistics.pvariance(values))),
    "var_samp": _at_least(2, lambda values: float(statistics.variance(values))),
    "stddev_pop": _at_least(1, lambda values: math.sqrt(statistics.pvariance(values))),
    "stddev_samp": _at_least(2, lambda values: math.sqrt(statistics.variance(values))),
    "covar_pop": lambda rows: _covariance(rows, 0),
    "covar_samp": lambda rows: _covariance(rows, 1),
    "min_by": lambda rows: _by(rows, largest=False),
    "max_by": lambda rows: _by(rows, largest=True),
    "bool_and": _folded(lambda left, right: left and right),
    "bool_or": _folded(lambda left, right: left or right),
    "bit_and": _folded(operator.and_),
    "bit_or": _folded(operator.or_),
    "bit_xor": _folded(operator.xor),
    "skewness": _at_least(1, lambda values: _standardized(values, 3, 0)),
    "kurtosis": _at_least(1, lambda values: _standardized(values, 4, 3)),
    "regr_count": lambda rows: len(complete(rows)),
    "regr_r2": _determination,
    "corr": _correlation,
    "regr_slope": lambda rows: line[0] if (line := _line(rows)) else None,
    "regr_intercept": lambda rows: line[1] if (line := _line(rows)) else None,
}


def same(left: Any, right: Any) -> bool:
    """Whether two answers are equal, up to the last digits of a square root; NULL equals only NULL."""
    if left is None or right is None:
        return left is right
    return math.isclose(left, right, rel_tol=1e-12, abs_tol=1e-12)
