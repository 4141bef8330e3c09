"""Arrays of exact numbers: fractions of integers of any size.

A fraction with denominator 0 is a missing number; division by 0 gives one. A result is missing if an operand is.
Numerators are int64 until arithmetic needs more.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Integers = NDArray[Any]  # int64, or Python integers

_ROOT_BITS = 128


@dataclass(frozen=True, slots=True, eq=False)
class ExactNumbers:
    """Fractions; if ``denominator`` is an int, all of them have it."""

    numerator: Integers
    denominator: Integers | int = 1

    def __len__(self) -> int:
        return len(self.numerator)

    def __add__(self, other: "ExactNumbers | int") -> "ExactNumbers":
        left, right = self, self._like(other)
        numerator = _times(left.numerator, right.denominator) + _times(right.numerator, left.denominator)
        return ExactNumbers(numerator, _product(left.denominator, right.denominator))

    def __neg__(self) -> "ExactNumbers":
        return ExactNumbers(-_wide(self.numerator), self.denominator)

    def __sub__(self, other: "ExactNumbers | int") -> "ExactNumbers":
        return self + -self._like(other)

    def __mul__(self, other: "ExactNumbers | int") -> "ExactNumbers":
        right = self._like(other)
        return ExactNumbers(_times(self.numerator, right.numerator), _product(self.denominator, right.denominator))

    def __truediv__(self, other: "ExactNumbers") -> "ExactNumbers":
        numerator = self.numerator if _is_one(other.denominator) else _times(self.numerator, other.denominator)
        divisor = other.numerator if other.missing is None else np.where(other.missing, 0, other.numerator)
        denominator = divisor if _is_one(self.denominator) else _times(divisor, self.denominator)
        return ExactNumbers(numerator, denominator)

    def sqrt(self) -> "ExactNumbers":
        """The square roots, with 128 bits; no number may be negative."""
        return _of_pairs([_root(abs(numerator), abs(denominator)) for numerator, denominator in self.fractions()])

    def is_zero(self) -> Flags:
        """Where a number is 0."""
        return np.asarray(self.numerator == 0, np.bool_)

    def is_odd(self) -> Flags:
        """Where an integer is odd."""
        assert _is_one(self.denominator)
        return np.asarray(self.numerator % 2 == 1, np.bool_)

    def equals(self, other: "ExactNumbers") -> Flags:
        """Where two integers are the same."""
        assert _is_one(self.denominator) and _is_one(other.denominator)
        return np.asarray(self.numerator == other.numerator, np.bool_)

    def replaced(self, where: Flags, value: int) -> "ExactNumbers":
        """The numbers, with ``value`` where the flag is set, even for missing numbers."""
        pairs = zip(self.fractions(), where.tolist(), strict=True)
        return _of_pairs([(value, 1) if is_replaced else fraction for fraction, is_replaced in pairs])

    def not_below_zero(self, size: "ExactNumbers") -> "ExactNumbers":
        """The numbers themselves: exact arithmetic cannot make them negative by rounding."""
        return self

    def within(self, low: int, high: int) -> "ExactNumbers":
        """The numbers themselves: exact arithmetic cannot move them out of their bounds by rounding."""
        return self

    @property
    def missing(self) -> Flags | None:
        """Which numbers are missing; None if none is."""
        return None if isinstance(self.denominator, int) else np.asarray(self.denominator == 0, np.bool_)

    def doubles(self) -> NDArray[np.float64]:
        """The nearest doubles, ±∞ beyond the largest double; 0 for missing numbers."""
        if _is_one(self.denominator) and self.numerator.dtype != object:
            return self.numerator.astype(np.float64)
        denominator = np.asarray(self.denominator)
        if _is_exact_in_doubles(self.numerator) and _is_exact_in_doubles(denominator):
            quotients = np.zeros(len(self))
            np.divide(self.numerator, denominator, out=quotients, where=denominator != 0)  # rounded once
            return quotients
        return np.array([_quotient(*fraction) for fraction in self.fractions()], np.float64)

    def half_up(self) -> Integers:
        """The nearest integers; halves away from zero. No number may be missing."""
        if _is_one(self.denominator):
            return self.numerator
        numerator, denominator = _wide(self.numerator), _wide(self.denominator)
        nearest = (2 * abs(numerator) + denominator) // (2 * denominator)
        return np.asarray(np.where(numerator < 0, -nearest, nearest))

    def fractions(self) -> list[tuple[int, int]]:
        """Numerators and denominators as Python integers."""
        shared = self.denominator
        denominators = [shared] * len(self) if isinstance(shared, int) else shared.tolist()
        return list(zip(self.numerator.tolist(), denominators, strict=True))

    def _like(self, other: "ExactNumbers | int") -> "ExactNumbers":
        return other if isinstance(other, ExactNumbers) else ExactNumbers(np.full(len(self), other, object))


def _is_exact_in_doubles(values: Integers) -> bool:
    return values.dtype == np.int64 and (values >= -(2**53)).all() and (values <= 2**53).all()  # type: ignore[return-value]


def _is_one(denominator: Integers | int) -> bool:
    return isinstance(denominator, int) and denominator == 1


def _wide(values: Integers | int) -> Any:
    return values if isinstance(values, int) else values.astype(object)


def _times(values: Integers, factor: Integers | int) -> Integers:
    return values if isinstance(factor, int) and factor == 1 else _wide(values) * _wide(factor)


def _product(left: Integers | int, right: Integers | int) -> Integers | int:
    return _wide(left) * _wide(right)  # type: ignore[no-any-return]


def _quotient(numerator: int, denominator: int) -> float:
    if not denominator:
        return 0.0
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf if (numerator > 0) == (denominator > 0) else -math.inf


def _root(numerator: int, denominator: int) -> tuple[int, int]:
    """√(n/d) = √(n·d·4^k) / (d·2^k), with k large enough for an integer root of 128 bits."""
    if not denominator:
        return 0, 0
    shift = max(0, _ROOT_BITS - (numerator * denominator).bit_length() // 2)
    return math.isqrt(numerator * denominator << 2 * shift), denominator << shift


def _of_pairs(pairs: list[tuple[int, int]]) -> ExactNumbers:
    return ExactNumbers(np.array([n for n, _ in pairs], object), np.array([d for _, d in pairs], object))
