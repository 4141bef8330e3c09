"""Finishing: totals become aggregates, for many groups at once.

The entry of an aggregate in ``AGGREGATES`` has the formula. This module reads its components from the totals. Exact
numbers are put together from their limbs, as int64 where they fit and as Python integers where they do not. All other
numbers are double-doubles. The answer is rounded once, to its type. An exact value that does not fit its type is an
error.
"""

import decimal
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.algebra import AGGREGATES
from joinfold.arrow import arrow_type
from joinfold.errors import EvaluationError
from joinfold.numbers import ExactNumbers, RoundedNumbers
from joinfold.physical.payload import AggregateSpec, ColumnRef, MomentSum
from joinfold.types import INTEGER_BITS, DataType

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_WIDEST = decimal.Context(prec=200, rounding=decimal.ROUND_HALF_UP)


@dataclass(slots=True)
class GroupSums:
    """The sums over all live combinations of some groups, one row per group."""

    integers: Integers
    high: Doubles
    low: Doubles
    extremes: list[pa.Array]

    def __len__(self) -> int:
        return len(self.integers)


def finish(aggregate: AggregateSpec, sums: GroupSums) -> pa.Array:
    """The values of an aggregate, in its type."""
    entry = AGGREGATES[aggregate.function]
    if aggregate.extreme is not None:
        return _extreme(sums.extremes[aggregate.extreme], aggregate.type)
    assert entry.finisher is not None
    rows = _exact(aggregate.moments[0], sums)
    few = np.asarray(rows.numerator < entry.fewest, np.bool_)
    if aggregate.is_exact:
        others = [_exact(moment, sums) for moment in aggregate.moments[1:]]
        return _fitting(entry.finisher(rows, *others), few, aggregate.type)
    with np.errstate(all="ignore"):
        value = entry.finisher(*(_rounded(moment, sums) for moment in aggregate.moments))
    assert isinstance(value, RoundedNumbers)
    doubles, is_special = _with_specials(value.doubles(), aggregate, sums)
    missing = few if value.missing is None else few | (value.missing & ~is_special)
    return pa.array(doubles, mask=missing)


# --- components from totals ---------------------------------------------------------------------------------------


def _exact(moment: MomentSum, sums: GroupSums) -> ExactNumbers:
    """The exact sums: int64 if only the lowest limb is used, else Python integers."""
    parts = [(_exact_column(ref, sums), shift) for ref, shift in moment.limbs]
    used = [(part, shift) for part, shift in parts if part.dtype == object or shift == 0 or part.any()]
    if len(used) == 1 and used[0][0].dtype != object:
        return ExactNumbers(used[0][0], 10**moment.scale)
    whole = sum((part.astype(object) << shift for part, shift in used), np.zeros(len(sums), object))
    return ExactNumbers(whole, 10**moment.scale)


def _exact_column(ref: ColumnRef, sums: GroupSums) -> NDArray[Any]:
    if ref.is_integer:
        return sums.integers[:, ref.index]
    pairs = zip(sums.high[:, ref.index].tolist(), sums.low[:, ref.index].tolist(), strict=True)
    return np.array([int(high) + int(low) for high, low in pairs], object)


def _rounded(moment: MomentSum, sums: GroupSums) -> RoundedNumbers:
    ((ref, _),) = moment.limbs
    if ref.is_integer:
        return RoundedNumbers.of_integers(sums.integers[:, ref.index])
    return RoundedNumbers(sums.high[:, ref.index].copy(), sums.low[:, ref.index].copy())


def _with_specials(value: Doubles, aggregate: AggregateSpec, sums: GroupSums) -> tuple[Doubles, Flags]:
    """The values with NaN and infinities, which are counted apart from the sums, and where there are any."""
    counts = {kind: np.zeros(len(sums), np.int64) for kind in ("nan", "inf", "-inf")}
    for kind, ref in aggregate.specials:
        counts[kind] += sums.integers[:, ref.index]
    value = np.where(counts["inf"] > 0, np.inf, np.where(counts["-inf"] > 0, -np.inf, value))
    is_special = np.any([number > 0 for number in counts.values()], axis=0)
    return np.where((counts["nan"] > 0) | ((counts["inf"] > 0) & (counts["-inf"] > 0)), np.nan, value), is_special


# --- answers in their types ---------------------------------------------------------------------------------------


def _fitting(value: ExactNumbers | RoundedNumbers | Flags, few: Flags, type_: DataType) -> pa.Array:
    """Exact values in their type, NULL for groups with too few rows. A value that does not fit is an error."""
    if isinstance(value, np.ndarray):
        return pa.array(value, mask=few)
    assert isinstance(value, ExactNumbers)
    if type_.is_decimal:
        return pa.array(_decimals(value, few, type_), arrow_type(type_))
    if type_.is_integer:
        assert value.denominator == 1
        return pa.array(_integers(value.numerator, type_), pa.int64(), mask=few).cast(arrow_type(type_))
    return pa.array(value.doubles(), pa.float64(), mask=few)


def _integers(values: NDArray[Any], type_: DataType) -> Integers:
    if values.dtype != object:
        return values
    bits = INTEGER_BITS[type_.name] - 1
    for value in values:
        if not -(1 << bits) <= value < 1 << bits:
            raise EvaluationError(f"{value} does not fit {type_}")
    return values.astype(np.int64)


def _decimals(value: ExactNumbers, few: Flags, type_: DataType) -> list[decimal.Decimal | None]:
    pairs = zip(value.fractions(), few.tolist(), strict=True)
    return [None if is_null else _decimal(*fraction, type_) for fraction, is_null in pairs]


def _decimal(numerator: int, denominator: int, type_: DataType) -> decimal.Decimal:
    """A fraction with a positive denominator, rounded half up to the type's scale."""
    assert type_.precision is not None and type_.scale is not None
    units = (2 * abs(numerator) * 10**type_.scale + denominator) // (2 * denominator)
    if units >= 10**type_.precision:
        exact = _WIDEST.divide(decimal.Decimal(numerator), decimal.Decimal(denominator))
        raise EvaluationError(f"{exact} does not fit {type_}")
    return decimal.Decimal(units if numerator >= 0 else -units).scaleb(-type_.scale, _WIDEST)


def _extreme(values: pa.Array, type_: DataType) -> pa.Array:
    """Extremes in their type. Integers were computed as BIGINT; other values stay as they are."""
    target = arrow_type(type_)
    if pa.types.is_struct(values.type):
        values = values.flatten()[1]
    if not type_.is_integer or values.type == target:
        return values
    try:
        return values.cast(target)
    except pa.ArrowInvalid:
        bits = INTEGER_BITS[type_.name] - 1
        wrong = next(value for value in values.to_pylist() if value is not None and not -(2**bits) <= value < 2**bits)
        raise EvaluationError(f"{wrong} does not fit {type_}") from None
