"""The monomials that a query sums, and the smallest set of them that a join needs of its inputs.

A *factor* is a named value of one input, such as ``a.x``; an aggregate's argument is a product of
factors, and one of its moments sums a monomial of them::

    COUNT(*)           ()                        every combination
    COUNT(a.x)         a.x^0                     those in which a.x is not NULL
    SUM(a.x * b.y)     a.x^1 · b.y^1
    CORR(a.x, b.y)     a.x^p · b.y^q             (p, q) = (0,0) (1,0) (0,1) (1,1) (2,0) (0,2)

A factor that a monomial names must be present (not NULL), also where its exponent is 0; that is why x^0
differs from (). The p-th power of a product is the product of the p-th powers, so arguments that span
inputs need nothing more, and FILTER is a factor with exponent 0 that is NULL wherever the predicate is
not true.

The sum of m over A×B is the sum over A of m's part with A's factors times the sum over B of the rest. So
a basis is closed under taking parts, and an input keeps the parts that lie ``over`` its own factors.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, pairwise, product
from typing import TypeAlias

Argument: TypeAlias = tuple[str, ...]
"""The factors whose product an aggregate's argument is."""


@dataclass(frozen=True, slots=True, order=True)
class Monomial:
    """A product of powers of factors, each of which has to be present; factors in ascending order."""

    powers: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        assert all(left < right for (left, _), (right, _) in pairwise(self.powers)), self.powers
        assert all(exponent >= 0 for _, exponent in self.powers), self.powers

    def __str__(self) -> str:
        return "·".join(f"{factor}^{exponent}" for factor, exponent in self.powers) or "()"

    @classmethod
    def of(cls, powers: Iterable[tuple[str, int]]) -> "Monomial":
        """The product of these powers; a factor that occurs again adds its exponent."""
        exponents: Counter[str] = Counter()
        for factor, exponent in powers:
            exponents[factor] += exponent
        return cls(tuple(sorted(exponents.items())))

    @property
    def factors(self) -> frozenset[str]:
        """The factors that must be present."""
        return frozenset(factor for factor, _ in self.powers)

    def exponent(self, factor: str) -> int:
        """The exponent of a factor; 0 also for one that it does not name."""
        return dict(self.powers).get(factor, 0)

    def with_exponent(self, factor: str, exponent: int) -> "Monomial":
        """The same, with another exponent of a factor that it names."""
        assert factor in self.factors, factor
        return Monomial.of({**dict(self.powers), factor: exponent}.items())

    def splits(self) -> Iterator[tuple["Monomial", "Monomial"]]:
        """Every way to give each factor to one of two inputs: 2 to the number of factors."""
        for size in range(len(self.powers) + 1):
            for part in combinations(self.powers, size):
                yield Monomial(part), Monomial(tuple(power for power in self.powers if power not in part))

    def lowered(self) -> Iterator["Monomial"]:
        """Itself and all monomials of the same factors with smaller exponents."""
        for exponents in product(*(range(exponent + 1) for _, exponent in self.powers)):
            yield Monomial(tuple((factor, lower) for (factor, _), lower in zip(self.powers, exponents, strict=True)))


COMBINATIONS = Monomial()
"""The monomial of COUNT(*): 1 for every combination."""


@dataclass(frozen=True, slots=True)
class Basis:
    """The monomials of a query in ascending order, closed under taking parts; the first is COUNT(*).

    ``splits`` is the multiplication table of its ring: for every monomial the pairs that multiply to it.
    """

    monomials: tuple[Monomial, ...]
    splits: Mapping[Monomial, tuple[tuple[Monomial, Monomial], ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        table = {monomial: tuple(monomial.splits()) for monomial in self.monomials}
        object.__setattr__(self, "splits", table)
        assert all(left < right for left, right in pairwise(self.monomials)), self
        assert COMBINATIONS in table
        assert all(part in table for splits in table.values() for part, _ in splits), self

    def __iter__(self) -> Iterator[Monomial]:
        return iter(self.monomials)

    def __contains__(self, monomial: Monomial) -> bool:
        return monomial in self.splits

    def __str__(self) -> str:
        return ", ".join(map(str, self.monomials))

    @classmethod
    def spanning(cls, monomials: Iterable[Monomial]) -> "Basis":
        """The smallest basis that holds these monomials."""
        parts = {part for monomial in monomials for part, _ in monomial.splits()}
        return cls(tuple(sorted(parts | {COMBINATIONS})))

    def over(self, factors: Iterable[str]) -> tuple[Monomial, ...]:
        """What an input with these factors has to sum: all that other inputs can ask of it."""
        own = frozenset(factors)
        return tuple(monomial for monomial in self if monomial.factors <= own)

    def with_lower_powers(self) -> "Basis":
        """The smallest larger basis in which sums can move to another origin (see ``moments.shifted``)."""
        return Basis.spanning(lower for monomial in self for lower in monomial.lowered())
