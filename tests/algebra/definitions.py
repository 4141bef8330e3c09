"""Every aggregate by its textbook definition: two passes over the values, in Fractions, without moments.

``DIRECT[name](rows)`` takes the tuples of arguments of all combinations, NULLs included.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from fractions import Fraction
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
    "corr": _correlation,
    "regr_slope": lambda rows: line[0] if (line := _line(rows)) else None,
    "regr_intercept": lambda rows: line[1] if (line := _line(rows)) else None,
}


def same(left: Any, right: Any) -> bool:
    """Equal, with room for the last digits of a root; NULL is the same as NULL only."""
    if left is None or right is None:
        return left is right
    return math.isclose(left, right, rel_tol=1e-12, abs_tol=1e-12)
