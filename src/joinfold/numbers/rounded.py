"""Arrays of numbers with 106 bits, operators and error bounds, for the finishers of sums of doubles.

Beside each number stands a bound of its absolute error. Every operator passes the errors of its operands on and adds
its own rounding (running error analysis, Wilkinson). So a difference that is nothing but rounding is known as such.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joinfold.numbers import double_double as dd

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]

STEP = 2.0**-103  # the relative rounding error of a sum or a product
QUOTIENT = 2.0**-99  # the same of a quotient or a root


@dataclass(frozen=True, slots=True, eq=False)
class RoundedNumbers:
    """Double-doubles with a bound of their errors; division by 0 gives a missing number.

    A result is missing if an operand is.
    """

    high: Doubles
    low: Doubles
    error: Doubles
    missing: Flags | None = None

    @classmethod
    def of_integers(cls, values: NDArray[np.int64]) -> "RoundedNumbers":
        """Integers, exactly."""
        return cls.exactly(*dd.from_int64(values))

    @classmethod
    def exactly(cls, high: Doubles, low: Doubles) -> "RoundedNumbers":
        """Double-doubles without an error."""
        return cls(high, low, np.zeros_like(high))

    def __len__(self) -> int:
        return len(self.high)

    def __add__(self, other: "RoundedNumbers | int") -> "RoundedNumbers":
        right = self._like(other)
        high, low = dd.add(self._pair, right._pair)
        error = self.error + right.error + STEP * np.abs(high)
        return RoundedNumbers(high, low, error, _either(self.missing, right.missing))

    def __neg__(self) -> "RoundedNumbers":
        return RoundedNumbers(-self.high, -self.low, self.error, self.missing)

    def __sub__(self, other: "RoundedNumbers | int") -> "RoundedNumbers":
        return self + -self._like(other)

    def __mul__(self, other: "RoundedNumbers | int") -> "RoundedNumbers":
        right = self._like(other)
        high, low = dd.multiply(self._pair, right._pair)
        error = (np.abs(self.high) + self.error) * right.error + np.abs(right.high) * self.error
        return RoundedNumbers(high, low, error + STEP * np.abs(high), _either(self.missing, right.missing))

    def __truediv__(self, other: "RoundedNumbers") -> "RoundedNumbers":
        missing = _either(_either(self.missing, other.missing), other.is_zero())
        high, low = dd.divide(self._pair, other._pair)
        least = np.maximum(np.abs(other.high) - other.error, 0.0)
        error = (self.error + np.abs(high) * other.error) / least + QUOTIENT * np.abs(high)
        return RoundedNumbers(high, low, error, missing)

    def sqrt(self) -> "RoundedNumbers":
        """The square roots; no number may be negative."""
        high, low = dd.sqrt(self._pair)
        error = np.where(high > 0, np.minimum(self.error / high, np.sqrt(self.error)), np.sqrt(self.error))
        return RoundedNumbers(high, low, error + QUOTIENT * high, self.missing)

    def is_zero(self) -> Flags:
        """Where a number is 0."""
        return np.equal(self.high, 0.0)

    def replaced(self, where: Flags, value: int) -> "RoundedNumbers":
        """The numbers, with ``value`` where the flag is set, even for missing numbers."""
        missing = None if self.missing is None else self.missing & ~where
        low, error = (np.where(where, 0.0, own) for own in (self.low, self.error))
        return RoundedNumbers(np.where(where, float(value), self.high), low, error, missing)

    def settled(self) -> "RoundedNumbers":
        """The numbers, with 0 for those that are not larger than their error. A sum of infinite weight has none."""
        return self._zero_where((np.abs(self.high) <= self.error) & np.isfinite(self.error))

    def not_below_zero(self, size: "RoundedNumbers") -> "RoundedNumbers":
        """The numbers, with 0 for those that are negative or not larger than their error.

        They are differences of numbers up to ``size`` that cannot be negative by their meaning. Where ``size`` has
        overflowed, they are ∞.
        """
        overflowed = ~np.isfinite(size.high)
        settled = self._zero_where(~(self.high > self.error) | overflowed)
        return RoundedNumbers(np.where(overflowed, np.inf, settled.high), settled.low, self.error, self.missing)

    def within(self, low: int, high: int) -> "RoundedNumbers":
        """The numbers, clipped to bounds that they can leave only by rounding."""
        inside = (self.high + self.low >= low) & (self.high + self.low <= high) | np.isnan(self.high)
        clipped = np.where(inside, self.high, np.clip(self.high, low, high))
        return RoundedNumbers(clipped, np.where(inside, self.low, 0.0), self.error, self.missing)

    def scaled(self, bits: int) -> "RoundedNumbers":
        """The numbers times 2^bits."""
        return self.rearranged(lambda part: np.ldexp(part, bits))

    def rearranged(self, change: Callable[[Doubles], Doubles]) -> "RoundedNumbers":
        """The same change of the high parts, the low parts and the errors. No number may be missing."""
        return RoundedNumbers(change(self.high), change(self.low), change(self.error))

    def doubles(self) -> Doubles:
        """The nearest doubles."""
        return self.high + self.low

    @property
    def _pair(self) -> dd.DoubleDoubles:
        return self.high, self.low

    def _zero_where(self, where: Flags) -> "RoundedNumbers":
        return RoundedNumbers(np.where(where, 0.0, self.high), np.where(where, 0.0, self.low), self.error, self.missing)

    def _like(self, other: "RoundedNumbers | int") -> "RoundedNumbers":
        if isinstance(other, RoundedNumbers):
            return other
        return RoundedNumbers.exactly(np.full_like(self.high, other), np.zeros_like(self.high))


def _either(left: Flags | None, right: Flags | None) -> Flags | None:
    return right if left is None else left if right is None else left | right
