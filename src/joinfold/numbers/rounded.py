"""Arrays of numbers with 106 bits and operators, for the finishers of sums of doubles."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joinfold.numbers import double_double as dd

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROUNDING = 2.0**-76
"""The relative rounding error of sums that is tolerated. A deviation of 1e-6 of the mean is 2^-40 of the squares."""


@dataclass(frozen=True, slots=True, eq=False)
class RoundedNumbers:
    """Double-doubles; division by 0 gives a missing number, and a result is missing if an operand is."""

    high: Doubles
    low: Doubles
    missing: Flags | None = None

    @classmethod
    def of_integers(cls, values: NDArray[np.int64]) -> "RoundedNumbers":
        """Integers, exactly."""
        return cls(*dd.from_int64(values))

    def __len__(self) -> int:
        return len(self.high)

    def __add__(self, other: "RoundedNumbers | int") -> "RoundedNumbers":
        right = self._like(other)
        return RoundedNumbers(*dd.add(self._pair, right._pair), _either(self.missing, right.missing))

    def __neg__(self) -> "RoundedNumbers":
        return RoundedNumbers(-self.high, -self.low, self.missing)

    def __sub__(self, other: "RoundedNumbers | int") -> "RoundedNumbers":
        return self + -self._like(other)

    def __mul__(self, other: "RoundedNumbers | int") -> "RoundedNumbers":
        right = self._like(other)
        return RoundedNumbers(*dd.multiply(self._pair, right._pair), _either(self.missing, right.missing))

    def __truediv__(self, other: "RoundedNumbers") -> "RoundedNumbers":
        missing = _either(_either(self.missing, other.missing), other.is_zero())
        return RoundedNumbers(*dd.divide(self._pair, other._pair), missing)

    def sqrt(self) -> "RoundedNumbers":
        """The square roots; no number may be negative."""
        return RoundedNumbers(*dd.sqrt(self._pair), self.missing)

    def is_zero(self) -> Flags:
        """Where a number is 0."""
        return np.equal(self.high, 0.0)

    def replaced(self, where: Flags, value: int) -> "RoundedNumbers":
        """The numbers, with ``value`` where the flag is set, even for missing numbers."""
        missing = None if self.missing is None else self.missing & ~where
        return RoundedNumbers(np.where(where, float(value), self.high), np.where(where, 0.0, self.low), missing)

    def not_below_zero(self, size: "RoundedNumbers") -> "RoundedNumbers":
        """The numbers, with 0 for those not larger than the rounding error of numbers as large as ``size``.

        They are differences that cannot be negative by their meaning. Where ``size`` has overflowed, they are ∞.
        """
        positive = self.high > ROUNDING * size.high
        otherwise = np.where(np.isfinite(size.high), 0.0, np.inf)
        return RoundedNumbers(np.where(positive, self.high, otherwise), np.where(positive, self.low, 0.0), self.missing)

    def within(self, low: int, high: int) -> "RoundedNumbers":
        """The numbers, clipped to bounds that they can leave only by rounding."""
        inside = (self.high + self.low >= low) & (self.high + self.low <= high) | np.isnan(self.high)
        return RoundedNumbers(
            np.where(inside, self.high, np.clip(self.high, low, high)), np.where(inside, self.low, 0.0), self.missing
        )

    def doubles(self) -> Doubles:
        """The nearest doubles."""
        return self.high + self.low

    @property
    def _pair(self) -> dd.DoubleDoubles:
        return self.high, self.low

    def _like(self, other: "RoundedNumbers | int") -> "RoundedNumbers":
        if isinstance(other, RoundedNumbers):
            return other
        return RoundedNumbers(np.full_like(self.high, other), np.zeros_like(self.high))


def _either(left: Flags | None, right: Flags | None) -> Flags | None:
    return right if left is None else left if right is None else left | right
