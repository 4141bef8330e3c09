"""Totals to aggregates, for many groups at once.

Exact numbers are put together from their limbs, as int64 where they fit and as Python integers where they do not, and
an exact value that its type cannot hold is an error. Everything else is computed in double-double and rounded once.
"""

import decimal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.arrow import arrow_type
from joinfold.errors import EvaluationError
from joinfold.kernels import double_double as dd
from joinfold.physical.payload import AggregateSpec, ColumnRef, MomentSum
from joinfold.types import INTEGER_BITS, DataType

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Exact = NDArray[Any]

_WIDEST = decimal.Context(prec=200, rounding=decimal.ROUND_HALF_UP)
ROUNDING = 2.0**-76  # of sums in double-double; a deviation of 1e-6 of the mean is 2^-40 of the squares


@dataclass(slots=True)
class GroupSums:
    """The sums over all live combinations of some groups: a row each."""

    integers: Integers
    high: Doubles
    low: Doubles
    extremes: list[pa.Array]

    def __len__(self) -> int:
        return len(self.integers)


def finish(aggregate: AggregateSpec, sums: GroupSums) -> pa.Array:
    """The values of an aggregate, in its type."""
    if aggregate.extreme is not None:
        return _fitting_extreme(sums.extremes[aggregate.extreme], aggregate.type)
    count = _exact(aggregate.moments[0], sums)
    if aggregate.function == "count":
        return pa.array(_fitting(count, 63, aggregate.type), pa.int64())
    if aggregate.is_exact:
        return _finish_exact(aggregate, count, _exact(aggregate.moments[1], sums))
    moments = [_double_double(moment, sums) for moment in aggregate.moments]
    with np.errstate(all="ignore"):
        value, defined = _FINISHERS[aggregate.function](moments)
    value, is_special = _with_specials(value, aggregate, sums)
    if not aggregate.function.endswith("_samp"):  # those of one row are NULL, whatever it is
        defined = defined | is_special
    return pa.array(value, mask=~defined | np.equal(count, 0))


def _exact(moment: MomentSum, sums: GroupSums) -> Exact:
    """The exact sums: int64 if only the lowest limb is there, else Python integers."""
    parts = [(_exact_column(ref, sums), shift) for ref, shift in moment.limbs]
    used = [(part, shift) for part, shift in parts if part.dtype == object or shift == 0 or part.any()]
    if len(used) == 1 and used[0][0].dtype != object:
        return used[0][0]
    return sum((part.astype(object) << shift for part, shift in used), np.zeros(len(sums), object))


def _exact_column(ref: ColumnRef, sums: GroupSums) -> Exact:
    if ref.is_integer:
        return sums.integers[:, ref.index]
    pairs = zip(sums.high[:, ref.index].tolist(), sums.low[:, ref.index].tolist(), strict=True)
    return np.array([int(high) + int(low) for high, low in pairs], object)


def _finish_exact(aggregate: AggregateSpec, count: Exact, total: Exact) -> pa.Array:
    empty = np.equal(count, 0)
    type_ = aggregate.type
    if type_.is_decimal:
        divisors = count if aggregate.function == "avg" else np.ones(len(total), np.int64)
        values = [
            None if nothing else _decimal(int(number), int(divisor), aggregate.moments[1].scale, type_)
            for number, divisor, nothing in zip(total, divisors, empty, strict=True)
        ]
        return pa.array(values, pa.decimal128(type_.precision, type_.scale))
    if aggregate.function == "sum":
        return pa.array(_fitting(total, 63, type_), pa.int64(), mask=empty)
    mean = np.array([0.0 if not n else s / n for s, n in zip(total.tolist(), count.tolist(), strict=True)])
    return pa.array(mean, pa.float64(), mask=empty)


def _decimal(number: int, divisor: int, scale: int, type_: DataType) -> decimal.Decimal:
    assert type_.precision is not None and type_.scale is not None
    exact = _WIDEST.divide(decimal.Decimal(number).scaleb(-scale, _WIDEST), decimal.Decimal(divisor))
    rounded = exact.quantize(decimal.Decimal(1).scaleb(-type_.scale), context=_WIDEST)
    if rounded.copy_abs().scaleb(type_.scale, _WIDEST) >= 10**type_.precision:
        raise EvaluationError(f"{exact} does not fit {type_}")
    return rounded


def _fitting(values: Exact, bits: int, type_: DataType) -> Integers:
    if values.dtype != object:
        return values
    for value in values:
        if not -(1 << bits) <= value < 1 << bits:
            raise EvaluationError(f"{value} does not fit {type_}")
    return values.astype(np.int64)


def _fitting_extreme(values: pa.Array, type_: DataType) -> pa.Array:
    """Integers that were computed wide, in their type again; other values as they are."""
    target = arrow_type(type_)
    if not type_.is_integer or values.type == target:
        return values
    try:
        return values.cast(target)
    except pa.ArrowInvalid:
        bits = INTEGER_BITS[type_.name] - 1
        wrong = next(value for value in values.to_pylist() if value is not None and not -(2**bits) <= value < 2**bits)
        raise EvaluationError(f"{wrong} does not fit {type_}") from None


# --- Sums of numbers that round ---------------------------------------------------------------------------------

DD = dd.DoubleDoubles


def _double_double(moment: MomentSum, sums: GroupSums) -> DD:
    ((ref, _),) = moment.limbs
    if ref.is_integer:
        return dd.from_int64(sums.integers[:, ref.index])
    return sums.high[:, ref.index].copy(), sums.low[:, ref.index].copy()


def _value(number: DD) -> Doubles:
    return number[0] + number[1]


def _sum(moments: list[DD]) -> tuple[Doubles, NDArray[np.bool_]]:
    return _value(moments[1]), np.ones(len(moments[1][0]), np.bool_)


def _average(moments: list[DD]) -> tuple[Doubles, NDArray[np.bool_]]:
    count, total = moments
    return _value(dd.divide(total, count)), count[0] > 0


def _spread(count: DD, left: DD, right: DD, both: DD) -> DD:
    """n·Σxy − Σx·Σy: n² times the population covariance."""
    return dd.subtract(dd.multiply(count, both), dd.multiply(left, right))


def _squares(count: DD, total: DD, squares: DD) -> DD:
    """n·Σx² − (Σx)²: n² times the variance; zero where it is no more than what rounding leaves of equal values."""
    spread = _spread(count, total, total, squares)
    scale = count[0] * squares[0]
    positive = spread[0] > ROUNDING * scale
    high = np.where(positive, spread[0], np.where(np.isfinite(scale), 0.0, np.inf))
    return high, np.where(positive, spread[1], 0.0)


def _variance(sample: bool, root: bool) -> Callable[[list[DD]], tuple[Doubles, NDArray[np.bool_]]]:
    def finisher(moments: list[DD]) -> tuple[Doubles, NDArray[np.bool_]]:
        count, total, squares = moments
        value = _over(_squares(count, total, squares), count, sample)
        return (np.sqrt(value) if root else value), count[0] > (1 if sample else 0)

    return finisher


def _covariance(sample: bool) -> Callable[[list[DD]], tuple[Doubles, NDArray[np.bool_]]]:
    def finisher(moments: list[DD]) -> tuple[Doubles, NDArray[np.bool_]]:
        count, left, right, both = moments
        return _over(_spread(count, left, right, both), count, sample), count[0] > (1 if sample else 0)

    return finisher


def _over(spread: DD, count: DD, sample: bool) -> Doubles:
    """The spread divided by n², or by n·(n−1) for a sample."""
    one = (np.ones_like(count[0]), np.zeros_like(count[0]))
    return _value(dd.divide(dd.divide(spread, count), dd.subtract(count, one) if sample else count))


def _correlation(moments: list[DD]) -> tuple[Doubles, NDArray[np.bool_]]:
    count, left, right, both, squares_left, squares_right = moments
    spread_left = _squares(count, left, squares_left)
    spread_right = _squares(count, right, squares_right)
    defined = (spread_left[0] > 0) & (spread_right[0] > 0)
    root = dd.multiply(dd.sqrt(spread_left), dd.sqrt(spread_right))
    return _value(dd.divide(_spread(count, left, right, both), root)), defined


def _regression(intercept: bool) -> Callable[[list[DD]], tuple[Doubles, NDArray[np.bool_]]]:
    def finisher(moments: list[DD]) -> tuple[Doubles, NDArray[np.bool_]]:
        count, dependent, independent, both, squares = moments
        spread = _squares(count, independent, squares)
        slope = dd.divide(_spread(count, dependent, independent, both), spread)
        if not intercept:
            return _value(slope), spread[0] > 0
        rest = dd.subtract(dependent, dd.multiply(slope, independent))
        return _value(dd.divide(rest, count)), spread[0] > 0

    return finisher


_FINISHERS: dict[str, Callable[[list[DD]], tuple[Doubles, NDArray[np.bool_]]]] = {
    "sum": _sum,
    "avg": _average,
    "var_pop": _variance(sample=False, root=False),
    "var_samp": _variance(sample=True, root=False),
    "stddev_pop": _variance(sample=False, root=True),
    "stddev_samp": _variance(sample=True, root=True),
    "covar_pop": _covariance(sample=False),
    "covar_samp": _covariance(sample=True),
    "corr": _correlation,
    "regr_slope": _regression(intercept=False),
    "regr_intercept": _regression(intercept=True),
}


def _with_specials(value: Doubles, aggregate: AggregateSpec, sums: GroupSums) -> tuple[Doubles, NDArray[np.bool_]]:
    """NaN and infinities are counted beside the sums, and decide where there is one; where that is."""
    counts = {kind: np.zeros(len(sums), np.int64) for kind in ("nan", "inf", "-inf")}
    for kind, ref in aggregate.specials:
        counts[kind] += sums.integers[:, ref.index]
    value = np.where(counts["inf"] > 0, np.inf, np.where(counts["-inf"] > 0, -np.inf, value))
    is_special = np.any([number > 0 for number in counts.values()], axis=0)
    return np.where((counts["nan"] > 0) | ((counts["inf"] > 0) & (counts["-inf"] > 0)), np.nan, value), is_special
