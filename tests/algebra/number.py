"""Numbers that may stand in a payload.

The ring asks of a number only that it adds, negates and multiplies: ``int``, ``Fraction``, ``float``, and
arrays of these (one payload for each of many entries at once). Two kinds are traps. A ``Decimal`` rounds
to the context of its thread, 28 digits unless told otherwise, so a DECIMAL(38, s) enters as a
``Fraction``. A NumPy integer wraps around, so a scalar that leaves an array becomes a Python ``int``
before anything is multiplied.
"""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

Number: TypeAlias = Any
"""An int, a Fraction, a float, or an array of numbers: whatever has + − ×."""

Scalar: TypeAlias = int | float | Fraction


def scalar(value: Number) -> Scalar:
    """The same number, exactly, as an int, a float or a Fraction."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Decimal):
        return Fraction(value)
    assert isinstance(value, int | float | Fraction), value
    return value


def exact(value: Number) -> Fraction:
    """The number that a scalar stands for; a finite double is a fraction too."""
    return Fraction(scalar(value))


def is_finite(value: Number) -> bool:
    """Whether a scalar is neither NaN nor ±∞; integers and fractions always are, however large."""
    number = scalar(value)
    return not isinstance(number, float) or math.isfinite(number)


def power(value: Scalar, exponent: int) -> Scalar:
    """``value ** exponent`` for a non-negative exponent; a double that grows too large is ∞, as in SQL."""
    return math.prod([value] * exponent)
