"""A call of a function on vectors: its arguments for all rows at once, already converted to the operand types.

A function takes an `Operation` and returns a vector. Most functions are NULL where an argument is NULL. They return
only values and are wrapped in `strict`.
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
        """The values of the arguments."""
        return tuple(argument.values for argument in self.arguments)


Compute: TypeAlias = Callable[[Operation], Vector]


def strict(compute: Callable[[Operation], Values]) -> Compute:
    """A function that is NULL exactly where an argument is; ``compute`` is called only if some row has no NULL."""

    def vector(call: Operation) -> Vector:
        present = call.present
        if present is not None and not present.any():
            return nothing(call.result, call.rows)
        return Vector(compute(call), present)

    return vector


def each(function: Callable[..., Any]) -> Callable[[Operation], Values]:
    """A function of plain Python values as one of vectors; it is called once per distinct combination of arguments."""
    return lambda call: for_each(function, call.arguments, call.result, call.rows, call.present)


def for_each(
    function: Callable[..., Any], arguments: tuple[Vector, ...], result: DataType, rows: int, present: Flags | None
) -> Values:
    """The value of the function for every present row, and an arbitrary one for the others; a row must be present.

    The function gets Python numbers, decimals as units and times as integers. Cost: O(n log n), plus one call per
    distinct combination of arguments.
    """
    present_rows = None if present is None else np.flatnonzero(present)
    codes, distinct = np.zeros(rows if present_rows is None else len(present_rows), np.int64), []
    for argument in arguments:
        values, code = _distinct(argument.values if present_rows is None else take(argument.values, present_rows))
        distinct.append(values)
        codes = codes if code is None else codes * len(values) + code
    combinations, code = np.unique(codes, return_inverse=True)
    columns = []
    for values in reversed(distinct):
        columns.append([values[index] for index in combinations % len(values)])
        combinations = combinations // len(values)
    answers = listed([function(*values) for values in zip(*reversed(columns), strict=True)], result)
    if present_rows is not None:
        code_of_row = np.zeros(rows, np.int64)
        code_of_row[present_rows] = code
        code = code_of_row
    return take(answers, code)


def _distinct(values: Values) -> tuple[list[Any], Rows | None]:
    """The distinct values, and for each row the index of its value; None instead of indexes for a constant."""
    if isinstance(values, pa.Scalar):
        return [values.as_py()], None
    if is_numpy(values):
        if values.strides == (0,):
            return values[:1].tolist(), None
        return _distinct_numbers(values)
    encoded = values.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _distinct_numbers(values: Array) -> tuple[list[Any], Rows]:
    # By their bits, because −0.0 and 0.0 differ as text.
    bits = values.view(f"i{values.itemsize}") if values.dtype.kind == "f" else values
    found, codes = np.unique(bits, return_inverse=True)
    return (found if values.dtype == object else found.view(values.dtype)).tolist(), codes


def truth(datum: Any, rows: int) -> Flags:
    """Arrow booleans as a NumPy array; null becomes False."""
    if isinstance(datum, pa.Scalar):
        return repeated(np.array([datum.as_py() is True]), rows)
    flags: Flags = datum.fill_null(False).to_numpy(zero_copy_only=False)
    return flags
