"""Numbers that a payload may contain.

The ring only adds, negates and multiplies numbers: ``int``, ``Fraction``, ``float``, and arrays of these (one payload
for each of many entries at once). Two kinds of numbers are traps. A ``Decimal`` rounds to the context of its thread, 28
digits by default, so a DECIMAL(38, s) becomes a ``Fraction``. A NumPy integer wraps around, so a scalar taken from an
array becomes a Python ``int`` before it is multiplied.
"""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

Number: TypeAlias = Any
"""An int, a Fraction, a float, or an array of numbers: anything that has + − ×."""

Scalar: TypeAlias = int | float | Fraction


def scalar(value: Number) -> Scalar:
    """The same number, exactly, as an int, a float or a Fraction."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Decimal):
        return Fraction(value)
    assert isinstance(value, int | float | Fraction), value
    return value


def exact(value: Number) -> Fraction:
    """The exact value of a scalar. A finite double has one too, as a fraction."""
    return Fraction(scalar(value))


def is_finite(value: Number) -> bool:
    """Whether a scalar is neither NaN nor ±∞. Integers and fractions of any size are finite."""
    number = scalar(value)
    return not isinstance(number, float) or math.isfinite(number)


def power(value: Scalar, exponent: int) -> Scalar:
    """``value ** exponent`` for a non-negative exponent. A double that becomes too large is ∞, as in SQL."""
    return math.prod([value] * exponent)
