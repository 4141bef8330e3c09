"""Finishing: totals become aggregates, for many groups at once.

The entry of an aggregate in ``AGGREGATES`` has the formula. This module reads its components from the sums of the
groups. The answer is rounded once, to its type. An exact value that does not fit its type is an error.
"""

import decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.algebra import AGGREGATES
from joinfold.arrow import arrow_type
from joinfold.errors import EvaluationError
from joinfold.numbers import ExactNumbers, RoundedNumbers
from joinfold.operators.merging.group_sums import GroupSums, Sums
from joinfold.physical.column_names import aggregate_column, error_column, group_column
from joinfold.physical.payload import AggregateSpec
from joinfold.physical.stage import Merge
from joinfold.types import INTEGER_BITS, DataType

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

NEAR = 1e-9  # bounds this near to a number of their type, relative to their size, are that number
_WIDEST = decimal.Context(prec=200, rounding=decimal.ROUND_HALF_UP)


class Rounded(NamedTuple):
    """The values of a rounded aggregate, where they are NULL, and a bound of the error of each."""

    doubles: Doubles
    missing: Flags
    error: Doubles


class AggregateValues(NamedTuple):
    """The values of an aggregate in its type, and a bound of the error of each; None if they are exact."""

    values: pa.Array
    error: Doubles | None = None


def aggregates_of(last: Merge, emitted: pa.RecordBatch, first_row: Integers, sums: Sums) -> dict[str, pa.Array]:
    """The group columns and the aggregates; for CHANGES also the errors of those that are rounded."""
    first = pa.array(first_row)
    columns = {group_column(number): emitted.column(name).take(first) for number, name in enumerate(last.groups)}
    for number, own in enumerate(last.aggregates):
        found = finish(own, sums)
        columns[aggregate_column(number)] = found.values
        if last.changes and found.error is not None:
            columns[error_column(number)] = pa.array(found.error)
    return columns


def finish(aggregate: AggregateSpec, sums: Sums) -> AggregateValues:
    """The values of an aggregate. What cannot be estimated is that of the sample."""
    entry = AGGREGATES[aggregate.function]
    if aggregate.extreme is not None:
        return AggregateValues(_extreme(sums.sample.extremes[aggregate.extreme], aggregate.type))
    if not aggregate.is_exact:
        rounded = finish_rounded(aggregate, sums)
        return AggregateValues(pa.array(rounded.doubles, mask=rounded.missing), rounded.error)
    assert entry.finisher is not None
    own = sums if entry.has_moments_only else sums.sample
    value = entry.finisher(*map(own.exact, aggregate.moments))
    return AggregateValues(_fitting(value, _few(aggregate, sums.sample), aggregate.type))


def finish_rounded(aggregate: AggregateSpec, sums: Sums) -> Rounded:
    """The values of an aggregate that is computed from moments, as doubles. A value within its error of 0 is 0."""
    entry = AGGREGATES[aggregate.function]
    assert entry.finisher is not None and entry.has_moments_only
    with np.errstate(all="ignore"):
        value = entry.finisher(*(sums.rounded(moment, aggregate.is_exact) for moment in aggregate.moments))
    assert isinstance(value, RoundedNumbers)
    sample = sums.sample
    doubles, is_special = _with_specials(value.settled().doubles(), aggregate, sample)
    few = _few(aggregate, sample)
    return Rounded(doubles, few if value.missing is None else few | (value.missing & ~is_special), value.error)


def _few(aggregate: AggregateSpec, sample: GroupSums) -> Flags:
    """Where there are fewer rows than the aggregate needs; rows that were shed are not there."""
    rows = sample.exact(aggregate.moments[0])
    return np.asarray(rows.numerator < AGGREGATES[aggregate.function].fewest, np.bool_)


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
        return pa.array(_integers(value.half_up(), type_), pa.int64(), mask=few).cast(arrow_type(type_))
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


# --- doubles in the types of answers ------------------------------------------------------------------------------


def nearest(values: Doubles, type_: DataType) -> pa.Array:
    """Doubles in a numeric type, rounded half up; NULL for NaN and for what does not fit."""
    if type_.is_floating:
        return pa.array(values, arrow_type(type_), from_pandas=True)
    with np.errstate(all="ignore"):
        units = np.copysign(np.floor(np.abs(values * _unit(type_)) + 0.5), values)
        fits = np.abs(units) < _limit(type_)
    return _of_units(np.where(fits, units, 0.0), ~fits, type_)


def outward(values: Doubles, type_: DataType, is_upper: bool) -> pa.Array:
    """Bounds in a numeric type, within its range; NULL for NaN. Integers and decimals are rounded away from the value.

    What is as near to a number of the type as doubles can tell is that number.
    """
    missing = np.isnan(values)
    if type_.is_floating:
        return pa.array(values, arrow_type(type_), mask=missing)
    beyond = 2.0 * _limit(type_)
    units = np.where(missing, 0.0, np.clip(values * _unit(type_), -beyond, beyond))
    slack = NEAR * np.maximum(1.0, np.abs(units))
    units = np.ceil(units - slack) if is_upper else np.floor(units + slack)
    return _of_units(units, missing, type_)


def _of_units(units: Doubles, missing: Flags, type_: DataType) -> pa.Array:
    """Whole numbers of units of the last digit of a type, in this type; the nearest one that fits."""
    limit = _limit(type_)
    if type_.is_integer:
        beyond = units >= limit
        integers = np.where(beyond, 0.0, np.maximum(units, -limit)).astype(np.int64)
        return pa.array(np.where(beyond, limit - 1, integers), mask=missing).cast(arrow_type(type_))
    assert type_.scale is not None
    pairs = zip(units.tolist(), missing.tolist(), strict=True)
    fitting = [None if is_null else max(1 - limit, min(limit - 1, int(own))) for own, is_null in pairs]
    decimals = [None if own is None else decimal.Decimal(own).scaleb(-type_.scale, _WIDEST) for own in fitting]
    return pa.array(decimals, arrow_type(type_))


def _unit(type_: DataType) -> float:
    return 10.0 ** (type_.scale or 0)


def _limit(type_: DataType) -> int:
    """The first number of units that does not fit."""
    return int(10**type_.precision) if type_.precision is not None else 1 << INTEGER_BITS[type_.name] - 1
