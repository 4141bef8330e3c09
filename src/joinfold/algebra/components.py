"""Components: what has to be known of a set of combinations to answer an aggregate.

    Moment        Σ x^p·y^q                           SUM, AVG, variances, CORR, regression, …
    TruthCount    how often the argument is true      BOOL_AND, BOOL_OR
    BitCounts     how often each of its bits is set   BIT_AND, BIT_OR, BIT_XOR
    Extremum      the first or last in an order       MIN, MAX, MIN_BY, MAX_BY

How an aggregate is maintained follows from its components. Sums and counts form a group: what leaves is *subtracted*.
An extremum cannot forget a row. It is *charged* to the member of a combination that leaves first where it is known
when entries leave, and values are *counted* where it is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from joinfold.algebra.monomial import Argument, Monomial


@dataclass(frozen=True, slots=True)
class Moment:
    """The sum of a monomial of the arguments; where all exponents are 0, the number of rows that have them all."""

    exponents: tuple[int, ...]

    def __post_init__(self) -> None:
        assert all(exponent >= 0 for exponent in self.exponents)

    def monomial(self, arguments: Sequence[Argument], filters: Argument = ()) -> Monomial:
        """What is summed, where all ``filters`` are present too; fewer arguments use fewer of the exponents."""
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
    """The largest or smallest first argument; ``by`` the second: the first argument where the second is that.

    Of rows that the second does not tell apart, the largest or smallest first argument decides, NULL only if alone.
    """

    largest: bool
    by: bool = False


Summed: TypeAlias = Moment | TruthCount | BitCounts
Component: TypeAlias = Summed | Extremum
