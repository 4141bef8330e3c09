"""Functions of text: Arrow's if they mean the same, otherwise Python's on each distinct value.

Arrow needs constant patterns, positions and lengths, and takes about ten nanoseconds per value. Positions count
characters, from 1.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joinfold.columnar.operation import Compute, Operation, each, strict, truth
from joinfold.columnar.vector import Array, Values, repeated
from joinfold.errors import EvaluationError


def _like(call: Operation) -> Values:
    text, pattern = call.values
    if not _are_constant(call) or "\\" in pattern.as_py():  # Arrow misreads an escaped character beside %
        return each(lambda text, pattern: like_pattern(pattern).fullmatch(text) is not None)(call)
    return truth(pc.match_like(text, pattern.as_py()), call.rows)


@lru_cache(maxsize=256)
def like_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern of LIKE as a regular expression: % is any text, _ is one character, and \\ escapes %, _ and \\."""
    parts, rest = [], iter(pattern)
    for char in rest:
        if char == "\\":
            escaped = next(rest, None)
            if escaped is None:
                raise EvaluationError(f"the LIKE pattern '{pattern}' ends with a single backslash")
            if escaped not in "%_\\":
                raise EvaluationError(f"'\\{escaped}' in the LIKE pattern '{pattern}' is not a valid escape")
            parts.append(re.escape(escaped))
        else:
            parts.append({"%": ".*", "_": "."}.get(char) or re.escape(char))
    return re.compile("".join(parts), re.DOTALL)


def _substring(call: Operation) -> Values:
    text, start, *rest = call.values
    if not _are_constant(call):
        return each(substring)(call)
    return _sliced(text, *slice_of(int(start[0]), int(rest[0][0]) if rest else None))


def slice_of(start: int, length: int | None) -> tuple[int, int | None]:
    """The bounds of SUBSTRING as a Python slice. A negative start counts from the end; outside the text is nothing."""
    begin = start - 1 if start > 0 else start
    if length is None:
        return begin, None
    end = begin + length
    if begin >= 0:
        return begin, max(end, 0)
    return begin, end if end < 0 else None


def substring(text: str, start: int, length: int | None = None) -> str:
    """SUBSTRING of one text."""
    begin, end = slice_of(start, length)
    return text[begin:end]


def _left(call: Operation) -> Values:
    text, length = call.values
    if not _are_constant(call):
        return each(lambda text, length: text[: max(length, 0)])(call)
    return _sliced(text, 0, max(int(length[0]), 0))


def _right(call: Operation) -> Values:
    text, length = call.values
    if not _are_constant(call):
        return each(lambda text, length: text[-length:] if length > 0 else "")(call)
    return _sliced(text, -int(length[0]), None) if length[0] > 0 else _sliced(text, 0, 0)


def _sliced(text: Values, begin: int, end: int | None) -> Values:
    return pc.utf8_slice_codeunits(text, begin, end)


def _replace(call: Operation) -> Values:
    text, search, replacement = call.values
    if not _are_constant(call):
        return each(lambda text, search, replacement: text.replace(search, replacement) if search else text)(call)
    return pc.replace_substring(text, search.as_py(), replacement.as_py()) if search.as_py() else text


def _position(call: Operation) -> Values:
    """INSTR. Arrow counts bytes, which are characters only if all texts are ASCII."""
    text, search = call.values
    if not _are_constant(call) or not _is_ascii(text):
        return each(lambda text, search: text.find(search) + 1)(call)
    return _integers(pc.find_substring(text, search.as_py()), call.rows) + 1


def _found(arrow: Callable[..., Any], python: Callable[[str, str], bool]) -> Compute:
    """CONTAINS, STARTSWITH and ENDSWITH."""

    def compute(call: Operation) -> Values:
        text, search = call.values
        return truth(arrow(text, search.as_py()), call.rows) if _are_constant(call) else each(python)(call)

    return strict(compute)


def _cased(arrow: Callable[..., Any], python: Callable[[str], str]) -> Compute:
    """UPPER and LOWER. Python's are used beyond ASCII: UPPER('ß') is 'SS', but Arrow leaves it unchanged."""
    return strict(lambda call: arrow(call.values[0]) if _is_ascii(call.values[0]) else each(python)(call))


def _are_constant(call: Operation) -> bool:
    """Whether all arguments after the text are constant. None of them is NULL, because some row is present."""
    return all(argument.is_constant for argument in call.arguments[1:])


def _is_ascii(text: Values) -> bool:
    return bool(pc.all(pc.string_is_ascii(text if isinstance(text, pa.Array) else pa.array([text]))).as_py())


def _integers(datum: Any, rows: int) -> Array:
    if isinstance(datum, pa.Scalar):
        return repeated(np.array([datum.as_py()], np.int64), rows)
    return np.asarray(datum.fill_null(0).to_numpy(zero_copy_only=False), np.int64)


TEXT: dict[str, Compute] = {
    "like": strict(_like),
    "||": strict(lambda call: pc.binary_join_element_wise(*call.values, "")),
    "upper": _cased(pc.ascii_upper, str.upper),
    "lower": _cased(pc.ascii_lower, str.lower),
    "trim": strict(lambda call: pc.utf8_trim(call.values[0], " ")),
    "ltrim": strict(lambda call: pc.utf8_ltrim(call.values[0], " ")),
    "rtrim": strict(lambda call: pc.utf8_rtrim(call.values[0], " ")),
    "length": strict(lambda call: _integers(pc.utf8_length(call.values[0]), call.rows)),
    "reverse": strict(lambda call: pc.utf8_reverse(call.values[0])),
    "replace": strict(_replace),
    "substring": strict(_substring),
    "left": strict(_left),
    "right": strict(_right),
    "instr": strict(_position),
    "contains": _found(pc.match_substring, lambda text, search: search in text),
    "startswith": _found(pc.starts_with, str.startswith),
    "endswith": _found(pc.ends_with, str.endswith),
}
