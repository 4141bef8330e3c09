"""Comparisons, and the functions that compare: IN, GREATEST, LEAST, NULLIF.

NaN equals NaN and is larger than every other number; −0.0 equals 0.0. Text is compared by its UTF-8 bytes, which is the
order of code points. Nested values are compared for equality only.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.compute as pc

from joinfold.columnar.casting import convert
from joinfold.columnar.operation import Compute, Operation, strict, truth
from joinfold.columnar.vector import Array, Flags, Vector, both, choose, dtype_of, spread
from joinfold.logical.functions import FUNCTIONS
from joinfold.types import DataType

_UFUNCS: dict[str, np.ufunc] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_ARROW: dict[str, Callable[..., Any]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def compared(operator: str, left: Vector, right: Vector, type_: DataType, rows: int) -> Flags:
    """``left operator right`` for two vectors of the type; arbitrary where one of them is NULL. Cost: O(n)."""
    if type_.is_nested:
        same = _same_nested(left, right, rows)
        return same if operator == "=" else ~same
    if dtype_of(type_) is None:
        return truth(_ARROW[operator](left.values, right.values), rows)
    flags: Flags = _UFUNCS[operator](left.values, right.values)
    return _with_nan(operator, left.values, right.values, flags) if type_.is_floating else flags


def _with_nan(operator: str, left: Array, right: Array, flags: Flags) -> Flags:
    """The comparison, corrected where a value is NaN."""
    left_nan, right_nan = np.isnan(left), np.isnan(right)
    if not (left_nan.any() or right_nan.any()):
        return flags
    # The flags have the wanted order: True for NaN is larger than False for every other number.
    return np.where(left_nan | right_nan, _UFUNCS[operator](left_nan, right_nan), flags)


def _same_nested(left: Vector, right: Vector, rows: int) -> Flags:
    pairs = zip(*(spread(side.values, rows).to_pylist() for side in (left, right)), strict=True)
    return np.fromiter((_same(*pair) for pair in pairs), np.bool_, rows)


def _same(left: Any, right: Any) -> bool:
    match left, right:
        case list(), list():
            return len(left) == len(right) and all(map(_same, left, right))
        case dict(), dict():
            return left.keys() == right.keys() and all(_same(left[name], right[name]) for name in left)
        case float(), float() if left != left:
            return right != right
        case _:
            return bool(left == right)


def _compare(call: Operation) -> Flags:
    left, right = call.arguments
    return compared(call.name, left, right, call.types[0], call.rows)


def _in(call: Operation) -> Vector:
    """IN: true if a member is equal, otherwise NULL if a member is NULL, otherwise false."""
    subject, *members = call.arguments
    found, unknown = np.zeros(call.rows, np.bool_), np.zeros(call.rows, np.bool_)
    for member in members:
        same = compared("=", subject, member, call.types[0], call.rows)
        found |= same if member.present is None else same & member.present
        if member.present is not None:
            unknown |= ~member.present
    return Vector(found, both(subject.present, found | ~unknown if unknown.any() else None))


def _extreme(call: Operation) -> Vector:
    """GREATEST and LEAST of the arguments that are not NULL; of equal arguments, the first."""
    operator = ">" if call.name == "greatest" else "<"
    best, *others = call.arguments
    for other in others:
        better = compared(operator, other, best, call.types[0], call.rows)
        present = None
        if best.present is not None:
            better = better | ~best.present
            present = None if other.present is None else best.present | other.present
        if other.present is not None:
            better = better & other.present
        best = Vector(choose(better, other.values, best.values), present)
    return best


def _nullif(call: Operation) -> Vector:
    """NULLIF: the first argument, or NULL where it equals the second in their common type."""
    first = call.arguments[0]
    signature = FUNCTIONS["="].signature(call.types)
    assert signature is not None
    left, right = (
        convert(argument, type_, operand, call.rows)
        for argument, type_, operand in zip(call.arguments, call.types, signature.operands, strict=True)
    )
    same = compared("=", left, right, signature.operands[0], call.rows)
    compared_at = both(left.present, right.present)
    return Vector(first.values, both(first.present, ~(same if compared_at is None else same & compared_at)))


def _is_null(call: Operation) -> Vector:
    present = call.arguments[0].present
    return Vector(np.zeros(call.rows, np.bool_) if present is None else ~present)


COMPARISONS: dict[str, Compute] = {
    **dict.fromkeys(_UFUNCS, strict(_compare)),
    "not": strict(lambda call: ~call.values[0]),
    "is null": _is_null,
    "in": _in,
    "greatest": _extreme,
    "least": _extreme,
    "nullif": _nullif,
}
