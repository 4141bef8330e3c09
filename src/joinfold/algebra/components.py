"""Components: what must be known of a set of combinations to compute an aggregate.

    Moment        Σ x^p·y^q                           SUM, AVG, variances, CORR, regression, …
    TruthCount    how often the argument is true      BOOL_AND, BOOL_OR
    BitCounts     how often each of its bits is set   BIT_AND, BIT_OR, BIT_XOR
    Extremum      the smallest or largest value       MIN, MAX, MIN_BY, MAX_BY

How an aggregate is maintained follows from its components. Sums and counts form a group: rows that leave are
*subtracted*. A row cannot be removed from an extremum. If it is known when entries leave, a combination is *charged* to
the member that leaves first. Otherwise, the values are *counted*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from joinfold.algebra.monomial import Argument, Monomial


@dataclass(frozen=True, slots=True)
class Moment:
    """The sum of a monomial of the arguments; if all exponents are 0, the number of rows in which none is NULL."""

    exponents: tuple[int, ...]

    def __post_init__(self) -> None:
        assert all(exponent >= 0 for exponent in self.exponents)

    def monomial(self, arguments: Sequence[Argument], filters: Argument = ()) -> Monomial:
        """The monomial that is summed; the factors of ``filters`` must be present too.

        With fewer arguments than exponents, the last exponents are not used.
        """
        powers = [
            (factor, exponent)
            for argument, exponent in zip(arguments, self.exponents, strict=False)
            for factor in argument
        ]
        return Monomial.of([*((factor, 0) for factor in filters), *powers])


@dataclass(frozen=True, slots=True)
class TruthCount:
    """The number of rows whose argument is true."""


@dataclass(frozen=True, slots=True)
class BitCounts:
    """For each bit of an integer in two's complement, lowest first, the number of rows in which it is set."""


@dataclass(frozen=True, slots=True)
class Extremum:
    """The largest or smallest value of the argument; with ``by``, the first argument where the second is extreme.

    If several rows have the same extreme second argument, it is the largest or smallest of their first arguments, or
    NULL if all of them are NULL.
    """

    largest: bool
    by: bool = False


Summed: TypeAlias = Moment | TruthCount | BitCounts
Component: TypeAlias = Summed | Extremum
