"""Payloads: what a set of rows must remember to answer aggregates over its join without the join.

An aggregate is a function of *moments*, the sums over all matching combinations of monomials x^p·y^q of its
arguments. Over one join key a moment factors, because every row of A meets every row of B::

    Σ over A×B of f(a)·g(b)  =  (Σ over A of f)·(Σ over B of g)

So union adds payloads, removal subtracts them and join multiplies them: a ring (F-IVM; Tran's "coalesced
with the count" is its product with a payload that holds only a count). MIN and MAX cannot forget a row;
they form a semilattice whose neutral element is "absent". Which of the two an aggregate lives in is its
type::

    AGGREGATES["corr"]  MomentAggregate    ─▶ Moments   +  −  ×  times(count)
    AGGREGATES["max"]   ExtremumAggregate  ─▶ Extremum  +        times(count)

``+`` is the union of rows and ``times`` their combination with ``count`` rows that only multiply, in both.

    >>> corr, arguments = AGGREGATES["corr"], (("a.x",), ("b.y",))
    >>> basis = Basis.spanning(corr.monomials(arguments))
    >>> a = fold(basis, [{"a.x": 1}, {"a.x": 2}])
    >>> b = fold(basis, [{"b.y": 5}, {"b.y": 6}, {"b.y": None}])
    >>> corr.answer(a * b, arguments)  # the four combinations of 1, 2 with 5, 6
    0.0
"""

from joinfold.algebra.aggregates import (
    AGGREGATES,
    ALIASES,
    Aggregate,
    ExtremumAggregate,
    MomentAggregate,
)
from joinfold.algebra.basis import COMBINATIONS, Argument, Basis, Monomial
from joinfold.algebra.extremum import Extremum
from joinfold.algebra.moments import Moments, fold, lift, one, shifted, zero

__all__ = [
    "AGGREGATES",
    "ALIASES",
    "COMBINATIONS",
    "Aggregate",
    "Argument",
    "Basis",
    "Extremum",
    "ExtremumAggregate",
    "MomentAggregate",
    "Moments",
    "Monomial",
    "fold",
    "lift",
    "one",
    "shifted",
    "zero",
]
