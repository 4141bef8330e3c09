"""What a function of the language is given: its arguments, already converted, for all rows at once.

A function of the table (`columnar.functions`) makes a vector of an operation. Most functions are NULL where an argument
is: they are wrapped in `strict` and give values alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import tzinfo
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from joinfold.columnar.vector import Array, Flags, Rows, Values, Vector, both, is_numpy, listed, nothing, repeated, take
from joinfold.types import DataType


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """A call of a function on vectors of the operand types."""

    name: str
    arguments: tuple[Vector, ...]
    types: tuple[DataType, ...]
    result: DataType
    rows: int
    zone: tzinfo
    wide: bool

    @property
    def present(self) -> Flags | None:
        """Where no argument is NULL."""
        return reduce(both, (argument.present for argument in self.arguments))

    @property
    def values(self) -> tuple[Values, ...]:
        """The arguments' values."""
        return tuple(argument.values for argument in self.arguments)


Compute: TypeAlias = Callable[[Operation], Vector]


def strict(compute: Callable[[Operation], Values]) -> Compute:
    """A function that is NULL exactly where an argument is; ``compute`` is asked if there is a row left."""

    def vector(call: Operation) -> Vector:
        present = call.present
        if present is not None and not present.any():
            return nothing(call.result, call.rows)
        return Vector(compute(call), present)

    return vector


def each(function: Callable[..., Any]) -> Callable[[Operation], Values]:
    """A function of plain Python values, called once for every distinct combination of arguments."""
    return lambda call: for_each(function, call.arguments, call.result, call.rows, call.present)


def for_each(
    function: Callable[..., Any], arguments: tuple[Vector, ...], result: DataType, rows: int, present: Flags | None
) -> Values:
    """The function's value at every row that is present, of which there is one; any value in the others.

    Numbers are handed over as Python's, decimals as units, times as integers. Cost: O(n log n), and the calls.
    """
    places = None if present is None else np.flatnonzero(present)
    codes, distinct = np.zeros(rows if places is None else len(places), np.int64), []
    for argument in arguments:
        found, code = _distinct(argument.values if places is None else take(argument.values, places))
        distinct.append(found)
        codes = codes if code is None else codes * len(found) + code
    combinations, code = np.unique(codes, return_inverse=True)
    picked = []
    for found in reversed(distinct):
        picked.append([found[place] for place in combinations % len(found)])
        combinations = combinations // len(found)
    answers = listed([function(*values) for values in zip(*reversed(picked), strict=True)], result)
    if places is not None:
        everywhere = np.zeros(rows, np.int64)
        everywhere[places] = code
        code = everywhere
    return take(answers, code)


def _distinct(values: Values) -> tuple[list[Any], Rows | None]:
    """The distinct values, and the code of each row; no codes for a constant."""
    if isinstance(values, pa.Scalar):
        return [values.as_py()], None
    if is_numpy(values):
        if values.strides == (0,):
            return values[:1].tolist(), None
        return _distinct_numbers(values)
    encoded = values.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _distinct_numbers(values: Array) -> tuple[list[Any], Rows]:
    bits = values.view(f"i{values.itemsize}") if values.dtype.kind == "f" else values  # −0.0 is not 0.0 as a text
    found, codes = np.unique(bits, return_inverse=True)
    return (found if values.dtype == object else found.view(values.dtype)).tolist(), codes


def truth(datum: Any, rows: int) -> Flags:
    """Arrow's truth values as NumPy's; null is False."""
    if isinstance(datum, pa.Scalar):
        return repeated(np.array([datum.as_py() is True]), rows)
    flags: Flags = datum.fill_null(False).to_numpy(zero_copy_only=False)
    return flags
