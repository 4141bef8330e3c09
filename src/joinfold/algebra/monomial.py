"""The monomials that a query sums.

A *factor* is a named value of one input, such as ``a.x``. The argument of an aggregate is a product of factors, and
each moment is the sum of a monomial of them::

    COUNT(*)           ()                        counts all combinations
    COUNT(a.x)         a.x^0                     counts those in which a.x is not NULL
    SUM(a.x * b.y)     a.x^1 · b.y^1
    CORR(a.x, b.y)     a.x^p · b.y^q             (p, q) = (0,0) (1,0) (0,1) (1,1) (2,0) (0,2)

Every factor of a monomial must be present (not NULL), even if its exponent is 0. That is why x^0 differs from (). The
p-th power of a product is the product of the p-th powers, so an argument that is a product over several inputs needs no
other rule. A FILTER is a factor with exponent 0 that is NULL where the condition is not true.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

Argument: TypeAlias = tuple[str, ...]
"""The argument of an aggregate, as the factors of a product."""


@dataclass(frozen=True, slots=True, order=True)
class Monomial:
    """A product of powers of factors, all of which must be present. Factors are in ascending order."""

    powers: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        assert all(left < right for (left, _), (right, _) in pairwise(self.powers)), self.powers
        assert all(exponent >= 0 for _, exponent in self.powers), self.powers

    def __str__(self) -> str:
        return "·".join(f"{factor}^{exponent}" for factor, exponent in self.powers) or "()"

    @classmethod
    def of(cls, powers: Iterable[tuple[str, int]]) -> "Monomial":
        """The product of these powers; the exponents of equal factors are added."""
        exponents: Counter[str] = Counter()
        for factor, exponent in powers:
            exponents[factor] += exponent
        return cls(tuple(sorted(exponents.items())))

    @classmethod
    def presence(cls, factors: Iterable[str]) -> "Monomial":
        """The monomial that counts the rows in which all these factors are present."""
        return cls.of((factor, 0) for factor in factors)

    @property
    def factors(self) -> frozenset[str]:
        """The factors that must be present."""
        return frozenset(factor for factor, _ in self.powers)

    @property
    def is_count(self) -> bool:
        """Whether all exponents are 0: it is 1 where its factors are present."""
        return not any(exponent for _, exponent in self.powers)
