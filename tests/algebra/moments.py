"""The ring of moments: union adds, removal subtracts, join multiplies.

An element maps the monomials of a basis to numbers; a monomial that is not in the map is 0. It is a
polynomial in the symbols [x^p], one for each power of each factor, with two rules: two powers of the same
factor multiply to 0 (no combination takes x from two places), and so does everything outside the basis
(no aggregate asks for it). A basis is closed under taking parts, so what is cut off is an ideal and all
laws of a commutative ring hold::

    [m] of p·q  =  Σ over the splits of m into two parts of [part] of p · [rest] of q

Payloads of two inputs share no factor: then one split survives, m over A's factors and m over B's, and

    fold(A × B)  =  fold(A)·fold(B)

is the law that replaces the join. A row with multiplicity −1 is a removal.

**Rounding.** With integers and Fractions everything is exact. Doubles lose Σx² − (Σx)²/n when the mean is
large beside the deviation: at |mean| = 1e6·stddev twelve of sixteen digits cancel. An engine therefore
*accumulates* sums of (x − c) for some c near the data, and ``shifted`` moves such a payload from one c to
another, so that sub-windows that were kept about different origins can be added. It is a linear map, a
homomorphism of the ring, and exact:

    Σ (x − c)^p·y^q  =  Σ over j ≤ p of  binomial(p, j)·(−c)^(p−j) · Σ x^j·y^q

A constant column about its own value has sums that are exactly 0, so its CORR is NULL and not noise.

**NaN and ±∞** do not subtract. They stay outside: an engine puts 0 in their place and counts them in
indicator factors of their own (1 where x is NaN, else 0), which are SUMs like any other and leave with
their rows.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from joinfold.algebra import Monomial

from .basis import COMBINATIONS, Basis, exponent_of, with_exponent
from .number import Number, is_finite, power, scalar


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """The payload of a set of combinations: the sum of every monomial of the basis; a sum that is not given is 0.

    Sums may also be arrays of one shape; then this is as many payloads, and every operation acts on each.
    """

    basis: Basis
    sums: Mapping[Monomial, Number]

    def __post_init__(self) -> None:
        assert all(monomial in self.basis for monomial in self.sums), f"{self.sums} outside {self.basis}"

    def __getitem__(self, monomial: Monomial) -> Number:
        assert monomial in self.basis, f"{monomial} outside {self.basis}"
        return self.sums.get(monomial, 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments):
            return NotImplemented
        return self.basis == other.basis and all(bool(np.all(self[key] == other[key])) for key in self.basis)

    @property
    def count(self) -> Number:
        """The number of combinations: the one thing that tells an empty set from sums that are 0."""
        return self[COMBINATIONS]

    def __add__(self, other: "Moments") -> "Moments":
        assert self.basis == other.basis
        keys = self.sums.keys() | other.sums.keys()
        return Moments(self.basis, {key: self[key] + other[key] for key in keys})

    def __neg__(self) -> "Moments":
        return Moments(self.basis, {key: -value for key, value in self.sums.items()})

    def __sub__(self, other: "Moments") -> "Moments":
        return self + -other

    def __mul__(self, other: "Moments") -> "Moments":
        assert self.basis == other.basis
        products = {
            whole: [
                self.sums[part] * other.sums[rest] for part, rest in splits if part in self.sums and rest in other.sums
            ]
            for whole, splits in self.basis.splits.items()
        }
        return Moments(self.basis, {whole: sum(terms) for whole, terms in products.items() if terms})

    def times(self, multiplicity: Number) -> "Moments":
        """The payload of these rows joined with ``multiplicity`` rows that have no factors."""
        return Moments(self.basis, {key: value * multiplicity for key, value in self.sums.items()})


def zero(basis: Basis) -> Moments:
    """The payload of no rows: neutral for union."""
    return Moments(basis, {})


def one(basis: Basis) -> Moments:
    """The payload of a single row without factors: neutral for join."""
    return Moments(basis, {COMBINATIONS: 1})


def lift(basis: Basis, row: Mapping[str, object]) -> Moments:
    """The payload of one row of an input, given as all of the input's factors; None is NULL.

    Only factors that are raised to a power need be numbers: COUNT(a.name) asks for presence alone.
    """
    present = {factor: value for factor, value in row.items() if value is not None}
    return Moments(basis, {monomial: _evaluate(monomial, present) for monomial in basis.over(present)})


def fold(basis: Basis, rows: Iterable[Mapping[str, object]]) -> Moments:
    """The payload of a multiset of rows."""
    return sum((lift(basis, row) for row in rows), start=zero(basis))


def shifted(moments: Moments, shift: Mapping[str, Number]) -> Moments:
    """The payload of the same rows with ``factor − shift[factor]`` in place of each factor that is given.

    The basis must hold the lower powers of what it shifts. The moments of every aggregate do, as long as its
    arguments are single factors; for products there is ``Basis.with_lower_powers``.
    """
    for factor, offset in shift.items():
        moments = _shifted_by_one(moments, factor, offset)
    return moments


def _shifted_by_one(moments: Moments, factor: str, offset: Number) -> Moments:
    sums: dict[Monomial, Number] = {}
    for monomial in moments.basis:
        highest = exponent_of(monomial, factor)
        if highest == 0:
            sums[monomial] = moments[monomial]
            continue
        sums[monomial] = sum(
            math.comb(highest, lower) * (-offset) ** (highest - lower) * moments[with_exponent(monomial, factor, lower)]
            for lower in range(highest + 1)
        )
    return Moments(moments.basis, sums)


def _evaluate(monomial: Monomial, present: Mapping[str, object]) -> Number:
    return math.prod(_raise(present[factor], exponent) for factor, exponent in monomial.powers)


def _raise(value: object, exponent: int) -> Number:
    if exponent == 0:
        return 1
    number = scalar(value)
    assert is_finite(number), "NaN and ±∞ do not subtract: count them in factors of their own"
    return power(number, exponent)
