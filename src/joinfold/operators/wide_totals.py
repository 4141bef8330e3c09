"""Totals beyond 64 bits: every sum of integers twice, modulo 2^64 and as a double-double.

    modulo 2^64          … 0110 1101 0001     exact in its lowest 64 bits, however often it has wrapped around
    double-double        1011 0110 …          the highest 106 bits; off by far less than 2^63
    together             the one number near the second that is the first modulo 2^64: exact

Both are sums of the same products of int64 columns, by the kernels that are there for integers and for floating sums. A
bucket whose integers might wrap around is *widened*: it is rebuilt with both. Until then nothing costs more. Parts of a
group from other buckets may be narrow; they are widened when they are added up.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.errors import EvaluationError
from joinfold.numbers import double_double as dd
from joinfold.physical.column_names import integer_column, real_columns
from joinfold.physical.stage import Totals

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]

WHOLE = 2.0**63  # an integer below this has not wrapped around
EXACT = 2.0**100  # a double-double below this is exact, if it sums integers
WIDEST = 2.0**130
"""A double-double below this is off by less than 2^63, even after 2^35 roundings."""


def too_many() -> EvaluationError:
    """The error for sums of integers that would not be exact."""
    return EvaluationError(
        "a group has too many combinations to sum numbers of this size exactly",
        "use a smaller window, or group by more columns.",
    )


def is_wide(totals: Totals, batch: pa.RecordBatch) -> bool:
    """Whether rows of totals come from a bucket that was widened."""
    return real_columns(totals.reals)[0] in batch.schema.names


def alike(totals: Totals, parts: Sequence[pa.RecordBatch]) -> Sequence[pa.RecordBatch]:
    """Parts of totals with the same columns: all wide if one of them is."""
    wide = [is_wide(totals, part) for part in parts]
    if not any(wide) or all(wide):
        return parts
    return [part if own else _widened(totals, part) for part, own in zip(parts, wide, strict=True)]


def _widened(totals: Totals, part: pa.RecordBatch) -> pa.RecordBatch:
    columns = dict(zip(part.schema.names, part.columns, strict=True))
    for number in range(totals.integers):
        pair = dd.from_int64(part.column(integer_column(number)).to_numpy())
        columns |= {name: pa.array(own) for name, own in zip(real_columns(totals.reals + number), pair, strict=True)}
    for place, number in enumerate(totals.whole_reals):
        high, low = (part.column(name).to_numpy() for name in real_columns(number))
        columns[integer_column(totals.integers + place)] = pa.array(_residues(high, low))
    return pa.RecordBatch.from_pydict(columns)


def _residues(high: Doubles, low: Doubles) -> Integers:
    """Double-doubles that are integers, modulo 2^64, as int64[n]."""
    whole = [int(large) + int(small) for large, small in zip(high.tolist(), low.tolist(), strict=True)]
    return np.array([_signed(value) for value in whole], np.int64)


def _signed(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def whole_numbers(residues: Integers, high: Doubles, low: Doubles) -> NDArray[Any]:
    """The integers that are ``residues`` modulo 2^64 and nearest to high + low: int64[n] if they fit, else Python's."""
    if not (np.abs(high) >= WHOLE / 2).any():
        return residues
    found = []
    for residue, large, small in zip(residues.tolist(), high.tolist(), low.tolist(), strict=True):
        about = int(large) + int(small)
        found.append(about + _signed(residue - about))
    fits = all(-(2**63) <= value < 2**63 for value in found)
    return np.array(found, np.int64 if fits else object)


def narrowed(totals: Totals, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of a view without what widening has added; an error if a sum of integers does not fit without it."""
    for number in range(totals.integers):
        high, low = (batch.column(name).to_numpy() for name in real_columns(totals.reals + number))
        if whole_numbers(batch.column(integer_column(number)).to_numpy(), high, low).dtype == object:
            raise too_many()
    for number in totals.whole_reals:
        if (np.abs(batch.column(real_columns(number)[0]).to_numpy()) >= EXACT).any():
            raise too_many()
    added = {name for number in range(totals.integers) for name in real_columns(totals.reals + number)}
    added |= {integer_column(totals.integers + place) for place in range(len(totals.whole_reals))}
    return batch.drop_columns([name for name in batch.schema.names if name in added])
