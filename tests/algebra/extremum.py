"""The semilattice of extrema: MIN and MAX of a set of rows, with union but without removal.

Union is associative, commutative and idempotent, and its neutral element is *absent*, never 0: the MAX of
nothing is NULL and the MAX of {−5} and nothing is −5. There is no subtraction, which is why MIN and MAX
are carried by the rows that leave first (Wang's TC) or recomputed when the extreme itself leaves (Tran).

A join changes an extremum in one way only: over A×B that of a's attribute is the one over A if B has
rows, and else absent. So ``times`` is all there is of a product (Tran's f(c, a) = a), and it obeys the
laws that it has for moments.

Order is Spark's: NaN is equal to itself and larger than everything, −0.0 equals 0.0. Of two equal zeros
the positive one is kept, so that an answer never depends on the order of its rows.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Extremum:
    """The largest or smallest value of a set of rows; None is absent, for NULLs are skipped."""

    largest: bool
    value: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.value, float | np.floating):
            object.__setattr__(self, "value", self.value + 0.0)  # −0.0 + 0.0 is 0.0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Extremum):
            return NotImplemented
        return (self.largest, _rank(self.value)) == (other.largest, _rank(other.value))

    def __hash__(self) -> int:
        return hash((self.largest, _rank(self.value)))

    @property
    def is_absent(self) -> bool:
        """Whether there is no value."""
        return self.value is None

    def __add__(self, other: "Extremum") -> "Extremum":
        assert self.largest == other.largest
        if self.is_absent or other.is_absent:
            return other if self.is_absent else self
        return self if (_rank(self.value) > _rank(other.value)) == self.largest else other

    def times(self, count: int) -> "Extremum":
        """The extremum over the combinations with ``count`` rows of other inputs."""
        assert count >= 0, "rows of a semilattice cannot be owed"
        return self if count > 0 else Extremum(self.largest)

    def including(self, values: Iterable[Any]) -> "Extremum":
        """The extremum of the rows so far and of these; NULLs are skipped."""
        return sum((Extremum(self.largest, value) for value in values), start=self)


def _rank(value: Any) -> tuple[bool, Any]:
    """A sort key: NaN, the only value that differs from itself, is larger than all others."""
    is_nan = value != value
    return is_nan, None if is_nan else value
