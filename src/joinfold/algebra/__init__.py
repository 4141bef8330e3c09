"""Aggregates: what a set of rows must remember to answer them over its join without the join.

An aggregate is a function of *components*. Most are *moments*, the sums over all matching combinations of monomials
x^p·y^q of its arguments. Over one join key a moment factors, because every row of A meets every row of B::

    Σ over A×B of f(a)·g(b)  =  (Σ over A of f)·(Σ over B of g)

So union adds, removal subtracts and join multiplies: a ring (F-IVM; Tran's "coalesced with the count" is its product
with a payload that holds only a count). MIN and MAX cannot forget a row; they form a semilattice whose neutral element
is "absent". Which of the two an aggregate lives in follows from its components, and its answer is a finisher's::

    AGGREGATES["corr"]   six moments               finishers.correlation
    AGGREGATES["max"]    the largest value         itself

``tests/algebra`` has both algebras as plain Python, and holds every entry to their laws.

    >>> import numpy as np
    >>> from joinfold.numbers import ExactNumbers
    >>> rows, total, squares = (ExactNumbers(np.array([number])) for number in (4, 10, 30))  # of 1, 2, 3, 4
    >>> AGGREGATES["var_pop"].finisher(rows, total, squares).doubles()
    array([1.25])
"""

from joinfold.algebra.aggregates import AGGREGATES, ALIASES, AggregateFunction
from joinfold.algebra.components import BitCounts, Component, Extremum, Moment, Summed, TruthCount
from joinfold.algebra.monomial import Argument, Monomial

__all__ = [
    "AGGREGATES",
    "ALIASES",
    "AggregateFunction",
    "Argument",
    "BitCounts",
    "Component",
    "Extremum",
    "Moment",
    "Monomial",
    "Summed",
    "TruthCount",
]
