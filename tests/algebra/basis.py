"""The smallest set of monomials that a join needs of its inputs.

The sum of m over A×B is the sum over A of m's part with A's factors times the sum over B of the rest. So
a basis is closed under taking parts, and an input keeps the parts that lie ``over`` its own factors.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, pairwise, product

from joinfold.algebra import Monomial

COMBINATIONS = Monomial()
"""The monomial of COUNT(*): 1 for every combination."""


def exponent_of(monomial: Monomial, factor: str) -> int:
    """The exponent of a factor; 0 if the monomial does not have it."""
    return dict(monomial.powers).get(factor, 0)


def with_exponent(monomial: Monomial, factor: str, exponent: int) -> Monomial:
    """The same monomial with another exponent for one of its factors."""
    assert factor in monomial.factors, factor
    return Monomial.of({**dict(monomial.powers), factor: exponent}.items())


def splits_of(monomial: Monomial) -> Iterator[tuple[Monomial, Monomial]]:
    """Every way to give each factor to one of two inputs: 2 to the number of factors."""
    for size in range(len(monomial.powers) + 1):
        for part in combinations(monomial.powers, size):
            yield Monomial(part), Monomial(tuple(power for power in monomial.powers if power not in part))


def lowered(monomial: Monomial) -> Iterator[Monomial]:
    """The monomial itself, and all monomials of the same factors with smaller exponents."""
    for exponents in product(*(range(exponent + 1) for _, exponent in monomial.powers)):
        yield Monomial(tuple((factor, lower) for (factor, _), lower in zip(monomial.powers, exponents, strict=True)))


@dataclass(frozen=True, slots=True)
class Basis:
    """The monomials of a query in ascending order, closed under taking parts; the first is COUNT(*).

    ``splits`` is the multiplication table of its ring: for every monomial the pairs that multiply to it.
    """

    monomials: tuple[Monomial, ...]
    splits: Mapping[Monomial, tuple[tuple[Monomial, Monomial], ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        table = {monomial: tuple(splits_of(monomial)) for monomial in self.monomials}
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
        """The smallest basis that contains these monomials."""
        parts = {part for monomial in monomials for part, _ in splits_of(monomial)}
        return cls(tuple(sorted(parts | {COMBINATIONS})))

    def over(self, factors: Iterable[str]) -> tuple[Monomial, ...]:
        """The monomials that an input with these factors has to sum: all that a join with other inputs may need."""
        own = frozenset(factors)
        return tuple(monomial for monomial in self if monomial.factors <= own)

    def with_lower_powers(self) -> "Basis":
        """The smallest larger basis in which sums can move to another origin (see ``moments.shifted``)."""
        return Basis.spanning(lower for monomial in self for lower in lowered(monomial))
